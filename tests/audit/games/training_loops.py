"""Small training loops and their claims: 21 true ones, with various losses, samplers, noise and clipping, and 2 wrong.

Each loop trains on the records where `inside` is True and returns the loss of every record under its released model.
Sums over records have sensitivity 1 under add_remove unless stated, and are divided by constants only. `SIGMA` is the
standard deviation of the noise over the sensitivity; k adaptive releases of sensitivity 1 are sqrt(k) / SIGMA-GDP.
"""

import math

import numpy as np

from dpassay.mechanisms.accounting import GaussianDP, PureDP

N, D, STEPS, SIGMA = 120, 240, 16, 8.0


def records(rng):
    """Return features of norm 1, and labels -1 and 1 that the features do not determine."""
    X = rng.normal(size=(N, D))
    return X / np.linalg.norm(X, axis=1, keepdims=True), rng.choice([-1.0, 1.0], N)


LOSSES = {  # of the margin y * f(x), and the derivative
    "logistic": (lambda m: np.logaddexp(0.0, -m), lambda m: -1.0 / (1.0 + np.exp(m))),
    "squared": (lambda m: 0.5 * (1.0 - m) ** 2, lambda m: m - 1.0),
    "hinge": (lambda m: np.maximum(0.0, 1.0 - m), lambda m: -(m < 1.0).astype(float)),
    "exponential": (lambda m: np.exp(np.clip(-m, -50.0, 5.0)), lambda m: -np.exp(np.clip(-m, -50.0, 5.0))),
    "huber": (
        lambda m: np.where(abs(1.0 - m) < 1.0, 0.5 * (1.0 - m) ** 2, abs(1.0 - m) - 0.5),
        lambda m: np.clip(m - 1.0, -1.0, 1.0),
    ),
}


def by_l2(g):
    return g / np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))


def by_l1(g):
    return g / np.maximum(1.0, np.abs(g).sum(axis=1, keepdims=True))


def automatic(g):
    return g / (np.linalg.norm(g, axis=1, keepdims=True) + 0.01)


def per_half(g):
    return np.concatenate([by_l2(half * math.sqrt(2.0)) / math.sqrt(2.0) for half in np.split(g, 2, axis=1)], axis=1)


def unclipped(g):
    return g


def full(rng):
    return [np.ones(N, dtype=bool)] * STEPS


def poisson(rng):
    return [rng.random(N) < 0.5 for _ in range(STEPS)]


def bins(rng):
    """Two epochs of four batches; each record is in one random batch an epoch, independently of the others."""
    epochs = [rng.integers(0, 4, N) for _ in range(2)]
    return [epoch == batch for epoch in epochs for batch in range(4)]


def cyclic(rng):
    return [np.arange(N) % 4 == step % 4 for step in range(STEPS)]


def gaussian(rng, size):
    return SIGMA * rng.normal(size=size)


def laplace(rng, size):
    return SIGMA * rng.laplace(size=size)


def wrongly_scaled(rng, size):
    """Bug: the noise is scaled to the sensitivity of the mean and added to the sum."""
    return gaussian(rng, size) / N


def constant(step):
    return 0.5


def decaying(step):
    return 2.0 / (1.0 + step)


def small(step):
    """Keep the margins of large features in the range where losses differ."""
    return 0.002


def warming(step):
    return min(1.0, 0.1 * (step + 1))


def gradient_descent(
    loss="logistic", sampler=full, clip=by_l2, noise=gaussian, rate=constant, rule="plain", features=None, scale=1.0
):
    """Return a loop of noisy gradient steps; `rule` is what is done with the noisy gradients."""

    def loop(X, y, inside, rng):
        X = scale * (X if features is None else features(X))
        w, momentum, second, mean = (np.zeros(X.shape[1]) for _ in range(4))
        value, slope = LOSSES[loss]
        batches = sampler(rng)
        for step, batch in enumerate(batches):
            rows = inside & batch
            g = clip((slope(y[rows] * (X[rows] @ w)) * y[rows])[:, None] * X[rows]).sum(axis=0) + noise(rng, len(w))
            momentum, second = 0.9 * momentum + g, 0.99 * second + 0.01 * g**2
            update = {"momentum": momentum, "adam": momentum / (np.sqrt(second) + 1e-8), "sign": np.sign(g)}.get(
                rule, g
            )
            w = w - rate(step) / 8.0 * update
            mean += w / len(batches)
        return value(y * (X @ (mean if rule == "averaged" else w)))

    return loop


def random_features(X):
    return by_l2(np.tanh(X @ np.random.default_rng(99).normal(size=(D, D))) / 4.0)


def network(X, y, inside, rng, width=8):
    """Two layers, with gradients of each example, clipped together."""
    first, last = rng.normal(size=(D, width)), rng.normal(size=width)
    value, slope = LOSSES["logistic"]
    for _ in range(STEPS):
        hidden = np.tanh(X @ first)
        outer = slope(y * (hidden @ last)) * y
        back = (outer[:, None] * last * (1.0 - hidden**2))[:, None, :] * X[:, :, None]
        g = by_l2(np.concatenate([back.reshape(N, -1), outer[:, None] * hidden], axis=1))[inside].sum(axis=0)
        g = g + gaussian(rng, g.shape)
        first, last = first - 0.05 * g[:-width].reshape(first.shape), last - 0.05 * g[-width:]
    return value(y * (np.tanh(X @ first) @ last))


