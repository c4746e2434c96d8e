"""Wrong on purpose: sparse vector that releases the very value that was compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, Neighbours
from ...queries.base import Floats
from ...sparse_vector.answers import BELOW, Answers
from ...sparse_vector.released_values import ReleasesValues


@dataclass(frozen=True)
class ReleasesTestedValue(ReleasesValues):
    """Broken: where a query is above the noisy threshold, the noisy value that was compared is released.

    The slip: a low value says that the threshold was lower still, which answers below beforehand make unlikely. Nothing
    is left of the argument that those are free, and epsilon grows without limit with the number of queries. Threshold
    noise has scale 2 sensitivity / epsilon, query noise 2 stop_after sensitivity / epsilon. (Roth 2011 in lecture
    notes; Lyu, Su and Li 2017, algorithm 3.) Right: `NumericalSparseVector`, with fresh noise from a budget of its own.

    Output of a run: as of `NumericalSparseVector`.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.
        stop_after: answers above after which it stops, >= 1; c in the papers.
        threshold, sensitivity, query, relation: as for `SparseVector`.

    Example:
        >>> broken = ReleasesTestedValue(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.1, 0.5)
    """

    @property
    def threshold_scale(self) -> float:
        return 2.0 * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 2.0 * self.stop_after * self.sensitivity / self.epsilon

    @property
    def value_scale(self) -> float:
        return self.query_scale

    def worst_case(self) -> Neighbours:
        """All queries at the threshold, and all of them up."""
        return self._moved(np.ones(self.n_queries))

    def _said(self, above: NDArray[np.bool_], seen: Floats, exact: float, rng: np.random.Generator) -> Floats:
        return np.where(above, seen, 0.0)

    def _log_rest(self, pattern: Answers, released: Floats, dataset: Dataset) -> Floats:
        """The log probability that the threshold is below all released values, and the queries below are below it."""
        queries = self.answers(dataset)
        if not released.shape[1]:
            return np.full(len(released), self.log_probabilities(pattern[None, :], dataset)[0])
        below = queries[pattern == BELOW]
        values, counts = np.unique(below, return_counts=True)
        integral = self._integral(values)
        return integral.log_probability_up_to(tuple(int(n) for n in counts), released.min(axis=1))
