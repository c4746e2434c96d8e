"""Bisection of monotone conditions, for numbers, whole numbers and arrays: the bracket is returned, not a rounded root.

A bound is rounded to its safe side by its caller, which takes the end of the bracket that is safe.

    bisect      narrows a bracket [low, high] of one number
    bisect_all  narrows many brackets at once
    bracket     grows the upper end until the condition holds
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arrays import Bools, Floats


def arithmetic(low: float, high: float) -> float:
    """Return the mean of two numbers."""
    return 0.5 * (low + high)


def geometric(low: float, high: float) -> float:
    """Return the geometric mean of two positive numbers."""
    return math.sqrt(low * high)


def integer(low: float, high: float) -> float:
    """Return the whole number halfway between two whole numbers, rounded down."""
    return (low + high) // 2


def bisect(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    steps: int | None = None,
    close: Callable[[float, float], bool] | None = None,
    middle: Callable[[float, float], float] = arithmetic,
) -> tuple[float, float]:
    """Narrow a bracket in which a monotone condition begins to hold.

    Args:
        holds: the condition; taken to be false at `low` and true at `high`, neither of which is evaluated.
        low, high: the ends of the bracket.
        steps: largest number of evaluations; None: no limit.
        close: whether a bracket is narrow enough; None: only when no number lies between its ends.
        middle: where a bracket is cut: `arithmetic`, `geometric` or `integer`.

    Returns:
        `(low, high)`: the condition is false at `low` and true at `high`, if it is monotone.

    Example:
        >>> bisect(lambda x: x * x >= 2.0, 0.0, 2.0)
        (1.414213562373095, 1.4142135623730951)
        >>> bisect(lambda n: n * n >= 50, 0, 50, middle=integer)
        (7, 8)
    """
    while (steps is None or steps > 0) and not (close is not None and close(low, high)):
        cut = middle(low, high)
        if not low < cut < high:
            break
        low, high = (low, cut) if holds(cut) else (cut, high)
        steps = None if steps is None else steps - 1
    return low, high


def bisect_all(holds: Callable[[Floats], Bools], low: Floats, high: Floats, *, steps: int) -> tuple[Floats, Floats]:
    """Narrow many brackets at once, each by `steps` halvings; arguments and result as those of `bisect`, as arrays."""
    for _ in range(steps):
        cut = 0.5 * (low + high)
        inside = holds(cut)
        low, high = np.where(inside, low, cut), np.where(inside, cut, high)
    return low, high


def bracket(
    holds: Callable[[float], bool], low: float, high: float, *, factor: float = 2.0, largest: float = math.inf
) -> tuple[float, float]:
    """Multiply the upper end by `factor` until the condition holds there, or it has reached `largest`.

    Returns:
        `(low, high)`: the condition is false at `low`, and true at `high` unless `high >= largest`.
    """
    while high < largest and not holds(high):
        low, high = high, factor * high
    return low, high
