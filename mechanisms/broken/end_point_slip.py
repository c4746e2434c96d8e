"""Intentionally broken accountant of shuffling: it evaluates one end of an interval twice.

The number of clones is divided into groups, from the most likely ones outward. An upper bound on delta takes, in each
group, the larger of the divergences at its two ends, for either direction. Bug: for the second direction, the upper
end is used twice. The divergence decreases in the number of clones, so that the alleged upper bound in that direction
is a lower bound.

No run of a mechanism shows it. Both directions are equal, the program returns the larger one, and the first direction
is correct; even the value returned with the bug is above the exact value. It is smaller than without the bug, as the
program stops once the remaining groups weigh less than either sum, and adds them: with the smaller sum it stops later.
Hence this is a pair of functions, whose correct twins have `slip=False`, and whose test is the violated property: an
upper bound holds in both directions. (The program that Feldman, McMillan and Talwar released with "Hiding among the
clones", 2021.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..accounting.amplification.clones import divergence
from ..accounting.amplification.closed_form import shuffled_epsilon
from ..core.arrays import Floats


def shuffled_epsilon_in_groups(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, halvings: int = 10, slip: bool = True
) -> float:
    """Return epsilon after shuffling as the program computes it: by bisection below the closed form.

    Args:
        local_epsilon: epsilon of each user, > 0, where the closed form holds.
        n_users, delta: as for `shuffled_epsilon`.
        step: number of clone counts per group, >= 1.
        halvings: number of bisection steps, >= 1.
        slip: True for the bug; False for the correct twin.

    Example:
        >>> [round(shuffled_epsilon_in_groups(4.0, 100_000, 1e-6, slip=slip), 5) for slip in (True, False)]
        [0.17279, 0.17542]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def sufficient(epsilon: float) -> bool:
        return _delta_at_stop(*_sums(epsilon, local_epsilon, groups, slip), np.cumsum(groups.mass)) < delta

    return _bisected(sufficient, shuffled_epsilon(local_epsilon, n_users, delta, form="released"), halvings)


def epsilon_of_directions(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, slip: bool = True
) -> tuple[float, float]:
    """Return the epsilon of each direction, from side 0 to side 1 and from side 1 to side 0, over all groups.

    Both should be upper bounds on `ClonesDP(local_epsilon, n_users).epsilon(delta)`; with the bug, the second is not.

    Example:
        >>> [round(epsilon, 5) for epsilon in epsilon_of_directions(4.0, 100_000, 1e-6)]
        [0.17243, 0.16746]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def sufficient(direction: int) -> Callable[[float], bool]:
        return lambda epsilon: bool(_sums(epsilon, local_epsilon, groups, slip)[direction][-1] <= delta)

    forward, backward = (_bisected(sufficient(direction), local_epsilon, 40) for direction in (0, 1))
    return forward, backward


@dataclass(frozen=True, eq=False)
class _Groups:
    """Ends of the groups of clones, in the order of the program, and the probability of each."""

    low: Floats
    high: Floats
    mass: Floats


def _groups(n_users: int, probability: float, step: int) -> _Groups:
    """Return groups within 0..n-1, alternately above and below the mean, outward, without those of probability 0.

    The first one has one count more than the others.
    """
    from scipy.stats import binom

    middle = math.ceil((n_users - 1) * probability)
    distance = np.arange(1, math.ceil(n_users / step))
    above = np.stack([middle + (distance - 1) * step + (distance > 1), middle + distance * step])
    below = np.stack([middle - distance * step, middle - distance * step + step - 1])
    ends = np.stack([above, below], axis=2).reshape(2, -1).astype(np.float64)
    low, high = np.maximum(ends[0], 0.0), np.minimum(ends[1], n_users - 1.0)
    clones = binom(n_users - 1, probability)
    mass = np.where(low <= high, clones.cdf(high) - clones.cdf(low - 1), 0.0)
    return _Groups(*(values[mass > 0.0] for values in (low, high, mass)))


def _sums(epsilon: float, local_epsilon: float, groups: _Groups, slip: bool) -> tuple[Floats, Floats]:
    """Return the cumulative delta after each group, in either direction."""
    at_low, at_high = (divergence(ends, np.array(epsilon), local_epsilon) for ends in (groups.low, groups.high))
    forward = np.maximum(at_low, at_high)
    backward = np.maximum(at_high, at_high) if slip else forward
    return np.cumsum(groups.mass * forward), np.cumsum(groups.mass * backward)


def _delta_at_stop(forward: Floats, backward: Floats, mass: Floats) -> float:
    """Return the larger sum plus the remaining mass at the first group after which that mass is below both sums."""
    remaining = 1.0 - mass
    stops = np.flatnonzero((remaining < forward) & (remaining < backward))
    larger = np.maximum(forward, backward)
    return float(larger[stops[0]] + remaining[stops[0]] if len(stops) and stops[0] < len(mass) - 1 else larger[-1])


def _bisected(sufficient: Callable[[float], bool], high: float, halvings: int) -> float:
    """Return the upper end of the bracket after `halvings` bisection steps on (0, high)."""
    low = 0.0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if sufficient(middle) else (middle, high)
    return high
