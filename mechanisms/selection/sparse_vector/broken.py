"""Intentionally broken sparse vector techniques."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ...accounting import ExactDP, compose
from ...accounting.broken import Broken
from ...accounting.numerics.laplace import laplace_log_cdf
from ...core import Bools, Dataset, Floats, Guarantee, Mechanism, Neighbours, Outputs, Relation
from ...noise.queries.base import AnyQuery
from . import NumericalSparseVector
from .above_threshold import MAX_PATTERNS, AboveThreshold, SparseVector
from .answers import ABOVE, BELOW, Answers
from .numerical import ReleasesValues


class _OwnScales(Broken):
    """A broken sparse vector that differs in the scales of its noise."""

    epsilon: float
    sensitivity: float

    @abstractmethod
    def _factors(self) -> tuple[float, float]:
        """Return the scales for the threshold and for a query, times epsilon / sensitivity."""

    @property
    def threshold_scale(self) -> float:
        return self._factors()[0] * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return self._factors()[1] * self.sensitivity / self.epsilon


@dataclass(frozen=True)
class NeverStops(_OwnScales, SparseVector):
    """Broken: sparse vector that answers every query, with any number of answers above.

    Threshold noise and query noise have scale 2 sensitivity / epsilon; epsilon grows without limit with the number
    of queries.

    Output of a run: `(n_queries,)` whole numbers, 1 above, 0 below.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.

    Example:
        >>> [round(NeverStops(0.1, n).exact_guarantee().epsilon(0.0), 3) for n in (2, 4, 10, 20, 40, 100)]
        [0.076, 0.158, 0.42, 0.876, 1.816, 4.705]
    """

    cause = "An answer above the threshold spends budget, but these answers are not counted."
    source = "Chen, Xiao, Zhang and Xu (2015); Lyu, Su and Li (2017), algorithm 6."
    correct_class = AboveThreshold

    def _factors(self) -> tuple[float, float]:
        return 2.0, 2.0

    @property
    def stops_after(self) -> int:
        return self.n_queries + 1

    def worst_case(self) -> Neighbours:
        """Return queries at the threshold; the first half of them moves up, the others down."""
        return self._moved(np.where(2 * np.arange(self.n_queries) < self.n_queries, 1.0, -1.0))

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair, by the number above in each group of queries with equal answers.

        None where there are too many such outcomes.
        """
        sides = (neighbours.d0, neighbours.d1)
        group = np.unique(np.array([self.answers(side) for side in sides]), axis=1, return_inverse=True)[1]
        sizes = np.bincount(group.reshape(self.n_queries))
        if math.prod(int(size) + 1 for size in sizes) > MAX_PATTERNS:
            return None
        rank = np.array([np.count_nonzero(group.reshape(-1)[:i] == label) for i, label in enumerate(group.reshape(-1))])
        counts = np.array(list(product(*(range(size + 1) for size in sizes))))
        patterns = np.where(rank < counts[:, group.reshape(-1)], ABOVE, BELOW).astype(np.int8)
        multiplicities = [
            math.prod(math.comb(int(n), int(k)) for n, k in zip(sizes, row, strict=True)) for row in counts
        ]
        p0, p1 = (np.array(multiplicities) * np.exp(self.log_probabilities(patterns, side)) for side in sides)
        return ExactDP(p0, p1, self.relation)


