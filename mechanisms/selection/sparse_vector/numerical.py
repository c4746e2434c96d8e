"""Numerical sparse vector technique: the queries above a threshold, and their noisy values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...noise.laplace import draw_laplace
from .answers import Answers
from .released_values import ReleasesValues


@dataclass(frozen=True)
class NumericalSparseVector(ReleasesValues):
    """Numerical sparse vector technique: for queries above the noisy threshold, the value with new noise.

    A third of the budget each for the threshold, noise of scale 3 sensitivity / epsilon, the comparisons, noise of
    scale 6 stop_after sensitivity / epsilon, and the released values, noise of scale
    3 stop_after sensitivity / epsilon, independent of that of the comparison. (Wang, Ding, Wang, Kifer and Zhang 2019;
    Lyu, Su and Li 2017, algorithm 7.)

    Output of a run: `(n_queries,)` numbers, the noisy value if the query is above, else 0, which means below and,
    after the last released number, not answered.

    Args:
        epsilon: the claim, > 0.
        n_queries: number of queries, >= 1.
        stop_after: number of answers above after which a run stops, >= 1; c in the papers.
        threshold, sensitivity, query, relation: as for `SparseVector`.

    Guarantees:
        * epsilon-DP: a sparse vector technique at 2 epsilon / 3 (Lyu, Su and Li 2017, theorem 4), composed with
          `stop_after` Laplace mechanisms that share epsilon / 3.

    Example:
        >>> mechanism = NumericalSparseVector(epsilon=3.0, n_queries=3, threshold=50.0)
        >>> mechanism.release([0.0, 99.0, 99.0], 2, np.random.default_rng(0)).values.round(1)
        array([[  0. , 100.2,   0. ],
               [  0. ,  98.2,   0. ]])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        2.276
    """

    @property
    def threshold_scale(self) -> float:
        return 3.0 * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 6.0 * self.stop_after * self.sensitivity / self.epsilon

    @property
    def value_scale(self) -> float:
        return 3.0 * self.stop_after * self.sensitivity / self.epsilon

    def _said(self, above: NDArray[np.bool_], noisy: Floats, exact: float, rng: np.random.Generator) -> Floats:
        released = np.zeros(len(above))
        released[above] = exact + draw_laplace(self.value_scale, (int(np.count_nonzero(above)),), rng)
        return released

    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log probability of the comparisons, which are independent of the released noise."""
        return np.full(len(released), log_p)
