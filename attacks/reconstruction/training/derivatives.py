"""Mixed second derivative of the loss in parameters and example, along one direction of the parameters.

<v, gradient of the loss at (x, y)> is the derivative of the loss along v in the parameters. Its derivative in x is
computed by a forward and a backward pass that both carry their derivatives along v (Pearlmutter 1994, "Fast exact
multiplication by the Hessian").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Floats
from ....mechanisms.learning.models.base import Model


def hessian_vector_product(model: Model, parameters: Floats, X: Floats, y: NDArray[Any], along: Floats) -> Floats:
    """Return the derivative in x of <v, gradient of the loss>, for each example.

    Args:
        model: model with the loss.
        parameters: `(n_parameters,)` parameters of the model.
        X, y: examples, `(n, n_features)` and `(n,)`.
        along: direction v of each example, `(n, n_parameters)`.

    Returns:
        Derivatives, `(n, n_features)`. The second derivative of a ReLU at its kink is taken as 0.
    """
    weights = [layer.of(parameters[None])[0] for layer in model.layers]
    directions = [layer.of(along) for layer in model.layers]
    inputs, rates, slopes = [X], [np.zeros_like(X)], []
    for index, (w, v) in enumerate(zip(weights, directions, strict=True)):
        width = inputs[-1].shape[1]
        outputs = inputs[-1] @ w[:, :width].T
        changes = rates[-1] @ w[:, :width].T + np.einsum("nui,ni->nu", v[:, :, :width], inputs[-1])
        if model.layers[index].bias:
            outputs, changes = outputs + w[:, -1], changes + v[:, :, -1]
        if index == len(weights) - 1:
            delta, change = _loss(model, outputs, changes, y)
            break
        activated, slope, curvature = _activation(model, outputs)
        slopes.append((slope, curvature * changes))
        inputs.append(activated)
        rates.append(slope * changes)
    for index in range(len(weights) - 1, -1, -1):
        width = inputs[index].shape[1]
        w, v = weights[index][:, :width], directions[index][:, :, :width]
        delta, change = delta @ w, change @ w + np.einsum("nui,nu->ni", v, delta)
        if index:
            slope, slope_change = slopes[index - 1]
            delta, change = slope * delta, slope * change + slope_change * delta
    return np.asarray(change)


def _activation(model: Model, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value, first and second derivative."""
    if model.activation_name == "tanh":
        a = np.tanh(z)
        return a, 1.0 - a * a, -2.0 * a * (1.0 - a * a)
    return np.maximum(z, 0.0), (z > 0.0).astype(np.float64), np.zeros_like(z)


def _loss(model: Model, outputs: Floats, changes: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the first derivative of the loss in the outputs, and its derivative along v, both `(n, n_outputs)`."""
    first = np.ascontiguousarray(outputs.T)[None]
    model.loss.derive(first, model.loss.targets(y, np.dtype(np.float64)))
    delta = first[0].T
    if model.loss.name == "squared":
        return delta, changes
    if model.loss.name == "logistic":
        p = delta + y[:, None]
        return delta, p * (1.0 - p) * changes
    p = delta + np.eye(outputs.shape[1])[y.astype(np.intp)]
    return delta, p * (changes - np.sum(p * changes, axis=1, keepdims=True))
