"""The exact curve of a number with Cauchy noise whose centre and scale may both differ between the sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..guarantees.base import Floats
from ..guarantees.profile import LARGEST, ProfileGuarantee
from ..relation import Relation
from ..validation import finite, positive


@dataclass(frozen=True, init=False, repr=False)
class TwoCauchysDP(ProfileGuarantee):
    """What centre0 + Cauchy(scale0) against centre1 + Cauchy(scale1) allows, in both directions.

    The density is scale / (pi ((x - centre)^2 + scale^2)), so that one exceeds e^epsilon times the other where a
    quadratic in x is positive. Its tails are so heavy that the ratio is bounded: epsilon is finite at delta 0.

    Args:
        centre0, scale0: of side 0; the scale is > 0.
        centre1, scale1: of side 1.
        relation: the neighbouring relation; None takes that of the pair it is compared on.
        exact: False when the mechanism is only known to be no worse than this.

    Raises:
        ParameterError: a centre that is not finite, a scale that is not a finite number > 0.

    Example:
        >>> round(TwoCauchysDP(0.0, 1.0, 0.0, 2.0).epsilon(0.0), 6)  # ln 2, at the centre and in the tails
        0.693147
    """

    centre0: float
    scale0: float
    centre1: float
    scale1: float
    relation: Relation | None
    exact: bool

    def __init__(
        self,
        centre0: float,
        scale0: float,
        centre1: float,
        scale1: float,
        relation: str | Relation | None = None,
        *,
        exact: bool = True,
    ) -> None:
        finite(centre0=centre0, centre1=centre1)
        positive(scale0=scale0, scale1=scale1)
        self._set(centre0=float(centre0), scale0=float(scale0), centre1=float(centre1), scale1=float(scale1))
        self._set(relation=relation, exact=exact)

    @property
    def default_delta(self) -> float:
        return 0.0

    def _parameters(self) -> Mapping[str, float]:
        return {name: getattr(self, name) for name in ("centre0", "scale0", "centre1", "scale1")}

    def _delta(self, epsilon: Floats) -> Floats:
        one, other = (self.centre0, self.scale0), (self.centre1, self.scale1)
        return np.maximum(_excess(one, other, epsilon), _excess(other, one, epsilon))


def log_cauchy(values: Floats, centre: float, scale: float) -> Floats:
    """Log density of centre + Cauchy(scale) at each value."""
    return np.asarray(-np.log(np.pi * scale) - np.log1p(np.square((values - centre) / scale)))


def _excess(upper: tuple[float, float], lower: tuple[float, float], epsilon: Floats) -> Floats:
    """Integral of (p - e^epsilon q)+ for p = Cauchy(*upper), q = Cauchy(*lower), one for each epsilon."""
    (a, s), (b, t) = upper, lower
    factor = np.exp(np.minimum(epsilon, LARGEST / 2))
    square, linear = s - factor * t, 2.0 * (factor * t * a - s * b)
    rest = s * (b * b + t * t) - factor * t * (a * a + s * s)
    square = np.where(square == 0.0, -1e-300, square)
    discriminant = linear**2 - 4.0 * square * rest
    root = np.sqrt(np.maximum(discriminant, 0.0))
    q = -0.5 * (linear + np.where(linear < 0.0, -root, root))
    with np.errstate(invalid="ignore", over="ignore"):
        ends = np.sort([q / square, np.where(q == 0.0, 0.0, rest / q)], axis=0)
    inside = _between(upper, *ends) - factor * _between(lower, *ends)
    outside = 1.0 - factor - inside
    found = np.where(square < 0.0, np.where(discriminant > 0.0, inside, 0.0), outside)
    return np.maximum(0.0, np.where((square > 0.0) & (discriminant <= 0.0), 1.0 - factor, found))


def _between(law: tuple[float, float], low: Floats, high: Floats) -> Floats:
    """Probability of [low, high]."""
    return np.asarray((np.arctan((high - law[0]) / law[1]) - np.arctan((low - law[0]) / law[1])) / np.pi)
