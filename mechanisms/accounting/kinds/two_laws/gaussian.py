"""Exact curve of a number with Gaussian noise whose centre and scale may both differ between the sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ....core.arrays import Floats
from .base import Law, TwoLawsDP

FARTHEST = 1e12
"""Largest epsilon, in place of infinity."""


@dataclass(frozen=True, init=False, repr=False)
class TwoGaussiansDP(TwoLawsDP):
    """The exact curve of N(centre0, scale0^2) against N(centre1, scale1^2), in both directions.

    One density exceeds e^epsilon times the other where a quadratic in x is positive: between two points for the
    narrower law, beyond them for the wider law, whose tails exceed those of the other at every epsilon.

    Args:
        centre0, scale0, centre1, scale1, relation, exact: as for `TwoLawsDP`.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> two = TwoGaussiansDP(0.0, 1.0, 2.0, 1.0)
        >>> round(two.delta(1.0) - GaussianDP(2.0).delta(1.0), 12)
        0.0
        >>> round(TwoGaussiansDP(0.0, 1.0, 2.0, 1.2).delta(1.0), 6)
        0.481745
    """

    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = N(*upper), q = N(*lower), at each epsilon.

        In units of `upper`: p is standard, and q has mean m and deviation s. The loss is log s - x^2 / 2 +
        (x - m)^2 / (2 s^2), and its excess over epsilon a x^2 - 2 b x + c.
        """
        m, s = (lower[0] - upper[0]) / upper[1], lower[1] / upper[1]
        a, b = 0.5 / s**2 - 0.5, 0.5 * m / s**2
        epsilon = np.minimum(epsilon, FARTHEST)
        c = 0.5 * (m / s) ** 2 + np.log(s) - epsilon
        if a == 0.0:
            edge = c / (2.0 * b) if b else np.where(c > 0.0, np.inf, -np.inf)
            sign = 1.0 if b >= 0.0 else -1.0
            return np.asarray(np.maximum(0.0, ndtr(sign * edge) - _grown(epsilon, log_ndtr(sign * (edge - m) / s))))
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        far = b + np.where(b < 0.0, -root, root)
        with np.errstate(invalid="ignore", divide="ignore"):
            ends = np.sort([far / a, np.where(far == 0.0, 0.0, c / far)], axis=0)
        if a < 0.0:
            inside = _between(*ends) - _grown(epsilon, _log_between(*((ends - m) / s)))
            return np.asarray(np.where(b * b > a * c, np.maximum(0.0, inside), 0.0))
        far = np.logaddexp(log_ndtr((ends[0] - m) / s), log_ndtr((m - ends[1]) / s))
        outside = ndtr(ends[0]) + ndtr(-ends[1]) - _grown(epsilon, far)
        return np.asarray(np.where(b * b > a * c, np.maximum(0.0, outside), np.maximum(0.0, -np.expm1(epsilon))))

    def _epsilon(self, delta: Floats) -> Floats:
        """Invert the profile by bisection; inf at delta 0, unless the laws are equal."""
        if (self.centre0, self.scale0) == (self.centre1, self.scale1):
            return np.zeros(delta.shape)
        return np.where(delta == 0.0, np.inf, super()._epsilon(delta))


def _grown(epsilon: Floats, log_p: Floats) -> Floats:
    """Return e^epsilon times a probability, capped at 1, where delta is 0 anyway."""
    return np.asarray(np.exp(np.minimum(epsilon + log_p, 0.0)))


def _log_between(low: Floats, high: Floats) -> Floats:
    """Return the log of the standard normal probability of [low, high], from the nearer tail."""
    near, far = np.where(low > 0.0, -low, high), np.where(low > 0.0, -high, low)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(log_ndtr(near) + np.log(-np.expm1(np.minimum(log_ndtr(far) - log_ndtr(near), 0.0))))


def _between(low: Floats, high: Floats) -> Floats:
    """Return the standard normal probability of [low, high], from the nearer tail."""
    flip = low > 0.0
    return np.asarray(np.where(flip, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))
