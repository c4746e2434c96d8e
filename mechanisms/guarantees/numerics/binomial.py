"""Probabilities of the binomial distribution, accurate for many trials and far out in the tails.

Here and not from scipy.stats, whose import takes a second, and which nothing else in this folder needs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]


def binomial_pmf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Pr[k hits in n trials of chance p], for whole numbers 0 <= k <= n; shapes broadcast.

    The saddle-point form of Loader (2000): Stirling's formula cancels by hand what would cancel in digits.
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not 0.0 < p < 1.0:
        return np.where(k == n * p, 1.0, 0.0)
    inner = (k > 0) & (k < n)
    hits, trials = np.where(inner, k, 1.0), np.where(inner, n, 2.0)
    misses = trials - hits
    stirling = _stirling_error(trials) - _stirling_error(hits) - _stirling_error(misses)
    deviance = _deviance(hits, trials * p) + _deviance(misses, trials * (1.0 - p))
    found = np.exp(stirling - deviance) * np.sqrt(trials / (2.0 * math.pi * hits * misses))
    edges = np.exp(special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return np.asarray(np.where(inner, found, edges))


def binomial_sf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Pr[more than k hits], for whole numbers -1 <= k <= n; shapes broadcast."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    inner = (k >= 0) & (k < n)
    tail = special.betainc(np.where(inner, k, 0.0) + 1.0, np.where(inner, n - k, 1.0), p)
    return np.where(inner, tail, np.where(k < 0, 1.0, 0.0))


def binomial_cdf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Pr[at most k hits], for whole numbers -1 <= k <= n; shapes broadcast."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    inner = (k >= 0) & (k < n)
    tail = special.betaincc(np.where(inner, k, 0.0) + 1.0, np.where(inner, n - k, 1.0), p)
    return np.where(inner, tail, np.where(k < 0, 0.0, 1.0))


def response_logs(n: int, epsilon: float) -> Floats:
    """Log probabilities of 0, ..., n truths among n randomised responses of that epsilon each."""
    return binomial_logs(n, special.log_expit(epsilon), special.log_expit(-epsilon))


def binomial_logs(n: int, log_hit: float, log_miss: float) -> Floats:
    """Log probabilities of 0, ..., n hits in n trials, of which each is a hit or a miss with these."""
    k = np.arange(n + 1.0)
    ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    return np.asarray(ways + k * log_hit + (n - k) * log_miss)


def convolved_logs(one: Floats, other: Floats) -> Floats:
    """The law of a sum, in logarithms as those of its terms; term by term where a product is too small for a float."""
    least = [law[law > -np.inf].min() for law in (one, other)]
    if sum(least) > -600.0:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.convolve(np.exp(one), np.exp(other))))
    short, long = sorted((one, other), key=len)
    found = np.full(len(short) + len(long) - 1, -np.inf)
    for place in np.flatnonzero(short > -np.inf):
        part = slice(place, place + len(long))
        found[part] = np.logaddexp(found[part], short[place] + long)
    return found


def _stirling_error(n: Floats) -> Floats:
    """ln n! - ln(sqrt(2 pi n) (n/e)^n), for n >= 1."""
    direct = special.gammaln(np.minimum(n, 20.0) + 1.0)
    small = np.minimum(n, 20.0)
    direct -= 0.5 * math.log(2.0 * math.pi) + (small + 0.5) * np.log(small) - small
    inverse = 1.0 / n
    series = inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 * (1 / 1260 - inverse**2 / 1680)))
    return np.where(n <= 20.0, direct, series)


def _deviance(seen: Floats, expected: Floats) -> Floats:
    """seen ln(seen / expected) + expected - seen, whose terms cancel where the two are close."""
    off = (seen - expected) / expected
    return np.asarray(expected * (special.xlog1py(1.0 + off, off) - off))
