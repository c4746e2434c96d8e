"""The Laplace distribution: its density, its distribution function, and the probability of intervals, as logarithms."""

from __future__ import annotations

import math

import numpy as np

from ...core import Floats

SHARP = 1e6
"""Log density of a point mass, in place of infinity."""


def laplace_log_density(noise: Floats, scale: float) -> Floats:
    """Return the log density of noise of this scale, -|z| / b - ln(2 b), in place of the noise: for large arrays."""
    np.abs(noise, out=noise)
    noise *= -1.0 / scale
    noise -= math.log(2.0 * scale)
    return noise


def log_laplace(values: Floats, centre: Floats | float = 0.0, scale: Floats | float = 1.0) -> Floats:
    """Return the log density of centre + Laplace(scale) at each value; of a point mass if the scale is 0."""
    if not np.any(scale):
        return np.where(values == centre, SHARP, -np.inf)
    return np.asarray(-np.abs(values - centre) / scale - np.log(2.0 * scale))


def laplace_cdf(x: Floats) -> Floats:
    """Return P(standard Laplace noise <= x)."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0.0, tail, 1.0 - tail)


def laplace_log_cdf(x: Floats) -> Floats:
    """Return log P(standard Laplace noise <= x)."""
    half = 0.5 * np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0.0, -np.abs(x) - np.log(2.0), np.log1p(-half)))


def log_laplace_mass(low: Floats, high: Floats, scale: float) -> Floats:
    """Return the log probability of Laplace noise in each [low, high], without cancellation in the tails."""
    low, high = low / scale, high / scale
    left, right = np.minimum(high, 0.0), np.maximum(low, 0.0)
    with np.errstate(divide="ignore"):
        below = left + np.log(-np.expm1(np.minimum(low, left) - left))
        above = -right + np.log(-np.expm1(right - np.maximum(high, right)))
    return np.asarray(np.logaddexp(below, above) - math.log(2.0))
