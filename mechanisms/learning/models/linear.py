"""Linear models: one dense layer, with the squared, the logistic or the softmax loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...core.constraints import at_least
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
    def output_units(self) -> int:
        return 1

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
    def output_units(self) -> int:
        return 1

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
