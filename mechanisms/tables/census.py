"""Tables as a census publishes them about one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError
from ..validation import one_of, whole
from .domain import CensusDomain, Group, group
from .statistics import GroupCount, Statistic
from .tables import Tables, rows_of

SEXES = ("female", "male")
RACES = ("White", "Black", "Asian", "other")
AGE_GROUPS = ((0, 4), (5, 9), (10, 14), (15, 17), (18, 24), (25, 34), (35, 44), (45, 54), (55, 64), (65, 74), (75, 110))
DETAILS = ("counts", "medians")


def census_domain(n_blocks: int = 1) -> CensusDomain:
    """Age from 0 to 110, sex, race, and the block, "A", "B" and so on, where there are several, at most 26."""
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
    """What is published about the block, or about block A of several.

    Args:
        detail: "counts", the number of people, sex by age group, sex by race, race by children and adults; "medians",
            these and the median and mean age of everybody, of each sex, each race, and each sex of a race.
        n_blocks: blocks of the domain, 1 to 26.
        age_groups: lowest and highest age of each.
        threshold: fewer people are suppressed.

    Example:
        >>> len(census_tables().statistics), len(census_tables("medians", age_groups=((0, 17), (18, 110))).statistics)
        (41, 53)
    """
    one_of(DETAILS, detail=detail)
    where: dict[str, Any] = {"block": "A"} if n_blocks > 1 else {}
    rows = [
        group(**where),
        *(group(sex=sex, **where) for sex in SEXES),
        *(group(race=race, **where) for race in RACES),
        *(group(sex=sex, race=race, **where) for sex in SEXES for race in RACES),
    ]
    counted: list[Group] = [group(sex=sex, ages=ages, **where) for sex in SEXES for ages in age_groups]
    counted += [group(race=race, ages=(18, 110), **where) for race in RACES]
    first: tuple[Statistic, ...] = rows_of(rows) if detail == "medians" else tuple(map(GroupCount, rows))
    return Tables(census_domain(n_blocks), (*first, *map(GroupCount, counted)), threshold=threshold)
