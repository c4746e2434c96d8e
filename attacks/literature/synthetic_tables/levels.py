"""Levels of the columns of tables: the values of a column with few values, bins of a column with many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....mechanisms.core import Bools, Floats, Ints
from .base import Tables

MAX_LEVELS = 64
"""Largest number of distinct values of a column that is not binned."""
N_BINS = 10
MAX_PILOT_ROWS = 20_000
"""Largest number of pilot rows per side that are used."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Distinguished values of each column.

    Args:
        starts: for each column its distinct values, sorted, or the lower ends of its bins, of which the first is
            -inf.
        binned: `(d,)` whether the column is binned.
    """

    starts: tuple[Floats, ...]
    binned: tuple[bool, ...]

    @classmethod
    def learn(cls, *tables: Tables) -> Levels:
        """Learn the levels of `(..., d)` tables, pooled; bins contain about equally many values each."""
        rows = [table.reshape(-1, table.shape[-1]) for table in tables]
        pattern = np.arange(MAX_PILOT_ROWS) * 2_654_435_761  # unrelated to the order of the rows
        rows = [part if len(part) <= MAX_PILOT_ROWS else part[pattern % len(part)] for part in rows]
        columns = [np.concatenate([part[:, j] for part in rows]) for j in range(rows[0].shape[1])]
        distinct = [np.unique(column) for column in columns]
        binned = tuple(len(values) > MAX_LEVELS for values in distinct)
        starts = tuple(
            _bins(column) if cut else values.astype(np.float64)
            for column, values, cut in zip(columns, distinct, binned, strict=True)
        )
        return cls(starts, binned)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(len(starts) for starts in self.starts)

    def code(self, tables: Tables, column: int) -> Ints:
        """Return the level of each value of a column, `tables.shape[:-1]`; between two levels, the lower one."""
        starts, values = self.starts[column], tables[..., column]
        if np.array_equal(starts, np.arange(len(starts))) and values.dtype.kind in "biu":
            return np.clip(values, 0, len(starts) - 1).astype(np.int64, copy=False)
        return np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)

    def interval(self, value: float, column: int) -> tuple[float, float]:
        """Return the lowest and highest value that are treated as equal to this one."""
        if not self.binned[column]:
            return value, value
        starts = self.starts[column]
        upper = int(np.searchsorted(starts, value, side="right"))
        return float(starts[upper - 1]), float(np.nextafter(starts[upper], -np.inf)) if upper < len(starts) else np.inf


def _bins(column: Floats) -> Floats:
    inner = np.unique(np.quantile(column, np.arange(1, N_BINS) / N_BINS, method="inverted_cdf"))
    return np.concatenate([[-np.inf], inner])


def agreeing(tables: Tables, interval: Sequence[float], column: int) -> Bools:
    """Return a mask of the rows of each table with a value within the closed interval, `(size, n_rows)`."""
    values, (low, high) = tables[:, :, column], interval
    if low == high:
        return np.asarray(values == (int(low) if values.dtype.kind in "iu" and float(low).is_integer() else low))
    return np.asarray((values >= low) & (values <= high))
