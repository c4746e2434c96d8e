"""The plan of a release: what is public about it before the data are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset
from ...errors import ParameterError
from ...queries.base import Floats
from ...queries.domain import Domain, Ints, check_memory
from .feasible import check_feasible
from .geography import LEVELS, Geography
from .parts import Invariant, LevelQuery, Where, members


@dataclass(frozen=True)
class Plan:
    """Geography, domain, structural zeros, queries and invariants, checked against each other.

    Args:
        geography, domain, structural_zeros, queries, invariants: as of `TopDown`, in their final forms.

    Guarantees:
        * The kinds of people of any two invariants are nested or share nobody. Hence, whatever whole non-negative
          tables a level has, those of the next can be chosen to fit them and the invariants.
    """

    geography: Geography
    domain: Domain
    structural_zeros: tuple[Where, ...]
    queries: tuple[LevelQuery, ...]
    invariants: tuple[Invariant, ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise ParameterError(argument="queries", value=(), allowed="hold at least one query")
        if "county" in self.domain.names:
            raise ParameterError(
                "the domain must not have an attribute 'county': the geography adds it. Leave it out.",
                argument="domain",
            )
        check_memory(self.geography.n_nodes("county") * self.domain.n_cells, "the tables of all counties")
        if not len(self.cells):
            raise ParameterError(
                "the structural zeros leave no cell: no record could be. Take some out.", argument="structural_zeros"
            )
        for query in self.queries:
            _ = self.domain.project(query.attributes) if query.attributes else None
        self._check_nested()
        check_feasible(self.geography, self.invariants, self.kinds)

    @cached_property
    def cells(self) -> Ints:
        """Numbers of the cells that people can be in: all but the structural zeros, shape `(n_possible,)`."""
        excluded = np.zeros(self.domain.n_cells, dtype=bool)
        for where in self.structural_zeros:
            excluded |= members(self.domain, where)
        return np.flatnonzero(~excluded)

    @cached_property
    def kinds(self) -> NDArray[np.bool_]:
        """Which possible cells each invariant counts, shape `(n_invariants, n_possible)`."""
        found = [members(self.domain, invariant.where)[self.cells] for invariant in self.invariants]
        return np.array(found, dtype=bool).reshape(len(found), len(self.cells))

    @cached_property
    def margins(self) -> tuple[Ints, ...]:
        """For each query the cell of its marginal that each possible cell belongs to; others are left out."""
        records = self.domain.records_in(self.cells)
        found = (self.domain.cells(records, query.attributes) for query in self.queries)
        return tuple(np.unique(cells, return_inverse=True)[1].reshape(-1) for cells in found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each query has, over all nodes of its level."""
        return tuple(
            self.geography.n_nodes(query.level) * (int(margin.max()) + 1)
            for query, margin in zip(self.queries, self.margins, strict=True)
        )

    @property
    def n_measured(self) -> int:
        """How many numbers are measured with noise."""
        return sum(self.sizes)

    @cached_property
    def record_domain(self) -> Domain:
        """Of a record: its county, and the attributes."""
        return Domain((("county", self.geography.n_nodes("county")), *self.domain.attributes))

    def counts(self, dataset: Dataset) -> Floats:
        """People in each possible cell of each county, shape `(n_counties, n_possible)`.

        Raises:
            ParameterError: records outside the domain, or in a structural zero, or that miss a given invariant.
        """
        records = self.record_domain.records(dataset)
        every = self.record_domain.histogram(records).reshape(-1, self.domain.n_cells)
        excluded = np.setdiff1d(np.flatnonzero(every.any(axis=0)), self.cells)
        if len(excluded):
            row = int(np.argmax(self.domain.cells(records[:, 1:]) == excluded[0]))
            raise ParameterError(
                argument="dataset",
                value=records[row],
                allowed="hold no record in a structural zero",
                shown=f"holding {dict(zip(self.record_domain.names, records[row].tolist(), strict=True))} in row {row}",
                advice="Edit the record before, as structural zeros are facts that no record can go against.",
            )
        return every[:, self.cells]

    def answers(self, counts: Floats) -> list[Floats]:
        """Exact answers of each query, over the nodes of its level one after another, given `counts`."""
        found = []
        for query, margin in zip(self.queries, self.margins, strict=True):
            at_level = self.geography.sums(counts, "county", query.level)
            found.append((at_level @ np.eye(int(margin.max()) + 1)[margin]).ravel())
        return found

    def public(self, counts: Floats) -> list[Floats]:
        """Exact values of each invariant at the nodes of its level; raises `ParameterError` where others are given."""
        found = []
        for invariant, kind in zip(self.invariants, self.kinds, strict=True):
            values = self.geography.sums(counts[:, kind].sum(axis=1), "county", invariant.level)
            if invariant.values is not None and not np.array_equal(values, invariant.values):
                node = int(np.argmax(values != invariant.values))
                raise ParameterError(
                    f"the dataset has {invariant.counted(values[node])} in {invariant.level} {node}, but the invariant "
                    f"gives {invariant.values[node]}. Correct the data, or leave `values` out.",
                    argument="dataset",
                )
            found.append(values)
        return found

    def split(self, values: Floats) -> tuple[list[Floats], list[Floats]]:
        """Outputs `(size, n)` as the answers of each query, `(size, n_nodes, n_margin)`, and the invariants."""
        numbers = [self.geography.n_nodes(invariant.level) for invariant in self.invariants]
        parts = np.split(values, np.cumsum([*self.sizes, *numbers])[:-1], axis=1)
        answers = [
            part.reshape(len(values), self.geography.n_nodes(query.level), -1)
            for query, part in zip(self.queries, parts, strict=False)
        ]
        return answers, parts[len(self.queries) :]

    def _check_nested(self) -> None:
        for place, (one, kind) in enumerate(zip(self.invariants, self.kinds, strict=True)):
            for other, second in zip(self.invariants[:place], self.kinds[:place], strict=True):
                shared = kind & second
                if shared.any() and not (np.array_equal(shared, kind) or np.array_equal(shared, second)):
                    raise ParameterError(
                        f"the kinds of people of two invariants must be nested or share nobody, but {one.kind} and "
                        f"{other.kind} cross: tables of whole numbers could not always be made to fit. Take one out.",
                        argument="invariants",
                    )


def above(levels: Sequence[str], level: str) -> list[bool]:
    """Which of these levels are this one or finer: their numbers add up to numbers of this level."""
    return [LEVELS.index(other) >= LEVELS.index(level) for other in levels]
