"""Wrong on purpose: online multiplicative weights that look at the exact error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...queries.base import Floats
from ...release.weights.online import OnlineWeights


@dataclass(frozen=True)
class ExactErrors(OnlineWeights):
    """Broken: the exact error of the distribution is compared with the exact threshold; only updates have noise.

    The slip: a lazy round publishes nothing but what the distribution says anyway, so that it seems to need no noise.
    That no update came does say something, though: the error was below the threshold. Where it is above on the
    neighbour, the round gives one record away: epsilon is infinite. Right: `OnlineWeights`, whose comparisons are those
    of a sparse vector. (Hardt and Rothblum 2010, figure 1, where the noisy error is compared.)

    Args:
        workload, n_records, threshold, n_updates, view, relation: as for `OnlineWeights`.
        epsilon, delta: the claim; false.

    Example:
        >>> from dpassay.mechanisms.queries import Workload
        >>> workload = Workload.identity({"cell": 3})
        >>> broken = ExactErrors(workload, n_records=30, epsilon=1.0, threshold=9.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (1.0, inf)
    """

    @property
    def threshold_scale(self) -> float:
        return 0.0

    @property
    def query_scale(self) -> float:
        return 0.0

    def _log_stretch(self, errors: Floats, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> Floats:
        """All that are above the threshold are found above it, and no others."""
        right = (errors >= self.threshold) == above
        return np.where((right | ~(below | above)).all(axis=1), 0.0, -np.inf)
