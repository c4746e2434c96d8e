"""Intentionally broken online multiplicative weights: the exact error is compared with the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...query_release.multiplicative_weights.private_multiplicative_weights import PrivateMultiplicativeWeights


@dataclass(frozen=True)
class ExactErrors(PrivateMultiplicativeWeights):
    """Broken: online multiplicative weights with an exact comparison; only updates have noise.

    Bug: a lazy round releases only an answer of the public distribution, so that it seems to need no noise. But the
    absence of an update reveals that the error is below the threshold. Where it is above on the neighbour, the round
    leaks one record: epsilon is infinite. `PrivateMultiplicativeWeights`, whose comparisons are those of a sparse
    vector, is correct. (Hardt and Rothblum 2010, figure 1, where the noisy error is compared.)

    Args:
        workload, n_records, threshold, n_updates, view, relation: as for `PrivateMultiplicativeWeights`.
        epsilon, delta: the claim; false.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
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
        """Return 0 where exactly the errors above the threshold are answered as above, else -inf."""
        consistent = (errors >= self.threshold) == above
        return np.where((consistent | ~(below | above)).all(axis=1), 0.0, -np.inf)
