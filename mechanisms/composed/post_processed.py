"""A function of the outputs of a mechanism that does not look at the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, Mechanism, Neighbours, Outputs, Workers
from ..errors import ParameterError
from ..guarantees.base import Guarantee
from ..validation import one_of


def _argmax(values: NDArray[Any]) -> NDArray[Any]:
    """Position of the largest entry of each output."""
    return np.asarray(values.reshape(len(values), -1).argmax(axis=1))


FUNCTIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "round": np.rint,
    "sign": np.sign,
    "non-negative": lambda values: np.maximum(values, 0),
    "argmax": _argmax,
}
"""Name -> a function of `(size, ...)` outputs, row by row."""


@dataclass(frozen=True)
class PostProcessed(Mechanism):
    """Post-processing: f(M(x)) promises what M(x) promises, for any function f that does not look at x.

    An audit of it must not find more than one of M: a bound that rises means that f knows something of the data.

    Args:
        base: the mechanism M.
        function: "round", "sign", "non-negative" or "argmax"; or a function from `(size, ...)` outputs to as many,
            which treats each row alike.

    Guarantees:
        * The guarantee of `base` (Dwork and Roth 2014, proposition 2.1). It may be far from exact: what f forgets is no
          longer there to be seen.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> mechanism = PostProcessed(Laplace(epsilon=0.5), "round")
        >>> mechanism.release(10.0, 3, np.random.default_rng(0)).values
        array([11., 11.,  7.])
        >>> print(mechanism.guarantee())
        LaplaceDP(epsilon=0.5)
    """

    base: Mechanism
    function: str | Callable[[NDArray[Any]], NDArray[Any]] = "round"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError(
                f"base must be a Mechanism, such as Laplace(epsilon=0.1), but is {self.base!r}.", argument="base"
            )
        if isinstance(self.function, str):
            one_of(FUNCTIONS, function=self.function)
        elif not callable(self.function):
            raise ParameterError(
                f"function must be one of {', '.join(FUNCTIONS)}, or a function of outputs, but is {self.function!r}.",
                argument="function",
            )
        object.__setattr__(self, "relation", self.base.relation)

    @property
    def workers(self) -> Workers:
        """As the base."""
        return self.base.workers

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` outputs of the base, processed; exceptional ones stay what they are."""
        outputs = self.base.release(dataset, size, rng)
        function = FUNCTIONS[self.function] if isinstance(self.function, str) else self.function
        values = np.asarray(function(outputs.values))
        if values.shape[:1] != (size,):
            raise ParameterError(
                f"function must give one row an output, ({size}, ...), but gave shape {values.shape}.",
                argument="function",
            )
        return Outputs(values, outputs.events)

    def guarantee(self) -> Guarantee:
        """That of the base."""
        return self.base.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """None: it depends on what the function forgets."""
        return None

    def worst_case(self) -> Neighbours:
        """That of the base."""
        return self.base.worst_case()

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        """With the base fitted to the pair."""
        base = self.base.fitted_to(neighbours)
        return self if base is self.base else replace(self, base=base)
