"""Gower's distance (1971) of coded records, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....mechanisms.core.arrays import Bools, Floats, Ints

BLOCK = 4_000_000
"""Number of distances computed at once."""
_ROUNDING = 1e-9


def distances(records: Ints, rows: Ints, scales: Sequence[float | None]) -> Floats:
    """Return sums over columns `(n, n_rows)` of |a - b| / scale, or of a != b if the scale is None.

    The scale is that of the public domain: a scale estimated from the data depends on outliers.

    Example:
        >>> distances(np.array([[0, 3]]), np.array([[0, 3], [1, 3], [0, 0]]), [None, 4.0]).tolist()
        [[0.0, 1.0, 0.75]]
    """
    total = np.zeros((len(records), len(rows)))
    for column, scale in enumerate(scales):
        a, b = records[:, column, None], rows[None, :, column]
        total += (a != b) if scale is None else np.abs(a - b) / scale
    return total


def neighbours(records: Ints, rows: Ints, scales: Sequence[float | None], k: int) -> Iterator[tuple[slice, Bools]]:
    """Yield blocks of records with masks `(block, n_rows)` of the k nearest rows of each record.

    Rows as near as the k-th are all neighbours: the order of rows has no meaning.
    """
    last = min(k, len(rows)) - 1
    step = max(1, BLOCK // len(rows))
    for start in range(0, len(records), step):
        block = slice(start, min(start + step, len(records)))
        distance = distances(records[block], rows, scales)
        limit = distance.min(axis=1) if last == 0 else np.partition(distance, last, axis=1)[:, last]
        yield block, distance <= limit[:, None] + _ROUNDING
