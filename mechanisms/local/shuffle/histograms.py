"""Enumeration of all counts of n messages, and merging of messages with equal likelihood ratios."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats

_MOST = 1_000_000


def classes(common: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Return three laws on the same messages, with messages of equal likelihood ratios merged, without any loss.

    Takes log probabilities, each `(n_messages,)` and finite; returns log probabilities `(n_classes,)`.
    """
    ratios = np.round(np.stack([first - common, second - common], axis=1), 9)
    distinct, kind = np.unique(ratios, axis=0, return_inverse=True)
    merged = np.full((3, len(distinct)), -np.inf)
    for law, into in zip((common, first, second), merged, strict=True):
        np.logaddexp.at(into, kind.ravel(), law)
    return merged[0], merged[1], merged[2]


def histograms(n: int, kinds: int) -> NDArray[np.int64] | None:
    """Return all counts of n messages of `kinds` kinds, `(n_ways, kinds)`; None if more than a million."""
    if math.comb(n + kinds - 1, kinds - 1) > _MOST:
        return None
    ways = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds - 1):
        n_left = n - ways.sum(axis=1)
        repeated = np.repeat(ways, n_left + 1, axis=0)
        starts = np.repeat(np.cumsum(n_left + 1) - (n_left + 1), n_left + 1)
        ways = np.column_stack([repeated, np.arange(len(repeated)) - starts])
    return np.column_stack([ways, n - ways.sum(axis=1)])