@dataclass(frozen=True)
class NoQueryNoise(NeverStops):
    """Broken: sparse vector with noise on the threshold but not on the queries, which never stops.

    A query that is above while another one is below is the larger of the two; where it is the smaller one on the
    neighbour, epsilon is infinite. Threshold noise has scale 2 sensitivity / epsilon.

    Output of a run: `(n_queries,)` whole numbers, 1 above, 0 below.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.

    Example:
        >>> broken = NoQueryNoise(epsilon=0.1, n_queries=10)
        >>> curve = broken.exact_guarantee()
        >>> curve.epsilon(0.0), round(curve.delta(50.0), 6)  # 1 - e^(-epsilon / 2)
        (inf, 0.048771)
    """

    cause = "Noise on the threshold hides its position, but not the order of the queries."
    source = "Stoddard, Chen and Machanavajjhala (2014); Lyu, Su and Li (2017), algorithm 5."
    correct_class = AboveThreshold

    def _factors(self) -> tuple[float, float]:
        return 2.0, 0.0

    def _log_comparisons(self, below: Bools, above: Bools, queries: Floats) -> Floats:
        """Return the log probability that the noisy threshold lies between the queries below and those above."""
        low = np.where(below, queries, -np.inf).max(axis=1, initial=-np.inf)
        high = np.where(above, queries, np.inf).min(axis=1, initial=np.inf)
        return _log_between(*((side - self.threshold) / self.threshold_scale for side in (low, high)))


