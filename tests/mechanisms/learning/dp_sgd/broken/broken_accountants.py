"""Intentionally broken accountants: no run of a mechanism shows these bugs, but numbers that are known.

The correct twin of a function is the same function with `bug=False`, or the one that its docstring names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpassay.mechanisms.accounting.amplification.clones import divergence
from dpassay.mechanisms.accounting.amplification.closed_form import shuffled_epsilon
from dpassay.mechanisms.core import Floats, Guarantee, arithmetic, bisect, open_unit, positive, whole
from dpassay.mechanisms.learning.dp_sgd.accounting import calibrate_noise

# --- composition ------------------------------------------------------------------------------------------------------


def odometer_reading(
    epsilon: float, times: int, slack: float, *, bug: bool = True, at_most_basic: bool = False
) -> float:
    """Return the epsilon that an odometer reports after `times` uses of an epsilon-DP mechanism, at delta = slack.

    After k uses, epsilon at delta = tol is at most (Kairouz, Oh, Viswanath 2015, Theorem 3.4)

        k epsilon tanh(epsilon / 2) + epsilon sqrt(2 k ln(1 / tol))

    Bug: 1 / tol is used in place of ln(1 / tol). The reported epsilon is above the true one, at any tol below 1, since
    ln(x) < x. An odometer that reports the minimum with k epsilon hides the bug: up to k = 2 / tol it reports k
    epsilon, as if advanced composition had no advantage. (opendp/smartnoise-sdk, issue 621.)

    Args:
        epsilon: epsilon of each use, > 0.
        times: k, number of uses, >= 1.
        slack: tol, in (0, 1).
        bug: True for the bug; False for the correct twin, which is `AdvancedComposition` with form "kov", without its
            comparison to k epsilon.
        at_most_basic: report k epsilon if that is less.

    Example:
        >>> [round(odometer_reading(0.1, 100, 1e-6, bug=bug), 3) for bug in (True, False)]
        [1414.713, 5.756]
        >>> [round(odometer_reading(0.1, 100, 1e-6, bug=bug, at_most_basic=True), 3) for bug in (True, False)]
        [10.0, 5.756]
    """
    positive(epsilon=epsilon)
    whole(1, times=times)
    open_unit(slack=slack)
    term = 1.0 / slack if bug else math.log(1.0 / slack)
    reported = times * epsilon * math.tanh(epsilon / 2.0) + epsilon * math.sqrt(2.0 * times * term)
    return min(reported, times * epsilon) if at_most_basic else reported


# --- amplification by shuffling ---------------------------------------------------------------------------------------


def shuffled_epsilon_in_groups(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, halvings: int = 10, bug: bool = True
) -> float:
    """Return epsilon after shuffling as a published program computes it: by bisection below the closed form.

    The number of clones is divided into groups, from the most likely ones outward. An upper bound on delta takes, in
    each group, the larger of the divergences at its two end points, for either direction. Bug: for the second
    direction, the upper end point is used twice. The divergence decreases in the number of clones, so that the alleged
    upper bound in that direction is a lower bound.

    Both directions are equal, the program returns the larger one, and the first direction is correct; even the value
    returned with the bug is above the exact value. It is smaller than without the bug, as the program stops once the
    remaining groups weigh less than either sum, and adds them: with the smaller sum it stops later. The test is the
    violated property: an upper bound holds in both directions, see `epsilon_of_directions`. (apple/
    ml-shuffling-amplification, released with Feldman, McMillan and Talwar 2021, "Hiding among the clones".)

    Args:
        local_epsilon: epsilon of each user, > 0, where the closed form holds.
        n_users, delta: as for `shuffled_epsilon`.
        step: number of clone counts per group, >= 1.
        halvings: number of bisection steps, >= 1.
        bug: True for the bug; False for the correct twin.

    Example:
        >>> [round(shuffled_epsilon_in_groups(4.0, 100_000, 1e-6, bug=bug), 5) for bug in (True, False)]
        [0.17279, 0.17542]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def sufficient(epsilon: float) -> bool:
        return _delta_at_stop(*_sums(epsilon, local_epsilon, groups, bug), np.cumsum(groups.mass)) < delta

    return bisect(sufficient, 0.0, shuffled_epsilon(local_epsilon, n_users, delta, form="released"), steps=halvings)[1]


