"""Plan of a release: the public options, independent of the data, checked against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core import Bools, Dataset, Floats, Ints, ParameterError, plural
from ....noise.queries.domain import Domain, check_memory
from .geography import LEVELS, Geography, Invariant, LevelQuery, Where, members


@dataclass(frozen=True, eq=False)
class InvariantValue:
    """Value of an invariant at one node; `row`, shape `(n_counties * n_groups,)`, selects the people counted."""

    row: Floats
    value: float
    words: str


def _check_feasible(geography: Geography, invariants: Sequence[Invariant], kinds: Bools) -> None:
    """Raise `ParameterError` if no tables have the values of the invariants.

    If real tables exist, integer tables exist too, because the kinds of people are nested or disjoint.

    Args:
        geography: the geography of the nodes.
        invariants: the invariants; those without values are left out.
        kinds: the possible cells that each invariant counts, shape `(n_invariants, n_possible)`.
    """
    totals = _totals(geography, invariants, kinds)
    for total in totals:
        if total.value and not total.row.any():
            raise ParameterError(
                f"the invariant {total.words} cannot hold: the structural zeros leave no cell for such people.",
                argument="invariants",
            )
    if not totals or _fits(totals):
        return
    conflict = list(totals)
    for total in totals:
        remaining = [other for other in conflict if other is not total]
        conflict = conflict if _fits(remaining) else remaining
    raise ParameterError(
        f"the invariants contradict each other, so that no tables satisfy them: "
        f"{'; '.join(total.words for total in conflict)}. Correct one of these values, or leave `values` out to use "
        "the values of the data.",
        argument="invariants",
    )


def _totals(geography: Geography, invariants: Sequence[Invariant], kinds: Bools) -> list[InvariantValue]:
    """Return one total for each value of an invariant, over groups of cells that the same invariants count."""
    groups = np.unique(kinds, axis=1) if len(kinds) else kinds
    totals = []
    for invariant, kind in zip(invariants, groups, strict=True):
        n_nodes = geography.n_nodes(invariant.level)
        if invariant.values is not None and len(invariant.values) != n_nodes:
            raise ParameterError(
                f"the invariant {invariant} must have {plural(n_nodes, 'value')}, one for each, but has "
                f"{len(invariant.values)}.",
                argument="invariants",
            )
        for node, value in enumerate(invariant.values or ()):
            row = np.outer(geography.of_counties(invariant.level) == node, kind).astype(np.float64).ravel()
            totals.append(InvariantValue(row, value, f"{invariant.counted(value)} in {invariant.level} {node}"))
    return totals


def _fits(totals: Sequence[InvariantValue]) -> bool:
    """Return True if some non-negative numbers have these sums."""
    from scipy.optimize import linprog

    if not totals:
        return True
    rows, values = np.array([total.row for total in totals]), np.array([total.value for total in totals])
    return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=values, bounds=(0, None), method="highs").success)


@dataclass(frozen=True)
class TopDownPlan:
    """Geography, domain, structural zeros, queries and invariants, checked against each other.

    Args:
        geography, domain, structural_zeros, queries, invariants: options of `TopDown`, in canonical form.

    Guarantees:
        * The kinds of people of any two invariants are nested or disjoint. Hence for any non-negative integer tables of
          a level, there are tables of the next level that are consistent with them and with the invariants.
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
                "the structural zeros leave no possible cell. Remove some of them.", argument="structural_zeros"
            )
        for query in self.queries:
            _ = self.domain.project(query.attributes) if query.attributes else None
        self._check_nested()
        _check_feasible(self.geography, self.invariants, self.kinds)

    @cached_property
    def cells(self) -> Ints:
        """Indices of the possible cells, all except the structural zeros, shape `(n_possible,)`."""
        excluded = np.zeros(self.domain.n_cells, dtype=bool)
        for where in self.structural_zeros:
            excluded |= members(self.domain, where)
        return np.flatnonzero(~excluded)

    @cached_property
    def kinds(self) -> Bools:
        """Mask of the possible cells that each invariant counts, shape `(n_invariants, n_possible)`."""
        masks = [members(self.domain, invariant.where)[self.cells] for invariant in self.invariants]
        return np.array(masks, dtype=bool).reshape(len(masks), len(self.cells))

    @cached_property
    def margins(self) -> tuple[Ints, ...]:
        """For each query, the cell of its marginal of each possible cell; marginal cells without any are left out."""
        records = self.domain.records_in(self.cells)
        marginal_cells = (self.domain.cells(records, query.attributes) for query in self.queries)
        return tuple(np.unique(cells, return_inverse=True)[1].reshape(-1) for cells in marginal_cells)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each query, over all nodes of its level."""
        return tuple(
            self.geography.n_nodes(query.level) * (int(margin.max()) + 1)
            for query, margin in zip(self.queries, self.margins, strict=True)
        )

    @property
    def n_measured(self) -> int:
        """Number of values that are measured with noise."""
        return sum(self.sizes)

    @cached_property
    def record_domain(self) -> Domain:
        """Domain of a record: the county and the attributes."""
        return Domain((("county", self.geography.n_nodes("county")), *self.domain.attributes))

    def counts(self, dataset: Dataset) -> Floats:
        """Return the number of people in each possible cell of each county, shape `(n_counties, n_possible)`.

        Raises:
            ParameterError: records outside the domain, or in a structural zero.
        """
        records = self.record_domain.records(dataset)
        all_cells = self.record_domain.histogram(records).reshape(-1, self.domain.n_cells)
        excluded = np.setdiff1d(np.flatnonzero(all_cells.any(axis=0)), self.cells)
        if len(excluded):
            row = int(np.argmax(self.domain.cells(records[:, 1:]) == excluded[0]))
            raise ParameterError(
                argument="dataset",
                value=records[row],
                allowed="hold no record in a structural zero",
                shown=f"holding {dict(zip(self.record_domain.names, records[row].tolist(), strict=True))} in row {row}",
                advice="Edit the record first: structural zeros are facts that every record must satisfy.",
            )
        return all_cells[:, self.cells]

    def answers(self, counts: Floats) -> list[Floats]:
        """Return the exact answers of each query for `counts`, over the nodes of its level one after another."""
        answers = []
        for query, margin in zip(self.queries, self.margins, strict=True):
            at_level = self.geography.sums(counts, "county", query.level)
            answers.append((at_level @ np.eye(int(margin.max()) + 1)[margin]).ravel())
        return answers

    def public(self, counts: Floats) -> list[Floats]:
        """Return the exact values of each invariant at the nodes of its level.

        Raises:
            ParameterError: values that differ from those that the invariant fixes.
        """
        public = []
        for invariant, kind in zip(self.invariants, self.kinds, strict=True):
            values = self.geography.sums(counts[:, kind].sum(axis=1), "county", invariant.level)
            if invariant.values is not None and not np.array_equal(values, invariant.values):
                node = int(np.argmax(values != invariant.values))
                raise ParameterError(
                    f"the dataset has {invariant.counted(values[node])} in {invariant.level} {node}, but the invariant "
                    f"fixes {invariant.values[node]}. Correct the data, or leave `values` out.",
                    argument="dataset",
                )
            public.append(values)
        return public

    def split(self, values: Floats) -> tuple[list[Floats], list[Floats]]:
        """Return outputs `(size, n)` as the answers of each query, `(size, n_nodes, n_margin)`, and the invariants."""
        numbers = [self.geography.n_nodes(invariant.level) for invariant in self.invariants]
        parts = np.split(values, np.cumsum([*self.sizes, *numbers])[:-1], axis=1)
        answers = [
            part.reshape(len(values), self.geography.n_nodes(query.level), -1)
            for query, part in zip(self.queries, parts, strict=False)
        ]
        return answers, parts[len(self.queries) :]

    def _check_nested(self) -> None:
        for position, (first, mask1) in enumerate(zip(self.invariants, self.kinds, strict=True)):
            for second, mask2 in zip(self.invariants[:position], self.kinds[:position], strict=True):
                shared = mask1 & mask2
                if shared.any() and not (np.array_equal(shared, mask1) or np.array_equal(shared, mask2)):
                    raise ParameterError(
                        f"the kinds of people of two invariants must be nested or disjoint, but {first.kind} and "
                        f"{second.kind} overlap: integer tables that satisfy both need not exist. Remove one of them.",
                        argument="invariants",
                    )


def at_level_or_finer(levels: Sequence[str], level: str) -> list[bool]:
    """Return whether each of these levels is `level` or finer, so that its numbers add up to those of `level`."""
    return [LEVELS.index(other) >= LEVELS.index(level) for other in levels]
