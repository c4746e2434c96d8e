"""Statistics of a group of people in a table: number, mean or median age, share of a larger group; and rounding."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Annotated

import numpy as np

from ....core import Bools, Floats, Ints, NonNegativeInt, Options, ParameterError, check_fields, one_of_names
from .domain import Group

ROUNDING_RULES = ("half-even", "half-up", "half-down", "down", "unknown")


@dataclass(frozen=True)
class Rounding:
    """Rounding to `digits` digits after the decimal point.

    Args:
        digits: >= 0.
        rule: the treatment of midpoints: "half-even", "half-up" and "half-down" take the even, the larger
            or the smaller neighbour; "down" truncates. "unknown" publishes as "half-even" does, and concludes only what
            holds for each of the first three.

    Example:
        >>> Rounding(1).interval(36.7)
        (Fraction(733, 20), Fraction(147, 4), False, False)
        >>> Rounding(1).of(np.array([110]), np.array([3]))
        array([36.7])
    """

    digits: NonNegativeInt = 1
    _: KW_ONLY
    rule: Annotated[str, one_of_names(*ROUNDING_RULES)] = "half-even"

    def __post_init__(self) -> None:
        check_fields(self)

    def of(self, numerators: Ints, denominators: Ints) -> Floats:
        """Return numerator / denominator >= 0, rounded; denominators > 0."""
        steps, rest = np.divmod(numerators * 10**self.digits, denominators)
        up = 2 * rest > denominators
        if self.rule == "down":
            up = np.zeros_like(up)
        elif self.rule == "half-up":
            up |= 2 * rest == denominators
        elif self.rule != "half-down":
            up |= (2 * rest == denominators) & (steps % 2 == 1)
        return np.asarray((steps + up) / 10**self.digits)

    def interval(self, value: float) -> tuple[Fraction, Fraction, bool, bool]:
        """Return the interval of numbers that are published as `value`, and whether each end belongs to it."""
        exact = Fraction(repr(float(value)))
        steps = exact * 10**self.digits
        if steps.denominator != 1 or steps < 0:
            raise ParameterError(
                f"value must be a number >= 0 with {self.digits} digits after the point, but is {value!r}. Round "
                "it first, or set `digits` to the number of digits that it has.",
                argument="value",
            )
        step = Fraction(1, 10**self.digits)
        if self.rule == "down":
            return exact, exact + step, True, False
        even = steps % 2 == 0
        ends = {
            "half-up": (True, False),
            "half-down": (False, True),
            "half-even": (even, even),
            "unknown": (True, True),
        }
        at_low, at_high = ends[self.rule]
        return exact - step / 2, exact + step / 2, at_low, at_high

    def whole_numbers(self, value: float, times: int) -> tuple[int, int]:
        """Return the smallest and largest whole number m for which m / `times` is published as `value`; times > 0."""
        low, high, at_low, at_high = self.interval(value)
        smallest, largest = -((-low * times) // 1), (high * times) // 1
        smallest += smallest == low * times and not at_low
        largest -= largest == high * times and not at_high
        return int(smallest), int(largest)


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
    def of(self, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
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

    def of(self, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
        return np.asarray(inside.sum(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class MeanAge(TableStatistic):
    """Mean age of a group, rounded."""

    people: Group = EVERYBODY
    _: KW_ONLY
    rounding: Rounding = field(default_factory=Rounding)

    def __str__(self) -> str:
        return f"the mean age of {self.people}"

    def of(self, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
        return _ratio(np.where(inside, ages, 0).sum(axis=1), inside.sum(axis=1), self.rounding)


@dataclass(frozen=True)
class MedianAge(TableStatistic):
    """Median age of a group: the middle age, or the mean of the two middle ages; rounded."""

    people: Group = EVERYBODY
    _: KW_ONLY
    rounding: Rounding = field(default_factory=Rounding)

    def __str__(self) -> str:
        return f"the median age of {self.people}"

    def of(self, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
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

    def of(self, ages: Ints, inside: Bools, in_base: Bools) -> Floats:
        return _ratio(100 * inside.sum(axis=1), in_base.sum(axis=1), self.rounding)


def _ratio(numerators: Ints, denominators: Ints, rounding: Rounding) -> Floats:
    """Return rounded ratios; NOT_PUBLISHED where the denominator is 0."""
    ratios = rounding.of(numerators, np.maximum(denominators, 1))
    return np.where(denominators > 0, ratios, NOT_PUBLISHED)
