"""Recovery of one example from its gradient, in closed form: the first layer's gradient is the example times a factor.

    dL/dW = d x^T,   dL/db = d      of the first layer, so that      x = sum_k d_k (dL/dW)_k / sum_k d_k^2

The label follows from the last layer: of softmax(z) - e_y only the entry of the label is negative. Clipping multiplies
all entries by one number, and hides neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import AttackError, ParameterError
from ....mechanisms.learning.models.base import Model
from ....mechanisms.learning.models.trained import TrainedModels


@dataclass(frozen=True, eq=False)
class InvertedGradients:
    """Examples recovered from `size` gradients.

    Args:
        x: `(size, n_features)` features; NaN if no unit of the first layer is active.
        y: labels `(size,)`; targets of a regression if the parameters are known; NaN if undetermined.
    """

    x: Floats
    y: Floats


def invert_gradient(model: Model, gradients: Any, *, parameters: Any = None) -> InvertedGradients:
    """Return the example of each gradient.

    Args:
        model: model with biases.
        gradients: flat gradients of one example each, `(size, n_parameters)`, or one of them; clipped or not.
        parameters: parameters at which the gradients were taken, `(n_parameters,)` or `(size, n_parameters)`: needed
            for the targets of a regression only; clipping hides these targets.

    Raises:
        ParameterError: a model without biases, or gradients of a wrong length.
        AttackError: every gradient is 0 in the first layer: no unit is active, or the example is fitted exactly.

    Guarantees:
        * exact, to rounding, for one example, for any depth and activation;
        * for the gradient of a batch, the result is averages of its examples: see `Imprint` and `GradientMatching`.

    References:
        Geiping, Bauermeister, Droege and Moeller (2020), proposition 3.1; Zhao, Mopuri and Bilen (2020) for the label.

    Example:
        >>> from dpassay.mechanisms.learning import MultiLayerPerceptron
        >>> rng, model = np.random.default_rng(0), MultiLayerPerceptron(5, 3, hidden=(8,), activation="relu")
        >>> x, parameters = rng.normal(size=(1, 5)), model.random_parameters(1, rng)
        >>> gradient = TrainedModels(model, parameters).gradients(x, np.array([2]))[0]
        >>> inverted = invert_gradient(model, gradient)
        >>> bool(np.abs(inverted.x - x).max() < 1e-12), inverted.y.tolist()
        (True, [2.0])
    """
    flat = checked_gradients(model, gradients)
    first, last = model.layers[0].of(flat), model.layers[-1].of(flat)
    factors = first[:, :, -1]
    squares = np.einsum("su,su->s", factors, factors)
    if not squares.any():
        raise AttackError(
            "the gradient is 0 in the first layer: none of its units is active on this example, for example because "
            "all ReLUs are dead, or the model fits it exactly. Another step, with other parameters, may show it."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.einsum("su,sui->si", factors, first[:, :, :-1]) / squares[:, None]
    return InvertedGradients(x, _labels(model, np.asarray(last[:, :, -1], dtype=np.float64), x, parameters))


def checked_gradients(model: Model, gradients: Any) -> Floats:
    """Return `(size, n_parameters)` gradients; raise `ParameterError` without biases, or for a wrong length."""
    if not model.bias:
        raise ParameterError(
            "model must have biases: without them a gradient determines only the direction of the example, not its "
            "length.",
            argument="model",
        )
    flat = np.atleast_2d(np.asarray(gradients, dtype=np.float64))
    if flat.ndim != 2 or flat.shape[1] != model.n_parameters or not np.isfinite(flat).all():
        raise ParameterError(
            f"gradients must be finite, one flat row of length {model.n_parameters} each, in the order of the model's "
            f"parameters, but have shape {np.shape(gradients)}.",
            argument="gradients",
        )
    return flat


def _labels(model: Model, residuals: Floats, x: Floats, parameters: Any) -> Floats:
    """Return labels from the derivative of the loss with respect to the outputs, `(size, n_outputs)`."""
    nonzero = residuals.any(axis=1)
    if model.loss.name == "softmax":
        return np.where(nonzero, residuals.argmin(axis=1).astype(np.float64), np.nan)
    if model.loss.name == "logistic":
        return np.where(nonzero, (residuals[:, 0] < 0.0).astype(np.float64), np.nan)
    if parameters is None:
        return np.full(len(x), np.nan)
    theta = np.broadcast_to(np.asarray(parameters, dtype=np.float64), (len(x), model.n_parameters))
    filled = np.nan_to_num(x)
    outputs = [
        TrainedModels(model, theta_row[None]).outputs(row[None])[0, 0, 0]
        for theta_row, row in zip(theta, filled, strict=True)
    ]
    return np.where(np.isnan(x).any(axis=1), np.nan, np.array(outputs) - residuals[:, 0])
