"""Probabilities of the binomial distribution, accurate for many trials and far in the tails.

Implemented here because importing scipy.stats, which nothing else in this folder needs, takes a second.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ...core.arrays import Floats


def binomial_pmf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Return Pr[k hits in n trials with probability p], for whole numbers 0 <= k <= n; shapes broadcast.

    The saddle-point form of Loader (2000): large terms are cancelled analytically by Stirling's formula, without loss
    of digits.
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not 0.0 < p < 1.0:
        return np.where(k == n * p, 1.0, 0.0)
    inner = (k > 0) & (k < n)
    hits, trials = np.where(inner, k, 1.0), np.where(inner, n, 2.0)
    misses = trials - hits
    stirling = _stirling_error(trials) - _stirling_error(hits) - _stirling_error(misses)
    deviance = _deviance(hits, trials * p) + _deviance(misses, trials * (1.0 - p))
    inside = np.exp(stirling - deviance) * np.sqrt(trials / (2.0 * math.pi * hits * misses))
    edges = np.exp(special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return np.asarray(np.where(inner, inside, edges))


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


def convolved_logs(first: Floats, second: Floats) -> Floats:
    """Return the log law of a sum, from the log laws of its terms; term by term if a product underflows a float."""
    least = [law[law > -np.inf].min() for law in (first, second)]
    if sum(least) > -600.0:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.convolve(np.exp(first), np.exp(second))))
    short, long = sorted((first, second), key=len)
    log_law = np.full(len(short) + len(long) - 1, -np.inf)
    for place in np.flatnonzero(short > -np.inf):
        part = slice(place, place + len(long))
        log_law[part] = np.logaddexp(log_law[part], short[place] + long)
    return log_law


def _stirling_error(n: Floats) -> Floats:
    """Return ln n! - ln(sqrt(2 pi n) (n/e)^n), for n >= 1."""
    direct = special.gammaln(np.minimum(n, 20.0) + 1.0)
    small = np.minimum(n, 20.0)
    direct -= 0.5 * math.log(2.0 * math.pi) + (small + 0.5) * np.log(small) - small
    inverse = 1.0 / n
    series = inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 * (1 / 1260 - inverse**2 / 1680)))
    return np.where(n <= 20.0, direct, series)


def _deviance(observed: Floats, expected: Floats) -> Floats:
    """Return observed ln(observed / expected) + expected - observed, without cancellation if the two are close."""
    off = (observed - expected) / expected
    return np.asarray(expected * (special.xlog1py(1.0 + off, off) - off))
