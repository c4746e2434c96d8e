"""Domain of a record: the possible values of each attribute, coded as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Dataset, Floats, Ints, ParameterError, plural, unknown_name_message, whole

MAX_TABLE_BYTES = 2 * 10**9
"""Largest size of one table of numbers, in bytes."""


@dataclass(frozen=True)
class Domain:
    """Public attributes of a record, with the number of values of each.

    The values of an attribute are coded 0, 1, ..., n_values - 1. A cell is a combination of the values of all
    attributes; cells are numbered in the order of nested loops, the last attribute fastest.

    Args:
        attributes: name and number of values of each, at least one of at least one value; a dict is accepted.

    Example:
        >>> domain = Domain({"sex": 2, "race": 3})
        >>> domain.n_cells, domain.index("race"), domain.project(["race"]).shape
        (6, 1, (3,))
        >>> records = domain.records([[0, 2], [1, 0], [0, 2]])
        >>> domain.cells(records), domain.histogram(records)
        (array([2, 3, 2]), array([0., 0., 2., 1., 0., 0.]))
    """

    attributes: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        entries: Any = self.attributes
        try:
            pairs = tuple((name, n) for name, n in (entries.items() if isinstance(entries, Mapping) else entries))
        except (TypeError, ValueError):
            raise ParameterError(
                argument="attributes", value=entries, allowed="have a name and a number of values each", advice=_EXAMPLE
            ) from None
        object.__setattr__(self, "attributes", pairs)
        if not pairs or len(set(self.names)) < len(pairs):
            raise ParameterError(
                argument="attributes", value=self.names, allowed="have distinct names, at least one", advice=_EXAMPLE
            )
        for name, n_values in pairs:
            whole(1, **{f"number of values of {name}": n_values})

    @classmethod
    def of(cls, value: Any) -> Domain:
        """Return `value` if it is a domain, else the domain of a dict or of pairs."""
        return value if isinstance(value, Domain) else cls(value)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in their order."""
        return tuple(name for name, _ in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(n_values for _, n_values in self.attributes)

    @cached_property
    def n_cells(self) -> int:
        """Number of cells: the product of the shape."""
        return math.prod(self.shape)

    def index(self, name: str) -> int:
        """Return the index of an attribute; raise `ParameterError` for an unknown name."""
        if name not in self.names:
            raise ParameterError(unknown_name_message("attribute", name, self.names), argument="attribute", value=name)
        return self.names.index(name)

    def project(self, names: Iterable[str]) -> Domain:
        """Return the domain of some of the attributes, in the order of `names`."""
        return Domain(tuple(self.attributes[self.index(name)] for name in names))

    def records(self, dataset: Dataset) -> Ints:
        """Return the coded records of a dataset, shape `(n_records, n_attributes)`.

        Args:
            dataset: a DataFrame, whose columns are selected by name; or rows in the order of the attributes.

        Raises:
            ParameterError: a missing column, another number of columns, or a value that is missing or not a code.
        """
        columns = self._columns(dataset)
        return np.column_stack([self._codes(name, n, c) for (name, n), c in zip(self.attributes, columns, strict=True)])

    def cells(self, records: Ints, names: Iterable[str] | None = None) -> Ints:
        """Return the index of the cell of each record, among the cells of the attributes `names` (default: all).

        Args:
            records: codes, shape `(..., n_attributes)`.
            names: some of the attributes, in any order.

        Returns:
            Shape `records.shape[:-1]`.
        """
        positions = range(len(self.names)) if names is None else [self.index(name) for name in names]
        if math.prod(self.shape[position] for position in positions) >= 2**63:
            raise ParameterError("the cells are too many to be numbered. Give fewer attributes.", argument="names")
        cells = np.zeros(records.shape[:-1], dtype=np.int64)
        for position in positions:
            cells = cells * self.shape[position] + records[..., position]
        return cells

    def records_in(self, cells: Ints) -> Ints:
        """Return the record of each cell index, shape `(*cells.shape, n_attributes)`: the inverse of `cells`."""
        return np.stack(np.unravel_index(cells, self.shape), axis=-1).astype(np.int64)

    def histogram(self, records: Ints) -> Floats:
        """Count the records in each cell: `(n_cells,)`, or `(..., n_cells)` for many tables `(..., n, d)`."""
        tables = records.shape[:-2]
        check_memory(math.prod(tables) * self.n_cells, "a histogram")
        cells = self.cells(records).reshape(math.prod(tables), -1)
        starts = self.n_cells * np.arange(len(cells), dtype=np.int64)
        counts = np.bincount((cells + starts[:, None]).ravel(), minlength=len(cells) * self.n_cells)
        return counts.reshape(*tables, self.n_cells).astype(np.float64)

    def _columns(self, dataset: Dataset) -> list[NDArray[Any]]:
        """Return the column of each attribute, shape `(n_records,)` each."""
        if hasattr(dataset, "columns") and hasattr(dataset, "to_numpy"):
            for name in self.names:
                if name not in dataset.columns:
                    unknown = unknown_name_message("column", name, map(str, dataset.columns))
                    raise ParameterError(
                        f"the dataset lacks an attribute of the domain: {unknown}", argument="dataset", value=name
                    )
            return [np.asarray(dataset[name].to_numpy()) for name in self.names]
        try:
            rows = np.asarray(dataset)
        except ValueError:
            rows = np.asarray(dataset, dtype=object)  # rows of different lengths
        if rows.shape == (0,) or (rows.ndim == 1 and len(self.names) == 1):
            rows = rows.reshape(-1, len(self.names))
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise ParameterError(
                f"the dataset must be codes of shape (n_records, {len(self.names)}), one column for each of "
                f"{', '.join(self.names)}, but has shape {rows.shape}.",
                argument="dataset",
            )
        return list(rows.T)

    def _codes(self, name: str, n_values: int, column: NDArray[Any]) -> Ints:
        """Return a column as codes; raise `ParameterError` at the first value that is not a code."""
        try:
            numbers = column.astype(np.float64)
        except (TypeError, ValueError):
            numbers = np.array([_number(value) for value in column])
        invalid = ~((numbers >= 0) & (numbers < n_values) & (numbers == np.floor(numbers)))
        if not invalid.any():
            return numbers.astype(np.int64)
        row = int(np.argmax(invalid))
        raise ParameterError(
            argument="dataset",
            value=column[row],
            allowed=f"hold codes, whole numbers from 0 to {n_values - 1}, in column {name!r}",
            shown=f"{column[row]!s} in row {row}",
            advice=_advice(column[row], numbers[row]),
        )


def check_memory(n_numbers: int, what: str, *, advice: str = "Give fewer attributes, or fewer values of them.") -> None:
    """Raise `ParameterError` if `n_numbers` floats, which make up `what`, are too large for memory.

    Example:
        >>> check_memory(10**12, "a histogram")
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.core.errors.ParameterError: a histogram of 1,000,000,000,000 numbers \
would take 8,000.0 GB, and at most 2.0 GB are taken. Give fewer attributes, or fewer values of them.
    """
    if 8 * n_numbers > MAX_TABLE_BYTES:
        raise ParameterError(
            f"{what} of {plural(n_numbers, 'number')} would take {8 * n_numbers / 1e9:,.1f} GB, and at most "
            f"{MAX_TABLE_BYTES / 1e9:.1f} GB are taken. {advice}",
            argument="domain",
            value=n_numbers,
        )


_EXAMPLE = 'Give such as {"sex": 2, "age": 10}.'


def _number(value: object) -> float:
    """Return `value` as a float, NaN if it is not a number."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _advice(value: object, number: float) -> str:
    """Return the advice of the error message about a value that is not a code."""
    if value is None or value != value or str(value) in ("<NA>", "NaT"):
        return "Give missing values a separate code, or leave out their records."
    if math.isnan(number):
        return "Code the values: pandas.Categorical(values, categories=PUBLIC_LIST).codes."
    if math.isfinite(number) and number != math.floor(number):
        return "Give its bins: numpy.digitize(values, PUBLIC_EDGES)."
    return "Add values to the domain, which must be public, or code the value as one of them."
