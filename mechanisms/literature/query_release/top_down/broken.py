"""Intentionally broken TopDown: invariants are not accounted for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....accounting.broken import Broken, certain_leak
from ....core import Guarantee, Neighbours, ParameterError, RecordsMechanism, Relation
from .noise import GeometricTopDown


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

    def _check_pair(self, neighbours: Neighbours) -> None:
        """Accept pairs that differ in the invariants, too; should refuse them."""
        RecordsMechanism._check_pair(self, neighbours)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak."""
        return certain_leak(self.relation)
