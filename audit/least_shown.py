"""The least parameter at which something is shown, in few looks: what each look says besides steers the next one.

The answer is that of a plain search, which widens its steps upwards and then halves the bracket, where whatever is
shown at one parameter is shown at all larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Look: TypeAlias = Callable[[float], tuple[bool, float]]
"""At a parameter: whether it is shown, and about by how much (below 0 where it is not); nan where that is not known."""
_STEERED = 8
"""Looks after which the search goes on by halves."""
_LEAST = 1e-12
"""Parameters below are not told apart: without this, halves of the smallest numbers would never end."""
_FLATTEST = 0.3
"""Of the slope that is expected: a margin that barely moves sends the search no further than this."""


def least_shown(look: Look, claimed: float, largest: float, precision: float, slope: float = math.nan) -> float | None:
    """Least value above `claimed`, to the precision, at which something is shown; None if there is none so far up.

    Args:
        look: at a parameter.
        claimed, largest: where to begin and where to end.
        precision: relative.
        slope: about how fast the margin grows with the parameter.
    """
    seen = _Seen(look)
    if slope > 0.0:
        _steer(seen, lambda at: _halved(lambda x: x >= at, claimed, largest, precision), 1.05 * claimed, slope)
    found = _halved(seen.shown, claimed, largest, precision)
    return None if found is None else found[1]


@dataclass
class _Seen:
    """What is known by now: not shown up to `below`, shown from `above` on."""

    look: Look
    below: float = -math.inf
    above: float = math.inf
    margins: list[tuple[float, float]] = field(default_factory=list)

    def shown(self, at: float) -> bool:
        if at <= self.below or at >= self.above:
            return at >= self.above
        found, margin = self.look(at)
        self.margins.append((at, margin))
        if found:
            self.above = at
        else:
            self.below = at
        return found

    def root(self, slope: float) -> float:
        """Where the margin is about 0, by the two looks that are closest to it; nan where they do not tell."""
        ends = sorted(self.margins, key=lambda one: -abs(one[1]))[-2:]
        at, margin = ends[-1]
        if len(ends) == 2 and abs(ends[0][0] - at) > 5e-3 * at:
            slope = max((ends[0][1] - margin) / (ends[0][0] - at), _FLATTEST * slope)
        return at - margin / slope if slope > 0.0 else math.nan


def _steer(seen: _Seen, cell: Callable[[float], tuple[float, float] | None], start: float, slope: float) -> None:
    """Looks at both ends of the bracket that the plain search would end with, if the root is where it seems to be."""
    at, stride = start, 1.0
    for _ in range(_STEERED):
        ends = cell(at)
        if ends is None or (ends[0] <= seen.below and ends[1] >= seen.above):
            return
        low, high = ends
        seen.shown(high if high < seen.above else low)
        at = seen.root(slope)
        if math.isnan(at):
            return
        if not seen.below < at < seen.above:  # the margin errs by a little: the next bracket, then further away
            away = stride * (high - low)
            at, stride = (seen.above - away if at >= seen.above else seen.below + away), 3.0 * stride


def _halved(
    shown: Callable[[float], bool], claimed: float, largest: float, precision: float
) -> tuple[float, float] | None:
    """The bracket that a search by steps and halves ends with; None where nothing is shown so far up."""
    low, high, step = claimed, max(1.05 * claimed, 0.05), 1.1
    while not shown(high):
        if high >= largest:
            return None
        low, high, step = high, min(high * step, largest), step * step
    while high - low > precision * max(high, _LEAST):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if shown(middle) else (middle, high)
    return low, high
