"""A quantile of bounded values by the exponential mechanism, over the intervals between the values."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from scipy.special import logsumexp

from ...accounting import ExactDP, PureMechanism
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import OpenUnit, Positive
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism, check_worst_case
from ...core.relation import Relation
from ..statistics.median_sensitivity import BoundedMedian

RARE_SHARE = 0.02
"""Share of [lower, upper] taken by the rare outputs of the worst case."""


@dataclass(frozen=True)
class Quantile(PureMechanism, RecordsMechanism):
    """A number in [lower, upper] with density proportional to exp(-(epsilon / 2) |#{x_i < y} - t|), t = round(q n).

    The density is constant between two adjacent values: the mechanism chooses an interval by its length and its rank,
    then a uniform point in it. (Smith 2011, algorithm 2.) When a record is replaced, ranks move by at most 1, up at
    some outputs and down at others, so the factor 2 is needed.

    Args:
        epsilon: the claim, > 0.
        q: the level of the quantile, in (0, 1); 0.5 is the median.
        lower, upper: public bounds, lower < upper. Values outside are clipped; NaN counts as `lower`.

    Guarantees:
        * epsilon-DP under replace_one. Approached, but not attained, by pairs whose distinguishing event becomes rare.

    Example:
        >>> values = Quantile(epsilon=1.0).release([0.49] * 50 + [0.51] * 50, 1000, np.random.default_rng(0)).values
        >>> bool(np.mean(np.abs(values - 0.5) < 0.011) > 0.95)
        True
    """

    _dataset = Data.REALS

    epsilon: Positive = 1.0
    _: KW_ONLY
    q: OpenUnit = 0.5
    lower: float = 0.0
    upper: float = 1.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._values

    @property
    def _values(self) -> BoundedMedian:
        """Object that clips and sorts the values."""
        return BoundedMedian(self.lower, self.upper)

    def target(self, n_records: int) -> int:
        """Return t, the number of values that should lie below the output."""
        return round(self.q * n_records)

    def intervals(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Return the ends of the intervals, `(n + 2,)`, and the log density on each, `(n + 1,)`."""
        values = self._values.sorted(dataset)
        ends = np.concatenate([[self.lower], values, [self.upper]])
        log_density = -0.5 * self.epsilon * np.abs(np.arange(len(values) + 1) - self.target(len(values)))
        with np.errstate(divide="ignore"):
            return ends, log_density - logsumexp(log_density + np.log(np.diff(ends)))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` numbers in [lower, upper], shape `(size,)`, by inversion of the distribution function."""
        ends, log_density = self.intervals(dataset)
        with np.errstate(divide="ignore"):
            masses = np.exp(log_density + np.log(np.diff(ends)))
        steps = np.append(0.0, np.cumsum(masses))
        return Outputs(np.interp(rng.random(size), steps / steps[-1], ends))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf outside [lower, upper]."""
        ends, log_density = self.intervals(dataset)
        values = np.asarray(outputs.values, dtype=np.float64)
        interval = np.searchsorted(ends[1:-1], values, side="left")
        return np.where((values >= self.lower) & (values <= self.upper), log_density[interval], -np.inf)

    def worst_case(self) -> Neighbours:
        """Return a pair in which one record moves from the upper to the lower bound, which changes every rank.

        All other values lie at the bounds, except for one near the lower bound. Below this value the rank is one too
        small on side 0 and right on side 1; above it the rank is right on side 0 and one too large on side 1.
        """
        rarer = min(self.q, 1.0 - self.q)
        check_worst_case(1.0 / rarer, q=self.q)
        n = max(2, math.ceil(1.0 / rarer))
        t, width = self.target(n), self.upper - self.lower
        between = self.lower + RARE_SHARE * width
        d1 = np.repeat([self.lower, between, self.upper], [t, 1, n - t - 1])
        d0 = np.append(d1[1:], self.upper)
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`, whose densities are constant on finitely many intervals."""
        pair = self.worst_case()
        ends = np.unique(np.concatenate([self.intervals(d)[0] for d in (pair.d0, pair.d1)]))
        middle = Outputs((ends[1:] + ends[:-1]) / 2.0)
        logs = [self.log_density(middle, d) + np.log(np.diff(ends)) for d in (pair.d0, pair.d1)]
        return ExactDP.of_logs(logs[0], logs[1], self.relation)
