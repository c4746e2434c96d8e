"""A set of tables: the statistics that are published about every block, and the suppressed cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....core import Bools, Floats, Ints, NonNegativeInt, ParameterError, check_fields, named_in, one_of, whole
from .domain import CensusDomain, Group, group
from .statistics import NOT_PUBLISHED, GroupCount, MeanAge, MedianAge, TableStatistic


@named_in("dpassay.mechanisms.literature.query_release.catalogue:table_sets")
@dataclass(frozen=True)
class TableSet:
    """Statistics that are published about a block.

    Args:
        domain: the possible people.
        statistics: the statistics, at least one.
        threshold: every number about fewer than `threshold` people is suppressed, and a share if its group is that
            small; 0 suppresses nothing.
        zeros_shown: True if a count of 0 is published in spite of the threshold.

    Example:
        >>> from .domain import group
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> tables = TableSet(domain, rows_of([group(), group(sex="female")]), threshold=3)
        >>> block = domain.people([(30, "female"), (40, "female"), (51, "male")])
        >>> tables.of(block[None])
        array([[ 3. , 40. , 40.3, -1. , -1. , -1. ]])
        >>> print(tables)
        6 cells, suppressed below 3
    """

    domain: CensusDomain
    statistics: tuple[TableStatistic, ...]
    _: KW_ONLY
    threshold: NonNegativeInt = 0
    zeros_shown: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "statistics", tuple(self.statistics))
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise ParameterError(
                f"statistics must be distinct, at least one, but are {[str(s) for s in self.statistics]}.",
                argument="statistics",
            )
        for statistic in self.statistics:  # an impossible group is refused when its members are computed
            if (self.members[statistic.people] & ~self.members[statistic.base]).any():
                raise ParameterError(
                    f"the group of a share must lie within its base, but {statistic.people} does not lie within "
                    f"{statistic.base}. Give the attributes of the base to the group too.",
                    argument="statistics",
                )

    def __str__(self) -> str:
        """Return a short text for lines that name a mechanism: "2 cells, suppressed below 3"."""
        n = len(self.statistics)
        suppression = f", suppressed below {self.threshold}" if self.threshold else ""
        return f"{n} cell{'s' * (n > 1)}{suppression}"

    @cached_property
    def members(self) -> dict[Group, Bools]:
        """Mask of the types in each named group, shape `(n_types,)` each."""
        groups = dict.fromkeys(g for s in self.statistics for g in (s.people, s.base))
        return {people: self.domain.members(people) for people in groups}

    def of(self, blocks: Ints) -> Floats:
        """Return the tables of many blocks of the same size.

        Args:
            blocks: checked, shape `(size, n_people, 1 + n_attributes)`.

        Returns:
            Shape `(size, n_statistics)`; NOT_PUBLISHED (-1) for a suppressed or undefined cell.
        """
        types, ages = self.domain.types(blocks), blocks[..., 0]
        inside = {people: members[types] for people, members in self.members.items()}
        return np.column_stack([self._cell(s, ages, inside[s.people], inside[s.base]) for s in self.statistics])

    def _cell(self, statistic: TableStatistic, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
        values = statistic.of(ages, inside, in_base)
        size = inside.sum(axis=1)
        suppressed = size < self.threshold
        if self.zeros_shown and isinstance(statistic, GroupCount):
            suppressed &= size > 0
        return np.where(suppressed, NOT_PUBLISHED, values)


def rows_of(groups: Iterable[Group]) -> tuple[TableStatistic, ...]:
    """Return count, median age and mean age of each group, as in a published table with one row per group."""
    return tuple(
        statistic for people in groups for statistic in (GroupCount(people), MedianAge(people), MeanAge(people))
    )


SEXES = ("female", "male")
RACES = ("White", "Black", "Asian", "other")
AGE_GROUPS = ((0, 4), (5, 9), (10, 14), (15, 17), (18, 24), (25, 34), (35, 44), (45, 54), (55, 64), (65, 74), (75, 110))
DETAILS = ("counts", "medians")


def census_domain(n_blocks: int = 1) -> CensusDomain:
    """Return ages 0 to 110, sex and race; with several blocks, at most 26, also the block ("A", "B", ...)."""
    whole(1, n_blocks=n_blocks)
    blocks = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:n_blocks])
    if n_blocks > len(blocks):
        raise ParameterError(f"n_blocks must be at most {len(blocks)}, but is {n_blocks}.", argument="n_blocks")
    people = (("sex", SEXES), ("race", RACES))
    return CensusDomain((*people, ("block", blocks)) if n_blocks > 1 else people)


def census_tables(
    detail: str = "counts", *, n_blocks: int = 1, age_groups: Sequence[tuple[int, int]] = AGE_GROUPS, threshold: int = 0
) -> TableSet:
    """Return the tables published about the block, or about block A of several.

    Args:
        detail: "counts", the number of people, sex by age group, sex by race, race by children and adults; "medians",
            also the median and mean age of all people, of each sex, each race, and each sex of a race.
        n_blocks: blocks of the domain, 1 to 26.
        age_groups: lowest and highest age of each group.
        threshold: numbers about fewer people are suppressed.

    Example:
        >>> len(census_tables().statistics), len(census_tables("medians", age_groups=((0, 17), (18, 110))).statistics)
        (41, 53)
    """
    one_of(DETAILS, detail=detail)
    block_filter: dict[str, Any] = {"block": "A"} if n_blocks > 1 else {}
    rows = [
        group(**block_filter),
        *(group(sex=sex, **block_filter) for sex in SEXES),
        *(group(race=race, **block_filter) for race in RACES),
        *(group(sex=sex, race=race, **block_filter) for sex in SEXES for race in RACES),
    ]
    counted: list[Group] = [group(sex=sex, ages=ages, **block_filter) for sex in SEXES for ages in age_groups]
    counted += [group(race=race, ages=(18, 110), **block_filter) for race in RACES]
    first: tuple[TableStatistic, ...] = rows_of(rows) if detail == "medians" else tuple(map(GroupCount, rows))
    return TableSet(census_domain(n_blocks), (*first, *map(GroupCount, counted)), threshold=threshold)