def epsilon_of_directions(
    local_epsilon: float, n_users: int, delta: float, *, step: int = 100, bug: bool = True
) -> tuple[float, float]:
    """Return the epsilon of each direction, from side 0 to side 1 and from side 1 to side 0, over all groups.

    Both should be upper bounds on `ClonesDP(local_epsilon, n_users).epsilon(delta)`; with the bug, the second is not.

    Example:
        >>> [round(epsilon, 5) for epsilon in epsilon_of_directions(4.0, 100_000, 1e-6)]
        [0.17243, 0.16746]
    """
    groups = _groups(n_users, math.exp(-local_epsilon), step)

    def sufficient(direction: int) -> Callable[[float], bool]:
        return lambda epsilon: bool(_sums(epsilon, local_epsilon, groups, bug)[direction][-1] <= delta)

    forward, backward = (bisect(sufficient(direction), 0.0, local_epsilon, steps=40)[1] for direction in (0, 1))
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


def _sums(epsilon: float, local_epsilon: float, groups: _Groups, bug: bool) -> tuple[Floats, Floats]:
    """Return the cumulative delta after each group, in either direction."""
    at_low, at_high = (divergence(ends, np.array(epsilon), local_epsilon) for ends in (groups.low, groups.high))
    forward = np.maximum(at_low, at_high)
    backward = np.maximum(at_high, at_high) if bug else forward
    return np.cumsum(groups.mass * forward), np.cumsum(groups.mass * backward)


def _delta_at_stop(forward: Floats, backward: Floats, mass: Floats) -> float:
    """Return the larger sum plus the remaining mass at the first group after which that mass is below both sums."""
    remaining = 1.0 - mass
    stops = np.flatnonzero((remaining < forward) & (remaining < backward))
    larger = np.maximum(forward, backward)
    return float(larger[stops[0]] + remaining[stops[0]] if len(stops) and stops[0] < len(mass) - 1 else larger[-1])


# --- calibration of DP-SGD --------------------------------------------------------------------------------------------


def midpoint_noise_multiplier(
    guarantee_of: Callable[[float], Guarantee],
    *,
    epsilon: float,
    delta: float,
    low: float = 0.0,
    high: float = 10.0,
    tolerance: float = 0.01,
) -> float:
    """Return the middle of the last bracket of a bisection for the noise multiplier: broken.

    Bug: the lower end is known to be too little noise, and the upper end to be enough, but the middle can be either.
    For epsilon 5 at delta = 1e-5, with 100 steps at rate 0.05 and Renyi accounting, it returns 0.9033, which is
    epsilon 5.043. The tolerance is on the noise multiplier, in which epsilon can be steep: the smaller the noise, the
    larger the error. Correct: return the upper end.

    Args:
        guarantee_of: function from a noise multiplier to a guarantee; epsilon decreases in the noise multiplier.
        epsilon, delta: target.
        low, high: the first bracket; `high` is enough noise.
        tolerance: length of the bracket at which the search stops.

    References:
        meta-pytorch/opacus, issue 346 and pull request 348.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> multiplier = midpoint_noise_multiplier(lambda noise: GaussianDP(1 / noise), epsilon=20.0, delta=1e-5)
        >>> round(GaussianDP(1 / multiplier).epsilon(1e-5), 2)
        20.18
    """

    def sufficient(noise_multiplier: float) -> bool:
        return guarantee_of(noise_multiplier).epsilon(delta) <= epsilon

    return arithmetic(*bisect(sufficient, low, high, close=lambda low, high: high - low <= tolerance))


def noise_counting_micro_steps(
    *,
    epsilon: float,
    delta: float,
    n_records: int,
    batch_size: int,
    micro_batches: int,
    epochs: int,
    accounting: str | None = None,
) -> float:
    """Return the noise multiplier for Poisson sampling with micro-steps counted as steps: broken.

    Bug: the number of steps is epochs * (n_records // micro-batch size), and should be
    epochs * (n_records // batch_size). Noise is added once per batch, so that this is too much noise, growing with the
    number of micro-batches of gradient accumulation; it must not depend on that number.

    Args:
        epsilon, delta: target.
        n_records, batch_size, epochs: options of the training; the rate is batch_size / n_records.
        micro_batches: number of parts in which a batch is processed; 1 is correct.
        accounting: as for `calibrate_noise`.

    References:
        google-deepmind/jax_privacy, issues 234, 267 and 288: 14,732 records, batch 1,024, 3 epochs, epsilon 4, delta
        2e-5 needs 0.90, and gave 7.69 with micro-batches of 4 records.

    Example:
        >>> setting = {"epsilon": 4.0, "delta": 2e-5, "n_records": 14_732, "batch_size": 1024, "epochs": 3}
        >>> [round(noise_counting_micro_steps(**setting, micro_batches=m, accounting="renyi"), 2) for m in (1, 256)]
        [0.97, 8.25]
    """
    return calibrate_noise(
        epsilon=epsilon,
        delta=delta,
        sampling="poisson",
        steps=epochs * (n_records * micro_batches // batch_size),
        sampling_probability=batch_size / n_records,
        accounting=accounting,
    )
