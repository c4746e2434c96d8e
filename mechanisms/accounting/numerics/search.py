"""Vectorised derivative-free searches for many points at once.

maximise          largest value of a function of one variable on each interval
least_satisfying  least point at which a monotone condition holds
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats

_GOLDEN = 0.6180339887498949


def maximise(function: Callable[[Floats], Floats], low: Floats, high: Floats, *, grid: int = 33) -> Floats:
    """Return the largest value of `function` found on each interval [low, high]; same shape as `low`.

    A grid finds the best cell, a golden-section search refines it until its width is 1e-14 of the interval. The result
    is a value of the function, so that it never exceeds the supremum; it is the supremum (up to the square of the
    width) if the function has one peak in the cell.
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


def least_satisfying(condition: Callable[[Floats], NDArray[np.bool_]], shape: tuple[int, ...]) -> Floats:
    """Return the least point >= 0 at which `condition` holds, for each entry; inf if it fails up to 2^24.

    `condition` must be monotone: once true, true for all larger points. Doubling brackets the point, bisection narrows
    the bracket to one rounding error, and its upper end, at which the condition holds, is returned.
    """
    low, high = np.zeros(shape), np.full(shape, 2.0**-10)
    holds = condition(high)
    while not holds.all() and high.max() < 2.0**24:
        low, high = np.where(holds, low, high), np.where(holds, high, 2.0 * high)
        holds = condition(high)
    low = np.where(condition(np.zeros(shape)), high, low)
    zero = low == high
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = condition(middle)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(zero, 0.0, np.where(holds, high, np.inf))
