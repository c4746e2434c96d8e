"""How many random numbers lead to an output: the exact law of a sampler that computes in floats.

A sampler draws an index k below N, all equally likely, and returns output(k), computed in floats. Where output never
falls as k grows, those that give a value y are neighbours, and two searches find the first and the last of them:

    Pr[output = y] = #{k : output(k) = y} / N

A value between two outputs has none. That is a proof that it cannot be released, not an estimate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...queries.base import Floats

Indices = NDArray[np.int64]
Sampler = Callable[[Indices], Floats]
REACH = 32
"""Half the width of the first search: more than the rounding of a guess, which is a few indices."""


def n_preimages(output: Sampler, n: int, values: Floats, low: Indices, high: Indices) -> Indices:
    """#{k < n : output(k) = y} for each y of `values`, exactly.

    Args:
        output: indices to outputs, of one entry of `values` each; never falls as the index grows.
        n: number of indices, at most 2^62.
        values: `(size,)`.
        low, high: `(size,)` guesses of the first index that gives y and of the first that gives more: speed alone
            depends on them.
    """
    first = first_index(lambda k: output(k) >= values, n, low)
    return first_index(lambda k: output(k) > values, n, np.maximum(high, first)) - first


def first_index(reached: Callable[[Indices], NDArray[np.bool_]], n: int, guess: Indices) -> Indices:
    """The least index from which on `reached` holds, n where it holds nowhere: bisection, first around a guess.

    `before` is an index that is known not to have reached, or -1; `at` one that has, or n.
    """
    before, at = np.clip(guess - REACH, -1, n - 1), np.clip(guess + REACH, 0, n)
    before[(before >= 0) & reached(np.maximum(before, 0))] = -1
    at[(at < n) & ~reached(np.minimum(at, n - 1))] = n
    while (at - before > 1).any():
        middle = (before + at) // 2
        found = reached(np.clip(middle, 0, n - 1))
        inner = at - before > 1
        at = np.where(inner & found, middle, at)
        before = np.where(inner & ~found, middle, before)
    return at
