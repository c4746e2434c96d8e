"""Sparse vector technique: many queries against a threshold, with a budget only for those above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.base import Neighbours
from ...core.constraints import PositiveInt
from .base import SparseVector


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
        threshold, sensitivity, query, relation: as for `SparseVector`.

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
    redraw: bool = False

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
