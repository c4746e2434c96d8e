"""Statistics of a group of people in a table: their number, mean or median age, or share of a larger group."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats, Ints
from ...core.constraints import Options
from .domain import Group
from .rounding import Rounding

Members = NDArray[np.bool_]
EVERYBODY = Group()
NOT_PUBLISHED = -1.0
"""Value of a suppressed cell, and of the mean or median of an empty group."""


class TableStatistic(Options):
    """One number about a group; subclasses are frozen dataclasses.

    Attributes:
        people: the group.
        base: the larger group of a share; equal to `people` for all other statistics.
    """

    people: Group

    @property
    def base(self) -> Group:
        return self.people

    @abstractmethod
    def of(self, ages: Ints, inside: Members, in_base: Members) -> Floats:
        """Return the number for each of many blocks.

        Args:
            ages: ages of the people of each block, shape `(size, n_people)`.
            inside, in_base: masks of the members of `people` and of `base`; the same shape.

        Returns:
            Shape `(size,)`; NOT_PUBLISHED if the group is empty and the number is undefined.
        """


@dataclass(frozen=True)
class GroupCount(TableStatistic):
    """Number of people in a group.

    Example:
        >>> print(GroupCount(Group()))
        the number of all people
    """

    people: Group = EVERYBODY

    def __str__(self) -> str:
        return f"the number of {self.people}"

    def of(self, ages: Ints, inside: Members, in_base: Members) -> Floats:
        return np.asarray(inside.sum(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class MeanAge(TableStatistic):
    """Mean age of a group, rounded."""

    people: Group = EVERYBODY
    _: KW_ONLY
    rounding: Rounding = field(default_factory=Rounding)

    def __str__(self) -> str:
        return f"the mean age of {self.people}"

    def of(self, ages: Ints, inside: Members, in_base: Members) -> Floats:
        return _ratio(np.where(inside, ages, 0).sum(axis=1), inside.sum(axis=1), self.rounding)


@dataclass(frozen=True)
class MedianAge(TableStatistic):
    """Median age of a group: the middle age, or the mean of the two middle ages; rounded."""

    people: Group = EVERYBODY
    _: KW_ONLY
    rounding: Rounding = field(default_factory=Rounding)

    def __str__(self) -> str:
        return f"the median age of {self.people}"

    def of(self, ages: Ints, inside: Members, in_base: Members) -> Floats:
        size = inside.sum(axis=1)
        if not ages.shape[1]:
            return np.full(len(ages), NOT_PUBLISHED)
        ordered = np.sort(np.where(inside, ages, np.iinfo(np.int64).max), axis=1)
        run, last = np.arange(len(ages)), np.maximum(size, 1)
        middle = ordered[run, (last - 1) // 2], ordered[run, np.minimum(last // 2, ages.shape[1] - 1)]
        both = np.where(size > 0, middle[0], 0) + np.where(size > 0, middle[1], 0)
        return _ratio(both, np.where(size > 0, 2, 0), self.rounding)


@dataclass(frozen=True)
class GroupShare(TableStatistic):
    """Percentage of a larger group that belongs to a group, rounded.

    Args:
        people: the group.
        of_group: the larger group, which contains `people`.
        rounding: rounding of the percentage.
    """

    people: Group
    of_group: Group = EVERYBODY
    _: KW_ONLY
    rounding: Rounding = field(default_factory=Rounding)

    def __str__(self) -> str:
        return f"the percentage of {self.people} among {self.of_group}"

    @property
    def base(self) -> Group:
        return self.of_group

    def of(self, ages: Ints, inside: Members, in_base: Members) -> Floats:
        return _ratio(100 * inside.sum(axis=1), in_base.sum(axis=1), self.rounding)


def _ratio(numerators: Ints, denominators: Ints, rounding: Rounding) -> Floats:
    """Return rounded ratios; NOT_PUBLISHED where the denominator is 0."""
    ratios = rounding.of(numerators, np.maximum(denominators, 1))
    return np.where(denominators > 0, ratios, NOT_PUBLISHED)
