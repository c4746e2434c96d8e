"""The slow naive twin of the batched trainer: one run, one record at a time, every gradient written out."""

import numpy as np


def layers_of(model, flat):
    """(weights, biases) of each layer, cut out of the flat parameters in the documented order."""
    results, start, n_in = [], 0, model.n_features
    for n_out in (*model.hidden_widths, model.output_units):
        weights, biases = np.zeros((n_out, n_in)), np.zeros(n_out)
        for unit in range(n_out):
            weights[unit] = flat[start : start + n_in]
            start += n_in
            if model.bias:
                biases[unit] = flat[start]
                start += 1
        results.append((weights, biases))
        n_in = n_out
    assert start == len(flat)
    return results


def outputs(model, flat, x):
    """Outputs of one example, and the inputs of each layer."""
    a, inputs = np.asarray(x, dtype=float), []
    layers = layers_of(model, flat)
    for index, (weights, biases) in enumerate(layers):
        inputs.append(a)
        a = weights @ a + biases
        if index < len(layers) - 1:
            a = np.tanh(a) if model.activation_name == "tanh" else np.where(a > 0, a, 0.0)
    return a, inputs


def loss(model, flat, x, y):
    z, _ = outputs(model, flat, x)
    name = model.loss.name
    if name == "softmax":
        return np.log(np.sum(np.exp(z - z.max()))) + z.max() - z[int(y)]
    if name == "logistic":
        return np.log1p(np.exp(-abs(z[0]))) + max(z[0], 0.0) - y * z[0]
    return 0.5 * (z[0] - y) ** 2


def gradient(model, flat, x, y):
    """Flat gradient of the loss at one example."""
    z, inputs = outputs(model, flat, x)
    name = model.loss.name
    if name == "softmax":
        delta = np.exp(z - z.max())
        delta /= delta.sum()
        delta[int(y)] -= 1.0
    elif name == "logistic":
        delta = 1.0 / (1.0 + np.exp(-z)) - y
    else:
        delta = z - y
    layers, parts = layers_of(model, flat), []
    for index in range(len(layers) - 1, -1, -1):
        rows = []
        for unit in range(len(delta)):
            row = delta[unit] * inputs[index]
            rows.append(np.append(row, delta[unit]) if model.bias else row)
        parts.insert(0, np.concatenate(rows))
        if index:
            a = inputs[index]
            slope = 1.0 - a**2 if model.activation_name == "tanh" else (a > 0).astype(float)
            delta = (layers[index][0].T @ delta) * slope
    return np.concatenate(parts)


def clip(model, g, clipping, bound):
    if clipping == "none":
        return g
    if clipping == "flat":
        return g * min(1.0, bound / max(np.linalg.norm(g), 1e-300))
    results, start, n_in = [], 0, model.n_features
    widths = (*model.hidden_widths, model.output_units)
    for n_out in widths:
        part = g[start : start + n_out * (n_in + model.bias)]
        results.append(part * min(1.0, bound / np.sqrt(len(widths)) / max(np.linalg.norm(part), 1e-300)))
        start, n_in = start + len(part), n_out
    return np.concatenate(results)


def clipped_sum(model, flat, data, members, clipping, bound, *, ignore_blank=False):
    """Sum of the clipped gradients of the records numbered in `members`."""
    total = np.zeros(model.n_parameters)
    for i in members:
        if i < data.n_examples:
            if ignore_blank and not np.any(data.X[i]) and data.y[i] == 0:
                continue
            total += clip(model, gradient(model, flat, data.X[i], data.y[i]), clipping, bound)
        else:
            total += clip(model, data.gradients[i - data.n_examples], clipping, bound)
    return total


def train(mechanism, data, rng, inclusion=None):
    """The trajectory of one run that draws from `rng` in the order that the trainer does; and its noisy sums."""
    recipe, model = mechanism.recipe, mechanism.network
    mask = None if inclusion is None else inclusion[None, :]
    theta = model.random_parameters(1, rng)[0] if recipe.initial is None else np.array(recipe.initial, dtype=float)
    velocity, trajectory, sums, fresh = np.zeros_like(theta), [theta.copy()], [], []
    draws = recipe.sampling.draws(len(data), 1, mask, rng)
    for rate in recipe.rates:
        draw = next(draws)
        rows = np.arange(len(data)) if draw.rows is None else draw.rows[0]
        members = rows if draw.included is None else rows[draw.included[0]]
        total = clipped_sum(
            model, theta, data, members, recipe.clipping, recipe.clip_norm, ignore_blank=recipe.ignore_blank
        )
        if recipe.noise_multiplier:
            fresh.append(rng.standard_normal((1, len(theta)))[0])
            strategy = recipe.noise.strategy(len(recipe.rates))[: len(fresh), : len(fresh)]
            total = total + recipe.noise_multiplier * recipe.clip_norm * np.linalg.solve(strategy, fresh)[-1]
        divisor = recipe.sampling.divisor or len(data)
        velocity = recipe.momentum * velocity + total / divisor
        theta = theta - rate * velocity
        if recipe.projection is not None:
            theta = theta * min(1.0, recipe.projection / max(np.linalg.norm(theta), 1e-300))
        trajectory.append(theta.copy())
        sums.append(total)
    return np.array(trajectory), np.array(sums)
