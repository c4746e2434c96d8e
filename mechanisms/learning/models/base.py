"""Models: stacks of dense layers, whose parameters are one flat vector.

    Layer    position of the weights of one layer in the flat vector
    Model    the layers, the activation between them, and the loss

A linear model is a stack of one layer.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core import Floats, Options, ParameterError, PositiveInt, named_in, plural
from ..base import AnyFloats, TrainingData
from .losses import LOSSES, LossFunction


@dataclass(frozen=True)
class Layer:
    """One dense layer in the flat parameters: unit after unit, each with its weights and then its bias.

    Args:
        start: index of the first weight.
        n_units: number of outputs.
        n_inputs: number of inputs, including the constant 1 of the bias.
        bias: whether the last input is that constant.
    """

    start: int
    n_units: int
    n_inputs: int
    bias: bool

    @property
    def span(self) -> slice:
        """Part of the flat vector."""
        return slice(self.start, self.start + self.n_units * self.n_inputs)

    def of(self, flat: AnyFloats) -> AnyFloats:
        """Return a view `(n_runs, n_units, n_inputs)` of flat parameters `(n_runs, n_parameters)`."""
        return flat[:, self.span].reshape(len(flat), self.n_units, self.n_inputs)


@named_in("dpassay.mechanisms.learning.dp_sgd.catalogue:models")
@dataclass(frozen=True)
class Model(Options):
    """Configuration of a stack of dense layers and a loss, without the weights.

    The parameters are one flat vector: layer after layer from the input on; in a layer, unit after unit; for a unit,
    the weights in the order of the inputs, and last the bias, if there is one.

    Args:
        n_features: number of inputs, >= 1.
        bias: whether every unit has a bias.
    """

    n_features: PositiveInt
    _: KW_ONLY
    bias: bool = True

    @property
    def output_units(self) -> int:
        """Number of units of the last layer."""
        return 1

    @property
    @abstractmethod
    def loss(self) -> LossFunction:
        """Loss that training minimises."""

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Number of units of each hidden layer."""
        return ()

    @property
    def activation_name(self) -> str:
        """Activation between layers: "tanh" or "relu"."""
        return "tanh"

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers from the input to the output."""
        layers: list[Layer] = []
        n_inputs, start = self.n_features, 0
        for n_units in (*self.hidden_widths, self.output_units):
            layers.append(Layer(start, n_units, n_inputs + self.bias, self.bias))
            n_inputs, start = n_units, layers[-1].span.stop
        return tuple(layers)

    @property
    def n_parameters(self) -> int:
        """Number of flat parameters."""
        return int(self.layers[-1].span.stop)

    @property
    def n_labels(self) -> int:
        """Number of classes; raises `ParameterError` for a regression."""
        if self.loss is LOSSES["squared"]:
            raise ParameterError(f"{type(self).__name__} is a regression and has no classes. Train a classifier.")
        return max(2, self.output_units)

    def check(self, data: TrainingData) -> None:
        """Raise `ParameterError` if features, labels or gradients do not fit the model."""
        if data.X.shape[1] != self.n_features:
            raise ParameterError(
                f"X has {plural(data.X.shape[1], 'feature')}, but the model takes n_features = {self.n_features}. "
                f"Build the model with n_features={data.X.shape[1]}, or select the features of the model.",
                argument=("n_features", "X"),
            )
        self.loss.check(data.y, self.output_units)
        if data.gradients is not None and data.gradients.shape[1] != self.n_parameters:
            raise ParameterError(
                f"gradients have length {data.gradients.shape[1]}, but the model has "
                f"{plural(self.n_parameters, 'parameter')}. Give one flat row for each gradient record, in the order "
                "of the model's parameters.",
                argument="gradients",
            )

    def inputs(self, X: AnyFloats, dtype: np.dtype[Any]) -> AnyFloats:
        """Return features with the constant of the bias as last column, `(n, n_inputs of the first layer)`."""
        full = np.ones((len(X), self.layers[0].n_inputs), dtype=dtype)
        full[:, : self.n_features] = X
        return full

    def random_parameters(self, n_runs: int, rng: np.random.Generator) -> Floats:
        """Draw flat parameters `(n_runs, n_parameters)`: weights from N(0, gain / n_inputs), and biases 0.

        The gain is 2 before a ReLU and 1 otherwise.

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
