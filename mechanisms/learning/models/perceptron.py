"""Multi-layer perceptrons."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from ...core.constraints import one_of_names
from ...core.errors import ParameterError
from ...core.validation import one_of, whole
from .base import Model
from .losses import LOSSES, LossFunction


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

    n_outputs: int = 2
    _: KW_ONLY
    hidden: tuple[int, ...] = (16,)
    activation: Annotated[str, one_of_names("tanh", "relu")] = "tanh"
    objective: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden))
        whole(1, n_outputs=self.n_outputs, **{f"hidden[{i}]": width for i, width in enumerate(self.hidden)})
        if not self.hidden:
            raise ParameterError(
                "hidden must have at least one layer, but is (). Use SoftmaxRegression instead.", argument="hidden"
            )
        if self.objective is not None:
            one_of(sorted(LOSSES), objective=self.objective)
            if (self.objective == "softmax") == (self.n_outputs == 1):
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
