"""Wrong on purpose: TopDown whose claim forgets the invariants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base import Mechanism, Neighbours
from ...errors import ParameterError
from ...guarantees import ExactDP
from ...guarantees.base import Guarantee
from ...records import check_records
from ...relation import Relation
from ...release.topdown.noise import GeometricTopDown


@dataclass(frozen=True)
class InvariantsForgotten(GeometricTopDown):
    """Broken: `GeometricTopDown` that claims epsilon-DP for all neighbours, also those that differ in an invariant.

    The slip: all noise is paid for, and the numbers that get none are thought harmless, as they are totals of many
    people. But who knows all others learns from a total of which kind the last one is. Invariants are an intended part
    of such releases; what is wrong is a claim that does not name them.

    True epsilon: infinite, with delta 1: on the worst pair the invariants differ, and they are published.

    Args:
        epsilon, geography, domain, structural_zeros, queries, invariants, view, relation: as for `GeometricTopDown`,
            the correct twin; some invariant must tell two people, or one and nobody, apart.

    Example:
        >>> broken = InvariantsForgotten(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.5)
        (0.5, inf)
        >>> broken.worst_case().d0[0, :2], broken.worst_case().d1[0, :2]  # a householder, and a partner
        (array([0, 0]), array([0, 1]))
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._apart

    @cached_property
    def _apart(self) -> tuple[int | None, int]:
        """Two types of people, or nobody and one, that an invariant tells apart."""
        told = self.moves.told
        adds = self.relation is Relation.ADD_REMOVE
        apart = np.flatnonzero((told != (-1 if adds else told[:, :1])).any(axis=0))
        if not len(apart):
            raise ParameterError(
                "the invariants tell no two neighbours apart, so that nothing is wrong. Take GeometricTopDown, or "
                "invariants such as [{'level': 'state'}].",
                argument="invariants",
            )
        return (None if adds else 0), int(apart[0])

    def worst_case(self) -> Neighbours:
        """A person whom an invariant counts elsewhere, or counts; nobody else."""
        return self.moves.pair(*self._apart)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        """Takes pairs that differ in the invariants; should refuse them."""
        Mechanism.fitted_to(self, neighbours)
        check_records(neighbours)
        for side in (0, 1):
            self.plan.public(self.plan.counts(neighbours.side(side)))
        return self

    def exact_guarantee(self) -> Guarantee:
        """Nothing is hidden."""
        return ExactDP([1.0, 0.0], [0.0, 1.0], relation=self.relation)
