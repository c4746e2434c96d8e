"""Bisection of monotone conditions, for numbers, whole numbers and arrays, and maxima of functions of one variable.

A bisection returns the bracket, not a rounded root: a bound is rounded to its safe side by its caller, which takes the
end of the bracket that is safe.

    bisect            narrows a bracket [low, high] of one number
    bisect_all        narrows many brackets at once
    least_integers    least whole numbers in many brackets; `least_integers_near` starts at guesses
    bracket           grows the upper end until the condition holds
    least_satisfying  least points >= 0 at which many conditions hold
    maximise          largest value of a function on each of many intervals
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Bools, Floats, Ints

Numbers = TypeVar("Numbers", Floats, Ints)
"""Whole numbers, as floats or as integers."""

_GOLDEN = 0.6180339887498949


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


def least_integers(holds: Callable[[Numbers], Bools], low: Numbers, high: Numbers) -> Numbers:
    """Return the least whole number in each bracket at which `holds`, which is false at `low` and true at `high`.

    `holds` is evaluated for all brackets in each step, also at the lower ends of those that are closed.

    Example:
        >>> least_integers(lambda n: n * n >= np.array([50, 8]), np.array([0, 0]), np.array([50, 8])).tolist()
        [8, 3]
    """
    while (high - low > 1).any():
        cut = (low + high) // 2
        inside = holds(cut) & (cut > low)
        low, high = np.where(inside, low, cut), np.where(inside, cut, high)
    return high


def least_integers_near(
    holds: Callable[[NDArray[np.intp], Numbers], Bools], low: Numbers, high: Numbers, guess: Numbers
) -> Numbers:
    """Return `least_integers`, by steps from a guess inside each bracket that double until they leave the bracket.

    `holds` is evaluated for open brackets only: its arguments are their indices, and the numbers.
    """
    low, high, probe, step = low.copy(), high.copy(), guess.copy(), 1
    while len(open_ := np.flatnonzero(high - low > 1)):
        cut = probe[open_]
        inside = holds(open_, cut)
        low[open_], high[open_] = np.where(inside, low[open_], cut), np.where(inside, cut, high[open_])
        onward = np.where(inside, cut - step, cut + step)
        between = (low[open_] < onward) & (onward < high[open_])
        probe[open_] = np.where(between, onward, (low[open_] + high[open_]) // 2)
        step *= 2
    return high


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


def least_satisfying(condition: Callable[[Floats], Bools], shape: tuple[int, ...]) -> Floats:
    """Return the least point >= 0 at which `condition` holds, for each entry; inf if it fails up to 2^24.

    `condition` must be monotone: once true, true for all larger points. Doubling brackets the point, bisection narrows
    the bracket to one rounding error, and its upper end, at which the condition holds, is returned. (A solver of
    equations could return any zero of a flat function.)

    Example:
        >>> least_satisfying(lambda x: x >= np.array([0.0, 1.5, np.inf]), (3,))
        array([0. , 1.5, inf])
    """
    low, high = np.zeros(shape), np.full(shape, 2.0**-10)
    holds = condition(high)
    while not holds.all() and high.max() < 2.0**24:
        low, high = np.where(holds, low, high), np.where(holds, high, 2.0 * high)
        holds = condition(high)
    low = np.where(condition(np.zeros(shape)), high, low)
    zero = low == high
    low, high = bisect_all(condition, low, high, steps=60)
    return np.where(zero, 0.0, np.where(holds, high, np.inf))


def maximise(function: Callable[[Floats], Floats], low: Floats, high: Floats, *, grid: int = 33) -> Floats:
    """Return the largest value of `function` found on each interval [low, high]; same shape as `low`.

    A grid finds the best cell, a golden-section search refines it until its width is 1e-14 of the interval. The result
    is a value of the function, so that it never exceeds the supremum; it is the supremum (up to the square of the
    width) if the function has one peak in the cell. (`scipy.optimize.elementwise.find_minimum` takes up to 2.6 times
    as long for trade-off curves, and does not refine a cell at an end of the interval.)
    """
    step = (high - low) / (grid - 1)
    best, best_at = np.full(low.shape, -np.inf), low
    for i in range(grid):
        at = low + i * step
        value = function(at)
        better = value > best
        best, best_at = np.where(better, value, best), np.where(better, at, best_at)
    refined = _golden_section(function, np.maximum(low, best_at - step), np.minimum(high, best_at + step))
    return np.asarray(np.maximum(best, refined))


def _golden_section(function: Callable[[Floats], Floats], low: Floats, high: Floats, *, steps: int = 64) -> Floats:
    """Return the largest value found by a golden-section search on [low, high]."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    best = np.maximum(at_left, at_right)
    for _ in range(steps):
        go_left = at_left >= at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        probe = np.where(go_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_probe = function(probe)
        left, right = np.where(go_left, probe, right), np.where(go_left, left, probe)
        at_left, at_right = np.where(go_left, at_probe, at_right), np.where(go_left, at_left, at_probe)
        best = np.maximum(best, at_probe)
    return best
