"""Probabilities of the binomial distribution, accurate for many trials and far in the tails.

Implemented here because importing scipy.stats, which nothing else in this folder needs, takes a second.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ...core import Floats

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def binomial_pmf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Return Pr[k hits in n trials with probability p], for whole numbers 0 <= k <= n; shapes broadcast."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not 0.0 < p < 1.0:
        return np.where(k == n * p, 1.0, 0.0)
    inner = (k > 0) & (k < n)
    inside = binomial_log_pmf(np.where(inner, k, 1.0), np.where(inner, n, 2.0), p, 1.0 - p)
    return np.asarray(np.exp(np.where(inner, inside, special.xlogy(k, p) + special.xlog1py(n - k, -p))))


def binomial_log_pmf(k: Floats, n: Floats, rate: Floats | float, complement: Floats | float) -> Floats:
    """Return ln Pr[Bin(n, rate) = k], continued to real 0 <= k < n; `complement` = 1 - rate, to full precision.

    The function uses Stirling's series for the factorials and two deviances for the rest: unlike differences of
    log-gamma functions, the error stays near 1e-13 for n = 1e9. (Loader 2000, "Fast and accurate computation of
    binomial probabilities".)
    """
    rest = n - k
    inside = np.where(k > 0.0, k, 0.5)
    log_density = (
        0.5 * np.log(n / (inside * rest))
        - _HALF_LOG_TWO_PI
        + _stirling_error(n)
        - _stirling_error(inside)
        - _stirling_error(rest)
        - _deviance(inside, n * rate)
        - _deviance(rest, n * complement)
    )
    return np.where(k > 0.0, log_density, n * np.log(complement))


def binomial_sf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Return Pr[more than k hits], for whole numbers -1 <= k <= n; shapes broadcast."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    inner = (k >= 0) & (k < n)
    tail = special.betainc(np.where(inner, k, 0.0) + 1.0, np.where(inner, n - k, 1.0), p)
    return np.where(inner, tail, np.where(k < 0, 1.0, 0.0))


def binomial_cdf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Return Pr[at most k hits], for whole numbers -1 <= k <= n; shapes broadcast."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    inner = (k >= 0) & (k < n)
    tail = special.betaincc(np.where(inner, k, 0.0) + 1.0, np.where(inner, n - k, 1.0), p)
    return np.where(inner, tail, np.where(k < 0, 0.0, 1.0))


def response_logs(n: int, epsilon: float) -> Floats:
    """Return the log probabilities of 0, ..., n true answers among n randomized responses with this epsilon."""
    return binomial_logs(n, special.log_expit(epsilon), special.log_expit(-epsilon))


def binomial_logs(n: int, log_hit: float, log_miss: float) -> Floats:
    """Return the log probabilities of 0, ..., n hits in n trials, from the log probabilities of a hit and a miss."""
    k = np.arange(n + 1.0)
    return np.asarray(log_choose(n, k) + k * log_hit + (n - k) * log_miss)


def log_choose(n: ArrayLike, k: ArrayLike) -> Floats:
    """Return the log of the binomial coefficient of n and k, for real n >= k >= 0; shapes broadcast."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0))


def log_orders(counts: ArrayLike) -> Floats:
    """Return the log of the multinomial coefficient of each row of counts `(..., k)`, shape `(...)`."""
    counts = np.asarray(counts, dtype=np.float64)
    return np.asarray(special.gammaln(counts.sum(axis=-1) + 1.0) - special.gammaln(counts + 1.0).sum(axis=-1))


def convolved_logs(first: Floats, second: Floats) -> Floats:
    """Return the log law of a sum, from the log laws of its terms; term by term if a product underflows a float."""
    smallest = [law[law > -np.inf].min() for law in (first, second)]
    if sum(smallest) > -600.0:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.convolve(np.exp(first), np.exp(second))))
    short, long = sorted((first, second), key=len)
    log_law = np.full(len(short) + len(long) - 1, -np.inf)
    for index in np.flatnonzero(short > -np.inf):
        part = slice(index, index + len(long))
        log_law[part] = np.logaddexp(log_law[part], short[index] + long)
    return log_law


def _stirling_error(x: Floats) -> Floats:
    """Return ln Gamma(x + 1) - ((x + 1/2) ln x - x + ln(2 pi) / 2)."""
    safe = np.maximum(x, 16.0)
    square = 1.0 / (safe * safe)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / safe
    small = np.minimum(x, 16.0)
    exact = special.gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - _HALF_LOG_TWO_PI
    return np.where(x < 16.0, exact, series)


def _deviance(x: Floats, mean: Floats) -> Floats:
    """Return x ln(x / mean) + mean - x, >= 0."""
    excess = (x - mean) / mean
    return mean * ((1.0 + excess) * np.log1p(excess) - excess)
