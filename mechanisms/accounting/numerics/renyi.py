"""Renyi divergences: conversion to (epsilon, delta), one order at a time, and Gaussian noise on a Poisson sample.

If both directions obey D_order <= divergence, then for every epsilon the mechanism is (epsilon, delta)-DP with

    textbook   log delta = (order - 1) (divergence - epsilon)                                  Mironov (2017), Prop. 3
    tight      log delta = (order - 1) (divergence - epsilon + log(1 - 1/order)) - log(order)  Canonne, Kamath, Steinke
                                                                                               (2020), Prop. 12

and, for every epsilon, with delta = the largest total variation at the Kullback-Leibler divergence (order 1).
The optimal conversion of one order is implicit (Asoodeh, Liao, Calmon, Kosut, Sankar 2021); "tight" is a closed bound
on it.

`sampled_divergence` is the divergence of Gaussian noise on a Poisson sample of the records, at any order. With q the
sampling probability, s the noise multiplier and r(x) = 1 - q + q e^((2 x - 1) / (2 s^2)), the ratio of
(1 - q) N(0, s^2) + q N(1, s^2) to N(0, s^2),

    D_order = log(A) / (order - 1),   A = E r(X)^order,   X ~ N(0, s^2).

For a whole order A is a finite sum (Mironov, Talwar, Zhang 2019, Section 3.3). For any other order it is integrated
numerically: dp-accounting sums the absolute values of an alternating series, which is up to 28 percent too large at
orders below 2, and does not converge for q near one half.

The integrand is at most 2^(order - 1) times the sum of its two parts, (1 - q)^order N(0, s^2) and q^order e^(order
(order - 1) / (2 s^2)) N(order, s^2), and A at least the integral of that sum. So the part of the integral further than
14 s from both 0 and the order is less than 1e-19 of A at orders up to 80, and less than 1e-12 up to 104.
"""

from __future__ import annotations

import math

import numpy as np

from ...core import Floats
from .binomial import log_choose

_MAX_DEVIATIONS = 14.0
"""Range of the integral on both sides of both centres, in standard deviations of the noise."""
_POINTS = 16
"""Points of the trapezoidal rule per standard deviation: its error falls exponentially with their number."""
_INTEGRAL_ERROR = 1e-13
"""Upper bound on the error of the integral, relative to A."""


def tight_log_delta(excess: Floats, divergence: Floats, epsilon: Floats) -> Floats:
    """Return log delta at each epsilon, from the divergence of order 1 + excess, excess > 0; arguments broadcast."""
    log_order = np.log1p(excess)
    return excess * (divergence - epsilon + np.log(excess) - log_order) - log_order


def tight_epsilon(excess: Floats, divergence: Floats, log_delta: Floats) -> Floats:
    """Return the inverse of `tight_log_delta`; may be negative."""
    log_order = np.log1p(excess)
    return divergence + np.log(excess) - log_order - (log_delta + log_order) / excess


def textbook_epsilon(excess: Floats, divergence: Floats, log_delta: Floats) -> Floats:
    """Return divergence + log(1/delta) / excess, excess > 0; arguments broadcast."""
    return divergence - log_delta / excess


def largest_total_variation(divergence: float) -> float:
    """Return the largest total variation distance at a Kullback-Leibler divergence.

    The smaller of Pinsker's sqrt(divergence / 2) and sqrt(1 - e^-divergence) of Bretagnolle and Huber (1979).
    Divergences grow with the order, so that a divergence of any order >= 1 gives a valid bound.
    """
    return float(min(np.sqrt(0.5 * divergence), np.sqrt(-np.expm1(-divergence))))


def sampled_divergence(order: float, sampling_probability: float, noise_multiplier: float) -> float:
    """Return D_order of (1 - q) N(0, s^2) + q N(1, s^2) from N(0, s^2); 1 < order, 0 < q < 1, s > 0.

    Example:
        >>> round(sampled_divergence(2.0, 0.1, 1.0), 6), round(sampled_divergence(2.5, 0.1, 1.0), 6)
        (0.017037, 0.023504)
    """
    is_integer = order == math.floor(order)
    log_moment = (_whole if is_integer else _integrated)(order, sampling_probability, noise_multiplier)
    return max(0.0, log_moment) / (order - 1.0)


def _whole(order: float, q: float, s: float) -> float:
    """Return log sum_j C(order, j) (1 - q)^(order - j) q^j e^(j (j - 1) / (2 s^2))."""
    j = np.arange(order + 1.0)
    log_weight = (order - j) * math.log1p(-q) + j * math.log(q)
    return _log_sum(log_choose(order, j) + log_weight + j * (j - 1.0) / (2.0 * s * s))


def _integrated(order: float, q: float, s: float) -> float:
    """Return the log of the integral of r^order over N(0, s^2), by the trapezoidal rule; rounded up."""
    log_moment = _log_sum(np.array([_over(points, order, q, s) for points in _intervals(order / s)]))
    return log_moment + _INTEGRAL_ERROR * max(1.0, abs(log_moment))


def _intervals(distance: float) -> list[Floats]:
    """Return equally spaced points around 0 and around `distance`, in units of s; one interval if the two overlap."""
    around = np.linspace(-_MAX_DEVIATIONS, _MAX_DEVIATIONS, int(2 * _MAX_DEVIATIONS * _POINTS) + 1)
    if distance > 2.0 * _MAX_DEVIATIONS:
        return [around, distance + around]
    return [
        np.linspace(-_MAX_DEVIATIONS, distance + _MAX_DEVIATIONS, int((distance + 2.0 * _MAX_DEVIATIONS) * _POINTS) + 2)
    ]


def _over(points: Floats, order: float, q: float, s: float) -> float:
    """Return the log of the integral over one interval, at whose ends the integrand is negligible."""
    log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + (2.0 * s * points - 1.0) / (2.0 * s * s))
    log_integrand = order * log_ratio - 0.5 * points**2 - 0.5 * math.log(2.0 * math.pi)
    return _log_sum(log_integrand) + math.log(points[1] - points[0])


def _log_sum(logarithms: Floats) -> float:
    """Return the log of the sum of exponentials; three times as fast as scipy's, and called for each of 600 orders."""
    largest = float(logarithms.max())
    return largest + math.log(float(np.exp(logarithms - largest).sum()))
