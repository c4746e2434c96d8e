"""Noise calibration: the noise multiplier for a target (epsilon, delta), with any accountant."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...core import AccountingError, Guarantee, open_unit, positive

MAX_NOISE_MULTIPLIER = 2.0**40
"""Largest noise multiplier of any search."""


def least_noise_multiplier(
    guarantee_of: Callable[[float], Guarantee],
    *,
    epsilon: float,
    delta: float,
    tolerance: float = 1e-4,
    start: float = 1.0,
) -> float:
    """Return the least noise multiplier whose guarantee is (epsilon, delta)-DP, rounded up.

    A bracket is found from `start` by growing steps. It is then narrowed on a logarithmic scale: by the secant of
    log epsilon, and by bisection after a secant step that did not halve the bracket.

    Args:
        guarantee_of: maps a noise multiplier to a guarantee; epsilon must fall as the noise grows.
        epsilon: target, > 0.
        delta: strictly between 0 and 1.
        tolerance: the search stops when the ratio of the bracket's ends is at most 1 + tolerance; > 0.
        start: initial guess, > 0; a good guess saves time.

    Returns:
        The upper end of the last bracket.

    Raises:
        ParameterError: a value out of range.
        AccountingError: no amount of noise reaches this epsilon with this accountant.

    Guarantees:
        * `guarantee_of(returned).epsilon(delta) <= epsilon`: the value was computed, not interpolated.
        * The least such noise multiplier is larger than returned / (1 + tolerance), if epsilon falls as noise grows.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> round(least_noise_multiplier(lambda noise: GaussianDP(1.0 / noise), epsilon=1.0, delta=1e-5), 3)
        3.731
    """
    positive(epsilon=epsilon, tolerance=tolerance, start=start)
    open_unit(delta=delta)

    def excess(noise: float) -> float:
        """Return the log of the ratio of epsilon to its target; <= 0 means enough noise."""
        reached = guarantee_of(noise).epsilon(delta)
        if reached <= epsilon:
            return min(0.0, math.log(max(reached, 1e-300) / epsilon))
        return max(5e-324, math.log(reached / epsilon)) if math.isfinite(reached) else math.inf

    low, high, at_low, at_high = _bracket(excess, start)
    if at_high > 0.0:
        raise AccountingError(
            f"epsilon {epsilon:g} at delta {delta:g} is reached by no noise multiplier up to "
            f"{MAX_NOISE_MULTIPLIER:g} with this accountant. Allow a larger epsilon or delta, or use "
            "accounting='privacy-loss'.",
            argument="epsilon",
        )
    halved = True
    while high / low > 1.0 + tolerance:
        middle = _next(low, high, at_low, at_high, tolerance) if halved else math.sqrt(low * high)
        at_middle, width = excess(middle), high / low
        if at_middle <= 0.0:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
        halved = not halved or high / low <= math.sqrt(width)
    return high


def _bracket(excess: Callable[[float], float], start: float) -> tuple[float, float, float, float]:
    """Return noise multipliers that are too small and large enough, and the excess at both; each step is squared."""
    noise, value, factor = start, excess(start), 1.15
    upwards = value > 0.0
    while True:
        previous, at_previous = noise, value
        noise = noise * factor if upwards else noise / factor
        value = math.inf if noise < 1.0 / MAX_NOISE_MULTIPLIER else excess(noise)
        if upwards and (value <= 0.0 or noise > MAX_NOISE_MULTIPLIER):
            return previous, noise, at_previous, value
        if not upwards and value > 0.0:
            return noise, previous, value, at_previous
        factor = min(factor**2, 1e3)


def _next(low: float, high: float, at_low: float, at_high: float, tolerance: float) -> float:
    """Return the root of the secant, moved up by a third of the tolerance, and kept inside the bracket."""
    share = at_low / (at_low - at_high) if math.isfinite(at_low) and at_low > at_high else 0.5
    width = math.log(high / low)
    step = min(max(share * width + tolerance / 3.0, 0.25 * tolerance), width - 0.25 * tolerance)
    return low * math.exp(step)
