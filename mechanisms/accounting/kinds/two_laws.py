"""Exact curves of one number with noise whose centre and scale may both differ between the sides.

TwoGaussiansDP  Gaussian noise
TwoLaplacesDP   Laplace noise; `two_laplaces` returns the simplest form
TwoCauchysDP    Cauchy noise
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from ...core import Finite, Floats, Guarantee, Positive, Relation
from ..numerics.cells import normal_between
from ..numerics.laplace import log_laplace, log_laplace_mass
from .approximate import PureDP
from .exact import ExactDP
from .laplace import LaplaceDP
from .profile import MAX_EPSILON, ProfileGuarantee

Law = tuple[float, float]
"""Centre and scale."""


@dataclass(frozen=True, repr=False)
class TwoLawsDP(ProfileGuarantee):
    """The exact curve of two laws of the same family, in both directions.

    Args:
        centre0, scale0: centre and scale of the law on side 0; the scale is > 0.
        centre1, scale1: centre and scale of the law on side 1; the scale is > 0.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: False if the curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: a centre that is not finite, a scale that is not a finite number > 0.
    """

    centre0: Finite
    scale0: Positive
    centre1: Finite
    scale1: Positive
    relation: Relation | None = None
    exact: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(**{name: float(value) for name, value in self._parameters().items()})

    @property
    def laws(self) -> tuple[Law, Law]:
        """Centre and scale of side 0, and of side 1."""
        return (self.centre0, self.scale0), (self.centre1, self.scale1)

    def _parameters(self) -> Mapping[str, float]:
        return {name: getattr(self, name) for name in ("centre0", "scale0", "centre1", "scale1")}

    def _delta(self, epsilon: Floats) -> Floats:
        law0, law1 = self.laws
        return np.maximum(self._excess(law0, law1, epsilon), self._excess(law1, law0, epsilon))

    @abstractmethod
    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = `upper`, q = `lower`, at each epsilon."""


_FARTHEST = 1e12
"""Largest epsilon, in place of infinity."""


@dataclass(frozen=True, repr=False)
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
        epsilon = np.minimum(epsilon, _FARTHEST)
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
            inside = normal_between(*ends) - _grown(epsilon, _log_normal_between(*((ends - m) / s)))
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
    """Return e^epsilon times a probability, capped at 1, where delta is 0."""
    return np.asarray(np.exp(np.minimum(epsilon + log_p, 0.0)))


def _log_normal_between(low: Floats, high: Floats) -> Floats:
    """Return the log of the standard normal probability of [low, high], from the nearer tail."""
    near, far = np.where(low > 0.0, -low, high), np.where(low > 0.0, -high, low)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(log_ndtr(near) + np.log(-np.expm1(np.minimum(log_ndtr(far) - log_ndtr(near), 0.0))))


_MAX_EPSILON = 1e9
"""Largest epsilon, where delta is 0."""


@dataclass(frozen=True, repr=False)
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
        epsilon = np.minimum(epsilon, _MAX_EPSILON)
        low, high = _where_above(upper, lower, epsilon)
        mass, other = (log_laplace_mass(low - law[0], high - law[0], law[1]) for law in (upper, lower))
        excess = np.maximum(0.0, np.exp(mass) - np.exp(np.minimum(epsilon + other, 0.0)))
        return np.asarray(excess.sum(axis=0))

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


def _where_above(upper: Law, lower: Law, epsilon: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the parts of the line on which log p - log q > epsilon: low and high, each `(3, n)`.

    The log densities are linear between the centres and on both sides of them. An empty part has low >= high.
    """
    left, right, inside, slope, log_ratio = _pieces(upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):  # where the slope is 0
        crossing = np.clip(inside + (epsilon - log_ratio) / slope, left, right)
    above = log_ratio > epsilon
    low = np.where(slope > 0.0, crossing, np.where((slope < 0.0) | above, left, inside))
    return low, np.where(slope < 0.0, crossing, np.where((slope > 0.0) | above, right, inside))


@lru_cache(maxsize=32)
def _pieces(upper: Law, lower: Law) -> tuple[Floats, ...]:
    """Return for each piece its ends, a point inside, and slope and value of the log ratio there, each `(3, 1)`."""
    first, last = sorted((upper[0], lower[0]))
    inside = np.array([first - 1.0, 0.5 * (first + last), last + 1.0])
    slopes = [np.where(inside < centre, 1.0, -1.0) / scale for centre, scale in (upper, lower)]
    log_ratio = log_laplace(inside, *upper) - log_laplace(inside, *lower)
    ends = np.array([-np.inf, first, last]), np.array([first, last, np.inf])
    return tuple(values[:, None] for values in (*ends, inside, slopes[0] - slopes[1], log_ratio))


@dataclass(frozen=True, repr=False)
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

    default_delta = 0.0

    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = Cauchy(*upper), q = Cauchy(*lower), at each epsilon."""
        (a, s), (b, t) = upper, lower
        a, s = (a - b) / t, s / t  # in units of q, whose centre is 0
        upper, lower = (a, s), (0.0, 1.0)
        epsilon = np.minimum(epsilon, MAX_EPSILON)
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
