"""Gower's distance (1971) of coded records, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .base import Bools, Ints

Floats = NDArray[np.float64]
BLOCK = 4_000_000
"""Distances that are held at once."""
_ROUNDING = 1e-9


def distances(records: Ints, rows: Ints, scales: Sequence[float | None]) -> Floats:
    """`(n, n_rows)` sums over columns of |a - b| / scale, or of a != b where the scale is None.

    The scale is that of the public domain: one that is read from the data moves with their outliers.

    Example:
        >>> distances(np.array([[0, 3]]), np.array([[0, 3], [1, 3], [0, 0]]), [None, 4.0]).tolist()
        [[0.0, 1.0, 0.75]]
    """
    found = np.zeros((len(records), len(rows)))
    for column, scale in enumerate(scales):
        a, b = records[:, column, None], rows[None, :, column]
        found += (a != b) if scale is None else np.abs(a - b) / scale
    return found


def neighbours(records: Ints, rows: Ints, scales: Sequence[float | None], k: int) -> Iterator[tuple[slice, Bools]]:
    """Which rows are among the k nearest of each record, block by block of records: `(block, n_rows)`.

    Rows that are as near as the k-th are all neighbours: the order of rows means nothing.
    """
    last = min(k, len(rows)) - 1
    step = max(1, BLOCK // len(rows))
    for start in range(0, len(records), step):
        some = slice(start, min(start + step, len(records)))
        far = distances(records[some], rows, scales)
        limit = far.min(axis=1) if last == 0 else np.partition(far, last, axis=1)[:, last]
        yield some, far <= limit[:, None] + _ROUNDING
