"""Detection of outputs that repeat: all runs of a side give the same output, or two chunks begin with the same outputs.

A constant output means no noise, or a function that remembers an earlier run. Two chunks of one side begin with the
same outputs if a function ignores its `rng` argument and draws from its own generator, which restarts: one seeded
inside the function, or one that a worker process receives with every chunk, or creates when it starts. For continuous
outputs that is otherwise impossible. Such runs are not independent trials: no bound holds, and they are refused.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.adapters.functions.same_seed import MIN_SURPRISE, surprise
from ...mechanisms.core import Outputs, ReleaseError
from .array_files import Arrays, Expected
from .plan import Chunk

N_SIGNED_RUNS = 64
"""Number of runs at the beginning of a chunk that enter its signature."""
SIGNATURE_TYPE = Expected("u", (range(0, 17, 16),))
"""Type and shape of a signature, or of the digest of the only output."""
NO_SIGNATURE = np.empty(0, dtype=np.uint8)
"""The signature of a chunk that may equal another one."""


def common_output_digest(outputs: Outputs) -> NDArray[np.uint8]:
    """Return a digest of the output that all runs of a chunk share, 16 bytes; empty if they differ.

    >>> len(common_output_digest(Outputs(np.ones(3)))), len(common_output_digest(Outputs(np.arange(3.0))))
    (16, 0)
    """
    values, events = outputs.values, outputs.events
    equal = bool((values == values[:1]).all()) and (events is None or bool((events == events[:1]).all()))
    if not equal or not len(outputs):
        return NO_SIGNATURE
    event = "" if events is None else str(events[0])
    numbers = values[0] + 0.0 if values.dtype.kind in "biuf" else values[0]  # of one type, and without -0.0
    return _digest(np.asarray(numbers).tobytes() + event.encode(errors="surrogatepass"))


def _digest(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(hashlib.blake2b(content, digest_size=16).digest(), dtype=np.uint8)


class DistinctOutputs:
    """The distinct outputs of each side, from chunks in any order."""

    def __init__(self) -> None:
        self._digests: tuple[set[bytes], set[bytes]] = (set(), set())

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        self._digests[chunk.side].add(arrays["only_output"].tobytes())

    @property
    def sides(self) -> tuple[int, ...]:
        """Sides on which every run gave the same output."""
        return tuple(side for side in (0, 1) if len(self._digests[side]) == 1 and b"" not in self._digests[side])

    @property
    def differs(self) -> bool:
        """True if all runs of each side gave the same output, and the two outputs differ."""
        return self.sides == (0, 1) and self._digests[0] != self._digests[1]

    def is_only(self, side: int, digest: bytes) -> bool:
        """Return True if this is the digest of the only output of a side."""
        return self._digests[side] == {digest}


def signature(outputs: Outputs) -> NDArray[np.uint8]:
    """Return a digest of the first runs of a chunk, 16 bytes; empty if equal chunks could be a coincidence.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> len(signature(Outputs(rng.normal(size=100)))), len(signature(Outputs(rng.integers(2, size=30))))
        (16, 0)
    """
    rows = Outputs(outputs.values[:N_SIGNED_RUNS])
    return NO_SIGNATURE if surprise(rows) < MIN_SURPRISE else _digest(np.ascontiguousarray(rows.values).tobytes())


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
