"""Utilities for choosing a median with the exponential mechanism."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core.arrays import Floats
from ...core.base import Dataset
from ...core.errors import ParameterError
from ...core.relation import Relation
from ...core.validation import finite
from .base import Column, Query, numbers_of


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
