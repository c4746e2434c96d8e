"""Recovery of one example from its gradient, in closed form: the first layer's gradient is the example times a factor.

    dL/dW = d x^T,   dL/db = d      of the first layer, so that      x = sum_k d_k (dL/dW)_k / sum_k d_k^2

The label follows from the last layer: of softmax(z) - e_y only the entry of the label is negative. Clipping multiplies
all entries by one number, and hides neither.

Imprinting recovers single examples from the gradient of a batch, for a server that chooses the parameters. All units
of a ReLU layer measure the same number h x of an example, unit k minus a cut c_k; the units above the cut are the
active ones, and all of them get the same derivative. Hence the gradients of two neighbouring units differ by the
examples whose measurement is between their cuts: a single example is recovered as from its own gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core import AttackError, Floats, ParameterError, plural, whole
from ....mechanisms.learning.models.architectures import MultiLayerPerceptron
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
    flat = _checked_gradients(model, gradients)
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


def _checked_gradients(model: Model, gradients: Any) -> Floats:
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


_EMPTY = 1e-13
"""Share of the largest derivative below which a bin is empty: rounding in a difference."""
_SCALE = 1e-3
"""Scale of the second layer: small outputs, so that no example is fitted so well that its gradient vanishes."""


@dataclass(frozen=True, eq=False)
class Imprint:
    """Trap weights for the first layer, and the examples that they reveal.

    Args:
        model: one hidden layer of ReLUs, with biases.
        measurement: direction h, `(n_features,)`.
        cuts: `(n_units,)`, increasing, one per unit of the hidden layer.

    Raises:
        ParameterError: another kind of model, or a measurement or cuts of a wrong shape.

    Guarantees:
        * an example that is alone in its bin is exact, to rounding, clipped or not; of n examples in k bins that are
          equally likely a share (1 - 1/k)^(n - 1) is alone on average: see `expected_alone`;
        * a bin with several examples has a weighted mean of them; an example below the first cut is not recovered.

    References:
        Fowl, Geiping, Czaja, Goldblum and Goldstein (2022), "Robbing the Fed", section 3.

    Example:
        >>> from dpassay.mechanisms.learning.models.trained import TrainedModels
        >>> rng = np.random.default_rng(0)
        >>> model = MultiLayerPerceptron(4, 2, hidden=(50,), activation="relu")
        >>> trap = Imprint.from_public(model, rng.normal(size=(1000, 4)))
        >>> X, y = rng.normal(size=(3, 4)), np.array([0, 1, 1])
        >>> gradient = TrainedModels(model, trap.parameters()[None]).gradients(X, y).sum(axis=1)
        >>> recovered = trap.recover(gradient)[0]
        >>> [bool(np.nanmin(np.abs(recovered - x).max(axis=1)) < 1e-9) for x in X]
        [True, True, True]
    """

    model: MultiLayerPerceptron
    measurement: Any
    cuts: Any

    def __post_init__(self) -> None:
        model = self.model
        if len(model.hidden_widths) != 1 or model.activation_name != "relu" or not model.bias:
            raise ParameterError(
                "model must have one hidden layer of ReLUs, and biases, for an imprint, but is "
                f"{model}. Build MultiLayerPerceptron(n_features, n_classes, hidden=(k,), activation='relu').",
                argument="model",
            )
        h, cuts = np.asarray(self.measurement, dtype=np.float64), np.asarray(self.cuts, dtype=np.float64)
        if h.shape != (model.n_features,) or not h.any():
            raise ParameterError(
                f"measurement must be {plural(model.n_features, 'number')}, one per feature, not all 0, but has shape "
                f"{h.shape}.",
                argument="measurement",
            )
        if cuts.shape != model.hidden_widths or not np.all(np.diff(cuts) > 0.0):
            raise ParameterError(
                f"cuts must be {model.hidden_widths[0]} increasing numbers, one per unit, but have shape {cuts.shape}"
                f"{'' if cuts.shape != model.hidden_widths else ' and do not increase everywhere'}.",
                argument="cuts",
            )
        object.__setattr__(self, "measurement", h)
        object.__setattr__(self, "cuts", cuts)

    @classmethod
    def from_public(cls, model: MultiLayerPerceptron, X: Any, *, measurement: Any = None) -> Imprint:
        """Return an imprint whose bins contain public examples equally often.

        Args:
            model: as for the class.
            X: public examples, `(n, n_features)`, more than there are units.
            measurement: None for the direction in which the public examples vary most.

        Raises:
            ParameterError: too few public examples for this number of distinct cuts.
        """
        public = np.asarray(X, dtype=np.float64)
        if measurement is None:
            measurement = np.linalg.svd(public - public.mean(axis=0), full_matrices=False)[2][0]
        n_units = model.hidden_widths[0] if model.hidden_widths else 0
        measurements = np.unique(public @ measurement)
        if len(measurements) <= n_units:
            raise ParameterError(
                f"X must have more public examples than the {n_units} units of the hidden layer, with distinct "
                f"measurements, but has {len(measurements)}.",
                argument="X",
            )
        return cls(model, measurement, np.quantile(measurements, np.arange(n_units) / n_units))

    def parameters(self) -> Floats:
        """Return the parameters that the server sends, flat, `(n_parameters,)`."""
        flat = np.zeros((1, self.model.n_parameters))
        first, second = (layer.of(flat) for layer in self.model.layers)
        first[0, :, :-1], first[0, :, -1] = self.measurement, -self.cuts
        heights = 2.0 ** -np.arange(self.model.output_units)  # no label has a height equal to the mean
        spread = float(np.ptp(self.cuts)) + 1e-300
        second[0, :, :-1] = heights[:, None] * _SCALE / (len(self.cuts) * spread)
        return np.asarray(flat[0])

    def recover(self, gradients: Any) -> Floats:
        """Return the content of each bin, `(size, n_units, n_features)`; NaN if empty.

        Args:
            gradients: sums or means over batches, `(size, n_parameters)`, or one of them.

        Raises:
            ParameterError: gradients of a wrong length.
        """
        first = self.model.layers[0].of(_checked_gradients(self.model, gradients))
        above = np.concatenate([first[:, 1:], np.zeros_like(first[:, :1])], axis=1)
        bins = first - above
        factors = bins[:, :, -1]
        empty = np.abs(factors) <= _EMPTY * np.abs(first[:, :, -1]).max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(empty[:, :, None], np.nan, bins[:, :, :-1] / factors[:, :, None]))


def expected_alone(n_examples: int, n_bins: int) -> float:
    """Return the expected share of the examples of a batch that are alone in their bin, for equally likely bins.

    Example:
        >>> round(expected_alone(64, 1000), 3)
        0.939
    """
    whole(1, n_examples=n_examples, n_bins=n_bins)
    return float((1.0 - 1.0 / n_bins) ** (n_examples - 1))
