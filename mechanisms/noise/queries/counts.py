"""Counting queries: records with a property, in each of several bins, or on either side of a candidate median."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ...core import Bools, Dataset, Finite, Floats, ParameterError, Relation, finite
from .base import Column, Query, column_of, numbers_of


@dataclass(frozen=True)
class Count(Query):
    """Number of records whose value meets every condition, or of all records without a condition.

    Sensitivity 1 under every relation and in every norm.

    Args:
        column: column of the values; see `Column`.
        above: count values strictly above this number.
        below: count values strictly below this number.
        equals: count values equal to this one. A missing value (NaN) meets no condition.

    Example:
        >>> Count(above=40)([39, 40, 41, 90])
        2.0
        >>> Count().sensitivity(Relation.ADD_REMOVE)
        1.0
    """

    column: Column = None
    _: KW_ONLY
    above: Finite | None = None
    below: Finite | None = None
    equals: Any = None

    def __call__(self, dataset: Dataset) -> float:
        values = column_of(dataset, self.column)
        meets = np.ones(len(values), dtype=np.bool_)
        if self.above is not None:
            meets &= numbers_of(dataset, self.column) > self.above
        if self.below is not None:
            meets &= numbers_of(dataset, self.column) < self.below
        if self.equals is not None:
            meets &= values == self.equals
        return float(np.count_nonzero(meets))

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        return 1.0

    def monotone(self, relation: Relation) -> bool:
        return relation is Relation.ADD_REMOVE


@dataclass(frozen=True)
class Histogram(Query):
    """Number of records in each of several disjoint bins: intervals between `edges`, or one bin for each category.

    A record that is added or removed changes one bin by 1. A record that is replaced can leave one bin and enter
    another, which changes two: L1 sensitivity 2, L2 sqrt(2). Noise that is scaled to the first under the second
    relation is a classic bug. (Dwork and Roth 2014, section 3.3, use add_remove.)

    Args:
        column: column of the values; see `Column`.
        edges: increasing, at least 2; bin i is [edges[i], edges[i+1]), the last one closed. Values outside are not
            counted.
        categories: distinct values, at least 1; bin i counts those equal to categories[i]. Either this or `edges`. They
            must be known beforehand: taken from the data, they would leak.

    Example:
        >>> Histogram(categories=("a", "b", "c"))(["a", "c", "c", "z"])
        array([1., 0., 2.])
        >>> Histogram(edges=(0, 10, 20)).sensitivity(Relation.REPLACE_ONE)
        2.0
    """

    column: Column = None
    _: KW_ONLY
    edges: tuple[float, ...] | None = None
    categories: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if (self.edges is None) == (self.categories is None):
            raise ParameterError("Histogram needs either edges or categories, and not both.")
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(self.edges))
            finite(**{f"edges[{i}]": edge for i, edge in enumerate(self.edges)})
            if len(self.edges) < 2 or not np.all(np.diff(self.edges) > 0):
                raise ParameterError(
                    f"edges must be at least 2 strictly increasing numbers, but are {self.edges!r}.", argument="edges"
                )
        if self.categories is not None:
            object.__setattr__(self, "categories", tuple(self.categories))
            if not self.categories or len(set(self.categories)) < len(self.categories):
                raise ParameterError(
                    f"categories must be distinct and at least one, but are {self.categories!r}.", argument="categories"
                )

    @property
    def n_answers(self) -> int:
        """Number of bins."""
        return len(self.categories) if self.categories is not None else len(self.edges or ()) - 1

    def __call__(self, dataset: Dataset) -> Floats:
        values = column_of(dataset, self.column)
        if self.categories is not None:
            return np.array([np.count_nonzero(values == category) for category in self.categories], dtype=np.float64)
        return _between(numbers_of(dataset, self.column), np.asarray(self.edges, dtype=np.float64))

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        n_moved = 1 if relation is Relation.ADD_REMOVE or self.n_answers == 1 else 2
        return 1.0 if math.isinf(norm) else float(n_moved ** (1.0 / norm))

    def monotone(self, relation: Relation) -> bool:
        return relation is Relation.ADD_REMOVE


@dataclass(frozen=True)
class PrefixCounts(Query):
    """Number of records at or below each of several thresholds: n times the empirical distribution function.

    One record changes all counts at thresholds from its value on, up to all k of them, by 1 each, in one direction
    under add_remove and under replace_one. Running sums of a noisy histogram avoid noise for L1 sensitivity k.

    Args:
        column: column of the values; see `Column`.
        thresholds: increasing, at least 1; must be public. Missing values (NaN) are not counted.

    Example:
        >>> PrefixCounts(thresholds=(1, 2, 3))([0.5, 2.0, 2.5, 9.0])
        array([1., 2., 3.])
        >>> PrefixCounts(thresholds=(1, 2, 3)).sensitivity(Relation.ADD_REMOVE)
        3.0
    """

    column: Column = None
    _: KW_ONLY
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", tuple(self.thresholds))
        finite(**{f"thresholds[{i}]": value for i, value in enumerate(self.thresholds)})
        if not self.thresholds or not np.all(np.diff(self.thresholds) > 0):
            raise ParameterError(
                f"thresholds must be at least 1 strictly increasing number, but are {self.thresholds!r}.",
                argument="thresholds",
            )

    @property
    def n_answers(self) -> int:
        """Number of thresholds."""
        return len(self.thresholds)

    def __call__(self, dataset: Dataset) -> Floats:
        values = np.sort(numbers_of(dataset, self.column))
        return np.searchsorted(values, self.thresholds, side="right").astype(np.float64)

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        return float(self.n_answers ** (1.0 / norm))

    def monotone(self, relation: Relation) -> bool:
        return True


@dataclass(frozen=True)
class MedianUtility(Query):
    """Utility of each candidate as a median: u(x, y) = min(#{x_i <= y}, #{x_i >= y}).

    Every utility changes by at most 1 when one record is added, removed, replaced or zeroed out, whereas the median can
    move across the whole range. (Smith 2011 uses the exponential mechanism in this way for quantiles.)

    Args:
        column: column of the values; see `Column`.
        candidates: possible answers, at least 2; must be public.

    Example:
        >>> MedianUtility(candidates=(0, 2, 5))([1, 2, 3])
        array([0., 2., 0.])
    """

    column: Column = None
    _: KW_ONLY
    candidates: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", tuple(self.candidates))
        finite(**{f"candidates[{i}]": y for i, y in enumerate(self.candidates)})
        if len(self.candidates) < 2:
            raise ParameterError(
                f"candidates must be at least 2 numbers, but are {self.candidates!r}.", argument="candidates"
            )

    @property
    def n_answers(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    def __call__(self, dataset: Dataset) -> Floats:
        values = numbers_of(dataset, self.column)
        values = np.sort(values[~np.isnan(values)])
        at_most = np.searchsorted(values, self.candidates, side="right")
        at_least = len(values) - np.searchsorted(values, self.candidates, side="left")
        return np.minimum(at_most, at_least).astype(np.float64)

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        return float(self.n_answers ** (1.0 / norm))

    def monotone(self, relation: Relation) -> bool:
        return relation is Relation.ADD_REMOVE


def _between(values: Floats, edges: Floats) -> Floats:
    """Return counts between consecutive edges, last bin closed, shape `(len(edges) - 1,)`; NaN is not counted."""
    inside: Bools = (values >= edges[0]) & (values <= edges[-1])
    bins = np.searchsorted(edges, values[inside], side="right") - 1
    return np.bincount(bins.clip(max=len(edges) - 2), minlength=len(edges) - 1).astype(np.float64)
