"""The interface of a query: a function of the records, with its sensitivity.

A query is a frozen dataclass that is called with a dataset and returns a number or a vector of numbers. Its sensitivity
depends on the neighbouring relation and on the norm in which the distance is measured.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...core import Dataset, Floats, Options, ParameterError, Relation, named_in

Column: TypeAlias = str | int | None
"""Name of a column of a DataFrame, its index in a two-dimensional array, or None for one-dimensional data."""


@named_in("dpassay.mechanisms.noise.queries.catalogue:catalogue")
class Query(Options):
    """Function of the records with a known sensitivity. Subclasses are frozen dataclasses."""

    @property
    def n_answers(self) -> int:
        """Length of the vector of answers; 1 for a single number."""
        return 1

    @abstractmethod
    def __call__(self, dataset: Dataset) -> float | Floats:
        """Return the exact answers on `dataset`: a number, or shape `(n_answers,)`."""

    @abstractmethod
    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        """Return the largest distance between the answers on two neighbours.

        Args:
            relation: how the neighbours may differ.
            norm: 1 (for Laplace noise), 2 (Gaussian noise) or inf (selection).
        """

    def range_sensitivity(self, relation: Relation) -> float:
        """Return the largest difference between the changes of any two answers between neighbours, for selection.

        A selection that compares answers does not depend on a change that is common to all of them: 0 for a single
        answer. At most the L-infinity sensitivity where answers move in one direction, and else twice that. (Dong,
        Durfee and Rogers 2020.)
        """
        if self.n_answers == 1:
            return 0.0
        return self.sensitivity(relation, norm=math.inf) * (1.0 if self.monotone(relation) else 2.0)

    def monotone(self, relation: Relation) -> bool:
        """Return True if, between any two neighbours, all answers that change do so in one direction."""
        return False


AnyQuery: TypeAlias = Query | Callable[[Dataset], Any]
"""A `Query`, or any function from a dataset to a number or a vector, whose sensitivity is then not checked."""


def column_of(dataset: Dataset, column: Column) -> NDArray[Any]:
    """Return one value per record, shape `(n_records,)`; raise `ParameterError` if there is no such column."""
    if hasattr(dataset, "columns") and hasattr(dataset, "to_numpy"):
        if column not in dataset.columns:
            names = ", ".join(map(repr, list(dataset.columns)[:12]))
            raise ParameterError(argument="column", value=column, allowed=f"be one of the dataset's columns ({names})")
        return np.asarray(dataset[column].to_numpy())
    values = np.asarray(dataset)
    if values.ndim == 1 and column is None:
        return values
    if values.ndim == 2 and isinstance(column, int) and -values.shape[1] <= column < values.shape[1]:
        return np.asarray(values[:, column])
    raise ParameterError(
        f"column {column!r} does not fit a dataset of shape {values.shape}: give None for shape (n_records,), a "
        "position for shape (n_records, n_columns), a name for a DataFrame.",
        argument="column",
    )


def numbers_of(dataset: Dataset, column: Column) -> Floats:
    """Return one number per record, shape `(n_records,)`; missing values are NaN.

    Raises:
        ParameterError: there is no such column, or it has values that are not numbers.
    """
    values = column_of(dataset, column)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        row = next(row for row, value in enumerate(values) if not _is_number(value))
    named = "the dataset" if column is None else f"column {column!r}"
    raise ParameterError(
        f"{named} must hold numbers, but holds {values[row]!r} in record {row} (from 0 on). Choose a column of "
        "numbers, code texts as numbers, or count them with Histogram(categories=...).",
        argument="column",
        value=values[row],
    )


def _is_number(value: object) -> bool:
    try:
        np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