def _log_between(low: Floats, high: Floats) -> Floats:
    """Return the log probability that Laplace noise of scale 1 lies between `low` and `high`; -inf if low >= high.

    On one side of 0 the mass beyond the farther end is subtracted in a form without cancellation.
    """
    nearer = np.where(high <= 0.0, high, np.where(low >= 0.0, -low, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one_side = np.log(0.5) + nearer + np.log(-np.expm1(np.minimum(low - high, 0.0)))
        both = np.log1p(-np.exp(laplace_log_cdf(low)) - np.exp(laplace_log_cdf(-high)))
    straddles = (low < 0.0) & (high > 0.0)
    return np.where(low < high, np.where(straddles, both, one_side), -np.inf)


@dataclass(frozen=True)
class NoiseWithoutCount(_OwnScales, AboveThreshold):
    """Broken: sparse vector with query noise that does not depend on `stop_after`.

    A quarter of the budget is for the threshold, noise of scale 4 sensitivity / epsilon, and three quarters for the
    comparisons, noise of scale 4 sensitivity / (3 epsilon). The latter must be 2 stop_after times as large: each of the
    `stop_after` answers above spends budget, and both the query and the threshold may change. The claim is epsilon, but
    the true value is (1 + 6 stop_after) epsilon / 4, in the limit of many queries.

    Args:
        epsilon: the claim, > 0; false.

    Example:
        >>> broken = NoiseWithoutCount(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.1, 0.175)
    """

    cause = "The noise of the comparisons does not grow with the number of answers above."
    source = "Lee and Clifton (2014); Lyu, Su and Li (2017), algorithm 4."
    correct_class = AboveThreshold

    def _factors(self) -> tuple[float, float]:
        return 4.0, 4.0 / 3.0


@dataclass(frozen=True)
class BudgetOfThreshold(_OwnScales, AboveThreshold):
    """Broken: sparse vector that claims the share of the threshold as the whole budget.

    The shares of threshold and queries are 1 : (2 c)^(2/3), c = stop_after, the division with the least error, but
    epsilon is the first share: noise of scale sensitivity / epsilon on the threshold, and of scale 2 c sensitivity /
    epsilon_2 with epsilon_2 = (2 c)^(2/3) epsilon on the queries. The true epsilon is epsilon + epsilon_2 in the limit
    of many queries: 5 times the claim at c = 4. (The release of values is left out here.)

    Args:
        epsilon: the claim, > 0; false.

    Example:
        >>> broken = BudgetOfThreshold(epsilon=0.1, n_queries=12, stop_after=4)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.1, 0.457)
    """

    cause = "The option is used as one share of the budget, and the other shares are computed from it."
    source = "NVIDIA/NVFlare, SVTPrivacy, before pull request 4470; Lyu, Su and Li (2017), section 4.2, on the shares."
    correct_class = AboveThreshold

    def _factors(self) -> tuple[float, float]:
        return 1.0, math.cbrt(2.0 * self.stop_after)


@dataclass(frozen=True)
class ReleasesTestedValue(_OwnScales, ReleasesValues):
    """Broken: sparse vector that releases the noisy value that was compared, where it is above the threshold.

    The argument that answers below spend no budget fails, and epsilon grows without limit with the number of
    queries. Threshold noise has scale 2 sensitivity / epsilon, query noise 2 stop_after sensitivity / epsilon.
    `NumericalSparseVector`, with fresh noise from a separate budget, is correct.

    Output of a run: as of `NumericalSparseVector`.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.
        stop_after: number of answers above after which the run stops, >= 1; c in the papers.

    Example:
        >>> broken = ReleasesTestedValue(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.1, 0.5)
    """

    cause = "A low released value implies an even lower threshold, which earlier answers below make unlikely."
    source = "Roth (2011) in lecture notes; Lyu, Su and Li (2017), algorithm 3."
    correct_class = NumericalSparseVector

    def _factors(self) -> tuple[float, float]:
        return 2.0, 2.0 * self.stop_after

    @property
    def value_scale(self) -> float:
        return self.query_scale

    def worst_case(self) -> Neighbours:
        """Return queries at the threshold that all move up."""
        return self._moved(np.ones(self.n_queries))

    def _released(self, above: Bools, noisy: Floats, exact: float, rng: np.random.Generator) -> Floats:
        return np.where(above, noisy, 0.0)

    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log probability of a threshold below all released values and above the queries below."""
        if not released.shape[1]:
            return np.full(len(released), log_p)
        values, counts = np.unique(queries[pattern == BELOW], return_counts=True)
        below = tuple(int(n) for n in counts)
        return self._integral(values).log_probability_up_to(below, released.min(axis=1))


MAX_OUTCOMES = 2_000_000
"""Largest number of pairs of outcomes for which the exact curve is computed."""


@dataclass(frozen=True)
class TwoBrokenSparseVectors(Broken, Mechanism):
    """Broken: `ReleasesTestedValue` and `NoiseWithoutCount` on the same queries, with independent noise.

    Neither part satisfies its share of the claim. This mechanism is a test of attacks: the two leaks are in different
    parts of one wide output.

    Output of a run: `(2 n_queries,)` numbers, those of `ReleasesTestedValue` and then those of `NoiseWithoutCount`.

    Args:
        epsilon: the claim of each part, > 0; both together claim 2 epsilon.
        n_queries, stop_after, threshold, sensitivity, query, relation: as for `AboveThreshold`.

    Example:
        >>> broken = TwoBrokenSparseVectors(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.2, 0.525)
    """

    cause = "Both parts have the bug of their class."
    source = "Bichsel, Steffen, Bogunovic and Vechev (2021), where it is called SVT34Parallel."

    epsilon: float
    n_queries: int
    _: KW_ONLY
    threshold: float = 0.0
    stop_after: int = 1
    sensitivity: float = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._parts

    @cached_property
    def _parts(self) -> tuple[ReleasesTestedValue, NoiseWithoutCount]:
        options: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return ReleasesTestedValue(**options), NoiseWithoutCount(**options)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` independent runs, shape `(size, 2 n_queries)`."""
        return Outputs(np.hstack([part.release(dataset, size, rng).values for part in self._parts]))

    def guarantee(self) -> Guarantee:
        """Return the composition of the claims of both parts."""
        return compose([part.guarantee() for part in self._parts])

    def worst_case(self) -> Neighbours:
        """Return the worst case of the first part: all queries at the threshold, and all of them up."""
        return self._parts[0].worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        self._parts[0].bind(neighbours)
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        tested, answers = np.split(outputs.values, 2, axis=1)
        first, second = self._parts
        log_p = first.log_density(Outputs(tested), dataset)
        return log_p + second.log_density(Outputs(answers.astype(np.int8)), dataset)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None where it is not known for a part."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair, from the product of the laws; None where it is not known for a part."""
        first, second = (part.curve(neighbours) for part in self._parts)
        if not isinstance(first, ExactDP) or not isinstance(second, ExactDP):
            return None
        if len(first.p0) * len(second.p0) > MAX_OUTCOMES:
            return None
        return first.product(second).under(self.relation)
