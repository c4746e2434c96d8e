"""Attack by density, and the estimators of the log density of a table at a record, for all tables at once.

    independent   sum over columns of the log share of rows with the record's level
    pairs         sum over pairs of columns of the log share of rows with both of the record's levels
    histogram     log share of rows with all of the record's levels
    gaussian      log density of the normal law with mean and covariance of the rows
    kernel        log of the mean over rows of exp(-squared distance / (2 h^2)), h = n_rows^(-1 / (d + 4))
    nearest       -d log(distance to the k-th nearest row)

Counts are smoothed by 1/2. Real columns are binned where levels are counted; normal laws treat codes as numbers.

Synthetic rows are denser around records that the generator has learned from (`DensityRatio`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from ....mechanisms.core import Floats, one_of_names
from .base import Tables
from .levels import Levels
from .records import KnownRecords, RecordAttack, nearest

SMOOTHING = 0.5
VARIANCE_RIDGE = 1e-3
"""Added to the variances of standardised columns."""
NEIGHBOUR_RANK = 3
DISTANCE_FLOOR = 1e-3
"""Added to distances: the density at a copy stays finite."""

Estimator = Callable[[Tables, Tables, KnownRecords], Floats]
"""`(size, n_rows, d)` tables, `(k, d)` records, known records -> `(size, k)` log densities, up to a constant of each
record."""


def independent(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return the sum of log shares of the record's levels."""
    levels = known.levels
    total = np.zeros((len(tables), len(records)))
    for column, n_levels in enumerate(levels.shape):
        counts = histograms(levels.code(tables, column), n_levels)[:, levels.code(records, column)]
        total += np.log(counts + SMOOTHING) - np.log(tables.shape[1] + SMOOTHING * n_levels)
    return total


