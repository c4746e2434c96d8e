"""Estimators of the log density of a table at a record, for all tables at once.

    independent   sum over columns of the log share of rows with the record's level
    pairs         sum over pairs of columns of the log share of rows with both of the record's levels
    histogram     log share of rows with all of the record's levels
    gaussian      log density of the normal law with mean and covariance of the rows
    kernel        log of the mean over rows of exp(-squared distance / (2 h^2)), h = n_rows^(-1 / (d + 4))
    nearest       -d log(distance to the k-th nearest row)

Counts are smoothed by 1/2. Real columns are binned where levels are counted; normal laws treat codes as numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.special import logsumexp

from ....mechanisms.core.arrays import Floats
from .base import Tables
from .distances import nearest
from .levels import Levels
from .records import Known

SMOOTHING = 0.5
RIDGE = 1e-3
"""Added to the variances of standardised columns."""
NEIGHBOUR = 3
FLOOR = 1e-3
"""Added to distances: the density at a copy stays finite."""

Estimator = Callable[[Tables, Tables, Known], Floats]
"""`(size, n_rows, d)` tables, `(k, d)` records, known records -> `(size, k)` log densities, up to a constant of each
record."""


def independent(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the sum of log shares of the record's levels."""
    levels = known.levels
    total = np.zeros((len(tables), len(records)))
    for column, n_levels in enumerate(levels.shape):
        counts = histograms(levels.code(tables, column), n_levels)[:, levels.code(records, column)]
        total += np.log(counts + SMOOTHING) - np.log(tables.shape[1] + SMOOTHING * n_levels)
    return total


def pairs(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the sum of log shares of each pair of the record's levels, as fitted by pairwise marginals."""
    shape = known.levels.shape
    rows = [known.levels.code(tables, column) for column in range(len(shape))]
    record_codes = [known.levels.code(records, column) for column in range(len(shape))]
    total = np.zeros((len(tables), len(records)))
    for i, j in combinations(range(len(shape)), 2):
        n_cells = shape[i] * shape[j]
        counts = histograms(rows[i] * shape[j] + rows[j], n_cells)[:, record_codes[i] * shape[j] + record_codes[j]]
        total += np.log(counts + SMOOTHING) - np.log(tables.shape[1] + SMOOTHING * n_cells)
    return total


def histogram(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the log share of the rows in the record's cell."""
    levels = known.levels
    record_cells, record_index = np.unique(_cells(levels, records), return_inverse=True)
    cells = _cells(levels, tables)
    index = np.minimum(np.searchsorted(record_cells, cells), len(record_cells) - 1)
    hits = np.where(record_cells[index] == cells, index, len(record_cells))
    counts = histograms(hits, len(record_cells) + 1)[:, record_index]
    return np.asarray(np.log(counts + SMOOTHING) - np.log(tables.shape[1]))


def gaussian(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the log density of the normal law with mean and covariance of the rows."""
    spread = known.records.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    rows, scaled_records = tables / scale, records / scale
    mean = rows.mean(axis=1, keepdims=True)
    centred = rows - mean
    covariance = np.einsum("srd,sre->sde", centred, centred) / rows.shape[1] + RIDGE * np.eye(rows.shape[2])
    centred_records = scaled_records - mean
    squared = np.einsum(
        "skd,skd->sk", centred_records, np.linalg.solve(covariance, centred_records.swapaxes(1, 2)).swapaxes(1, 2)
    )
    return np.asarray(-0.5 * (squared + np.linalg.slogdet(covariance)[1][:, None]))


def kernel(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the log mean of a Gaussian kernel over the rows (bandwidth: Scott 1992)."""
    _, n_rows, d = tables.shape
    width = n_rows ** (-1.0 / (d + 4))
    logs = known.squared_distances(tables, records) / (-2.0 * width**2)
    return np.asarray(logsumexp(logs, axis=1) - np.log(n_rows))


def nearest_rows(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return the log density from the distance to the third nearest row."""
    distance = nearest(known.squared_distances(tables, records), NEIGHBOUR)
    return np.asarray(-tables.shape[2] * np.log(distance + FLOOR))


def histograms(codes: Tables, n_levels: int) -> Floats:
    """Return counts `(size, n_levels)` of each code below `n_levels` in each run, from `(size, n_rows)` codes."""
    size = len(codes)
    numbered = codes + n_levels * np.arange(size)[:, None]
    return np.bincount(numbered.ravel(), minlength=size * n_levels).reshape(size, n_levels).astype(np.float64)


def _cells(levels: Levels, tables: Tables) -> Tables:
    """Return one number per row: the index of its cell, or an almost unique hash if there are over 2^64 cells."""
    numbers = np.zeros(tables.shape[:-1], dtype=np.uint64)
    for column, n_levels in enumerate(levels.shape):
        numbers = numbers * np.uint64(n_levels | 1) + levels.code(tables, column).astype(np.uint64)
    return numbers


ESTIMATORS: dict[str, Estimator] = {
    "independent": independent,
    "pairs": pairs,
    "histogram": histogram,
    "gaussian": gaussian,
    "kernel": kernel,
    "nearest": nearest_rows,
}
