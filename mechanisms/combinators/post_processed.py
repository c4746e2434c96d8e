"""A data-independent function of the outputs of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Dataset, Guarantee, Outputs, ParameterError, Tier, example, one_of
from ..noise.laplace import Laplace
from .base import OnSameDataset


def _argmax(values: NDArray[Any]) -> NDArray[Any]:
    """Return the position of the largest entry of each output."""
    return np.asarray(values.reshape(len(values), -1).argmax(axis=1))


FUNCTIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "round": np.rint,
    "sign": np.sign,
    "non-negative": lambda values: np.maximum(values, 0),
    "argmax": _argmax,
}
"""Mapping from name to a function of `(size, ...)` outputs, applied row by row."""


@dataclass(frozen=True)
class PostProcessed(OnSameDataset):
    """Post-processing: f(M(x)) has the guarantee of M(x), for every function f that does not depend on x.

    An audit of f(M) must not report a larger bound than an audit of M: a larger bound means that f depends on the data.

    Args:
        base: the mechanism M.
        function: "round", "sign", "non-negative" or "argmax"; or a function from `(size, ...)` outputs to as many
            outputs, which applies the same map to each row.

    Guarantees:
        * The guarantee of `base` (Dwork and Roth 2014, proposition 2.1). It may be far from exact, because f can
          discard information.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> mechanism = PostProcessed(Laplace(epsilon=0.5), "round")
        >>> mechanism.release(10.0, 3, np.random.default_rng(0)).values
        array([11., 11.,  7.])
        >>> print(mechanism.guarantee())
        LaplaceDP(epsilon=0.5)
    """

    _tier = Tier.PROVISIONAL  # the law of the output is not known
    _example = example(base=Laplace(0.8))

    function: str | Callable[[NDArray[Any]], NDArray[Any]] = "round"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.function, str):
            one_of(FUNCTIONS, function=self.function)
        elif not callable(self.function):
            raise ParameterError(
                f"function must be one of {', '.join(FUNCTIONS)}, or a function of outputs, but is {self.function!r}.",
                argument="function",
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` processed outputs of the base; exceptional outputs stay unchanged."""
        outputs = self.base.release(dataset, size, rng)
        function = FUNCTIONS[self.function] if isinstance(self.function, str) else self.function
        values = np.asarray(function(outputs.values))
        if values.shape[:1] != (size,):
            raise ParameterError(
                f"function must return one row per output, ({size}, ...), but returned shape {values.shape}.",
                argument="function",
            )
        return Outputs(values, outputs.events)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the base mechanism."""
        return self.base.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return None: the exact curve depends on the information that the function discards."""
        return None
