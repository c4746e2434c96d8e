"""Tables as a reader has them: every statistic with its published value, or suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.errors import ParameterError
from ....mechanisms.tables.domain import CensusDomain, Group, Ints
from ....mechanisms.tables.statistics import NOT_PUBLISHED, GroupCount, GroupShare, Statistic
from ....mechanisms.tables.tables import Tables
from ....mechanisms.validation import finite


@dataclass(frozen=True)
class Cell:
    """One published number; None for one that is suppressed."""

    statistic: Statistic
    value: float | None

    def __str__(self) -> str:
        return f"{self.statistic} is " + ("suppressed" if self.value is None else f"{self.value:g}")


@dataclass(frozen=True)
class PublishedTables:
    """What is known about a block: the tables, and the values in them.

    Args:
        tables: which statistics are published, and what is suppressed.
        values: one for each statistic, in order; None, or NOT_PUBLISHED (-1), for a suppressed cell.
        n_people: how many people live in the block, where that is known from elsewhere.

    Raises:
        ParameterError: another number of values; a count, a mean, a median or a percentage that nobody could publish.

    Example:
        >>> from dpassay.mechanisms.tables import CensusDomain, Group, GroupCount, group
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> cells = {GroupCount(): 7, GroupCount(group(sex="female")): None}
        >>> published = PublishedTables.of(domain, cells, threshold=3)
        >>> [str(cell) for cell in published.cells]
        ['the number of all people is 7', 'the number of female is suppressed']
    """

    tables: Tables
    values: tuple[float | None, ...]
    _: KW_ONLY
    n_people: int | None = None

    def __post_init__(self) -> None:
        given = [None if v is None or v == NOT_PUBLISHED else float(v) for v in self.values]
        object.__setattr__(self, "values", tuple(given))
        if len(given) != len(self.tables.statistics):
            raise ParameterError(
                f"values must be one for each of the {len(self.tables.statistics)} statistics, but are {len(given)}.",
                argument="values",
            )
        for cell in self.cells:
            _check(cell, self.tables)

    @classmethod
    def of(
        cls,
        domain: CensusDomain,
        cells: Mapping[Statistic, float | None],
        *,
        n_people: int | None = None,
        **options: Any,
    ) -> PublishedTables:
        """From statistics and their values; `options` are those of `Tables`."""
        return cls(Tables(domain, tuple(cells), **options), tuple(cells.values()), n_people=n_people)

    @classmethod
    def about(cls, tables: Tables, block: ArrayLike) -> PublishedTables:
        """The exact tables of a block, shape `(n_people, 1 + n_attributes)`."""
        return cls(tables, tuple(tables.of(tables.domain.checked(block)[None])[0]))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every statistic with its value."""
        return tuple(Cell(s, v) for s, v in zip(self.tables.statistics, self.values, strict=True))

    @property
    def domain(self) -> CensusDomain:
        """What a person can be."""
        return self.tables.domain

    def without(self, *groups: Group, kinds: tuple[type[Statistic], ...] = (Statistic,)) -> PublishedTables:
        """The same without the statistics of some groups; of those, only the given `kinds`, or all."""
        kept = [c for c in self.cells if not (c.statistic.people in groups and isinstance(c.statistic, kinds))]
        if len(kept) == len(self.cells):
            raise ParameterError(
                f"groups must be among those that are published, but nothing is about {', '.join(map(str, groups))}.",
                argument="groups",
            )
        return self.keeping(kept)

    def keeping(self, cells: list[Cell]) -> PublishedTables:
        """The same tables with these cells alone, at least one."""
        tables = Tables(
            self.domain,
            tuple(c.statistic for c in cells),
            threshold=self.tables.threshold,
            zeros_shown=self.tables.zeros_shown,
        )
        return PublishedTables(tables, tuple(c.value for c in cells), n_people=self.n_people)

    def hold_for(self, block: ArrayLike) -> bool:
        """Whether a block has exactly these tables; what the solver finds is checked by it."""
        return bool(self.fit(self.domain.checked(block)[None])[0])

    def fit(self, blocks: Ints) -> NDArray[np.bool_]:
        """Which of many checked blocks of the same size have these tables, shape `(size,)`."""
        if self.n_people not in (None, blocks.shape[1]):
            return np.zeros(len(blocks), dtype=np.bool_)
        given = np.array([NOT_PUBLISHED if v is None else v for v in self.values])
        same = self.tables.of(blocks) == given
        unknown, otherwise = self._otherwise
        for tables in otherwise:
            same[:, unknown] |= tables.of(blocks) == given[unknown]
        return np.asarray(same.all(axis=1))

    @cached_property
    def _otherwise(self) -> tuple[NDArray[np.intp], tuple[Tables, ...]]:
        """The statistics whose rule of rounding is unknown, and their tables by the rules that may have been used."""
        given: list[Any] = list(self.tables.statistics)
        unknown = [i for i, s in enumerate(given) if not isinstance(s, GroupCount) and s.rounding.rule == "unknown"]
        rules = ("half-up", "half-down") if unknown else ()
        others = tuple(
            replace(self.tables, statistics=tuple(_rounded_by(rule, given[i]) for i in unknown)) for rule in rules
        )
        return np.array(unknown, dtype=np.intp), others


def _rounded_by(rule: str, statistic: Any) -> Statistic:
    rounded: Statistic = replace(statistic, rounding=replace(statistic.rounding, rule=rule))
    return rounded


def _check(cell: Cell, tables: Tables) -> None:
    """Refuses a value that no block could have."""
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
                f"{cell.statistic} must be a whole number >= {max(tables.threshold, 0)}, or None where it is "
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
