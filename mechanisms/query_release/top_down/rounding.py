"""Controlled rounding to adjacent integers that preserves sums.

Each number is rounded down or up so that all sums, which are integers, are preserved and the total change is minimal: a
linear program with integral vertices, because its sums are over children and over nested kinds of people (Cox 1987).
Runs are blocks of one program, solved by HiGHS.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.errors import ReleaseError

AT_ONCE = 4000
"""Number of variables of one linear program."""
NEAR = 1e-3
"""Numbers this close below an integer count as the integer; larger than the tolerance of `least_squares`."""


def rounded(numbers: Floats, sums: Floats, values: Floats) -> Ints:
    """Return integers >= 0, each number rounded down or up.

    Args:
        numbers: `(size, n)`, which have these sums up to small errors.
        sums: `(n_sums, n)` of zeros and ones: two families of sets, the sets of each nested or disjoint.
        values: integer values of the sums, shape `(size, n_sums)`.
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
    """Return the numbers that are rounded up, `(size, n)` of zeros and ones, with these missing sums."""
    from scipy import sparse
    from scipy.optimize import linprog

    size, n = fractions.shape
    if not len(sums):
        return (fractions >= 0.5).astype(np.int64)
    blocks = sparse.kron(sparse.eye(size), sparse.csr_matrix(sums), format="csr")
    solution = linprog(
        1.0 - 2.0 * fractions.ravel(), A_eq=blocks, b_eq=np.rint(missing).ravel(), bounds=(0.0, 1.0), method="highs"
    )
    up: Ints | None = np.rint(solution.x).astype(np.int64).reshape(size, n) if solution.success else None
    if up is None or not np.array_equal(up @ sums.T, np.rint(missing)):
        raise ReleaseError("no integers adjacent to the least-squares solution have the published sums.")
    return up
