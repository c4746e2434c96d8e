"""How much noise: from a wanted (epsilon, delta) to a noise multiplier, for any accountant."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...errors import AccountingError
from ...validation import open_unit, positive
from ..base import Guarantee

LARGEST_NOISE = 2.0**40
"""No search goes to a larger noise multiplier."""


def least_noise_multiplier(
    guarantee_of: Callable[[float], Guarantee],
    *,
    epsilon: float,
    delta: float,
    tolerance: float = 1e-4,
    start: float = 1.0,
) -> float:
    """The least noise multiplier whose guarantee is (epsilon, delta)-DP, rounded up.

    From `start`, steps that grow lead to two ends on both sides. The bracket is then narrowed on a logarithmic scale:
    by the straight line through the two ends of log epsilon, and by its middle where the line did not halve it.

    Args:
        guarantee_of: from a noise multiplier to a guarantee; more noise, less epsilon.
        epsilon: wanted, > 0.
        delta: strictly between 0 and 1.
        tolerance: largest ratio of the two ends, less 1, when the search stops; > 0.
        start: a guess, > 0; a good one saves time.

    Returns:
        The upper end of the last bracket.

    Raises:
        ParameterError: a value out of range.
        AccountingError: no amount of noise reaches that epsilon by this accountant.

    Guarantees:
        * `guarantee_of(returned).epsilon(delta) <= epsilon`: the number was computed, not interpolated.
        * The least such noise multiplier is larger than returned / (1 + tolerance), if epsilon falls as noise grows.

    Example:
        >>> from dpassay.mechanisms.guarantees import GaussianDP
        >>> round(least_noise_multiplier(lambda noise: GaussianDP(1.0 / noise), epsilon=1.0, delta=1e-5), 3)
        3.731
    """
    positive(epsilon=epsilon, tolerance=tolerance, start=start)
    open_unit(delta=delta)

    def excess(noise: float) -> float:
        """log of epsilon over the wanted one; <= 0 is enough noise."""
        found = guarantee_of(noise).epsilon(delta)
        if found <= epsilon:
            return min(0.0, math.log(max(found, 1e-300) / epsilon))
        return max(5e-324, math.log(found / epsilon)) if math.isfinite(found) else math.inf

    low, high, at_low, at_high = _bracket(excess, start)
    if at_high > 0.0:
        raise AccountingError(
            f"epsilon {epsilon:g} at delta {delta:g} is reached by no noise multiplier up to {LARGEST_NOISE:g} with "
            "this accountant. Allow a larger epsilon or delta, or account by 'privacy-loss'.",
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
    """A noise multiplier that is too small and one that is not, and the excess at both. Steps of 1.15, squared each."""
    noise, value, factor = start, excess(start), 1.15
    upwards = value > 0.0
    while True:
        known, at_known = noise, value
        noise = noise * factor if upwards else noise / factor
        value = math.inf if noise < 1.0 / LARGEST_NOISE else excess(noise)
        if upwards and (value <= 0.0 or noise > LARGEST_NOISE):
            return known, noise, at_known, value
        if not upwards and value > 0.0:
            return noise, known, value, at_known
        factor = min(factor**2, 1e3)


def _next(low: float, high: float, at_low: float, at_high: float, tolerance: float) -> float:
    """Where the line through the ends is 0, moved up by a third of the tolerance, and well inside the bracket."""
    share = at_low / (at_low - at_high) if math.isfinite(at_low) and at_low > at_high else 0.5
    width = math.log(high / low)
    step = min(max(share * width + tolerance / 3.0, 0.25 * tolerance), width - 0.25 * tolerance)
    return low * math.exp(step)
