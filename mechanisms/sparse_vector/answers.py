"""Answers about a threshold as whole numbers, and how to find the few distinct patterns among many runs.

ABOVE  1     BELOW  0     STOPPED  -1    not answered, since enough were above before
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

ABOVE, BELOW, STOPPED = 1, 0, -1
Answers = NDArray[np.int8]
_ANSWERS = 3
_LARGEST = 2**20  # codes up to here are counted in a table, larger ones sorted


def distinct(answers: Answers) -> tuple[Answers, NDArray[np.int64]]:
    """The distinct rows, and which of them each run gave.

    Args:
        answers: `(size, n_queries)`.

    Returns:
        `(n, n_queries)` patterns, and `(size,)` positions in them.
    """
    code, n_codes = np.zeros(len(answers), dtype=np.int64), 1
    for column in answers.T:
        code *= _ANSWERS
        code += column
        code += 1
        n_codes *= _ANSWERS
        if n_codes > _LARGEST:
            code, n_codes = _renumbered(code)
    run = np.full(n_codes, -1)
    run[code] = np.arange(len(answers))
    found = run >= 0
    return answers[run[found]], (np.cumsum(found) - 1)[code]


def _renumbered(code: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    values, place = np.unique(code, return_inverse=True)
    return place.reshape(len(code)), len(values)


def possible(patterns: Answers, stop_after: int) -> NDArray[np.bool_]:
    """Which patterns stop where they must and nowhere else, shape `(n,)`."""
    above = np.cumsum(patterns == ABOVE, axis=1)
    stopped = np.zeros(patterns.shape, dtype=bool)
    stopped[:, 1:] = above[:, :-1] >= stop_after
    return np.asarray(((patterns == STOPPED) == stopped).all(axis=1))


def all_patterns(n_queries: int, stop_after: int, limit: int) -> Answers | None:
    """Every possible pattern, shape `(n, n_queries)`; None where there are more than `limit`."""
    most = min(stop_after, n_queries)
    if sum(comb(n_queries, n) for n in range(most + 1)) > limit:
        return None
    rows = []
    for n_above in range(most + 1):
        for places in combinations(range(n_queries), n_above):
            row = np.zeros(n_queries, dtype=np.int8)
            row[list(places)] = ABOVE
            if n_above == stop_after:
                row[places[-1] + 1 :] = STOPPED
            rows.append(row)
    return np.array(rows)
