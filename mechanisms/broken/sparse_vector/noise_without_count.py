"""Wrong on purpose: sparse vector whose noise does not grow with the number of answers above."""

from __future__ import annotations

from dataclasses import dataclass

from ...sparse_vector.above_threshold import AboveThreshold


@dataclass(frozen=True)
class NoiseWithoutCount(AboveThreshold):
    """Broken: query noise that is the same however many queries may be above.

    The slip: a quarter of the budget goes to the threshold, noise of scale 4 sensitivity / epsilon, and three quarters
    to the comparisons, noise of scale 4 sensitivity / (3 epsilon). Twice `stop_after` times that is needed: each of
    the `stop_after` answers above costs, and both the query and the threshold may move. It claims epsilon and has
    (1 + 6 stop_after) epsilon / 4, approached with more and more queries. (Lee and Clifton 2014; Lyu, Su and Li 2017,
    algorithm 4.) Right: `AboveThreshold`.

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
