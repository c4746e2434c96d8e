"""Test for repeated outputs that would be implausible under every output law."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from ...core.base import Outputs

CERTAIN = math.log(1e17)
"""Surprise above which repeated runs cannot be chance: their probability is about 1e-17 or less."""


def surprise(rows: Outputs) -> float:
    """Return minus the log of an upper bound on the probability that independent runs repeat these outputs.

    The value is 0 for no outputs. Under every law, independent runs repeat r given rows with probability at most
    exp(-r H), with H the entropy of the frequencies among these rows: the most likely law has just these frequencies.
    Rows without ties are assumed to come from a law of at least r^2 / 2 values, as r draws without a tie would
    otherwise be unlikely.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> surprise(Outputs(rng.normal(size=100))) > CERTAIN, surprise(Outputs(rng.integers(2, size=30))) > CERTAIN
        (True, False)
    """
    values = np.ascontiguousarray(rows.values)
    n, whole = len(values), values.tobytes()
    width = len(whole) // max(n, 1)
    counts = Counter(whole[width * row : width * (row + 1)] for row in range(n))
    if len(counts) == n:
        return n * math.log(max(n**2 / 2, 1.0))
    return sum(count * math.log(n / count) for count in counts.values())


def same(one: Outputs, other: Outputs) -> bool:
    """Return True if two releases have the same outputs."""
    labels = [["" for _ in range(len(part))] if part.events is None else part.events.tolist() for part in (one, other)]
    return bool(np.array_equal(one.values, other.values)) and labels[0] == labels[1]
