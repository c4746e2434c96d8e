"""Wrong on purpose: an accountant of shuffling that looks at one end of an interval twice.

The number of clones is cut into groups, from the most likely ones outward. An upper bound on delta takes, in each
group, the larger of the divergences at its two ends, for either direction. The slip: for the second direction, the
larger of the upper end and the upper end. The divergence falls with the number of clones, so that what is called an
upper bound in that direction is a lower one.

No run of a mechanism shows it. Both directions are equal, the program returns the larger one, and the first direction
is right; even what it returns with the slip is above the exact value. It returns less with it than without, as it
stops once the groups left over weigh less than either sum, and adds them: the smaller sum is reached later. Hence
this is a pair of functions, whose twins are the same with `slip=False`, and whose test is the property that was lost:
an upper bound holds in both directions. (The program that Feldman, McMillan and Talwar released with "Hiding among
the clones", 2021.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..guarantees.shuffling.clones import divergence
from ..guarantees.shuffling.closed_form import shuffled_epsilon

Floats = NDArray[np.float64]


def shuffled_epsilon_in_groups(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, halvings: int = 10, slip: bool = True
) -> float:
    """epsilon after shuffling, as the program searches it: by halving what the closed form allows.

    Args:
        local_epsilon: of each user, > 0, where the closed form holds.
        n_users, delta: as for `shuffled_epsilon`.
        step: numbers of clones a group, >= 1.
        halvings: of the interval of the search, >= 1.
        slip: False for the twin.

    Example:
        >>> [round(shuffled_epsilon_in_groups(4.0, 100_000, 1e-6, slip=slip), 5) for slip in (True, False)]
        [0.17279, 0.17542]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def enough(epsilon: float) -> bool:
        return _stopped(*_sums(epsilon, local_epsilon, groups, slip), np.cumsum(groups.mass)) < delta

    return _halved(enough, shuffled_epsilon(local_epsilon, n_users, delta, form="released"), halvings)


def epsilon_of_directions(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, slip: bool = True
) -> tuple[float, float]:
    """epsilon that each direction shows by itself: from side 0 to side 1, and back, over all groups.

    Both should be upper bounds on `ClonesDP(local_epsilon, n_users).epsilon(delta)`; with the slip, the second is not.

    Example:
        >>> [round(epsilon, 5) for epsilon in epsilon_of_directions(4.0, 100_000, 1e-6)]
        [0.17243, 0.16746]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def enough(direction: int) -> Callable[[float], bool]:
        return lambda epsilon: bool(_sums(epsilon, local_epsilon, groups, slip)[direction][-1] <= delta)

    there, back = (_halved(enough(direction), local_epsilon, 40) for direction in (0, 1))
    return there, back


@dataclass(frozen=True, eq=False)
class _Groups:
    """Ends of the groups of clones, in the order of the program, and the probability of each."""

    low: Floats
    high: Floats
    mass: Floats


def _groups(n_users: int, chance: float, step: int) -> _Groups:
    """Groups within 0..n-1: one above the mean, one below, and so on outward; those without any probability left out.

    The first one has one count more than the others.
    """
    from scipy.stats import binom

    middle = math.ceil((n_users - 1) * chance)
    far = np.arange(1, math.ceil(n_users / step))
    above = np.stack([middle + (far - 1) * step + (far > 1), middle + far * step])
    below = np.stack([middle - far * step, middle - far * step + step - 1])
    ends = np.stack([above, below], axis=2).reshape(2, -1).astype(np.float64)
    low, high = np.maximum(ends[0], 0.0), np.minimum(ends[1], n_users - 1.0)
    clones = binom(n_users - 1, chance)
    mass = np.where(low <= high, clones.cdf(high) - clones.cdf(low - 1), 0.0)
    return _Groups(*(values[mass > 0.0] for values in (low, high, mass)))


def _sums(epsilon: float, local_epsilon: float, groups: _Groups, slip: bool) -> tuple[Floats, Floats]:
    """After each group: delta in either direction so far."""
    at_low, at_high = (divergence(ends, np.array(epsilon), local_epsilon) for ends in (groups.low, groups.high))
    there = np.maximum(at_low, at_high)
    back = np.maximum(at_high, at_high) if slip else there
    return np.cumsum(groups.mass * there), np.cumsum(groups.mass * back)


def _stopped(there: Floats, back: Floats, mass: Floats) -> float:
    """The larger sum at the first group after which less is left than either, and what is left; else at the last."""
    left = 1.0 - mass
    stops = np.flatnonzero((left < there) & (left < back))
    larger = np.maximum(there, back)
    return float(larger[stops[0]] + left[stops[0]] if len(stops) and stops[0] < len(mass) - 1 else larger[-1])


def _halved(enough: Callable[[float], bool], high: float, halvings: int) -> float:
    """The upper end of what is left of (0, high) when the half without the threshold has been dropped so often."""
    low = 0.0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
