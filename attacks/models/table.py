"""One cell for each distinct output: the best that can be learned when there are few of them.

The score of a cell is its smoothed log odds, log((c1 + 1/2) / (n1 + 1)) - log((c0 + 1/2) / (n0 + 1)), with c0 and c1
its pilot counts out of n0 and n1. An output that the pilot never saw scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Rows = NDArray[Any]

MAX_CELLS = 4_096
ROWS_PER_CELL = 20
PROBE = 2_000  # rows that tell a continuous output at once


@dataclass(frozen=True, eq=False)
class Cells:
    """Numbers the distinct rows, column by column: (cell of the columns so far, value of the next one) -> cell.

    Args:
        levels: for each column, its distinct values in order.
        prefixes: for each column, the distinct codes cell * n_levels + level in order; a cell is a place in them.
    """

    levels: tuple[Rows, ...]
    prefixes: tuple[Indices, ...]

    @classmethod
    def learn(cls, rows: Rows, max_cells: int) -> Cells | None:
        """The cells of `(n, n_columns)` rows, or None when there are more than `max_cells`."""
        cell = np.zeros(len(rows), dtype=np.int64)
        levels, prefixes = [], []
        for column in rows.T:
            level, at = np.unique(column, return_inverse=True)
            prefix, cell = np.unique(cell * len(level) + at, return_inverse=True)
            if len(prefix) > max_cells:
                return None
            levels.append(level)
            prefixes.append(prefix)
        return cls(tuple(levels), tuple(prefixes))

    def __len__(self) -> int:
        return len(self.prefixes[-1]) if self.prefixes else 1

    def rows(self) -> Rows:
        """The distinct rows, `(n_cells, n_columns)`, in the order of the cells."""
        cells, columns = np.arange(len(self)), []
        for level, prefix in zip(reversed(self.levels), reversed(self.prefixes), strict=True):
            cells, at = np.divmod(prefix[cells], len(level))
            columns.append(level[at])
        return np.column_stack(columns[::-1]) if columns else np.empty((len(self), 0))

    def of(self, rows: Rows) -> Indices:
        """The cell of each row; -1 where it is new."""
        cell = np.zeros(len(rows), dtype=np.int64)
        known = np.ones(len(rows), dtype=np.bool_)
        for column, level, prefix in zip(rows.T, self.levels, self.prefixes, strict=True):
            at, seen = _find(level, column)
            cell, found = _find(prefix, cell * len(level) + at)
            known &= seen & found
        return np.where(known, cell, -1)


@dataclass(frozen=True, eq=False)
class TableModel:
    """Log odds of each cell.

    Args:
        cells: the distinct rows of the pilot.
        scores: `(n_cells + 1,)` log odds; the last one is that of a new row.
    """

    cells: Cells
    scores: Floats

    def log_odds(self, rows: Rows) -> Floats:
        """Log odds of each row, shape `(size,)`."""
        return self.scores[self.cells.of(rows)]


def find_cells(rows0: Rows, rows1: Rows) -> Cells | None:
    """The cells of the pilot rows of both sides if they are few enough to be counted; else None."""
    max_cells = min(MAX_CELLS, (len(rows0) + len(rows1)) // ROWS_PER_CELL)
    for rows in (np.concatenate([rows0[:PROBE], rows1[:PROBE]]), np.concatenate([rows0, rows1])):
        cells = Cells.learn(rows, max_cells)
        if cells is None:
            return None
    return cells


def fit_table(cells: Cells, rows0: Rows, rows1: Rows) -> TableModel:
    """The table of smoothed log odds over `cells`."""
    counts0, counts1 = (np.bincount(_known(cells.of(r)), minlength=len(cells)) for r in (rows0, rows1))
    return TableModel(cells, np.append(log_odds_of_counts(counts0, counts1, len(rows0), len(rows1)), 0.0))


def log_odds_of_counts(counts0: Rows, counts1: Rows, n0: int, n1: int) -> Floats:
    """Smoothed log odds of events that happened `counts0` times in `n0` runs and `counts1` times in `n1`."""
    odds1 = (np.asarray(counts1, dtype=np.float64) + 0.5) / (n1 + 1.0)
    odds0 = (np.asarray(counts0, dtype=np.float64) + 0.5) / (n0 + 1.0)
    return np.log(odds1) - np.log(odds0)


def _known(cells: Indices) -> Indices:
    return cells[cells >= 0]


def _find(sorted_values: Rows, wanted: Rows) -> tuple[Indices, NDArray[np.bool_]]:
    """Where `wanted` stands in `sorted_values`, and whether it is really there."""
    at = np.searchsorted(sorted_values, wanted).clip(max=len(sorted_values) - 1)
    return at, sorted_values[at] == wanted
