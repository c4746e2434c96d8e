"""Number of random draws that give an output: the exact law of a sampler that computes in floats.

A sampler draws an index k < N uniformly, and returns output(k), computed in floats. Where output is non-decreasing in
k, the indices that give a value y are consecutive, and two searches find the first and the last of them:

    Pr[output = y] = #{k : output(k) = y} / N

A value between two outputs has no such index. This proves that it cannot be released, without any estimate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats

Indices = NDArray[np.int64]
Sampler = Callable[[Indices], Floats]
REACH = 32
"""Half the width of the first search bracket: more than the rounding error of a guess, which is a few indices."""


def n_preimages(output: Sampler, n: int, values: Floats, low: Indices, high: Indices) -> Indices:
    """Return #{k < n : output(k) = y} for each y of `values`, exactly.

    Args:
        output: function from indices to outputs, elementwise for the entries of `values`; non-decreasing.
        n: number of indices, at most 2^62.
        values: `(size,)`.
        low, high: `(size,)` guesses of the first index that gives y and of the first that gives more; they affect only
            the speed.
    """
    first = first_index(lambda k: output(k) >= values, n, low)
    return first_index(lambda k: output(k) > values, n, np.maximum(high, first)) - first


def first_index(reached: Callable[[Indices], NDArray[np.bool_]], n: int, guess: Indices) -> Indices:
    """Return the smallest index at which `reached` holds, n if there is none, by bisection around a guess.

    `before` is -1 or an index at which `reached` does not hold; `at` is n or an index at which it holds.
    """
    before, at = np.clip(guess - REACH, -1, n - 1), np.clip(guess + REACH, 0, n)
    before[(before >= 0) & reached(np.maximum(before, 0))] = -1
    at[(at < n) & ~reached(np.minimum(at, n - 1))] = n
    while (at - before > 1).any():
        middle = (before + at) // 2
        holds = reached(np.clip(middle, 0, n - 1))
        inner = at - before > 1
        at = np.where(inner & holds, middle, at)
        before = np.where(inner & ~holds, middle, before)
    return at
