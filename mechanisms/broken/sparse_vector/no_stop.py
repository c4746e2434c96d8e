"""Intentionally broken sparse vector: it never stops after answers above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...accounting import ExactDP
from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...selection.sparse_vector.above_threshold import MOST_PATTERNS, SparseVector
from ...selection.sparse_vector.answers import ABOVE, BELOW


@dataclass(frozen=True)
class NeverStops(SparseVector):
    """Broken: sparse vector that answers every query, with any number of answers above.

    Bug: an answer above spends budget like any other query, and here these answers are not counted. Threshold noise and
    query noise have scale 2 sensitivity / epsilon; epsilon grows without limit with the number of queries. (Chen, Xiao,
    Zhang and Xu 2015; Lyu, Su and Li 2017, algorithm 6.) `AboveThreshold`, which stops, is correct.

    Output of a run: `(n_queries,)` whole numbers, 1 above, 0 below.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.
        threshold, sensitivity, query, relation: as for `SparseVector`.

    Example:
        >>> [round(NeverStops(0.1, n).exact_guarantee().epsilon(0.0), 3) for n in (2, 4, 10, 20, 40, 100)]
        [0.076, 0.158, 0.42, 0.876, 1.816, 4.705]
    """

    @property
    def threshold_scale(self) -> float:
        return 2.0 * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 2.0 * self.sensitivity / self.epsilon

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
        if math.prod(int(size) + 1 for size in sizes) > MOST_PATTERNS:
            return None
        rank = np.array([np.count_nonzero(group.reshape(-1)[:i] == label) for i, label in enumerate(group.reshape(-1))])
        counts = np.array(list(product(*(range(size + 1) for size in sizes))))
        patterns = np.where(rank < counts[:, group.reshape(-1)], ABOVE, BELOW).astype(np.int8)
        multiplicities = [
            math.prod(math.comb(int(n), int(k)) for n, k in zip(sizes, row, strict=True)) for row in counts
        ]
        p0, p1 = (np.array(multiplicities) * np.exp(self.log_probabilities(patterns, side)) for side in sides)
        return ExactDP(p0, p1, self.relation)
