"""Models by architecture: linear models, with one dense layer, and multi-layer perceptrons."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from ...core import ParameterError, PositiveInt, at_least, one_of_names, whole
from .base import Model
from .losses import LOSSES, LossFunction


@dataclass(frozen=True)
class LinearRegression(Model):
    """Least squares, with loss (w.x + b - y)^2 / 2 and parameters: `n_features` weights, then the bias.

    Args:
        n_features: >= 1.
        bias: whether the model has an intercept b.

    Example:
        >>> LinearRegression(n_features=3).n_parameters
        4
    """

    @property
    def loss(self) -> LossFunction:
        return LOSSES["squared"]


@dataclass(frozen=True)
class LogisticRegression(Model):
    """Logistic regression of classes 0 and 1, with loss log(1 + e^z) - y z and z = w.x + b.

    Parameters: `n_features` weights, then the bias.

    Args:
        n_features: >= 1.
        bias: whether the model has an intercept b.

    Example:
        >>> LogisticRegression(n_features=3, bias=False).n_parameters
        3
    """

    @property
    def loss(self) -> LossFunction:
        return LOSSES["logistic"]


@dataclass(frozen=True)
class SoftmaxRegression(Model):
    """Multinomial logistic regression, with loss -log softmax(W x + b)_y.

    Parameters: for each class in turn, the `n_features` weights, then the bias.

    Args:
        n_features: >= 1.
        n_classes: >= 2; labels are 0 to n_classes - 1. A public constant: the labels of the data never change it.
        bias: whether the model has an intercept b.

    Example:
        >>> SoftmaxRegression(n_features=64, n_classes=10).n_parameters
        650
    """

    n_classes: Annotated[int, at_least(2)]

    @property
    def output_units(self) -> int:
        return self.n_classes

    @property
    def loss(self) -> LossFunction:
        return LOSSES["softmax"]


@dataclass(frozen=True)
class MultiLayerPerceptron(Model):
    """Dense layers with tanh or ReLU between them; the parameters are ordered by layer, see `Model`.

    Args:
        n_features: >= 1.
        hidden: units of each hidden layer, at least one layer.
        n_outputs: >= 1; the number of classes, or 1 for two classes by one logit, or for a regression.
        activation: "tanh" or "relu" (derivative 0 at 0).
        objective: "softmax", "logistic" or "squared"; None for softmax, with one output logistic.
        bias: whether every unit has a bias.

    Example:
        >>> MultiLayerPerceptron(n_features=8, hidden=(6,), n_outputs=2).n_parameters
        68
    """

    n_outputs: PositiveInt = 2
    _: KW_ONLY
    hidden: tuple[int, ...] = (16,)
    activation: Annotated[str, one_of_names("tanh", "relu")] = "tanh"
    objective: Annotated[str, one_of_names(*sorted(LOSSES))] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden))
        whole(1, **{f"hidden[{i}]": width for i, width in enumerate(self.hidden)})
        if not self.hidden:
            raise ParameterError(
                "hidden must have at least one layer, but is (). Use SoftmaxRegression instead.", argument="hidden"
            )
        if self.objective is not None and (self.objective == "softmax") == (self.n_outputs == 1):
            raise ParameterError(
                f"objective is {self.objective!r} with n_outputs = {self.n_outputs}: softmax needs two outputs or "
                "more, logistic and squared exactly one.",
                argument="objective",
            )

    @property
    def output_units(self) -> int:
        return self.n_outputs

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        return self.hidden

    @property
    def activation_name(self) -> str:
        return self.activation

    @property
    def loss(self) -> LossFunction:
        return LOSSES[self.objective or ("softmax" if self.n_outputs > 1 else "logistic")]
