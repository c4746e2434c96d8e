"""Sparse vector technique: many queries against one noisy threshold, with a budget only for those above.

    SparseVector    base class of all variants
    AboveThreshold  releases which queries are above


    bar_i   = threshold + rho,   rho ~ Laplace(threshold_scale), drawn once, or again after each answer above
    noisy_i = query_i + nu_i,    nu_i ~ Laplace(query_scale)
    answer i is "above" if noisy_i >= bar_i, else "below"; after `stops_after` answers above nothing is answered

(Lyu, Su and Li 2017, whose six algorithms differ in the two scales, in stopping, and in the output for a query that is
above.) A subclass is a frozen dataclass that defines the scales and its claim.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, PureMechanism
from ...core.arrays import Bools, Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import Finite, Flag, Positive, PositiveInt
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.laplace import draw_laplace
from ...noise.queries.answers import check_pair, check_query, evaluate, refuse_worst_case
from ...noise.queries.base import AnyQuery
from .answers import ABOVE, STOPPED, Answers, all_patterns, as_answers, distinct, possible
from .threshold_integral import MAX_ANSWER_DISTANCE, ThresholdIntegral, threshold_integral

MAX_PATTERNS = 20_000
"""Largest number of patterns of answers for which the exact curve is computed."""


@dataclass(frozen=True)
class SparseVector(PureMechanism):
    """Queries against a noisy threshold.

    Args:
        epsilon: the claim, > 0.
        n_queries: number of queries, >= 1.
        threshold: the threshold for the queries, in their units.
        sensitivity: largest change of any single query between neighbours, > 0.
        query: computes the answers of the queries from the dataset; None if the dataset is the vector `(n_queries,)`
            of answers.
        relation: the neighbouring relation of `sensitivity` and the claim.
    """

    _dataset = Data.ANSWERS

    epsilon: Positive
    n_queries: PositiveInt
    _: KW_ONLY
    threshold: Finite = 0.0
    sensitivity: Positive = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    redraws: ClassVar[bool] = False
    """True if the threshold noise is redrawn after each answer above."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_query(self, norm=np.inf, n_name="n_queries")

    @property
    @abstractmethod
    def threshold_scale(self) -> float:
        """Scale of the noise on the threshold."""

    @property
    @abstractmethod
    def query_scale(self) -> float:
        """Scale of the noise on each query."""

    @property
    @abstractmethod
    def stops_after(self) -> int:
        """Number of answers above after which a run stops; `n_queries` if it never stops."""

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers of the queries, shape `(n_queries,)`."""
        return evaluate(self.query, dataset, n_answers=self.n_queries, n_name="n_queries").reshape(self.n_queries)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Perform `size` independent runs, shape `(size, n_queries)`: query by query, all runs at once."""
        queries = self.answers(dataset)
        outputs = self._unanswered(size)
        rows = np.arange(size)
        bar = self.threshold + draw_laplace(self.threshold_scale, (size,), rng)
        n_left = np.full(size, self.stops_after)
        for place, exact in enumerate(queries):
            noisy = exact + draw_laplace(self.query_scale, (len(rows),), rng)
            above = noisy >= bar
            outputs[rows, place] = self._released(above, noisy, exact, rng)
            if self.redraws:
                bar[above] = self.threshold + draw_laplace(self.threshold_scale, (int(np.count_nonzero(above)),), rng)
            n_left -= above
            if (running := n_left > 0).all():
                continue
            rows, bar, n_left = rows[running], bar[running], n_left[running]
        return Outputs(outputs)

    def _unanswered(self, size: int) -> NDArray[np.generic]:
        """Return the outputs of runs before any answer."""
        return np.full((size, self.n_queries), STOPPED, dtype=np.int8)

    def _released(self, above: Bools, noisy: Floats, exact: float, rng: np.random.Generator) -> NDArray[np.generic]:
        """Return the released values of a query: only whether it is above, unless a subclass releases more."""
        return above

    def worst_case(self) -> Neighbours:
        """Return all queries at the threshold; the last `stops_after` queries move down, the others up.

        The most informative output has answers below first and the last answers above, against these moves.
        """
        return self._moved(np.where(np.arange(self.n_queries) < self.n_queries - self.stops_after, 1.0, -1.0))

    def _moved(self, signs: Floats) -> Neighbours:
        """Return the pair of all queries at the threshold, and moved by the sensitivity."""
        refuse_worst_case(type(self).__name__, self.query)
        start = np.full(self.n_queries, self.threshold)
        d0, d1 = (v if self.n_queries > 1 else v[0] for v in (start, start + self.sensitivity * signs))
        return Neighbours(d0, d1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_pair(neighbours, self.query, self.answers, sensitivity=self.sensitivity, norm=np.inf)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf if impossible."""
        answers, known = as_answers(outputs.values)
        patterns, place = distinct(answers)
        log_p = self.log_probabilities(patterns, dataset)[place]
        return log_p if known is None else np.where(known, log_p, -np.inf)

    def log_probabilities(self, patterns: Answers, dataset: Dataset) -> Floats:
        """Return the log probability of each pattern of answers under `dataset`, shape `(n,)`; -inf if impossible."""
        log_p = np.zeros(len(patterns))
        stretch = np.cumsum(patterns == ABOVE, axis=1) - (patterns == ABOVE)
        for number in range(self.stops_after if self.redraws else 1):
            inside = (stretch == number) & (patterns != STOPPED) if self.redraws else patterns != STOPPED
            below, above = inside & (patterns != ABOVE), inside & (patterns == ABOVE)
            log_p += self._log_comparisons(below, above, self.answers(dataset))
        log_p[~possible(patterns, self.stops_after)] = -np.inf
        return log_p

    def _log_comparisons(self, below: Bools, above: Bools, queries: Floats) -> Floats:
        """Return the log probability that the `below` queries are below and the `above` queries above one threshold."""
        values, group = np.unique(queries, return_inverse=True)
        member = (group.reshape(-1, 1) == np.arange(len(values))).astype(np.int64)
        counts = np.hstack([below @ member, above @ member])
        distinct_counts, place = np.unique(counts, axis=0, return_inverse=True)
        n_below, n_above = distinct_counts[:, : len(values)], distinct_counts[:, len(values) :]
        log_p = self._integral(values).log_probability(n_below, n_above)
        return log_p[place.reshape(len(counts))]

    def _integral(self, values: Floats) -> ThresholdIntegral:
        scales = (self.threshold_scale, self.query_scale)
        near = np.clip(
            values,
            self.threshold - MAX_ANSWER_DISTANCE * max(scales),
            self.threshold + MAX_ANSWER_DISTANCE * max(scales),
        )
        return threshold_integral(self.threshold, *scales, tuple(float(value) for value in near))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None if there are too many patterns of answers."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair; None if there are too many patterns of answers."""
        patterns = all_patterns(self.n_queries, self.stops_after, MAX_PATTERNS)
        if patterns is None:
            return None
        log0, log1 = (self.log_probabilities(patterns, side) for side in (neighbours.d0, neighbours.d1))
        return ExactDP.of_logs(log0, log1, self.relation)


@dataclass(frozen=True)
class AboveThreshold(SparseVector):
    """Sparse vector technique: queries against one noisy threshold, until `stop_after` of them are above.

    Threshold noise: Laplace of scale 2 sensitivity / epsilon, half of the budget. Query noise: scale
    4 stop_after sensitivity / epsilon, the other half. Answers below do not increase epsilon, for any number of them
    (Dwork and Roth 2014, section 3.6; Lyu, Su and Li 2017, algorithm 1).

    With `redraw=True` the threshold noise has scale 2 stop_after sensitivity / epsilon and is redrawn after each answer
    above: `stop_after` independent runs, each at epsilon / stop_after (the form of Dwork and Roth; algorithm 2 of Lyu,
    Su and Li). It has no advantage, and for stop_after = 1 the two are identical.

    Output of a run: `(n_queries,)` whole numbers, 1 above, 0 below, -1 not answered because the run has stopped.

    Args:
        epsilon: the claim, > 0.
        n_queries: number of queries, >= 1.
        stop_after: number of answers above after which a run stops, >= 1; c in the papers.
        redraw: see above.

    Guarantees:
        * epsilon-DP for all queries that change by at most `sensitivity` each (Lyu, Su and Li 2017, theorem 2).
          Approached as the number of queries grows, but not attained.

    Example:
        >>> mechanism = AboveThreshold(epsilon=1.0, n_queries=4, threshold=500.0)
        >>> mechanism.release([0.0, 0.0, 990.0, 990.0], 2, np.random.default_rng(0)).values
        array([[ 0,  0,  1, -1],
               [ 0,  0,  1, -1]], dtype=int8)
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        0.754
    """

    stop_after: PositiveInt = 1
    redraw: Flag = False

    @property
    def redraws(self) -> bool:  # type: ignore[override]
        return self.redraw

    @property
    def threshold_scale(self) -> float:
        return 2.0 * (self.stop_after if self.redraw else 1) * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 4.0 * self.stop_after * self.sensitivity / self.epsilon

    @property
    def stops_after(self) -> int:
        return self.stop_after

    def worst_case(self) -> Neighbours:
        """Return the pair of every sparse vector; with `redraw`, each stretch of queries ends with a move down."""
        if not self.redraw:
            return super().worst_case()
        stretch = max(1, self.n_queries // self.stop_after)
        return self._moved(np.where((np.arange(self.n_queries) + 1) % stretch, 1.0, -1.0))
