"""Imprinting: a server that chooses the parameters recovers single examples from the gradient of a batch.

All units of a ReLU layer measure the same number h x of an example, unit k minus a cut c_k; the units above the cut are
the active ones, and all of them get the same derivative. Hence the gradients of two neighbouring units differ by the
examples whose measurement is between their cuts: a single example is recovered as from its own gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import ParameterError, plural
from ....mechanisms.core.validation import whole
from ....mechanisms.learning.models.architectures import MultiLayerPerceptron
from .gradient_inversion import checked_gradients

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
        first = self.model.layers[0].of(checked_gradients(self.model, gradients))
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
