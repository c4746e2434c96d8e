"""Intentionally broken multiplicative weights: selections, errors or samples are not accounted for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....accounting.broken import Broken
from ....core import Bools, Floats, example
from .dual_query import DualQuery
from .mwem import MWEM
from .online import PrivateMultiplicativeWeights


@dataclass(frozen=True)
class UnaccountedSelection(Broken, MWEM):
    """Broken: MWEM that spends the whole budget of a round on the measurement, and leaves out the selection.

    The index is the output of an exponential mechanism at selection_share epsilon / T in each round, and the release
    is (1 + selection_share) epsilon-DP in total. `MWEM`, which divides epsilon / T between the two, is correct.

    Args:
        epsilon: the claim, > 0; false.
        selection_share: additional, unaccounted share of epsilon for the selections, strictly between 0 and 1.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> broken = UnaccountedSelection(Workload.identity({"cell": 3}), n_records=30, epsilon=2.0, rounds=1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (2.0, 2.045)
    """

    cause = "The selected index of a query is released as if it did not depend on the data."
    source = "Hardt, Ligett and McSherry (2012), figure 1, without the budget of one of its two mechanisms."
    correct_class = MWEM

    @property
    def measurement_epsilon(self) -> float:
        return self.epsilon / self.rounds


@dataclass(frozen=True)
class ExactErrors(Broken, PrivateMultiplicativeWeights):
    """Broken: online multiplicative weights with an exact comparison; only updates have noise.

    The absence of an update reveals that the error is below the threshold. Where it is above on the neighbour, the
    round leaks one record: epsilon is infinite. `PrivateMultiplicativeWeights`, whose comparisons are those of a sparse
    vector, is correct.

    Args:
        epsilon, delta: the claim; false.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> workload = Workload.identity({"cell": 3})
        >>> broken = ExactErrors(workload, n_records=30, epsilon=1.0, threshold=9.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (1.0, inf)
    """

    _example = example(threshold=4.0)

    cause = "A lazy round releases only an answer of the public distribution, so that it seems to need no noise."
    source = "Hardt and Rothblum (2010), figure 1, where the noisy error is compared."
    correct_class = PrivateMultiplicativeWeights

    @property
    def threshold_scale(self) -> float:
        return 0.0

    @property
    def query_scale(self) -> float:
        return 0.0

    def _log_comparisons(self, errors: Floats, below: Bools, above: Bools) -> Floats:
        """Return 0 where exactly the errors above the threshold are answered as above, else -inf."""
        consistent = (errors >= self.threshold) == above
        return np.where((consistent | ~(below | above)).all(axis=1), 0.0, -np.inf)


@dataclass(frozen=True)
class SamplesCountedOnce(Broken, DualQuery):
    """Broken: DualQuery that accounts for the samples of a round as one, since they have the same distribution.

    The claim is epsilon = eta T (T - 1) / n, but the s samples of each round have eta T (T - 1) s / n together: s times
    the claim. With delta, rho is s times the claimed one.

    Args:
        epsilon, delta: the claim; false for more than one sample.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Marginals
        >>> broken = SamplesCountedOnce(Marginals({"a": 2}, 1), n_records=20, epsilon=0.5, rounds=2, samples=3)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.5, 1.5)
    """

    _example = example(samples=2)

    cause = "Each of the s samples of a round is a separate exponential mechanism, but one is accounted for."
    source = "Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), theorem 3.1, without the factor s."
    correct_class = DualQuery

    @property
    def accounted_samples(self) -> int:
        return 1
