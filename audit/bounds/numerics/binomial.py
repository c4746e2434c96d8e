"""Exact one-sided limits of a binomial rate, and its quantiles, accurate far into the tails.

    upper(k, n, a) = BetaInv(1 - a; k + 1, n - k)      Pr[rate > upper] <= a
    lower(k, n, a) = BetaInv(a; k, n - k + 1)          Pr[rate < lower] <= a

(Clopper and Pearson 1934.) Both come from the complementary incomplete beta functions, so that they are accurate for
levels down to 1e-12. `k` need not be whole: power calculations need the limits of an expected count.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ....mechanisms.core import Bools, Floats, Ints, bisect, least_integers_near

SMALLEST_P_VALUE = 1e-12
"""Smallest p-value that is reported."""


def upper(k: ArrayLike, n: ArrayLike, significance: ArrayLike) -> Floats:
    """Return the upper limit of a rate after `k` hits in `n` trials; the true rate exceeds it with <= significance.

    Args:
        k: number of hits, 0 <= k <= n; any shape, need not be whole.
        n: number of trials, >= 0.
        significance: one-sided error, in (0, 1).

    Returns:
        Limits in (0, 1], of the broadcast shape; 1 where k = n.

    Example:
        >>> bool(np.isclose(upper(184, 1000, 0.025), 0.2094341))
        True
        >>> float(upper(20, 20, 0.025))
        1.0
    """
    k, n, level = (np.asarray(x, dtype=np.float64) for x in (k, n, significance))
    rest = n - k
    limits = special.betainccinv(k + 1.0, np.where(rest > 0.0, rest, 1.0), level)
    return np.where(rest > 0.0, limits, 1.0)


def lower(k: ArrayLike, n: ArrayLike, significance: ArrayLike) -> Floats:
    """Return the lower limit of a rate after `k` hits in `n` trials: 1 - upper(n - k, n), without the cancellation.

    Example:
        >>> float(lower(0, 20, 0.025))
        0.0
    """
    k, n, level = (np.asarray(x, dtype=np.float64) for x in (k, n, significance))
    limits = special.betaincinv(np.where(k > 0.0, k, 1.0), n - k + 1.0, level)
    return np.where(k > 0.0, limits, 0.0)


def quantile(probability: float, n: int, rate: ArrayLike) -> Ints:
    """Return the smallest k with Pr[Bin(n, rate) <= k] >= probability, of the shape of `rate`.

    Example:
        >>> quantile(0.5, 10, [0.0, 0.5, 1.0]).tolist()
        [0, 5, 10]
    """
    rates = np.asarray(rate, dtype=np.float64)
    inside = np.clip(rates, 1e-300, 1.0).ravel()
    # The normal quantile, with its skewness (Cornish and Fisher 1938), is mostly off by less than 2.
    normal = special.ndtri(min(max(probability, 1e-300), 1.0 - 1e-16))
    guess = n * inside + normal * np.sqrt(n * inside * (1.0 - inside)) + (normal**2 - 1.0) * (1.0 - 2.0 * inside) / 6.0
    low, high = np.full(inside.shape, -1, dtype=np.int64), np.full(inside.shape, n, dtype=np.int64)

    def reached(rows: NDArray[np.intp], k: Ints) -> Bools:
        return np.asarray(special.betaincc(k + 1.0, np.maximum(n - k, 1.0), inside[rows]) >= probability)

    quantiles = least_integers_near(reached, low, high, np.clip(np.floor(guess), 0, n - 1).astype(np.int64))
    return np.where(rates <= 0.0, 0, np.where(rates >= 1.0, n, quantiles.reshape(rates.shape)))


def quantile_of_one(probability: float, n: int, rate: float) -> int:
    """Return `quantile` for a single rate, twenty times faster than for an array of one.

    Example:
        >>> quantile_of_one(0.5, 10, 0.5)
        5
    """
    if rate <= 0.0 or rate >= 1.0:
        return 0 if rate <= 0.0 else n
    normal = float(special.ndtri(min(max(probability, 1e-300), 1.0 - 1e-16)))
    guess = n * rate + normal * math.sqrt(n * rate * (1.0 - rate)) + (normal**2 - 1.0) * (1.0 - 2.0 * rate) / 6.0
    low, high, probe, step = -1, n, min(max(math.floor(guess), 0), n - 1), 1
    while high - low > 1:
        if special.betaincc(probe + 1.0, max(n - probe, 1.0), rate) >= probability:
            high, probe = probe, probe - step
        else:
            low, probe = probe, probe + step
        step *= 2
        if not low < probe < high:
            probe = (low + high) // 2
    return high


def least_significance(
    refuted: Callable[[float], bool], *, log_largest: float = -1e-12, log_precision: float = 1e-9
) -> float:
    """Return the smallest significance at which a claim is refuted, >= 1e-12, rounded up; 1 if there is none.

    Args:
        refuted: function from a significance level to True if the claim is refuted; once true, true for larger levels.
        log_largest: logarithm of the largest level that is tried.
        log_precision: precision of the logarithm of the result.

    Example:
        >>> round(least_significance(lambda level: level > 0.03), 6), least_significance(lambda level: False)
        (0.03, 1.0)
    """

    def refuted_at(log_level: float) -> bool:
        return refuted(math.exp(log_level))

    log_smallest = math.log(SMALLEST_P_VALUE)
    if not refuted_at(log_largest):
        return 1.0
    if refuted_at(log_smallest):
        return SMALLEST_P_VALUE
    ends = bisect(refuted_at, log_smallest, log_largest, close=lambda low, high: high - low <= log_precision)
    return math.exp(ends[1])
