"""The levels of the columns of tables: the values of a column that has few of them, bins of one that has many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Floats, Tables

MOST_LEVELS = 64
"""A column with more distinct values than this is cut into bins."""
N_BINS = 10
SAMPLED = 20_000
"""Pilot rows of a side that are looked at."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Column by column, the values that are told apart.

    Args:
        starts: for each column, in order, its distinct values, or the lower ends of its bins, of which the first is
            -inf.
        binned: `(d,)` whether the column is cut into bins.
    """

    starts: tuple[Floats, ...]
    binned: tuple[bool, ...]

    @classmethod
    def learn(cls, *tables: Tables) -> Levels:
        """Those of `(..., d)` tables, all taken together; bins hold about equally many values each."""
        rows = [table.reshape(-1, table.shape[-1]) for table in tables]
        rows = [some if len(some) <= SAMPLED else some[_spread_out(len(some))] for some in rows]
        columns = [np.concatenate([some[:, j] for some in rows]) for j in range(rows[0].shape[1])]
        found = [np.unique(column) for column in columns]
        binned = tuple(len(values) > MOST_LEVELS for values in found)
        starts = tuple(
            _bins(column) if cut else values.astype(np.float64)
            for column, values, cut in zip(columns, found, binned, strict=True)
        )
        return cls(starts, binned)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(len(starts) for starts in self.starts)

    def code(self, tables: Tables, column: int) -> NDArray[np.int64]:
        """Which level each value of a column is, `tables.shape[:-1]`; a value between two levels is the lower one."""
        starts, values = self.starts[column], tables[..., column]
        if np.array_equal(starts, np.arange(len(starts))) and values.dtype.kind in "biu":
            return np.clip(values, 0, len(starts) - 1).astype(np.int64, copy=False)
        return np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)

    def interval(self, value: float, column: int) -> tuple[float, float]:
        """Lowest and highest value that count as equal to this one."""
        if not self.binned[column]:
            return value, value
        starts = self.starts[column]
        place = int(np.searchsorted(starts, value, side="right"))
        return float(starts[place - 1]), float(np.nextafter(starts[place], -np.inf)) if place < len(starts) else np.inf


def _spread_out(n: int) -> NDArray[np.int64]:
    """Places of `SAMPLED` rows among `n`, in no step with the rows of a table, which may be in order."""
    return np.arange(SAMPLED) * 2_654_435_761 % n


def _bins(column: Floats) -> Floats:
    inner = np.unique(np.quantile(column, np.arange(1, N_BINS) / N_BINS, method="inverted_cdf"))
    return np.concatenate([[-np.inf], inner])


def agreeing(tables: Tables, interval: Sequence[float], column: int) -> NDArray[np.bool_]:
    """Which rows of which tables have a value within the interval, ends included: `(size, n_rows)`."""
    values, (low, high) = tables[:, :, column], interval
    if low == high:
        return np.asarray(values == (int(low) if values.dtype.kind in "iu" and float(low).is_integer() else low))
    return np.asarray((values >= low) & (values <= high))
