"""Models: stacks of dense layers, whose parameters are one flat vector.

    Layer    where the weights of one layer lie in the flat vector
    Model    the layers, the activation between them, and the loss at the end

A linear model is a stack of one layer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, plural
from ...validation import whole
from ..base import Floats, TrainingData
from .losses import LOSSES, Loss


@dataclass(frozen=True)
class Layer:
    """One dense layer in the flat parameters: unit after unit, of each its weights and then its bias.

    Args:
        start: where the layer begins.
        n_units: outputs.
        n_inputs: inputs, the constant 1 of the bias included.
        bias: whether the last input is that constant.
    """

    start: int
    n_units: int
    n_inputs: int
    bias: bool

    @property
    def span(self) -> slice:
        """The part of the flat vector."""
        return slice(self.start, self.start + self.n_units * self.n_inputs)

    def of(self, flat: Floats) -> Floats:
        """View `(n_runs, n_units, n_inputs)` of flat parameters `(n_runs, n_parameters)`."""
        return flat[:, self.span].reshape(len(flat), self.n_units, self.n_inputs)


@dataclass(frozen=True)
class Model(ABC):
    """A stack of dense layers and a loss; its configuration, not its weights.

    The parameters are one flat vector: layer after layer from the input on; in a layer, unit after unit; of a unit, its
    weights in the order of its inputs, and last its bias, if there is one.

    Args:
        n_features: inputs, >= 1.
        bias: whether every unit has a bias.
    """

    n_features: int
    _: KW_ONLY
    bias: bool = True

    def __post_init__(self) -> None:
        whole(1, n_features=self.n_features)

    @property
    @abstractmethod
    def output_units(self) -> int:
        """Units of the last layer."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What training minimises."""

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Units of the hidden layers."""
        return ()

    @property
    def activation_name(self) -> str:
        """Between layers: "tanh" or "relu"."""
        return "tanh"

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """From the input to the output."""
        layers: list[Layer] = []
        n_inputs, start = self.n_features, 0
        for n_units in (*self.hidden_widths, self.output_units):
            layers.append(Layer(start, n_units, n_inputs + self.bias, self.bias))
            n_inputs, start = n_units, layers[-1].span.stop
        return tuple(layers)

    @property
    def n_parameters(self) -> int:
        """Length of the flat parameters."""
        return int(self.layers[-1].span.stop)

    @property
    def n_labels(self) -> int:
        """Classes that it tells apart; `ParameterError` for a regression."""
        if self.loss is LOSSES["squared"]:
            raise ParameterError(f"{type(self).__name__} is a regression and has no classes. Train a classifier.")
        return max(2, self.output_units)

    def check(self, data: TrainingData) -> None:
        """Raises `ParameterError` if features, labels or gradients do not fit the model."""
        if data.X.shape[1] != self.n_features:
            raise ParameterError(
                f"X has {plural(data.X.shape[1], 'feature')}, but the model takes n_features = {self.n_features}. "
                f"Build the model with n_features={data.X.shape[1]}, or choose the features it was made for.",
                argument=("n_features", "X"),
            )
        self.loss.check(data.y, self.output_units)
        if data.gradients is not None and data.gradients.shape[1] != self.n_parameters:
            raise ParameterError(
                f"gradients have length {data.gradients.shape[1]}, but the model has "
                f"{plural(self.n_parameters, 'parameter')}. Give one flat row a gradient record, in the order of the "
                "model's parameters.",
                argument="gradients",
            )

    def inputs(self, X: Floats, dtype: np.dtype[Any]) -> Floats:
        """Features with the constant of the bias as last column, `(n, n_inputs of the first layer)`."""
        full = np.ones((len(X), self.layers[0].n_inputs), dtype=dtype)
        full[:, : self.n_features] = X
        return full

    def random_parameters(self, n_runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Weights from N(0, gain / n_inputs), gain 2 below a ReLU and 1 otherwise; biases 0. `(n_runs, n_parameters)`.

        References:
            LeCun, Bottou, Orr, Muller (1998); He, Zhang, Ren, Sun (2015) for ReLU.
        """
        flat = np.zeros((n_runs, self.n_parameters))
        for layer in self.layers:
            n_weights = layer.n_inputs - layer.bias
            gain = 2.0 if self.activation_name == "relu" and layer is not self.layers[-1] else 1.0
            weights = rng.standard_normal((n_runs, layer.n_units, n_weights)) * np.sqrt(gain / n_weights)
            layer.of(flat)[:, :, :n_weights] = weights
        return flat
