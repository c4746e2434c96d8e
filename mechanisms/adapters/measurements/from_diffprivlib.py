"""Mechanisms and tools of diffprivlib, with the epsilon and delta that the library states."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...accounting import ApproximateDP, PureDP
from ...core.base import Dataset, Neighbours
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ..functions.function import FunctionMechanism


def diffprivlib_mechanism(
    mechanism: Any, value0: Any, value1: Any, *, relation: str | Relation = "replace_one"
) -> FunctionMechanism:
    """Return a mechanism of `diffprivlib.mechanisms` on two values.

    Args:
        mechanism: an object with epsilon, delta and sensitivity.
        value0, value1: the arguments of `randomise` on the two sides, at most the sensitivity apart. For a mechanism
            that selects and takes no value, pass two such mechanisms here; `mechanism` then only states the claim.
        relation: name of the relation between the two, for display.

    Returns:
        The mechanism; its claim is `mechanism.epsilon`, with `mechanism.delta` if it is positive. The library
        draws from the operating system, so runs cannot be repeated, and all of them are made in one process.

    Raises:
        NeighboursError: the numbers lie further apart than the sensitivity.
    """
    sensitivity = getattr(mechanism, "sensitivity", None)
    if isinstance(value0, int | float) and sensitivity is not None and abs(value1 - value0) > sensitivity * (1 + 1e-9):
        raise NeighboursError(
            f"value0 and value1 lie {abs(value1 - value0):g} apart, but the mechanism has a sensitivity of "
            f"{sensitivity:g}.",
            argument="value1",
        )
    return FunctionMechanism(
        _Randomised(mechanism),
        claim=_guarantee(mechanism.epsilon, mechanism.delta),
        neighbours=Neighbours(value0, value1, Relation.of(relation)),
        style="own-randomness",
        records=False,
    )


def diffprivlib_tool(tool: Callable[..., Any], neighbours: Neighbours, **options: Any) -> FunctionMechanism:
    """Return a function of `diffprivlib.tools`, such as `mean`, on two arrays, as a mechanism.

    Args:
        tool: a function of an array, the `options`, and an `accountant`.
        neighbours: two arrays; diffprivlib treats the number of records as public: "replace_one".
        options: options of the tool, such as epsilon and bounds.

    Returns:
        The mechanism; its claim is the cost of one call according to `diffprivlib.BudgetAccountant`.

    Raises:
        ParameterError: diffprivlib is not installed, or the call has no cost.
    """
    try:
        accounting = import_module("diffprivlib.accountant")
    except ModuleNotFoundError as error:
        raise ParameterError(
            "tools of diffprivlib need diffprivlib, which is not installed. In a copy of dpassay: "
            'pip install ".[peers]".'
        ) from error
    accountant = accounting.BudgetAccountant()
    tool(neighbours.d1, accountant=accountant, **options)
    epsilon, delta = accountant.total()
    if epsilon == 0.0 and delta == 0.0:
        raise ParameterError(f"{_Tool(tool, {}).__name__} has no cost according to its accountant.", argument="tool")

    return FunctionMechanism(
        _Tool(tool, {**options, "accountant": accounting.BudgetAccountant}),
        claim=_guarantee(epsilon, delta),
        neighbours=neighbours,
        style="own-randomness",
    )


class _Randomised:
    """Function that calls `randomise` of the mechanism, or of a mechanism passed in place of a value."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism
        self.__name__ = f"diffprivlib {type(mechanism).__name__}"

    def __call__(self, value: Any) -> Any:
        return value.randomise() if isinstance(value, type(self._mechanism)) else self._mechanism.randomise(value)


class _Tool:
    """Function that calls a tool with a new accountant, and suppresses its warnings."""

    def __init__(self, tool: Callable[..., Any], options: dict[str, Any]) -> None:
        self._tool, self._options = tool, copy.copy(options)
        self.__name__ = f"diffprivlib {getattr(tool, '__name__', type(tool).__name__)}"

    def __call__(self, dataset: Dataset) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._tool(dataset, **self._options | {"accountant": self._options["accountant"]()})


def _guarantee(epsilon: float, delta: float) -> Guarantee:
    return ApproximateDP(float(epsilon), float(delta)) if delta > 0.0 else PureDP(float(epsilon))


__all__ = ["diffprivlib_mechanism", "diffprivlib_tool"]
