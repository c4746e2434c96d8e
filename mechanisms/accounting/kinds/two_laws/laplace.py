"""Exact curve of a number with Laplace noise whose centre and scale may both differ between the sides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....core.arrays import Floats
from ....core.guarantee import Guarantee
from ....core.relation import Relation
from ..exact import ExactDP
from ..laplace import LaplaceDP
from ..pure import PureDP
from .base import Law, TwoLawsDP

SHARP = 1e6
"""Log density of a point mass, in place of infinity."""
LARGEST = 1e9
"""Largest epsilon, where delta is 0."""


@dataclass(frozen=True, init=False, repr=False)
class TwoLaplacesDP(TwoLawsDP):
    """The exact curve of centre0 + Laplace(scale0) against centre1 + Laplace(scale1), in both directions.

    The log ratio of two Laplace densities is linear between the centres and beyond them. The set on which one density
    exceeds e^epsilon times the other is therefore a union of at most three intervals, whose masses have closed forms;
    delta is their difference. With different scales the ratio is unbounded in the tails: epsilon is infinite at
    delta 0.

    Args:
        centre0, scale0, centre1, scale1, relation, exact: as for `TwoLawsDP`.

    Example:
        >>> rescaled = TwoLaplacesDP(0.0, 1.0, 0.0, 0.5)
        >>> rescaled.epsilon(0.0), round(rescaled.delta(0.0), 12)
        (inf, 0.25)
    """

    @property
    def default_delta(self) -> float | None:
        return 0.0 if self.scale0 == self.scale1 else None

    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = Laplace(*upper), q = Laplace(*lower), at each epsilon."""
        epsilon = np.minimum(epsilon, LARGEST)
        kinks = [-np.inf, *sorted((upper[0], lower[0])), np.inf]
        excess = np.zeros(epsilon.shape)
        for left, right in pairwise(kinks):
            low, high = _where_above(upper, lower, epsilon, left, right)
            mass = np.exp(_log_mass(upper, low, high))
            excess += np.maximum(0.0, mass - np.exp(np.minimum(epsilon + _log_mass(lower, low, high), 0.0)))
        return excess

    def _epsilon(self, delta: Floats) -> Floats:
        at_zero = abs(self.centre1 - self.centre0) / self.scale0 if self.scale0 == self.scale1 else np.inf
        return np.where(delta == 0.0, at_zero, np.minimum(at_zero, super()._epsilon(delta)))


def two_laplaces(
    centre0: float, scale0: float, centre1: float, scale1: float, relation: Relation | None = None
) -> Guarantee:
    """Return the exact curve of two Laplace laws as the simplest guarantee; a scale of 0 is a point mass.

    Args:
        centre0, scale0, centre1, scale1, relation: as for `TwoLaplacesDP`, with scales >= 0.

    Example:
        >>> print(two_laplaces(0.0, 2.0, 1.0, 2.0))
        LaplaceDP(epsilon=0.5)
        >>> two_laplaces(0.0, 0.0, 1.0, 0.0).epsilon(0.0)
        inf
    """
    if (centre0, scale0) == (centre1, scale1):
        return PureDP(0.0, relation, exact=True)
    if scale0 == 0.0 or scale1 == 0.0:
        return ExactDP([1.0, 0.0], [0.0, 1.0], relation)
    if scale0 == scale1:
        return LaplaceDP(abs(centre1 - centre0) / scale0, relation)
    return TwoLaplacesDP(centre0, scale0, centre1, scale1, relation)


def log_laplace(values: Floats, centre: float, scale: float) -> Floats:
    """Return the log density of centre + Laplace(scale) at each value; of a point mass if the scale is 0."""
    if scale == 0.0:
        return np.where(values == centre, SHARP, -np.inf)
    return np.asarray(-np.abs(values - centre) / scale - np.log(2.0 * scale))


def _where_above(upper: Law, lower: Law, epsilon: Floats, left: float, right: float) -> tuple[Floats, Floats]:
    """Return the ends of the part of [left, right] on which log p - log q > epsilon; same shape as `epsilon`.

    Both log densities must be linear on [left, right]. An empty part has low >= high.
    """
    inside = right - 1.0 if left == -np.inf else left + 1.0 if right == np.inf else 0.5 * (left + right)
    slope = _slope(upper, inside) - _slope(lower, inside)
    log_ratio = float(np.subtract(*(log_laplace(np.array(inside), *law) for law in (upper, lower))))
    if slope == 0.0:
        return np.where(log_ratio > epsilon, left, inside), np.where(log_ratio > epsilon, right, inside)
    crossing = inside + (epsilon - log_ratio) / slope
    if slope > 0.0:
        return np.clip(crossing, left, right), np.full(epsilon.shape, right)
    return np.full(epsilon.shape, left), np.clip(crossing, left, right)


def _slope(law: Law, at: float) -> float:
    """Return the slope of the log density."""
    return (1.0 if at < law[0] else -1.0) / law[1]


def _log_mass(law: Law, low: Floats, high: Floats) -> Floats:
    """Return the log probability of [low, high], with the centre outside its interior; -inf if it is empty."""
    near, far = np.sort([np.abs(low - law[0]), np.abs(high - law[0])], axis=0) / law[1]
    with np.errstate(invalid="ignore"):
        width = np.where(high > low, far - near, 0.0)
    return np.asarray(-near - np.log(2.0) + np.log(-np.expm1(-width)))
