"""Runs that repeat each other are no independent trials, and a bound on them is no bound: they are refused.

It happens when a function leaves the `rng` that it is given alone and draws from a generator of its own that starts
again: one seeded inside the function, or one that a worker process receives with every chunk, or makes when it starts.
Then two chunks of one side begin with the same outputs, which for continuous outputs is otherwise impossible.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.base import Outputs
from ....mechanisms.errors import ReleaseError
from ..plan import Chunk
from ..store import Arrays

ROWS = 64
"""Runs at the beginning of a chunk that stand for all of it."""
CERTAIN = math.log(1e17)
"""Chunks are compared only if chance makes two of them agree with a probability of about 1e-17 or less."""


def signature(outputs: Outputs) -> NDArray[np.uint8]:
    """A digest of the first runs of a chunk, 16 bytes; empty when equal chunks would not be surprising.

    Whatever the law, independent runs repeat r given rows with probability at most exp(-r H), H the entropy of the
    frequencies among these rows: the law that makes them likeliest has just these frequencies. Rows without a tie are
    taken to come from a law of r^2 / 2 values or more, as r draws without a tie would else be unlikely.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> len(signature(Outputs(rng.normal(size=100)))), len(signature(Outputs(rng.integers(2, size=30))))
        (16, 0)
    """
    rows = np.ascontiguousarray(outputs.values[:ROWS])
    n, whole = len(rows), rows.tobytes()
    width = len(whole) // max(n, 1)
    counts = Counter(whole[width * row : width * (row + 1)] for row in range(n))
    if len(counts) == n:
        surprise = n * math.log(max(n**2 / 2, 1.0))
    else:
        surprise = sum(count * math.log(n / count) for count in counts.values())
    if surprise < CERTAIN:
        return np.empty(0, dtype=np.uint8)
    return np.frombuffer(hashlib.blake2b(whole, digest_size=16).digest(), dtype=np.uint8)


class ReplayGuard:
    """Watches over the chunks of one audit, pilot and evaluation together.

    Args:
        name: of the mechanism, for the message.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: tuple[dict[bytes, str], dict[bytes, str]] = ({}, {})

    def check(self, chunk: Chunk, arrays: Arrays) -> None:
        """Raises `ReleaseError` if an earlier chunk of this side began with the same outputs."""
        mark = arrays["signature"].tobytes()
        earlier = self._seen[chunk.side].setdefault(mark, chunk.key) if mark else chunk.key
        if earlier != chunk.key:
            raise ReleaseError(
                f"the runs of {self._name} repeat each other: chunks {earlier} and {chunk.key} begin with the same "
                "outputs, so that they are no independent trials. It seems to draw from a generator of its own that "
                "starts again. Let it draw all of its randomness from the rng (or the seed) that it is given."
            )
