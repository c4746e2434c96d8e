"""Sums and means of values clipped to a public interval, which makes the sensitivity finite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import Dataset, Finite, Floats, ParameterError, PositiveInt, Relation
from .base import Column, Query, numbers_of


@dataclass(frozen=True)
class Sum(Query):
    """Sum of one column, each value clipped to [lower, upper].

    Sensitivity: max(|lower|, |upper|) when a record is added or removed; upper - lower when it is replaced; when it is
    zeroed out, the largest distance in the interval from its point nearest to 0. Missing values (NaN) count as that
    point, so that no record makes the sum NaN.

    Args:
        column: column of the values; see `Column`.
        lower, upper: the interval; must be public. Bounds taken from the data would leak.

    Example:
        >>> Sum(lower=0.0, upper=10.0)([3.0, 99.0, -5.0])
        13.0
        >>> Sum(lower=-2.0, upper=10.0).sensitivity(Relation.REPLACE_ONE)
        12.0
    """

    column: Column = None
    lower: Finite = 0.0
    upper: Finite = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower < self.upper:
            raise ParameterError(
                f"lower must be below upper, but they are {self.lower!r} and {self.upper!r}.", argument="lower"
            )

    @property
    def blank(self) -> float:
        """Point of the interval nearest to 0, the value of a zeroed or missing record."""
        return float(np.clip(0.0, self.lower, self.upper))

    def __call__(self, dataset: Dataset) -> float:
        return float(np.sum(_clipped(numbers_of(dataset, self.column), self)))

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        return {
            Relation.ADD_REMOVE: float(max(abs(self.lower), abs(self.upper))),
            Relation.REPLACE_ONE: float(self.upper - self.lower),
            Relation.ZERO_OUT: float(max(self.upper - self.blank, self.blank - self.lower)),
        }[relation]


@dataclass(frozen=True)
class Mean(Query):
    """Clipped sum divided by a public number of records: (1/n) sum of clip(value, lower, upper).

    The divisor is a public constant. Dividing by the length of the dataset leaks it when a record can be added or
    removed, and makes the sensitivity depend on the data.

    Args:
        column, lower, upper: as for `Sum`.
        n_records: the divisor, a whole number >= 1.

    Example:
        >>> Mean(lower=0.0, upper=10.0, n_records=3)([3.0, 99.0, -5.0])
        4.333333333333333
        >>> Mean(lower=0.0, upper=1.0, n_records=100).sensitivity(Relation.REPLACE_ONE)
        0.01
    """

    column: Column = None
    lower: float = 0.0
    upper: float = 1.0
    n_records: PositiveInt = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._sum

    @property
    def _sum(self) -> Sum:
        return Sum(self.column, lower=self.lower, upper=self.upper)

    def __call__(self, dataset: Dataset) -> float:
        return self._sum(dataset) / self.n_records

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        return self._sum.sensitivity(relation, norm=norm) / self.n_records


def _clipped(numbers: Floats, query: Sum) -> Floats:
    return np.clip(np.where(np.isnan(numbers), query.blank, numbers), query.lower, query.upper)
