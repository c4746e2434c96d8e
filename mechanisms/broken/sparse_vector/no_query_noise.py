"""Intentionally broken sparse vector: the queries get no noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...selection.sparse_vector.threshold_integral import log_cdf
from .no_stop import NeverStops


@dataclass(frozen=True)
class NoQueryNoise(NeverStops):
    """Broken: sparse vector with noise on the threshold but not on the queries, which never stops.

    Bug: noise on the threshold hides its position, but not the order of the queries. A query that is above while
    another one is below is the larger of the two; where it is the smaller one on the neighbour, epsilon is infinite.
    Threshold noise has scale 2 sensitivity / epsilon. (Stoddard, Chen and Machanavajjhala 2014; Lyu, Su and Li 2017,
    algorithm 5.) `AboveThreshold` is correct.

    Output of a run: `(n_queries,)` whole numbers, 1 above, 0 below.

    Args:
        epsilon: the claim, > 0; false.
        n_queries: number of queries, >= 1.
        threshold, sensitivity, query, relation: as for `SparseVector`.

    Example:
        >>> broken = NoQueryNoise(epsilon=0.1, n_queries=10)
        >>> curve = broken.exact_guarantee()
        >>> curve.epsilon(0.0), round(curve.delta(50.0), 6)  # 1 - e^(-epsilon / 2)
        (inf, 0.048771)
    """

    @property
    def query_scale(self) -> float:
        return 0.0

    def _log_stretch(self, below: NDArray[np.bool_], above: NDArray[np.bool_], queries: Floats) -> Floats:
        """Return the log probability that the noisy threshold lies between the queries below and those above."""
        low = np.where(below, queries, -np.inf).max(axis=1, initial=-np.inf)
        high = np.where(above, queries, np.inf).min(axis=1, initial=np.inf)
        return log_between(*((side - self.threshold) / self.threshold_scale for side in (low, high)))


def log_between(low: Floats, high: Floats) -> Floats:
    """Return the log probability that Laplace noise of scale 1 lies between `low` and `high`; -inf if low >= high.

    On one side of 0 the mass beyond the farther end is subtracted in a form without cancellation.
    """
    nearer = np.where(high <= 0.0, high, np.where(low >= 0.0, -low, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one_side = np.log(0.5) + nearer + np.log(-np.expm1(np.minimum(low - high, 0.0)))
        both = np.log1p(-np.exp(log_cdf(low)) - np.exp(log_cdf(-high)))
    straddles = (low < 0.0) & (high > 0.0)
    return np.where(low < high, np.where(straddles, both, one_side), -np.inf)
