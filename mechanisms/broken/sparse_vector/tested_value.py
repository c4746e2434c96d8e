"""Intentionally broken sparse vector: it releases the noisy value that was compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Neighbours
from ...selection.sparse_vector.answers import BELOW, Answers
from ...selection.sparse_vector.numerical import ReleasesValues


@dataclass(frozen=True)
class ReleasesTestedValue(ReleasesValues):
    """Broken: sparse vector that releases the noisy value that was compared, where it is above the threshold.

    Bug: a low released value implies an even lower threshold, which earlier answers below make unlikely. The argument
    that answers below spend no budget fails, and epsilon grows without limit with the number of queries. Threshold
    noise has scale 2 sensitivity / epsilon, query noise 2 stop_after sensitivity / epsilon. (Roth 2011 in lecture
    notes; Lyu, Su and Li 2017, algorithm 3.) `NumericalSparseVector`, with fresh noise from a separate budget, is
    correct.

    Output of a run: as of `NumericalSparseVector`.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.
        stop_after: number of answers above after which the run stops, >= 1; c in the papers.
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
        """Return queries at the threshold that all move up."""
        return self._moved(np.ones(self.n_queries))

    def _released(self, above: NDArray[np.bool_], seen: Floats, exact: float, rng: np.random.Generator) -> Floats:
        return np.where(above, seen, 0.0)

    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log probability of a threshold below all released values and above the queries below."""
        if not released.shape[1]:
            return np.full(len(released), log_p)
        values, counts = np.unique(queries[pattern == BELOW], return_counts=True)
        below = tuple(int(n) for n in counts)
        return self._integral(values).log_probability_up_to(below, released.min(axis=1))
