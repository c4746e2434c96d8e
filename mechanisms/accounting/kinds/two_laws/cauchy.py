"""Exact curve of a number with Cauchy noise whose centre and scale may both differ between the sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Floats
from ..profile import LARGEST
from .base import Law, TwoLawsDP


@dataclass(frozen=True, init=False, repr=False)
class TwoCauchysDP(TwoLawsDP):
    """The exact curve of centre0 + Cauchy(scale0) against centre1 + Cauchy(scale1), in both directions.

    The density is scale / (pi ((x - centre)^2 + scale^2)), so that one density exceeds e^epsilon times the other where
    a quadratic in x is positive. The tails are so heavy that the ratio is bounded: epsilon is finite at delta 0.

    Args:
        centre0, scale0, centre1, scale1, relation, exact: as for `TwoLawsDP`.

    Example:
        >>> round(TwoCauchysDP(0.0, 1.0, 0.0, 2.0).epsilon(0.0), 6)  # ln 2, at the centre and in the tails
        0.693147
    """

    @property
    def default_delta(self) -> float:
        return 0.0

    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = Cauchy(*upper), q = Cauchy(*lower), at each epsilon."""
        (a, s), (b, t) = upper, lower
        a, s = (a - b) / t, s / t  # in units of q, whose centre is 0
        upper, lower = (a, s), (0.0, 1.0)
        epsilon = np.minimum(epsilon, LARGEST)
        factor, shrink = np.exp(epsilon), np.exp(-epsilon)
        square, linear, rest = shrink * s - 1.0, 2.0 * a, shrink * s - (a * a + s * s)
        square = np.where(square == 0.0, -1e-300, square)
        discriminant = linear**2 - 4.0 * square * rest
        root = np.sqrt(np.maximum(discriminant, 0.0))
        q = -0.5 * (linear + np.where(linear < 0.0, -root, root))
        with np.errstate(invalid="ignore", over="ignore"):
            ends = np.sort([q / square, np.where(q == 0.0, 0.0, rest / q)], axis=0)
        inside = _between(upper, *ends) - factor * _between(lower, *ends)
        outside = 1.0 - factor - inside
        excess = np.where(square < 0.0, np.where(discriminant > 0.0, inside, 0.0), outside)
        return np.maximum(0.0, np.where((square > 0.0) & (discriminant <= 0.0), 1.0 - factor, excess))


def log_cauchy(values: Floats, centre: float, scale: float) -> Floats:
    """Return the log density of centre + Cauchy(scale) at each value."""
    return np.asarray(-np.log(np.pi * scale) - 2.0 * np.log(np.hypot(1.0, (values - centre) / scale)))


def _between(law: Law, low: Floats, high: Floats) -> Floats:
    """Return the probability of [low, high]."""
    return np.asarray((np.arctan((high - law[0]) / law[1]) - np.arctan((low - law[0]) / law[1])) / np.pi)
