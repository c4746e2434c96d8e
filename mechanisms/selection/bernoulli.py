"""The exponential mechanism for the parameter of a coin: a sample from a posterior where records count for little."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, logit

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import BoundedRange, ExactDP, PureDP
from ..guarantees.base import Guarantee
from ..queries.base import Floats
from ..records import check_records
from ..relation import Relation
from ..validation import open_unit, positive

_NODES = 20_001
_LEAST_MASS = 1e-280


@dataclass(frozen=True)
class BernoulliParameter(Mechanism):
    """Estimates the parameter of a coin by the exponential mechanism, with the log likelihood as utility.

    The density of the estimate t on (lower, upper) is proportional to t^(c n_heads) (1 - t)^(c n_tails), a Beta law
    with parameters 1 + c n_heads and 1 + c n_tails cut off at the ends, where c = epsilon / (2 sensitivity). Without
    the ends the log likelihood has no finite sensitivity. An estimate from noisy counts is far better: its variance
    falls like 1 / n^2, this one's like 1 / n; the exponential mechanism is for questions that are not made of counts.

    Args:
        epsilon: the claim, > 0.
        lower, upper: ends of the interval, 0 < lower < upper < 1.
        relation: the neighbouring relation. The dataset is an array `(n_records,)` of 0 (tails) and 1 (heads).

    Guarantees:
        * epsilon-DP, and loosely so: `bounded_range` and `exact_guarantee` are smaller.

    References:
        McSherry and Talwar (2007), theorem 6, for densities.

    Example:
        >>> mechanism = BernoulliParameter(epsilon=0.1)
        >>> round(mechanism.exponent, 7), round(mechanism.bounded_range().eta, 6)
        (0.0217147, 0.047712)
    """

    epsilon: float
    _: KW_ONLY
    lower: float = 0.1
    upper: float = 0.9
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        positive(epsilon=self.epsilon)
        open_unit(lower=self.lower, upper=self.upper)
        if self.lower >= self.upper:
            raise ParameterError(f"lower must be below upper, {self.upper!r}, but is {self.lower!r}.", argument="lower")

    @property
    def sensitivity(self) -> float:
        """Largest change of the log likelihood of any parameter: of one log probability when a record is added, of a
        log odds when one is replaced or blanked."""
        if self.relation is Relation.ADD_REMOVE:
            return max(-math.log(self.lower), -math.log1p(-self.upper))
        return max(abs(float(logit(self.lower))), abs(float(logit(self.upper))))

    @property
    def exponent(self) -> float:
        """c: what a record counts, where in a posterior it would count 1."""
        return self.epsilon / (2.0 * self.sensitivity)

    def counts(self, dataset: Dataset) -> tuple[int, int]:
        """Numbers of heads and tails."""
        found = np.asarray(dataset, dtype=np.float64)
        if found.ndim != 1 or not np.isin(found, (0.0, 1.0)).all():
            raise ParameterError("the dataset must be a vector of 0 (tails) and 1 (heads).", argument="dataset")
        heads = int(np.count_nonzero(found))
        return heads, len(found) - heads

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Estimates, shape `(size,)`, by inversion of the distribution function."""
        a, b, low, high, flipped = self._law(dataset)
        start, end = betainc(a, b, low), betainc(a, b, high)
        drawn = np.clip(betaincinv(a, b, start + rng.random(size) * (end - start)), low, high)
        return Outputs(1.0 - drawn if flipped else drawn)

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each estimate under `dataset`, shape `(size,)`; -inf outside the interval."""
        a, b, low, high, flipped = self._law(dataset)
        log_total = betaln(a, b) + math.log(betainc(a, b, high) - betainc(a, b, low))
        a, b = (b, a) if flipped else (a, b)
        inside = (outputs.values >= self.lower) & (outputs.values <= self.upper)
        at = np.where(inside, outputs.values, 0.5)
        return np.asarray(np.where(inside, (a - 1.0) * np.log(at) + (b - 1.0) * np.log1p(-at) - log_total, -np.inf))

    def mean_and_deviation(self, dataset: Dataset) -> tuple[float, float]:
        """Mean and standard deviation of the estimate, by Simpson's rule."""
        at, mass = self._masses(dataset)
        mean = float(at @ mass)
        return mean, math.sqrt(float((at - mean) ** 2 @ mass))

    def guarantee(self) -> Guarantee:
        """`PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def bounded_range(self) -> BoundedRange:
        """c times the range, over the interval, of the change of the log likelihood."""
        if self.relation is Relation.ADD_REMOVE:
            heads, tails = math.log(self.upper / self.lower), math.log1p(-self.lower) - math.log1p(-self.upper)
            return BoundedRange(self.exponent * max(heads, tails), self.relation)
        return BoundedRange(self.exponent * float(logit(self.upper) - logit(self.lower)), self.relation)

    def worst_case(self) -> Neighbours:
        """One more head next to one head, or a head where a tail was: few records, so that every estimate is seen."""
        if self.relation is Relation.ADD_REMOVE:
            return Neighbours(np.array([1.0]), np.array([1.0, 1.0]), self.relation)
        return Neighbours(np.array([0.0]), np.array([1.0]), self.relation)

    def exact_guarantee(self) -> Guarantee:
        """The curve of `worst_case()`, by Simpson's rule on 20,001 estimates; as the ends are among them, epsilon at
        delta 0 is exact."""
        pair = self.worst_case()
        return ExactDP(self._masses(pair.d0)[1], self._masses(pair.d1)[1], self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        for side in (0, 1):
            self.counts(neighbours.side(side))
        check_records(neighbours)
        return self

    def _masses(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Estimates, and density times the weight of Simpson's rule, scaled to sum to 1."""
        at = np.linspace(self.lower, self.upper, _NODES)
        weights = np.where(np.arange(_NODES) % 2, 4.0, 2.0)
        weights[[0, -1]] = 1.0
        mass = weights * np.exp(self.log_density(Outputs(at), dataset))
        return at, mass / mass.sum()

    def _law(self, dataset: Dataset) -> tuple[float, float, float, float, bool]:
        """Parameters and ends of the Beta law of the estimate, or, where heads prevail, of 1 - estimate."""
        heads, tails = self.counts(dataset)
        flipped = heads > tails
        few, many = (tails, heads) if flipped else (heads, tails)
        low, high = (1.0 - self.upper, 1.0 - self.lower) if flipped else (self.lower, self.upper)
        a, b = 1.0 + self.exponent * few, 1.0 + self.exponent * many
        if betainc(a, b, high) - betainc(a, b, low) < _LEAST_MASS:
            raise ParameterError(
                f"{heads} heads and {tails} tails put less than {_LEAST_MASS:g} of their Beta law between lower and "
                "upper, too little to draw from. Take an interval that holds the share of heads, or a smaller epsilon.",
                argument="dataset",
            )
        return a, b, low, high, flipped
