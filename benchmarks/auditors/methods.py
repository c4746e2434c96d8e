"""Methods of other auditors, rebuilt from their papers and from the stated settings of their programs.

Each takes the outputs of `n` runs on both datasets as matrices, the claim, and a level; it returns whether the method,
at its own kind of statement, contradicts the claim. All have the same runs; their shares of training, choice and final
runs are in the proportions of their defaults. None of the code is theirs. A method that tests one direction is run in
both, at half the level each.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.stats import beta, hypergeom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

Runs = NDArray[np.float64]
"""(n_runs, n_numbers)."""


class CannotReadError(Exception):
    """The method is not defined for these outputs or this claim."""


@dataclass(frozen=True)
class Claim:
    epsilon: float
    delta: float = 0.0


Method = Callable[[Runs, Runs, Claim, float, np.random.Generator], bool]


def lower(hits: int, n: int, level: float) -> float:
    """Return the exact one-sided lower limit of a probability (Clopper and Pearson 1934)."""
    return float(beta.ppf(level, hits, n - hits + 1)) if hits else 0.0


def upper(hits: int, n: int, level: float) -> float:
    return float(beta.ppf(1 - level, hits + 1, n - hits)) if hits < n else 1.0


def split(runs: Runs, *shares: float) -> list[Runs]:
    """Divide runs in the order in which they were made."""
    places = np.cumsum([int(len(runs) * share / sum(shares)) for share in shares])[:-1]
    return np.split(runs, places)


class Classifier:
    """Probability of side 1, by logistic regression or a small network on standardised outputs."""

    def __init__(self, out: Runs, in_: Runs, network: tuple[int, ...] = (), seed: int = 0) -> None:
        X, y = np.concatenate([out, in_]), np.repeat([0, 1], [len(out), len(in_)])
        self.scaler = StandardScaler().fit(X)
        options = {"hidden_layer_sizes": network, "max_iter": 2, "batch_size": 100, "learning_rate_init": 1e-2}
        model = MLPClassifier(**options, random_state=seed) if network else LogisticRegression(max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model = model.fit(self.scaler.transform(X), y)

    def __call__(self, runs: Runs) -> NDArray[np.float64]:
        probability = self.model.predict_proba(self.scaler.transform(runs))[:, 1].clip(1e-12, 1 - 1e-12)
        return np.log(probability / (1 - probability))


def pure(claim: Claim) -> None:
    if claim.delta:
        raise CannotReadError("delta = 0 only")


def both(test: Callable[[Runs, Runs, float], bool], out: Runs, in_: Runs, level: float) -> bool:
    """Test both directions, each at half the level."""
    return test(out, in_, level / 2) or test(in_, out, level / 2)


def hockey_stick(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """DP-Auditorium (Kong et al. 2024), hockey-stick tester with its default network: three layers of 12, two epochs.

    Side 0 is drawn with probability 1 / (1 + e^epsilon); the accuracy of a classifier on the other half of the runs,
    less a limit by Hoeffding, bounds delta from below.
    """
    weight = 1 / (1 + math.exp(claim.epsilon))

    def parts(first: Runs, second: Runs) -> tuple[Runs, Runs]:
        place = int(weight * len(first))
        return first[:place], second[place:]

    def test(first: Runs, second: Runs, share: float) -> bool:
        (train0, test0), (train1, test1) = split(first, 1, 1), split(second, 1, 1)
        few, many = parts(train0, train1)
        if min(len(few), len(many)) < 2:
            return False
        classify = Classifier(few, many, (12, 12, 12))
        few, many = parts(test0, test1)
        right = np.count_nonzero(classify(few) < 0) + np.count_nonzero(classify(many) >= 0)
        accuracy = right / (len(few) + len(many)) - math.sqrt(math.log(1 / share) / 2 / len(test0))
        return accuracy * (1 + math.exp(claim.epsilon)) - math.exp(claim.epsilon) > claim.delta

    return both(test, out, in_, level)


def renyi(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """DP-Auditorium, Renyi tester (Domingo-Enrich and Mroueh 2022; Kong et al. 2024): order 1.5, |function| <= 1.

    The function is the log odds of a classifier, cut to [-1, 1]: the optimum of the variational form is the log ratio
    of the densities. The claim of pure DP bounds the divergence by min(epsilon, 2 order epsilon^2).
    """
    pure(claim)
    order, size = 1.5, 1.0

    def test(first: Runs, second: Runs, share: float) -> bool:
        (train0, test0), (train1, test1) = split(first, 1, 1), split(second, 1, 1)
        classify = Classifier(train1, train0, (12, 12, 12))
        on_first, on_second = (classify(runs).clip(-size, size) for runs in (test0, test1))
        divergence = order / (order - 1) * math.log(np.exp((order - 1) * on_first).mean()) - math.log(
            np.exp(order * on_second).mean()
        )
        n, term = len(test0), math.log(2 / share)
        gamma = max(
            math.sqrt(3 * term * math.exp(2 * (order - 1) * size) / n),
            math.sqrt(2 * term * math.exp(2 * order * size) / n),
        )
        if gamma >= 1:
            return False
        limit = min(claim.epsilon, 2 * order * claim.epsilon**2)
        return divergence - math.log((1 + gamma) / (1 - gamma)) > limit

    return both(test, out, in_, level)


def mmd(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """DP-Auditorium, maximum mean discrepancy, with a Gaussian kernel whose width is the median distance."""
    (a, b), (c, d) = split(out, 1, 1), split(in_, 1, 1)
    squared = np.median(((a - d) ** 2).sum(axis=1)) or 1.0

    def kernel(x: Runs, y: Runs) -> NDArray[np.float64]:
        return np.exp(-((x - y) ** 2).sum(axis=1) / squared)

    values = kernel(a, b) - 2 * kernel(a, c) + kernel(c, d)
    n, term = len(values), math.log(2 / level)
    errors = (
        math.sqrt(8 * math.log(1 / level) / n),
        math.sqrt(2 * values.var() * term / n) + 28 * term / (3 * (n - 1)),
    )
    least = values.mean() - min(errors)
    up, down = math.exp(claim.epsilon), math.exp(-claim.epsilon)
    inside = (up - down) ** 2 + (1 + down) * (least - (up - 1) ** 2)
    return (math.sqrt(max(0.0, inside)) - (up - down)) / (1 + down) > claim.delta


def dp_sniper(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """DP-Sniper (Bichsel et al. 2021): logistic regression, the event of probability c = .01, ties broken at random.

    The shares are those of its defaults: 10.7 : 10.7 : 10.7 : 200 million runs for training, threshold, choice of the
    direction, and the final limits.
    """
    pure(claim)
    c = 0.01
    shares = (10.7, 10.7, 10.7, 200.0)
    parts0, parts1 = split(out, *shares), split(in_, *shares)
    made = []
    for first, second in ((parts0, parts1), (parts1, parts0)):
        classify = Classifier(second[0], first[0])
        scores = np.sort(classify(second[1]))[::-1]
        threshold = scores[min(int(c * len(scores)), len(scores) - 1)]
        above, ties = np.mean(scores > threshold), np.mean(scores == threshold)
        q = min(1.0, max(0.0, (c - above) / ties))

        def hits(runs: Runs, classify=classify, threshold=threshold, q=q) -> int:
            score = classify(runs)
            return int(np.count_nonzero((score > threshold) | ((score == threshold) & (rng.random(len(runs)) < q))))

        few = math.log((hits(first[2]) + 1) / (hits(second[2]) + 1))
        made.append((few, hits, first, second))
    _, hits, first, second = max(made, key=lambda one: one[0])
    n = len(first[3])
    low, high = lower(hits(first[3]), n, level / 2), upper(hits(second[3]), n, level / 2)
    return low > 0 and math.log(low / high) > claim.epsilon


def delta_siege(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """Delta-Siege (Lokna et al. 2023): threshold with the largest confident violation, then exact limits on new runs.

    Outputs and, where the output is one number, the bits of its float are the features. Thresholds in steps of 1 % of
    the runs, chosen by 90 % limits; a quarter of the runs for training, a quarter for the threshold, half for the end.
    The violation of a claim is p1 - e^epsilon p0 - delta, both directions.
    """

    def features(runs: Runs) -> Runs:
        if runs.shape[1] > 1:
            return runs
        bits = np.unpackbits(np.ascontiguousarray(runs[:, :1]).view(np.uint8), axis=1)
        return np.concatenate([runs, bits], axis=1)

    parts0, parts1 = split(features(out), 1, 1, 2), split(features(in_), 1, 1, 2)
    ratio = math.exp(claim.epsilon)
    made = []
    for first, second in ((parts0, parts1), (parts1, parts0)):
        classify = Classifier(second[0], first[0])
        on_first, on_second = np.sort(classify(first[1])), np.sort(classify(second[1]))
        n, step = len(on_first), max(1, len(on_first) // 100)
        for threshold in np.unique(np.concatenate([on_first[::step], on_second[::step]])):
            p1, p2 = (int(n - np.searchsorted(scores, threshold, side="right")) for scores in (on_first, on_second))
            made.append((lower(p1, n, 0.05) - ratio * upper(p2, n, 0.05), threshold, classify, first, second))
    _, threshold, classify, first, second = max(made, key=lambda one: one[0])
    n = len(first[2])
    p1, p2 = (int(np.count_nonzero(classify(runs) > threshold)) for runs in (first[2], second[2]))
    return lower(p1, n, level / 2) - ratio * upper(p2, n, level / 2) > claim.delta


MAX_EVENTS = 100_000


def stat_dp(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """StatDP (Ding et al. 2018): the event with the least p-value, then the thinned hypergeometric test on new runs.

    Events: for each number its values, if they are few, or ten half-lines in its densest 70 %; products of these over
    the numbers of an output. Defaults 1 : 5 for the choice of the event and the test. Its statement is a p-value at the
    claimed epsilon: the claim is contradicted if p <= level, the sides being chosen with the event.
    """
    pure(claim)
    (few0, test0), (few1, test1) = split(out, 1, 5), split(in_, 1, 5)
    n = len(few0)
    masks0, masks1 = np.ones((1, n), bool), np.ones((1, n), bool)
    chosen: list[list[tuple[str, float]]] = [[]]
    for column in range(out.shape[1]):
        pooled = np.sort(np.concatenate([few0[:, column], few1[:, column]]))
        unique = np.unique(pooled)
        if len(unique) < max(2, 0.002 * n) or len(unique) <= 10:
            events = [("==", float(value)) for value in unique]
        else:
            width = int(0.7 * len(pooled))
            start = int(np.argmin(pooled[width:] - pooled[:-width]))
            events = [("<", float(value)) for value in np.linspace(pooled[start], pooled[start + width], 10)]
        if len(chosen) * len(events) > MAX_EVENTS:
            raise CannotReadError("too many events")
        in0 = np.array([_event(few0[:, column], *event) for event in events])
        in1 = np.array([_event(few1[:, column], *event) for event in events])
        masks0 = (masks0[:, None] & in0[None]).reshape(-1, n)
        masks1 = (masks1[:, None] & in1[None]).reshape(-1, n)
        chosen = [[*old, event] for old in chosen for event in events]
    counts0, counts1 = masks0.sum(axis=1), masks1.sum(axis=1)
    large, small = np.maximum(counts0, counts1), np.minimum(counts0, counts1)
    ratio = np.exp(claim.epsilon)
    allowed = np.flatnonzero(counts0 + counts1 > 0.001 * n * ratio)
    if not len(allowed):
        return False
    at_mean = hypergeom.sf(
        np.floor(large[allowed] / ratio) - 1, 2 * n, n, np.floor(large[allowed] / ratio) + small[allowed]
    )
    likely = allowed[np.argsort(at_mean)[:200]]
    best = likely[int(np.argmin([_thinned(large[i], small[i], ratio, n, rng) for i in likely]))]
    hit0, hit1 = (
        int(np.all([_event(runs[:, i], *event) for i, event in enumerate(chosen[best])], axis=0).sum())
        for runs in (test0, test1)
    )
    first, second = (hit0, hit1) if counts0[best] >= counts1[best] else (hit1, hit0)
    return _thinned(first, second, ratio, len(test0), rng) <= level


def _event(values: NDArray[np.float64], kind: str, value: float) -> NDArray[np.bool_]:
    return values == value if kind == "==" else values < value


def _thinned(first: int, second: int, ratio: float, n: int, rng: np.random.Generator) -> float:
    """Return the mean p-value of 200 thinnings of the first count by e^-epsilon."""
    thinned = rng.binomial(first, 1 / ratio, 200)
    return float(hypergeom.sf(thinned - 1, 2 * n, n, thinned + second).mean())


def jax_privacy(out: Runs, in_: Runs, claim: Claim, level: float, rng: np.random.Generator) -> bool:
    """Clopper-Pearson bound of jax_privacy 2.0.0, Bonferroni over the vertices of the hull of the ROC.

    It takes scores; these are the log odds of a logistic regression on a quarter of the runs, or the output itself
    where that is one number.
    """
    if out.shape[1] == 1:
        scores0, scores1 = out[:, 0], in_[:, 0]
    else:
        (train0, rest0), (train1, rest1) = split(out, 1, 3), split(in_, 1, 3)
        classify = Classifier(train0, train1)
        scores0, scores1 = classify(rest0), classify(rest1)
    return any(_hull_bound(sign * scores0, sign * scores1, claim, level / 2) for sign in (1, -1))


def _hull_bound(out: NDArray[np.float64], in_: NDArray[np.float64], claim: Claim, level: float) -> bool:
    """Return whether a vertex of the hull shows P(in) - e^epsilon P(out) > delta, or the same for the complements."""
    thresholds = np.unique(np.concatenate([out, in_]))
    fp = len(out) - np.searchsorted(np.sort(out), thresholds)
    tp = len(in_) - np.searchsorted(np.sort(in_), thresholds)
    points = np.unique(np.stack([np.append(fp, 0), np.append(tp, 0)], axis=1), axis=0)
    try:
        vertices = points[ConvexHull(points).vertices] if len(points) > 3 else points
    except QhullError:
        vertices = points
    share, ratio = level / len(vertices), math.exp(claim.epsilon)
    n0, n1 = len(out), len(in_)
    for fp, tp in vertices:
        shown = lower(int(tp), n1, share / 2) - ratio * upper(int(fp), n0, share / 2)
        other = lower(int(n0 - fp), n0, share / 2) - ratio * upper(int(n1 - tp), n1, share / 2)
        if max(shown, other) > claim.delta:
            return True
    return False


METHODS: dict[str, Method] = {
    "dp_auditorium, hockey-stick": hockey_stick,
    "dp_auditorium, Renyi": renyi,
    "dp_auditorium, MMD": mmd,
    "DP-Sniper": dp_sniper,
    "Delta-Siege": delta_siege,
    "StatDP": stat_dp,
    "jax_privacy, scores": jax_privacy,
}
