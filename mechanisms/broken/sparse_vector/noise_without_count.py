"""Intentionally broken sparse vector: its noise does not grow with the number of answers above."""

from __future__ import annotations

from dataclasses import dataclass

from ...selection.sparse_vector.above_threshold import AboveThreshold


@dataclass(frozen=True)
class NoiseWithoutCount(AboveThreshold):
    """Broken: sparse vector with query noise that does not depend on `stop_after`.

    Bug: a quarter of the budget is for the threshold, noise of scale 4 sensitivity / epsilon, and three quarters for
    the comparisons, noise of scale 4 sensitivity / (3 epsilon). The latter must be 2 stop_after times as large: each of
    the `stop_after` answers above spends budget, and both the query and the threshold may change. The claim is epsilon,
    but the true value is (1 + 6 stop_after) epsilon / 4, in the limit of many queries. (Lee and Clifton 2014; Lyu, Su
    and Li 2017, algorithm 4.) `AboveThreshold` is correct.

    Args:
        epsilon: the claim, > 0; false.
        n_queries, stop_after, threshold, sensitivity, query, relation: as for `AboveThreshold`.

    Example:
        >>> broken = NoiseWithoutCount(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.1, 0.175)
    """

    @property
    def threshold_scale(self) -> float:
        return 4.0 * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 4.0 / 3.0 * self.sensitivity / self.epsilon
