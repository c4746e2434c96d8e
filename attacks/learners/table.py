"""One cell for each distinct output: the best model when there are few distinct outputs.

The score of a cell is its smoothed log odds, log((c1 + 1/2) / (n1 + 1)) - log((c0 + 1/2) / (n0 + 1)), with c0 and c1
its pilot counts out of n0 and n1. An output that is not in the pilot scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Bools, Floats, Ints

Rows = NDArray[Any]

MAX_CELLS = 4_096
ROWS_PER_CELL = 20
N_PROBE_ROWS = 2_000  # rows that suffice to detect a continuous output


@dataclass(frozen=True, eq=False)
class OutputCells:
    """Numbering of the distinct rows, column by column: (cell of the columns so far, next value) -> cell.

    Args:
        levels: for each column, its distinct values, sorted.
        prefixes: for each column, the distinct codes cell * n_levels + level, sorted; a cell is an index of a code.
    """

    levels: tuple[Rows, ...]
    prefixes: tuple[Ints, ...]

    @classmethod
    def learn(cls, rows: Rows, max_cells: int) -> OutputCells | None:
        """Return the cells of `(n, n_columns)` rows, or None if there are more than `max_cells`."""
        cell = np.zeros(len(rows), dtype=np.int64)
        levels, prefixes = [], []
        for column in rows.T:
            level, level_index = np.unique(column, return_inverse=True)
            prefix, cell = np.unique(cell * len(level) + level_index, return_inverse=True)
            if len(prefix) > max_cells:
                return None
            levels.append(level)
            prefixes.append(prefix)
        return cls(tuple(levels), tuple(prefixes))

    def __len__(self) -> int:
        return len(self.prefixes[-1]) if self.prefixes else 1

    def rows(self) -> Rows:
        """Return the distinct rows, `(n_cells, n_columns)`, in the order of the cells."""
        cells, columns = np.arange(len(self)), []
        for level, prefix in zip(reversed(self.levels), reversed(self.prefixes), strict=True):
            cells, level_index = np.divmod(prefix[cells], len(level))
            columns.append(level[level_index])
        return np.column_stack(columns[::-1]) if columns else np.empty((len(self), 0))

    def of(self, rows: Rows) -> Ints:
        """Return the cell of each row; -1 for new rows."""
        cell = np.zeros(len(rows), dtype=np.int64)
        known = np.ones(len(rows), dtype=np.bool_)
        for column, level, prefix in zip(rows.T, self.levels, self.prefixes, strict=True):
            level_index, known_level = _find(level, column)
            cell, known_prefix = _find(prefix, cell * len(level) + level_index)
            known &= known_level & known_prefix
        return np.where(known, cell, -1)


@dataclass(frozen=True, eq=False)
class TableModel:
    """Table of log odds of each cell.

    Args:
        cells: the distinct rows of the pilot.
        scores: `(n_cells + 1,)` log odds; the last one is for new rows.
    """

    cells: OutputCells
    scores: Floats

    def log_odds(self, rows: Rows) -> Floats:
        return self.scores[self.cells.of(rows)]


@dataclass(frozen=True, eq=False)
class FrequencyModel:
    """Smoothed frequencies of k classes in each cell; a new row has equal frequencies of all classes.

    Args:
        cells: the distinct rows.
        frequencies: `(n_cells + 1, k)`; the last row is for new rows.
    """

    cells: OutputCells
    frequencies: Floats

    def probabilities(self, rows: Floats) -> Floats:
        return np.asarray(self.frequencies[self.cells.of(rows)])


def find_cells(rows: Rows) -> OutputCells | None:
    """Return the cells of pilot rows of all classes if there are few enough to count; else None."""
    max_cells = max(1, min(MAX_CELLS, len(rows) // ROWS_PER_CELL))
    probe = rows[:: max(1, len(rows) // N_PROBE_ROWS)]
    return None if OutputCells.learn(probe, max_cells) is None else OutputCells.learn(rows, max_cells)


def fit_table(cells: OutputCells, rows: Rows, sides: Ints) -> TableModel:
    """Return the table of smoothed log odds over `cells`."""
    cell, n1 = cells.of(rows) + 1, int(np.count_nonzero(sides))
    counts0, counts1 = (np.bincount(cell[sides == side], minlength=len(cells) + 1)[1:] for side in (0, 1))
    return TableModel(cells, np.append(log_odds_of_counts(counts0, counts1, len(rows) - n1, n1), 0.0))


def fit_frequencies(cells: OutputCells, rows: Rows, truths: Ints) -> FrequencyModel:
    """Return the smoothed frequencies of k classes over `cells`."""
    counts = np.full((len(cells) + 1, int(truths.max()) + 1), 0.5)
    np.add.at(counts, (cells.of(rows), truths), 1.0)
    counts[-1] = 1.0
    return FrequencyModel(cells, counts / counts.sum(axis=1, keepdims=True))


def log_odds_of_counts(counts0: Rows, counts1: Rows, n0: int, n1: int) -> Floats:
    """Return smoothed log odds of events that happened `counts0` times in `n0` runs and `counts1` times in `n1`."""
    odds1 = (np.asarray(counts1, dtype=np.float64) + 0.5) / (n1 + 1.0)
    odds0 = (np.asarray(counts0, dtype=np.float64) + 0.5) / (n0 + 1.0)
    return np.log(odds1) - np.log(odds0)


def _find(sorted_values: Rows, wanted: Rows) -> tuple[Ints, Bools]:
    """Return the index of each of `wanted` in `sorted_values`, and a mask of those that are present."""
    index = np.searchsorted(sorted_values, wanted).clip(max=len(sorted_values) - 1)
    return index, sorted_values[index] == wanted
