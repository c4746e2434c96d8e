"""Search for the least parameter at which a test rejects, in few evaluations: each margin guides the next evaluation.

If a test that rejects at one parameter rejects at all larger ones, the result is that of a plain search, which widens
its steps upwards and then bisects the bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ...mechanisms.core import bisect

Look: TypeAlias = Callable[[float], tuple[bool, float]]
"""Test at a parameter: whether it rejects, and its approximate margin (< 0 if it does not); nan if unknown."""
_MAX_SECANT_STEPS = 8
"""Evaluations after which the search continues by bisection."""
_MIN_PARAMETER = 1e-12
"""Parameters below are not distinguished: without this limit, bisection of the smallest numbers would never end."""
_EXCESS_PRECISION = 0.01
"""Precision relative to the excess over the claim: it costs at most 2 % of the trials."""
_MIN_SLOPE = 0.3
"""Least slope, as a share of the expected one: limits the step after two margins that are nearly equal."""


def minimum_detectable(
    look: Look, claimed: float, largest: float, precision: float, slope: float = math.nan
) -> float | None:
    """Return the least value above `claimed` at which the test rejects, to the precision; None up to `largest`.

    Args:
        look: the test at a parameter.
        claimed, largest: start and end of the search.
        precision: relative to the value; the search also ends within 1 % of the excess over `claimed`.
        slope: about how fast the margin grows with the parameter.
    """
    search = _Search(look)
    if slope > 0.0:
        _approach_root(search, lambda at: _bisected(lambda x: x >= at, claimed, largest, precision), claimed, slope)
    bracket = _bisected(search.rejects, claimed, largest, precision)
    return None if bracket is None else bracket[1]


@dataclass
class _Search:
    """State of a search: the test does not reject up to `below`, and rejects from `above` on."""

    look: Look
    below: float = -math.inf
    above: float = math.inf
    margins: list[tuple[float, float]] = field(default_factory=list)

    def rejects(self, at: float) -> bool:
        if at <= self.below or at >= self.above:
            return at >= self.above
        rejected, margin = self.look(at)
        self.margins.append((at, margin))
        if rejected:
            self.above = at
        else:
            self.below = at
        return rejected

    def root(self, slope: float) -> float:
        """Return the secant estimate of the root from the two smallest margins; nan where they do not suffice."""
        ends = sorted(self.margins, key=lambda point: -abs(point[1]))[-2:]
        at, margin = ends[-1]
        if len(ends) == 2 and abs(ends[0][0] - at) > 5e-3 * at:
            slope = max((ends[0][1] - margin) / (ends[0][0] - at), _MIN_SLOPE * slope)
        return at - margin / slope if slope > 0.0 else math.nan


def _approach_root(
    search: _Search, bracket_at: Callable[[float], tuple[float, float] | None], claimed: float, slope: float
) -> None:
    """Test both ends of the bracket with which the plain search would end if the estimated root were exact."""
    at, stride = 1.05 * claimed, 1.0
    for _ in range(_MAX_SECANT_STEPS):
        ends = bracket_at(at)
        if ends is None or (ends[0] <= search.below and ends[1] >= search.above):
            return
        low, high = ends
        search.rejects(high if high < search.above else low)
        at = search.root(slope)
        if math.isnan(at):
            return
        if not search.below < at < search.above:  # margins are approximate: step past the bracket, then further
            away = stride * (high - low)
            at, stride = (search.above - away if at >= search.above else search.below + away), 3.0 * stride


def _bisected(
    rejects: Callable[[float], bool], claimed: float, largest: float, precision: float
) -> tuple[float, float] | None:
    """Return the last bracket of a search by growing steps and bisection; None if no value up to `largest` rejects."""
    low, high, step = claimed, max(1.05 * claimed, 0.05), 1.1
    while not rejects(high):
        if high >= largest:
            return None
        low, high, step = high, min(high * step, largest), step * step

    def close(low: float, high: float) -> bool:
        return high - low <= max(precision * max(high, _MIN_PARAMETER), _EXCESS_PRECISION * (high - claimed))

    return bisect(rejects, low, high, close=close)
