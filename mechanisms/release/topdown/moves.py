"""What one person can move in the measurements, where both sides of a pair agree on the invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base import Neighbours
from ...errors import ParameterError
from ...queries.domain import Ints
from ...relation import Relation
from .plan import Plan


@dataclass(frozen=True, eq=False)
class Moves:
    """The pairs of a plan: two types of people, or one that is added; a type is a county and a possible cell.

    Under replace_one a person of one type becomes one of another; the pair agrees on the invariants if each counts
    both or neither. Under add_remove, if none counts the person.

    Args:
        plan: the queries and the invariants.
        relation: add_remove or replace_one.

    Raises:
        ParameterError: no pair agrees on the invariants, or they tell what a query asks.
    """

    plan: Plan
    relation: Relation

    def __post_init__(self) -> None:
        moved = np.zeros(len(self.plan.queries), dtype=bool)
        for types in self._alike():
            labels = self._labels[:, types]
            moved |= self._adds | (labels != labels[:, :1]).any(axis=1)
        if not moved.any():
            raise ParameterError(
                f"under {self.relation.value!r} no two datasets agree on the invariants and differ in what is "
                "measured: everything is public. Take some invariants out"
                + (", or relation='replace_one'." if self._adds else "."),
                argument="invariants",
            )
        if not moved.all():
            query = self.plan.queries[int(np.argmin(moved))]
            raise ParameterError(
                f"queries must not ask what is public: {query} follow from the invariants, or never differ under "
                f"{self.relation.value!r}, and need no noise. Leave this query out.",
                argument="queries",
            )

    @property
    def cells_moved(self) -> int:
        """How many numbers of a query that moves change by one: the cell left, and the cell entered."""
        return 1 if self._adds else 2

    @cached_property
    def furthest(self) -> tuple[int | None, int]:
        """Two types, or None and one, that move queries of the largest share of the budget together."""
        if self._adds:
            return None, int(next(self._alike())[0])
        shares = np.array([query.share for query in self.plan.queries])
        best, found = -1, (0, 0)
        for types in self._alike():
            for place, one in enumerate(types[:-1]):
                others = types[place + 1 :]
                moved = shares @ (self._labels[:, others] != self._labels[:, [one]])
                if moved.max() > best:
                    best, found = int(moved.max()), (int(one), int(others[np.argmax(moved)]))
                if best == shares.sum():
                    return found
        return found

    @cached_property
    def moved(self) -> tuple[int, ...]:
        """Numbers of the queries that the furthest types move."""
        one, other = self.furthest
        if one is None:
            return tuple(range(len(self.plan.queries)))
        return tuple(np.flatnonzero(self._labels[:, one] != self._labels[:, other]).tolist())

    @property
    def _adds(self) -> bool:
        return self.relation is Relation.ADD_REMOVE

    @cached_property
    def _counties(self) -> Ints:
        """County of each type."""
        return np.repeat(np.arange(self.plan.geography.n_nodes("county")), len(self.plan.cells))

    def pair(self, one: int | None, other: int) -> Neighbours:
        """Nobody but a person of the one type, or none, and of the other."""
        nobody = np.zeros((0, len(self.plan.domain.names) + 1), dtype=np.int64)
        d0, d1 = (nobody if kind is None else self._record(kind) for kind in (one, other))
        return Neighbours(d0, d1, self.relation)

    def _record(self, kind: int) -> Ints:
        """A person of a type, `(1, 1 + n_attributes)`: county, and attributes."""
        cell = self.plan.cells[[kind % len(self.plan.cells)]]
        return np.hstack([self._counties[[kind]][:, None], self.plan.domain.records_in(cell)])

    @cached_property
    def _labels(self) -> Ints:
        """Which number of each query counts each type, shape `(n_queries, n_types)`."""
        found = []
        for query, margin in zip(self.plan.queries, self.plan.margins, strict=True):
            nodes = self.plan.geography.of_counties(query.level)
            found.append((nodes[:, None] * (margin.max() + 1) + margin).ravel())
        return np.array(found)

    @cached_property
    def told(self) -> Ints:
        """Which number of each invariant counts each type, -1 for none, shape `(n_invariants, n_types)`."""
        found = [
            np.where(kind, self.plan.geography.of_counties(invariant.level)[:, None], -1).ravel()
            for invariant, kind in zip(self.plan.invariants, self.plan.kinds, strict=True)
        ]
        return np.array(found, dtype=np.int64).reshape(len(found), len(self._counties))

    def _alike(self) -> Iterator[Ints]:
        """Types that the invariants do not tell apart, group by group; of one type that they do not count, if added."""
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
