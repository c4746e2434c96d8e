"""Detection of outputs that never vary: no noise, or a function that remembers an earlier run."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.base import Outputs
from .plan import Chunk
from .store import Arrays


def only_output(outputs: Outputs) -> NDArray[np.uint8]:
    """Return a digest of the output that all runs of a chunk share, 16 bytes; empty if they differ.

    >>> len(only_output(Outputs(np.ones(3)))), len(only_output(Outputs(np.arange(3.0))))
    (16, 0)
    """
    values, events = outputs.values, outputs.events
    equal = bool((values == values[:1]).all()) and (events is None or bool((events == events[:1]).all()))
    if not equal or not len(outputs):
        return np.empty(0, dtype=np.uint8)
    event = "" if events is None else str(events[0])
    numbers = values[0] + 0.0 if values.dtype.kind in "biuf" else values[0]  # of one type, and without -0.0
    content = np.asarray(numbers).tobytes() + event.encode(errors="surrogatepass")
    return np.frombuffer(hashlib.blake2b(content, digest_size=16).digest(), dtype=np.uint8)


class Unvarying:
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
