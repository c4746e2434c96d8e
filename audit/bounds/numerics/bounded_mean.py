"""Limits of the mean of numbers in [0, 1], without further assumptions.

The test martingale against "the mean is at most m" (Waudby-Smith and Ramdas 2024, section 4; "betting"):

    K_i(m) = product over j <= i of (1 + min(l_j, c / m) (x_j - m)),      l_j = sqrt(2 log(1 / a) / (n v_{j-1})),

v_{j-1} the variance of the numbers before j (regularised by one more number with variance 1/4), c = 3/4. Each factor is
>= 1 - c and has an expectation of at most 1 given the past if the mean is at most m, so that by Ville (1939) K ever
reaches 1 / a with probability <= a. Every factor decreases with m: the rejected m form an interval, and its end is the
limit.
"""

from __future__ import annotations

import math

import numpy as np

from ....mechanisms.core import Floats, bisect

_MAX_LOST_SHARE = 0.75  # largest share of the wealth that one round can lose


def lower(values: Floats, significance: float) -> float:
    """Return the lower limit of the mean; it exceeds the true mean with probability <= significance.

    Args:
        values: `(n,)` in [0, 1], n >= 1, in an order that does not depend on them; independent with the same mean, or
            with the same conditional mean given the previous values.
        significance: one-sided error, in (0, 1).

    Example:
        >>> 0.4 < lower(np.full(100, 0.5), 0.025) < 0.5
        True
    """
    stakes, log_threshold = _stakes(values, significance), math.log(1.0 / significance)

    def not_rejected(mean: float) -> bool:
        bets = np.minimum(stakes, _MAX_LOST_SHARE / mean)
        return bool(np.cumsum(np.log1p(bets * (values - mean))).max() < log_threshold)

    return bisect(not_rejected, 0.0, 1.0, close=lambda low, high: high - low <= 1e-7)[0]


def upper(values: Floats, significance: float) -> float:
    """Return the upper limit of the mean: 1 minus the lower limit of the mean of 1 - values."""
    return 1.0 - lower(1.0 - values, significance)


def _stakes(values: Floats, significance: float) -> Floats:
    """Return the stakes l, shape `(n,)`, each computed from the previous values."""
    n = len(values)
    before = np.arange(1, n + 1)  # including the added number
    mean = (0.5 + np.concatenate([[0.0], np.cumsum(values[:-1])])) / before
    square = (0.5 + np.concatenate([[0.0], np.cumsum(values[:-1] ** 2)])) / before
    variance = np.maximum(square - mean**2, 0.25 / before)
    return np.asarray(np.sqrt(2.0 * math.log(1.0 / significance) / (n * variance)))
