"""Synthetic substitute for the Glyph data of PATE: 150 classes, 5,000 teachers, and partly wrong labels.

Glyph is not public. In this substitute each class is a Gaussian in 64 dimensions, and a share of the labels is replaced
by random classes, as in Glyph. Each teacher has 300 separate records and assigns the class of the nearest mean to a
query; the means of all teachers together are the baseline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Floats, Ints
from .students import Votes

N_CLASSES, N_FEATURES = 150, 64
N_TEACHERS, N_RECORDS = 5000, 300
WRONG_LABELS = 0.17
APART = 0.65
"""Standard deviation of a coordinate of the centres; that of the records around their centre is 1."""

Floats32 = NDArray[np.float32]
Labels = Ints


def votes(n_queries: int, *, n_judged: int = 5000, seed: int = 5000) -> Votes:
    """Return the votes of all teachers on `n_queries` public points, and `n_judged` more points to evaluate students.

    The labels for the evaluation of answers and students are wrong as often as those of the records.
    """
    rng = np.random.default_rng(seed)
    centres = APART * rng.standard_normal((N_CLASSES, N_FEATURES), dtype=np.float32)
    points, truth = _draw(centres, n_queries + n_judged, rng)
    queries, X = points[:n_queries], points[n_queries:]
    counts = np.zeros((n_queries, N_CLASSES), dtype=np.int64)
    sums, sizes, rows = np.zeros_like(centres), np.zeros(N_CLASSES, dtype=np.int64), np.arange(n_queries)
    for _ in range(N_TEACHERS):
        records, labels = _draw(centres, N_RECORDS, rng)
        total, size = _sums(records, labels)
        counts[rows, _nearest(queries, total, size)] += 1
        sums += total
        sizes += size
    baseline = float((_nearest(X, sums, sizes) == truth[n_queries:]).mean())
    none = points[:0]
    return Votes("glyph-like", counts, queries, truth[:n_queries], none, X, truth[n_queries:], baseline, 0.0)


def probabilities(X: Floats32, records: Floats32, labels: Labels) -> Floats:
    """Return the class probabilities of a student for `X`, `(n, 150)`: Gaussians around the means, equal priors.

    The distances are divided by the variance of the records plus that of the means.
    """
    total, size = _sums(records, labels)
    scores = -0.5 * _squared_distances(X, total, size) / (1.0 + 1.0 / max(1.0, float(np.median(size))))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _draw(centres: Floats32, n: int, rng: np.random.Generator) -> tuple[Floats32, Labels]:
    classes = rng.integers(N_CLASSES, size=n)
    points = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    points += centres[classes]
    return points, np.where(rng.random(n) < WRONG_LABELS, rng.integers(N_CLASSES, size=n), classes)


def _sums(records: Floats32, labels: Labels) -> tuple[Floats32, Labels]:
    """Return the sum of the records of each class, and their number."""
    one_hot = np.zeros((N_CLASSES, len(labels)), dtype=np.float32)
    one_hot[labels, np.arange(len(labels))] = 1.0
    return one_hot @ records, np.bincount(labels, minlength=N_CLASSES)


def _squared_distances(X: Floats32, sums: Floats32, sizes: Labels) -> Floats32:
    """Return squared distances of rows of `X` to the means, minus the squares of the rows; inf for empty classes."""
    means = sums / np.maximum(sizes, 1)[:, np.newaxis]
    square = np.where(sizes > 0, np.einsum("ij,ij->i", means, means), np.inf)
    return np.asarray(square - 2.0 * (X @ means.T), dtype=np.float32)


def _nearest(X: Floats32, sums: Floats32, sizes: Labels) -> Labels:
    return np.asarray(_squared_distances(X, sums, sizes).argmin(axis=1))
