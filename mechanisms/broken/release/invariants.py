"""Intentionally broken TopDown: its claim ignores the invariants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...accounting import ExactDP
from ...core.base import Mechanism, Neighbours
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...query_release.top_down.noise import GeometricTopDown


@dataclass(frozen=True)
class InvariantsForgotten(GeometricTopDown):
    """Broken: `GeometricTopDown` that claims epsilon-DP for all neighbours, even if they differ in an invariant.

    Bug: all noise is accounted for, and the numbers without noise are considered harmless, as they are totals over many
    people. But an adversary with knowledge of all others learns the type of the last person from a total. Invariants
    are an intended part of such releases; the bug is a claim that does not name them.

    True epsilon: infinite, with delta 1: on the worst pair the invariants differ, and they are released.

    Args:
        epsilon, geography, domain, structural_zeros, queries, invariants, view, relation: as for `GeometricTopDown`,
            the correct twin; some invariant must distinguish two people, or a person from none.

    Example:
        >>> broken = InvariantsForgotten(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.5)
        (0.5, inf)
        >>> broken.worst_case().d0[0, :2], broken.worst_case().d1[0, :2]  # a householder, and a partner
        (array([0, 0]), array([0, 1]))
    """

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
        Mechanism.bind(self, neighbours)
        check_records(neighbours)
        for side in (0, 1):
            self.plan.public(self.plan.counts(neighbours.side(side)))
        return self

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak."""
        return ExactDP([1.0, 0.0], [0.0, 1.0], relation=self.relation)