def softmax(X, y, inside, rng):
    """Three classes, the third without records."""
    W, codes = np.zeros((D, 3)), (y > 0).astype(int)
    for _ in range(STEPS):
        p = np.exp(X @ W)
        p /= p.sum(axis=1, keepdims=True)
        g = by_l2(((p - np.eye(3)[codes])[:, None, :] * X[:, :, None]).reshape(N, -1))[inside].sum(axis=0)
        W = W - 0.1 * (g + gaussian(rng, g.shape)).reshape(W.shape)
    p = np.exp(X @ W)
    return -np.log(p[np.arange(N), codes] / p.sum(axis=1))


def centroids(X, y, inside, rng):
    """Sum of the records of each class, released once."""
    sums = {label: X[inside & (y == label)].sum(axis=0) + rng.normal(size=D) for label in (-1.0, 1.0)}
    return -np.array([x @ sums[label] for x, label in zip(X, y, strict=True)])


def sufficient_statistics(X, y, inside, rng):
    """Ridge regression from X'X and X'y of sensitivity sqrt(2)."""
    noise = math.sqrt(2.0) * rng.normal(size=(D, D + 1))
    moments = X[inside].T @ np.column_stack([X[inside], y[inside]]) + noise
    w = np.linalg.solve(moments[:, :D] + moments[:, :D].T + 40.0 * np.eye(D), moments[:, D])
    return (y - X @ w) ** 2


def output_perturbation(X, y, inside, rng, penalty=0.1):
    """Minimiser of sum(logistic) / N + penalty |w|^2 / 2 by Newton's method; sensitivity 1 / (N penalty)."""
    w = np.zeros(D)
    for _ in range(12):
        m = y[inside] * (X[inside] @ w)
        p = 1.0 / (1.0 + np.exp(m))
        gradient = -(p * y[inside]) @ X[inside] / N + penalty * w
        hessian = (X[inside].T * (p * (1.0 - p))) @ X[inside] / N + penalty * np.eye(D)
        w = w - np.linalg.solve(hessian, gradient)
    w = w + rng.normal(size=D) / (N * penalty)
    return np.logaddexp(0.0, -y * (X @ w))


def tree_aggregation(X, y, inside, rng):
    """DP-FTRL: one epoch of 8 batches, prefix sums from a binary tree; each record is in 4 nodes."""
    value, slope = LOSSES["logistic"]
    w, batch = np.zeros(D), np.arange(N) % 8
    nodes, sums = {}, []
    for step in range(8):
        rows = inside & (batch == step)
        sums.append(by_l2((slope(y[rows] * (X[rows] @ w)) * y[rows])[:, None] * X[rows]).sum(axis=0))
        prefix, start, size = np.zeros(D), 0, 8
        while size:
            if (step + 1) & size:
                key = (start, size)
                if key not in nodes:
                    nodes[key] = np.sum(sums[start : start + size], axis=0) + 2.0 * rng.normal(size=D)
                prefix, start = prefix + nodes[key], start + size
            size //= 2
        w = -0.5 * prefix
    return value(y * (X @ w))


def naive_bayes(X, y, inside, rng, k=10):
    """Counts of the signs of k features by class, sensitivity k in L1, with Laplace noise for epsilon = 1."""
    signs, classes = X[:, :k] > 0.0, {label: y == label for label in (-1.0, 1.0)}
    counts = {
        (label, sign): (signs[inside & rows] == sign).sum(axis=0) + rng.laplace(scale=k, size=k)
        for label, rows in classes.items()
        for sign in (False, True)
    }
    own = {key: np.log(np.maximum(values, 1.0)) for key, values in counts.items()}
    return -np.array(
        [sum(own[label, sign][j] for j, sign in enumerate(row)) for row, label in zip(signs, y, strict=True)]
    )


ITERATED = GaussianDP(math.sqrt(STEPS) / SIGMA)
TRUE = {
    "full batch": (gradient_descent(), ITERATED),
    "Poisson, squared loss": (gradient_descent("squared", poisson), ITERATED),
    "random bins, hinge loss": (gradient_descent("hinge", bins), GaussianDP(math.sqrt(2.0) / SIGMA)),
    "cyclic, exponential loss": (gradient_descent("exponential", cyclic), GaussianDP(math.sqrt(STEPS / 4) / SIGMA)),
    "Huber loss, decaying rate": (gradient_descent("huber", rate=decaying), ITERATED),
    "automatic clipping, warm-up": (gradient_descent(clip=automatic, rate=warming), ITERATED),
    "clipping of two layers": (gradient_descent(clip=per_half), ITERATED),
    "Laplace noise, L1 clipping": (gradient_descent(clip=by_l1, noise=laplace), PureDP(STEPS / SIGMA)),
    "momentum": (gradient_descent(rule="momentum"), ITERATED),
    "Adam": (gradient_descent("squared", rule="adam"), ITERATED),
    "signs of gradients": (gradient_descent(rule="sign", rate=decaying), ITERATED),
    "averaged iterates": (gradient_descent("hinge", poisson, rule="averaged"), ITERATED),
    "random features": (gradient_descent(features=random_features), ITERATED),
    "large features": (gradient_descent("squared", scale=50.0, rate=decaying), ITERATED),
    "network": (network, ITERATED),
    "softmax": (softmax, ITERATED),
    "centroids": (centroids, GaussianDP(1.0)),
    "sufficient statistics": (sufficient_statistics, GaussianDP(1.0)),
    "output perturbation": (output_perturbation, GaussianDP(1.0)),
    "tree aggregation": (tree_aggregation, GaussianDP(1.0)),
    "naive Bayes": (naive_bayes, PureDP(1.0)),
}
WRONG = {
    "noise without clipping": (gradient_descent(clip=unclipped, scale=20.0, rate=small), ITERATED),
    "noise of the mean on the sum": (gradient_descent(noise=wrongly_scaled), ITERATED),
}
