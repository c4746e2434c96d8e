"""Intentionally broken query release: matrix mechanism, TopDown and multiplicative weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Floats
from ..core.base import Mechanism, Neighbours
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..noise.queries.domain import Domain
from ..noise.queries.workload import Workload
from ..query_release.matrix.matrix_mechanism import GaussianMatrixMechanism, LaplaceMatrixMechanism
from ..query_release.matrix.strategies import HierarchicalStrategy, Strategy
from ..query_release.multiplicative_weights.dual_query import DualQuery
from ..query_release.multiplicative_weights.mwem import MWEM
from ..query_release.multiplicative_weights.online import PrivateMultiplicativeWeights
from ..query_release.top_down.noise import GeometricTopDown
from .base import Broken, certain_leak


def eight_cells() -> Workload:
    """Return the counts of eight values: sensitivity 1, whereas the tree over them has 4."""
    return Workload.identity(Domain((("value", 8),)))


@dataclass(frozen=True)
class LaplaceNoiseForWorkload(Broken, LaplaceMatrixMechanism):
    """Broken: `LaplaceMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    A column of a tree over 8 values has four ones, and a column of the workload of the 8 counts has one.

    True epsilon: epsilon ||A|| / ||W||, with the largest L1 norm of a column of each, since the measurements are those
    of `Laplace` of that epsilon. A missing
    column norm is the case ||W|| = 1. Where the sensitivity of the workload is larger than that of the strategy, too
    much noise is added and the claim holds.

    Args:
        epsilon, workload, strategy, view, relation: as for `LaplaceMatrixMechanism`, the correct twin.

    Example:
        >>> broken = LaplaceNoiseForWorkload(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (0.5, 2.0)
    """

    cause = (
        "The noise is scaled to the sensitivity of the released answers, but it is added to the answers of the "
        "strategy."
    )
    source = "Dwork, McSherry, Nissim and Smith (2006), proposition 1, for the true epsilon."
    correct_class = LaplaceMatrixMechanism

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "measurements"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)


@dataclass(frozen=True)
class GaussianNoiseForWorkload(Broken, GaussianMatrixMechanism):
    """Broken: `GaussianMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    True mu: ||A|| / (||W|| noise_multiplier), with the largest L2 norm of a column of each.

    Args:
        epsilon, delta, noise_multiplier, workload, strategy, view, relation: as for the correct twin,
            `GaussianMatrixMechanism`.

    Example:
        >>> broken = GaussianNoiseForWorkload(noise_multiplier=4.0)
        >>> broken.guarantee().mu, round(broken.exact_guarantee().mu, 12)
        (0.25, 0.5)
    """

    cause = LaplaceNoiseForWorkload.cause
    source = "Dong, Roth and Su (2022), for the true mu."
    correct_class = GaussianMatrixMechanism

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "answers"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)


@dataclass(frozen=True)
class InvariantsIgnored(Broken, GeometricTopDown):
    """Broken: `GeometricTopDown` that claims epsilon-DP for all neighbours, even if they differ in an invariant.

    An adversary with knowledge of all others learns the type of the last person from a total. Invariants are an
    intended part of such releases; the bug is a claim that does not name them.

    True epsilon: infinite, with delta 1: on the worst pair the invariants differ, and they are released.

    Args:
        epsilon, geography, domain, structural_zeros, queries, invariants, view, relation: as for `GeometricTopDown`,
            the correct twin; some invariant must distinguish two people, or a person from none.

    Example:
        >>> broken = InvariantsIgnored(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.5)
        (0.5, inf)
        >>> broken.worst_case().d0[0, :2], broken.worst_case().d1[0, :2]  # a householder, and a partner
        (array([0, 0]), array([0, 1]))
    """

    cause = "The claim does not name the invariants, as the totals without noise are considered harmless."
    source = "Constructed: the invariants of a census release without their place in the claim."
    correct_class = GeometricTopDown

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._distinguished

    @cached_property
    def _distinguished(self) -> tuple[int | None, int]:
        """Two types of people, or None and a type, that an invariant distinguishes."""
        invariant_cells = self.invariant_neighbours.invariant_labels
        adds = self.relation is Relation.ADD_REMOVE
        distinct = np.flatnonzero((invariant_cells != (-1 if adds else invariant_cells[:, :1])).any(axis=0))
        if not len(distinct):
            raise ParameterError(
                "the invariants distinguish no two neighbours, so that the claim holds. Use GeometricTopDown, or "
                "invariants such as [{'level': 'state'}].",
                argument="invariants",
            )
        return (None if adds else 0), int(distinct[0])

    def worst_case(self) -> Neighbours:
        """Return a single person whom an invariant counts in different cells, or counts only on side 1."""
        return self.invariant_neighbours.pair(*self._distinguished)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        """Return self, even for pairs that differ in the invariants; should refuse them."""
        return RecordsMechanism.bind(self, neighbours)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak."""
        return certain_leak(self.relation)


@dataclass(frozen=True)
class UnaccountedSelection(Broken, MWEM):
    """Broken: MWEM that spends the whole budget of a round on the measurement, and leaves out the selection.

    The index is the output of an exponential mechanism at selection_share epsilon / T in each round, and the release
    is (1 + selection_share) epsilon-DP in total. `MWEM`, which divides epsilon / T between the two, is correct.

    Args:
        workload, n_records, rounds, replays, synthetic, view, relation: as for `MWEM`.
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
        workload, n_records, threshold, n_updates, view, relation: as for `PrivateMultiplicativeWeights`.
        epsilon, delta: the claim; false.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> workload = Workload.identity({"cell": 3})
        >>> broken = ExactErrors(workload, n_records=30, epsilon=1.0, threshold=9.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (1.0, inf)
    """

    cause = "A lazy round releases only an answer of the public distribution, so that it seems to need no noise."
    source = "Hardt and Rothblum (2010), figure 1, where the noisy error is compared."
    correct_class = PrivateMultiplicativeWeights

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


@dataclass(frozen=True)
class SamplesCountedOnce(Broken, DualQuery):
    """Broken: DualQuery that accounts for the samples of a round as one, since they have the same distribution.

    The claim is epsilon = eta T (T - 1) / n, but the s samples of each round have eta T (T - 1) s / n together: s times
    the claim. With delta, rho is s times the claimed one.

    Args:
        marginals, n_records, rounds, samples, solver, view, relation: as for `DualQuery`.
        epsilon, delta: the claim; false for more than one sample.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Marginals
        >>> broken = SamplesCountedOnce(Marginals({"a": 2}, 1), n_records=20, epsilon=0.5, rounds=2, samples=3)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.5, 1.5)
    """

    cause = "Each of the s samples of a round is a separate exponential mechanism, but one is accounted for."
    source = "Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), theorem 3.1, without the factor s."
    correct_class = DualQuery

    @property
    def accounted_samples(self) -> int:
        return 1
