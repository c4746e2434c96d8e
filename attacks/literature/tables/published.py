"""Published tables: every statistic with its published value, or suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import Bools, Ints, ParameterError, finite, number
from ....mechanisms.literature.query_release.tables.domain import CensusDomain, Group
from ....mechanisms.literature.query_release.tables.statistics import (
    NOT_PUBLISHED,
    GroupCount,
    GroupShare,
    TableStatistic,
)
from ....mechanisms.literature.query_release.tables.table_set import TableSet


@dataclass(frozen=True)
class PublishedCell:
    """One published number; None if suppressed."""

    statistic: TableStatistic
    value: float | None

    def __str__(self) -> str:
        return f"{self.statistic} is " + ("suppressed" if self.value is None else f"{number(self.value)}")


@dataclass(frozen=True)
class PublishedTables:
    """Public information on a block: the tables, and their values.

    Args:
        tables: published statistics, and the rule of suppression.
        values: one for each statistic, in order; None, or NOT_PUBLISHED (-1), for a suppressed cell.
        n_people: number of people in the block, if it is known from elsewhere.

    Raises:
        ParameterError: a wrong number of values; an impossible count, mean, median or percentage.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import CensusDomain, Group, GroupCount, group
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> cells = {GroupCount(): 7, GroupCount(group(sex="female")): None}
        >>> published = PublishedTables.of(domain, cells, threshold=3)
        >>> [str(cell) for cell in published.cells]
        ['the number of all people is 7', 'the number of female is suppressed']
    """

    tables: TableSet
    values: tuple[float | None, ...]
    _: KW_ONLY
    n_people: int | None = None

    def __post_init__(self) -> None:
        values = [None if v is None or v == NOT_PUBLISHED else float(v) for v in self.values]
        object.__setattr__(self, "values", tuple(values))
        if len(values) != len(self.tables.statistics):
            raise ParameterError(
                f"values must be one for each of the {len(self.tables.statistics)} statistics, but are {len(values)}.",
                argument="values",
            )
        for cell in self.cells:
            _check(cell, self.tables)

    @classmethod
    def of(
        cls,
        domain: CensusDomain,
        cells: Mapping[TableStatistic, float | None],
        *,
        n_people: int | None = None,
        **options: Any,
    ) -> PublishedTables:
        """Return the tables with these statistics and values; `options` are those of `TableSet`."""
        return cls(TableSet(domain, tuple(cells), **options), tuple(cells.values()), n_people=n_people)

    @classmethod
    def about(cls, tables: TableSet, block: ArrayLike) -> PublishedTables:
        """Return the exact tables of a block, shape `(n_people, 1 + n_attributes)`."""
        return cls(tables, tuple(tables.of(tables.domain.checked(block)[None])[0]))

    @property
    def cells(self) -> tuple[PublishedCell, ...]:
        """Every statistic with its value."""
        return tuple(PublishedCell(s, v) for s, v in zip(self.tables.statistics, self.values, strict=True))

    @property
    def domain(self) -> CensusDomain:
        """Domain of a person."""
        return self.tables.domain

    def without(self, *groups: Group, kinds: tuple[type[TableStatistic], ...] = (TableStatistic,)) -> PublishedTables:
        """Return the tables without the statistics of some groups, or without their statistics of the given `kinds`."""
        remaining = [c for c in self.cells if not (c.statistic.people in groups and isinstance(c.statistic, kinds))]
        if len(remaining) == len(self.cells):
            raise ParameterError(
                f"groups must be published groups, but no statistic is on {', '.join(map(str, groups))}.",
                argument="groups",
            )
        return self.keeping(remaining)

    def keeping(self, cells: list[PublishedCell]) -> PublishedTables:
        """Return the tables with these cells only, at least one."""
        tables = TableSet(
            self.domain,
            tuple(c.statistic for c in cells),
            threshold=self.tables.threshold,
            zeros_shown=self.tables.zeros_shown,
        )
        return PublishedTables(tables, tuple(c.value for c in cells), n_people=self.n_people)

    def hold_for(self, block: ArrayLike) -> bool:
        """Return True if a block has exactly these tables; the blocks of the solver are checked by it."""
        return bool(self.fit(self.domain.checked(block)[None])[0])

    def fit(self, blocks: Ints) -> Bools:
        """Return a mask `(size,)` of the checked blocks, all of the same size, that have these tables."""
        if self.n_people not in (None, blocks.shape[1]):
            return np.zeros(len(blocks), dtype=np.bool_)
        values = np.array([NOT_PUBLISHED if v is None else v for v in self.values])
        same = self.tables.of(blocks) == values
        unknown, alternatives = self._alternatives
        for tables in alternatives:
            same[:, unknown] |= tables.of(blocks) == values[unknown]
        return np.asarray(same.all(axis=1))

    @cached_property
    def _alternatives(self) -> tuple[NDArray[np.intp], tuple[TableSet, ...]]:
        """Statistics with an unknown rounding rule, and their tables under the possible rules."""
        statistics: list[Any] = list(self.tables.statistics)
        unknown = [
            i for i, s in enumerate(statistics) if not isinstance(s, GroupCount) and s.rounding.rule == "unknown"
        ]
        rules = ("half-up", "half-down") if unknown else ()
        rounded = [
            tuple(replace(statistics[i], rounding=replace(statistics[i].rounding, rule=rule)) for i in unknown)
            for rule in rules
        ]
        alternatives = tuple(replace(self.tables, statistics=of_rule) for of_rule in rounded)
        return np.array(unknown, dtype=np.intp), alternatives


def _check(cell: PublishedCell, tables: TableSet) -> None:
    """Raise `ParameterError` for a value that no block could have."""
    if cell.value is None and isinstance(cell.statistic, GroupCount) and tables.threshold < 1:
        raise ParameterError(
            f"{cell.statistic} must be a number: the threshold of the tables is 0, which suppresses nothing. Give the "
            "threshold, or leave the statistic out.",
            argument="values",
        )
    if cell.value is None:
        return
    finite(**{f"values ({cell.statistic})": cell.value})
    if isinstance(cell.statistic, GroupCount):
        shown = cell.value == 0 and tables.zeros_shown
        if cell.value < 0 or cell.value != np.floor(cell.value) or (cell.value < tables.threshold and not shown):
            raise ParameterError(
                f"{cell.statistic} must be a whole number >= {max(tables.threshold, 0)}, or None if it is "
                f"suppressed, but is {cell.value!r}.",
                argument="values",
            )
        return
    cell.statistic.rounding.interval(cell.value)  # type: ignore[attr-defined]
    low, high = (0, 100) if isinstance(cell.statistic, GroupShare) else tables.domain.ages
    if not low - 1 < cell.value < high + 1:
        raise ParameterError(
            f"{cell.statistic} must lie from {low} to {high}, but is {cell.value!r}.", argument="values"
        )
