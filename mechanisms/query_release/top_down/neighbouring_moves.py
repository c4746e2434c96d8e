"""Changes of the measurements by one person, for pairs that agree on the invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import Ints
from ...core.base import Neighbours
from ...core.errors import ParameterError
from ...core.relation import Relation
from .plan import TopDownPlan


@dataclass(frozen=True, eq=False)
class Moves:
    """Pairs of a plan: two types of people, or one added type; a type is a county and a possible cell.

    Under replace_one a person of one type becomes one of another; the pair agrees on the invariants if each invariant
    counts both types or neither. Under add_remove, the pair agrees if no invariant counts the person.

    Args:
        plan: the queries and the invariants.
        relation: add_remove or replace_one.

    Raises:
        ParameterError: no pair agrees on the invariants, or the invariants determine a query.
    """

    plan: TopDownPlan
    relation: Relation

    def __post_init__(self) -> None:
        moved = np.zeros(len(self.plan.queries), dtype=bool)
        for types in self._groups_of_types():
            labels = self._labels[:, types]
            moved |= self._adds | (labels != labels[:, :1]).any(axis=1)
        if not moved.any():
            raise ParameterError(
                f"under {self.relation.value!r} no two datasets agree on the invariants and differ in the "
                "measurements: everything is public. Remove some invariants"
                + (", or relation='replace_one'." if self._adds else "."),
                argument="invariants",
            )
        if not moved.all():
            query = self.plan.queries[int(np.argmin(moved))]
            raise ParameterError(
                f"queries must not be public: {query} follow from the invariants, or never differ under "
                f"{self.relation.value!r}, and need no noise. Leave this query out.",
                argument="queries",
            )

    @property
    def cells_moved(self) -> int:
        """Number of cells of an affected query that change by one: the previous and the new cell of the person."""
        return 1 if self._adds else 2

    @cached_property
    def furthest(self) -> tuple[int | None, int]:
        """Two types, or None and one type, that change queries with the largest total budget share."""
        if self._adds:
            return None, int(next(self._groups_of_types())[0])
        shares = np.array([query.share for query in self.plan.queries])
        best, best_pair = -1, (0, 0)
        for types in self._groups_of_types():
            for position, first in enumerate(types[:-1]):
                others = types[position + 1 :]
                moved = shares @ (self._labels[:, others] != self._labels[:, [first]])
                if moved.max() > best:
                    best, best_pair = int(moved.max()), (int(first), int(others[np.argmax(moved)]))
                if best == shares.sum():
                    return best_pair
        return best_pair

    @cached_property
    def moved(self) -> tuple[int, ...]:
        """Indices of the queries that the furthest types change."""
        first, second = self.furthest
        if first is None:
            return tuple(range(len(self.plan.queries)))
        return tuple(np.flatnonzero(self._labels[:, first] != self._labels[:, second]).tolist())

    @property
    def _adds(self) -> bool:
        return self.relation is Relation.ADD_REMOVE

    @cached_property
    def _counties(self) -> Ints:
        """County of each type."""
        return np.repeat(np.arange(self.plan.geography.n_nodes("county")), len(self.plan.cells))

    def pair(self, one: int | None, other: int) -> Neighbours:
        """Return a pair of one person of type `one`, or no record for None, and one person of type `other`."""
        no_records = np.zeros((0, len(self.plan.domain.names) + 1), dtype=np.int64)
        d0, d1 = (no_records if kind is None else self._record(kind) for kind in (one, other))
        return Neighbours(d0, d1, self.relation)

    def _record(self, kind: int) -> Ints:
        """Return the record of a person of a type, `(1, 1 + n_attributes)`: county and attributes."""
        cell = self.plan.cells[[kind % len(self.plan.cells)]]
        return np.hstack([self._counties[[kind]][:, None], self.plan.domain.records_in(cell)])

    @cached_property
    def _labels(self) -> Ints:
        """Index of the number of each query that counts each type, shape `(n_queries, n_types)`."""
        labels = []
        for query, margin in zip(self.plan.queries, self.plan.margins, strict=True):
            nodes = self.plan.geography.of_counties(query.level)
            labels.append((nodes[:, None] * (margin.max() + 1) + margin).ravel())
        return np.array(labels)

    @cached_property
    def told(self) -> Ints:
        """Index of the number of each invariant that counts each type, -1 for none, `(n_invariants, n_types)`."""
        labels = [
            np.where(kind, self.plan.geography.of_counties(invariant.level)[:, None], -1).ravel()
            for invariant, kind in zip(self.plan.invariants, self.plan.kinds, strict=True)
        ]
        return np.array(labels, dtype=np.int64).reshape(len(labels), len(self._counties))

    def _groups_of_types(self) -> Iterator[Ints]:
        """Yield the groups of types with equal invariants; under add_remove, the types that no invariant counts."""
        if self._adds:
            free = np.flatnonzero((self.told == -1).all(axis=0))
            if len(free):
                yield free
            return
        _, group = np.unique(self.told, axis=1, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        for types in np.split(order, np.cumsum(np.bincount(group.reshape(-1)))[:-1]):
            if len(types) > 1:
                yield types
