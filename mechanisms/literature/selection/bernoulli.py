"""Exponential mechanism for the parameter of a coin: a sample from a tempered posterior."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logit

from ...accounting import BoundedRange, ExactDP, PureDP, PureMechanism
from ...accounting.numerics.quadrature import simpson
from ...core.arrays import Floats
from ...core.base import Dataset, Neighbours, Outputs
from ...core.constraints import OpenUnit, Positive
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...core.root_finding import bisect

_PIECES, _STEPS = 40, 512
_LEAST_SLOPE, _LEAST_LOG_DENSITY = 1e-300, -650.0


@dataclass(frozen=True)
class BernoulliParameter(PureMechanism, RecordsMechanism):
    """Estimate of the parameter of a coin by the exponential mechanism, with the log likelihood as utility.

    The density of the estimate t on (lower, upper) is proportional to t^(c n_heads) (1 - t)^(c n_tails), a Beta law
    with parameters 1 + c n_heads and 1 + c n_tails truncated to the interval, where c = epsilon / (2 sensitivity).
    Without truncation the log likelihood has no finite sensitivity. An estimate from noisy counts is far better: its
    variance falls like 1 / n^2, that of this estimate like 1 / n; the exponential mechanism is for statistics that are
    not functions of counts.

    Args:
        epsilon: the claim, > 0.
        lower, upper: ends of the interval, 0 < lower < upper < 1.
        relation: the neighbouring relation. The dataset is an array `(n_records,)` of 0 (tails) and 1 (heads).

    Guarantees:
        * epsilon-DP, which is loose: `bounded_range` and `exact_guarantee` are smaller.

    References:
        McSherry and Talwar (2007), theorem 6, for densities.

    Example:
        >>> mechanism = BernoulliParameter(epsilon=0.1)
        >>> round(mechanism.exponent, 7), round(mechanism.bounded_range().eta, 6)
        (0.0217147, 0.047712)
    """

    epsilon: Positive
    _: KW_ONLY
    lower: OpenUnit = 0.1
    upper: OpenUnit = 0.9
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower >= self.upper:
            raise ParameterError(f"lower must be below upper, {self.upper!r}, but is {self.lower!r}.", argument="lower")

    @property
    def sensitivity(self) -> float:
        """Largest change of the log likelihood of any parameter.

        A log probability if a record is added, a log odds if a record is replaced or blanked.
        """
        if self.relation is Relation.ADD_REMOVE:
            return max(-math.log(self.lower), -math.log1p(-self.upper))
        return max(abs(float(logit(self.lower))), abs(float(logit(self.upper))))

    @property
    def exponent(self) -> float:
        """Exponent c: the weight of a record, which would be 1 in a posterior."""
        return self.epsilon / (2.0 * self.sensitivity)

    def counts(self, dataset: Dataset) -> tuple[int, int]:
        """Return the numbers of heads and tails."""
        tosses = np.asarray(dataset, dtype=np.float64)
        if tosses.ndim != 1 or not np.isin(tosses, (0.0, 1.0)).all():
            raise ParameterError("the dataset must be a vector of 0 (tails) and 1 (heads).", argument="dataset")
        heads = int(np.count_nonzero(tosses))
        return heads, len(tosses) - heads

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` estimates, shape `(size,)`, by rejection from an envelope of the density."""
        return Outputs(_CutBeta.of(self, dataset).draw(size, rng))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each estimate under `dataset`, shape `(size,)`; -inf outside the interval."""
        law = _CutBeta.of(self, dataset)
        inside = (outputs.values >= self.lower) & (outputs.values <= self.upper)
        at = np.where(inside, outputs.values, law.mode)
        return np.asarray(np.where(inside, law.log_ratio(at) - law.log_total, -np.inf))

    def mean_and_deviation(self, dataset: Dataset) -> tuple[float, float]:
        """Return the mean and standard deviation of the estimate, by Simpson's rule."""
        law = _CutBeta.of(self, dataset)
        at, weights = simpson(law.ends, _STEPS)
        mass = weights * np.exp(law.log_ratio(at) - law.log_total)
        mean = float(at @ mass)
        return mean, math.sqrt(float((at - mean) ** 2 @ mass))

    def bounded_range(self) -> BoundedRange:
        """Return the bounded range: c times the range over the interval of the change of the log likelihood."""
        if self.relation is Relation.ADD_REMOVE:
            heads, tails = math.log(self.upper / self.lower), math.log1p(-self.lower) - math.log1p(-self.upper)
            return BoundedRange(self.exponent * max(heads, tails), self.relation)
        return BoundedRange(self.exponent * float(logit(self.upper) - logit(self.lower)), self.relation)

    def worst_case(self) -> Neighbours:
        """Return one head against two heads, or a tail against a head: few records, so that all estimates occur."""
        if self.relation is Relation.ADD_REMOVE:
            return Neighbours(np.array([1.0]), np.array([1.0, 1.0]), self.relation)
        return Neighbours(np.array([0.0]), np.array([1.0]), self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of `worst_case()`, by Simpson's rule.

        The ends are among the nodes, so that epsilon at delta 0 is exact. If the density at an end is too small for
        floats, the curve is `PureDP` of that epsilon: an upper bound.
        """
        pair = self.worst_case()
        laws = [_CutBeta.of(self, side) for side in (pair.d0, pair.d1)]
        limits = np.array([self.lower, self.upper])
        log0, log1 = (law.log_ratio(limits) - law.log_total for law in laws)
        if min(log0.min(), log1.min()) < _LEAST_LOG_DENSITY:
            return PureDP(float(np.abs(log1 - log0).max()), relation=self.relation)
        at, weights = simpson(np.unique(np.concatenate([limits, *(law.ends for law in laws)])), _STEPS)
        p0, p1 = (weights * np.exp(law.log_ratio(at) - law.log_total) for law in laws)
        return ExactDP(p0 / p0.sum(), p1 / p1.sum(), self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.counts(dataset)


@dataclass(frozen=True, eq=False)
class _CutBeta:
    """The density proportional to t^a (1 - t)^b on [lower, upper], for any location of its mode.

    Differences of Beta distribution functions cancel if the mode of the Beta law is outside the interval. This class
    subtracts nothing: the log density is concave, so that it lies below its tangents, has fallen by 1 one step away
    from its largest value, and falls by at least 1 with each further step.

    Args:
        a, b: exponents, >= 0.
        lower, upper: ends of the interval.
        mode: point of the interval with the largest density.
        steps: distance from `mode`, to the left and to the right, at which the density has fallen to 1/e, or to the
            end.
    """

    a: float
    b: float
    lower: float
    upper: float
    mode: float
    steps: tuple[float, float]

    @classmethod
    def of(cls, mechanism: BernoulliParameter, dataset: Dataset) -> _CutBeta:
        heads, tails = mechanism.counts(dataset)
        a, b = mechanism.exponent * heads, mechanism.exponent * tails
        mode = min(max(a / (a + b), mechanism.lower), mechanism.upper) if a + b > 0.0 else mechanism.lower
        flat = cls(a, b, mechanism.lower, mechanism.upper, mode, (mode - mechanism.lower, mechanism.upper - mode))
        return replace(flat, steps=(flat._fall(-flat.steps[0]), flat._fall(flat.steps[1])))

    def _fall(self, longest: float) -> float:
        """Return the distance from the mode at which the density has fallen to 1/e, by bisection.

        At most |longest|, and in the direction of its sign.
        """
        if longest == 0.0 or self.log_ratio(np.array(self.mode + longest)) >= -1.0:
            return abs(longest)

        def fallen(distance: float) -> bool:
            return bool(self.log_ratio(np.array(self.mode + math.copysign(distance, longest))) < -1.0)

        return bisect(fallen, 0.0, abs(longest), steps=60)[1]

    def log_ratio(self, at: Floats) -> Floats:
        """Return the log of the density relative to the mode; at most 0."""
        offset = at - self.mode
        return np.asarray(self.a * np.log1p(offset / self.mode) + self.b * np.log1p(-offset / (1.0 - self.mode)))

    @property
    def ends(self) -> Floats:
        """Ends of the quadrature pieces, one step long each; the mass beyond them is less than e^-40."""
        counted = np.arange(_PIECES + 1)
        ends = np.concatenate([self.mode - self.steps[0] * counted, self.mode + self.steps[1] * counted])
        return np.unique(np.clip(ends, self.lower, self.upper))

    @cached_property
    def log_total(self) -> float:
        """Log of the integral of `exp(log_ratio)`."""
        at, weights = simpson(self.ends, _STEPS)
        return math.log(float(weights @ np.exp(self.log_ratio(at))))

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return `size` independent estimates by rejection sampling.

        The envelope is 1 between the two steps, and the tangent of the log density beyond them; at least 40 % of the
        proposals are accepted.
        """
        points = np.clip([self.mode - self.steps[0], self.mode + self.steps[1]], self.lower, self.upper)
        slopes = np.maximum(np.abs(self.a / points - self.b / (1.0 - points)), _LEAST_SLOPE)
        rooms = np.array([points[0] - self.lower, self.upper - points[1]])
        tails = np.where(rooms > 0.0, np.exp(self.log_ratio(points)) * -np.expm1(-slopes * rooms) / slopes, 0.0)
        masses = np.array([points[1] - points[0], *tails])
        shares = np.cumsum(masses) / masses.sum()
        accepted: list[Floats] = []
        missing = size
        while missing > 0:
            points_below = self._envelope(points, slopes, rooms, shares, 3 * missing + 16, rng)
            accepted.append(points_below[:missing])
            missing -= len(accepted[-1])
        return np.concatenate([np.empty(0), *accepted])

    def _envelope(
        self, points: Floats, slopes: Floats, rooms: Floats, shares: Floats, size: int, rng: np.random.Generator
    ) -> Floats:
        """Return the points of a rejection sample of `size` proposals that lie below the density."""
        piece = np.searchsorted(shares[:-1], rng.random(size), side="right")
        middle = points[0] + (points[1] - points[0]) * rng.random(size)
        side = np.maximum(piece - 1, 0)
        beyond = -np.log1p(rng.random(size) * np.expm1(-slopes * rooms)[side]) / slopes[side]
        at = np.where(piece == 0, middle, points[side] + np.where(side, beyond, -beyond))
        at = np.clip(at, self.lower, self.upper)
        ceiling = np.where(piece == 0, 0.0, self.log_ratio(points)[side] - slopes[side] * beyond)
        return at[-rng.standard_exponential(size) < self.log_ratio(at) - ceiling]
