"""Tables like those that a census publishes about one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import ParameterError
from ...core.validation import one_of, whole
from .domain import CensusDomain, Group, group
from .statistics import GroupCount, TableStatistic
from .tables import Tables, rows_of

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
    detail: str = "counts",
    *,
    n_blocks: int = 1,
    age_groups: Sequence[tuple[int, int]] = AGE_GROUPS,
    threshold: int = 0,
) -> Tables:
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
    return Tables(census_domain(n_blocks), (*first, *map(GroupCount, counted)), threshold=threshold)
