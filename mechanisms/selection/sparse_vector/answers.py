"""Answers of threshold queries as whole numbers, and their distinct patterns among many runs.

ABOVE  1     BELOW  0     STOPPED  -1    not answered, since enough earlier answers were above
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Bools, Ints

ABOVE, BELOW, STOPPED = 1, 0, -1
Answers = NDArray[np.int8]
_ANSWERS = 3
_MAX_COUNTED_CODE = 2**20  # codes up to here are counted in a table, larger ones sorted


def as_answers(values: NDArray[Any]) -> tuple[Answers, Bools | None]:
    """Return numbers as answers, and a mask of the rows that hold only answers; None if all rows do."""
    answers = np.clip(values, STOPPED, ABOVE).astype(np.int8, copy=False)
    known = (answers == values).all(axis=1)
    return answers, None if known.all() else known


def distinct(answers: Answers) -> tuple[Answers, Ints]:
    """Return the distinct rows, and the index of the row of each run.

    Args:
        answers: `(size, n_queries)`.

    Returns:
        `(n, n_queries)` patterns, and `(size,)` indices of patterns.
    """
    code, n_codes = np.zeros(len(answers), dtype=np.int64), 1
    for column in answers.T:
        code *= _ANSWERS
        code += column
        code += 1
        n_codes *= _ANSWERS
        if n_codes > _MAX_COUNTED_CODE:
            code, n_codes = _renumbered(code)
    run = np.full(n_codes, -1)
    run[code] = np.arange(len(answers))
    used = run >= 0
    return answers[run[used]], (np.cumsum(used) - 1)[code]


def _renumbered(code: Ints) -> tuple[Ints, int]:
    values, place = np.unique(code, return_inverse=True)
    return place.reshape(len(code)), len(values)


def possible(patterns: Answers, stop_after: int) -> Bools:
    """Return a mask of the patterns that stop after `stop_after` answers above, and only then, shape `(n,)`."""
    above = np.cumsum(patterns == ABOVE, axis=1)
    stopped = np.zeros(patterns.shape, dtype=bool)
    stopped[:, 1:] = above[:, :-1] >= stop_after
    return np.asarray(((patterns == STOPPED) == stopped).all(axis=1))


def all_patterns(n_queries: int, stop_after: int, limit: int) -> Answers | None:
    """Return every possible pattern, shape `(n, n_queries)`; None if there are more than `limit`."""
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
