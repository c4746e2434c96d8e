"""Controlled rounding: whole numbers next to fractional ones, with the same sums.

Each number goes down or up to a whole one so that all sums, which are whole, stay what they are, and as little as
possible is moved: a linear program whose corners are whole, as its sums are those of cells over children and of nested
kinds of people over cells (Cox 1987). Runs are blocks of one program, solved by HiGHS.
"""

from __future__ import annotations

import numpy as np

from ...errors import ReleaseError
from ...queries.base import Floats
from ...queries.domain import Ints

AT_ONCE = 4000
"""Numbers in one linear program."""
NEAR = 1e-3
"""Numbers this close to a whole one from below count as that one; more than `least_squares` leaves to rounding."""


def rounded(numbers: Floats, sums: Floats, values: Floats) -> Ints:
    """Whole numbers >= 0, each the number rounded down or up.

    Args:
        numbers: `(size, n)`, which have these sums but for small errors.
        sums: `(n_sums, n)` of zeros and ones: two families of sets, the sets of each nested or disjoint.
        values: the sums, whole, shape `(size, n_sums)`.
    """
    size, n = numbers.shape
    at_once = max(1, AT_ONCE // max(n, 1))
    low = np.floor(np.maximum(numbers, 0.0) + NEAR).astype(np.int64)
    up = np.zeros_like(low)
    for start in range(0, size, at_once):
        part = slice(start, start + at_once)
        up[part] = _up(numbers[part] - low[part], sums, values[part] - low[part] @ sums.T)
    return low + up


def _up(fractions: Floats, sums: Floats, missing: Floats) -> Ints:
    """Which numbers go up, `(size, n)` of zeros and ones: so many of each sum as are missing."""
    from scipy import sparse
    from scipy.optimize import linprog

    size, n = fractions.shape
    if not len(sums):
        return (fractions >= 0.5).astype(np.int64)
    blocks = sparse.kron(sparse.eye(size), sparse.csr_matrix(sums), format="csr")
    found = linprog(
        1.0 - 2.0 * fractions.ravel(), A_eq=blocks, b_eq=np.rint(missing).ravel(), bounds=(0.0, 1.0), method="highs"
    )
    up: Ints | None = np.rint(found.x).astype(np.int64).reshape(size, n) if found.success else None
    if up is None or not np.array_equal(up @ sums.T, np.rint(missing)):
        raise ReleaseError("no whole numbers next to the least squares have the published sums.")
    return up