def pairs(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
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


def histogram(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return the log share of the rows in the record's cell."""
    levels = known.levels
    record_cells, record_index = np.unique(_cells(levels, records), return_inverse=True)
    cells = _cells(levels, tables)
    index = np.minimum(np.searchsorted(record_cells, cells), len(record_cells) - 1)
    hits = np.where(record_cells[index] == cells, index, len(record_cells))
    counts = histograms(hits, len(record_cells) + 1)[:, record_index]
    return np.asarray(np.log(counts + SMOOTHING) - np.log(tables.shape[1]))


def gaussian(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return the log density of the normal law with mean and covariance of the rows."""
    spread = known.records.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    rows, scaled_records = tables / scale, records / scale
    mean = rows.mean(axis=1, keepdims=True)
    centred = rows - mean
    covariance = np.einsum("srd,sre->sde", centred, centred) / rows.shape[1] + VARIANCE_RIDGE * np.eye(rows.shape[2])
    centred_records = scaled_records - mean
    squared = np.einsum(
        "skd,skd->sk", centred_records, np.linalg.solve(covariance, centred_records.swapaxes(1, 2)).swapaxes(1, 2)
    )
    return np.asarray(-0.5 * (squared + np.linalg.slogdet(covariance)[1][:, None]))


def kernel(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return the log mean of a Gaussian kernel over the rows (bandwidth: Scott 1992)."""
    _, n_rows, d = tables.shape
    width = n_rows ** (-1.0 / (d + 4))
    logs = known.squared_distances(tables, records) / (-2.0 * width**2)
    return np.asarray(logsumexp(logs, axis=1) - np.log(n_rows))


def nearest_rows(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return the log density from the distance to the third nearest row."""
    distance = nearest(known.squared_distances(tables, records), NEIGHBOUR_RANK)
    return np.asarray(-tables.shape[2] * np.log(distance + DISTANCE_FLOOR))


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


PENALTY = 1.0
NEWTON_STEPS = 8


@dataclass(frozen=True, kw_only=True)
class DensityRatio(RecordAttack):
    """Score of a table: its log density at the record, minus that of known records that were not used.

        log p_synthetic(record) - log p_known(record)

    The density of the table alone is high for ordinary records, in or out; the difference is the excess of the table.
    On a pair that adds a record the known records are the same in every run, so they shift all scores equally; with
    many records (the membership game) they are decisive.

    Args:
        estimator: "independent", "pairs", "histogram", "gaussian", "kernel" or "nearest", for both densities; or
            "classifier", the log odds, at the record, of a logistic regression of synthetic rows against known
            rows.
        calibrated: whether the density of the known records is subtracted; "classifier" always uses it.
        nominal: indices of columns of codes; None: all, if the tables are whole numbers, else none.

    Raises:
        ParameterError: an unknown estimator.
        AttackError: the pair or the outputs are not tables.

    Guarantees:
        * if both densities are known the score is optimal: with p_synthetic = N(0, 1) and p_known = N(1, 1) its
          AUC is Phi(1 / sqrt 2) = 0.7602;
        * there is no natural threshold. The median of the scores assumes that half of the records were in.

    References:
        van Breugel, Sun, Qian and van der Schaar (2023), "Membership inference attacks against synthetic data through
        overfitting detection" (DOMIAS); the classifier: Hayes, Melis, Danezis and De Cristofaro (2019), "LOGAN".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table, public = rng.normal(size=(1, 500, 1)), rng.normal(1.0, 1.0, (500, 1))
        >>> records = np.array([[-1.0], [2.0]])
        >>> known = KnownRecords.of(public, records)
        >>> DensityRatio(estimator="gaussian").signals(table, records, known).round(1).tolist()
        [[1.6, -1.4]]
    """

    estimator: Annotated[str, one_of_names(*ESTIMATORS, "classifier")] = "independent"
    calibrated: bool = True

    def signals(self, tables: Tables, records: Tables, known: KnownRecords) -> Floats:
        """Return log density ratios or densities, `(size, k)`, nats."""
        if self.estimator == "classifier":
            return _log_odds(tables, records, known)
        estimate = ESTIMATORS[self.estimator]
        log_density = estimate(tables, records, known)
        return log_density - estimate(known.records[None], records, known) if self.calibrated else log_density


def _log_odds(tables: Tables, records: Tables, known: KnownRecords) -> Floats:
    """Return log odds of a row of each table against a known record, at the records; both kinds have equal weight.

    Ridge-penalised logistic regression by Newton's method, for all tables at once.
    """
    known_rows = _known_terms(known.records, known)
    record_terms = _known_terms(records, known)
    synthetic_rows = _known_terms(tables, known)
    weights = np.zeros((len(tables), record_terms.shape[1]))
    penalty = PENALTY * np.eye(record_terms.shape[1])
    penalty[0, 0] = 0.0
    share = len(known_rows) / tables.shape[1]
    for _ in range(NEWTON_STEPS):
        p_synthetic = _sigmoid(np.einsum("srp,sp->sr", synthetic_rows, weights))
        p_known = _sigmoid(weights @ known_rows.T)
        gradient = share * np.einsum("sr,srp->sp", 1.0 - p_synthetic, synthetic_rows)
        gradient -= p_known @ known_rows
        gradient -= weights @ penalty
        hessian = share * np.einsum(
            "sr,srp,srq->spq", p_synthetic * (1.0 - p_synthetic), synthetic_rows, synthetic_rows, optimize=True
        )
        hessian += np.einsum("sr,rp,rq->spq", p_known * (1.0 - p_known), known_rows, known_rows, optimize=True)
        weights += np.linalg.solve(hessian + penalty + 1e-9 * np.eye(len(penalty)), gradient[:, :, None])[:, :, 0]
    return weights @ record_terms.T


def _known_terms(rows: Tables, known: KnownRecords) -> Floats:
    """Return terms of a logistic regression, `(..., p)`.

    They are a constant; an indicator of each level of a column of codes except the first; and each real column,
    standardised and clipped, and its square.
    """
    terms = [np.ones(rows.shape[:-1])]
    for column, nominal in enumerate(known.nominal):
        if nominal:
            code = known.levels.code(rows, column)
            terms += [(code == level).astype(np.float64) for level in range(1, known.levels.shape[column])]
        else:
            middle = known.records[:, column].mean()
            z = np.clip((rows[..., column] - middle) / known.scale[column], -5.0, 5.0)
            terms += [z, z**2]
    return np.stack(terms, axis=-1)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
