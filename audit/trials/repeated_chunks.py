"""A guard against runs that repeat each other: they are not independent trials, no bound holds, and they are refused.

Runs repeat if a function ignores its `rng` argument and draws from its own generator, which restarts: one seeded inside
the function, or one that a worker process receives with every chunk, or creates when it starts. Then two chunks of one
side begin with the same outputs, which for continuous outputs is otherwise impossible.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.adapters.functions.same_seed import CERTAIN, surprise
from ...mechanisms.core.base import Outputs
from ...mechanisms.core.errors import ReleaseError
from .plan import Chunk
from .store import Arrays

ROWS = 64
"""Number of runs at the beginning of a chunk that enter its signature."""


def signature(outputs: Outputs) -> NDArray[np.uint8]:
    """Return a digest of the first runs of a chunk, 16 bytes; empty if equal chunks could be a coincidence.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> len(signature(Outputs(rng.normal(size=100)))), len(signature(Outputs(rng.integers(2, size=30))))
        (16, 0)
    """
    rows = Outputs(outputs.values[:ROWS])
    if surprise(rows) < CERTAIN:
        return np.empty(0, dtype=np.uint8)
    content = np.ascontiguousarray(rows.values).tobytes()
    return np.frombuffer(hashlib.blake2b(content, digest_size=16).digest(), dtype=np.uint8)


class ReplayGuard:
    """The guard of the chunks of one audit, pilot and evaluation together.

    Args:
        name: name of the mechanism, for the message.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._signatures: tuple[dict[bytes, str], dict[bytes, str]] = ({}, {})

    def check(self, chunk: Chunk, arrays: Arrays) -> None:
        """Raise `ReleaseError` if an earlier chunk of this side began with the same outputs."""
        mark = arrays["signature"].tobytes()
        earlier = self._signatures[chunk.side].setdefault(mark, chunk.key) if mark else chunk.key
        if earlier != chunk.key:
            raise ReleaseError(
                f"the runs of {self._name} repeat each other: chunks {earlier} and {chunk.key} begin with the same "
                "outputs, so that they are not independent trials. It seems to draw from its own generator, which "
                "restarts. Make it draw all of its randomness from the rng (or the seed) that it receives."
            )
