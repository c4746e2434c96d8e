"""Outputs that one side gave and that the law of the other side never gives, where the law is known.

An output counts if its log density is finite under the dataset that it came from, and -inf under the other one. Nothing
is decided here: a law that finds outputs of its own side impossible is no law of these runs, and `broken` says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.base import LogDensity, Neighbours, Outputs
from ..plan import Chunk
from ..store import Arrays

SHOWN = 3
"""Outputs that are kept of a chunk, and of a side."""
ROWS = 1_000
"""Runs at the beginning of a chunk that are looked at; of the others, those with an infinite score."""


def impossible(
    outputs: Outputs, scores: NDArray[np.float64], law: LogDensity, pair: Neighbours, side: int, *, by_law: bool
) -> Arrays:
    """The outputs of a chunk that the other side never gives; nothing where there are none.

    Args:
        outputs: of one chunk, exceptional ones marked.
        scores: `(size,)` of these: an infinite one points to an output of one side only.
        law: of the outputs.
        pair, side: the datasets, and which of them the outputs came from.
        by_law: whether the scores are likelihood ratios of this law, so that finite ones need no second look.

    Returns:
        `impossible`, `(1,)`: how many were found; `impossible_outputs`: the first of them, up to `SHOWN`;
        `impossible_here`, `(1,)`: how many of the outputs looked at the law finds impossible on their own side.
    """
    looked_at = np.isinf(scores)
    if by_law and not looked_at.any():
        return {}
    looked_at[:ROWS] = True
    if outputs.events is not None:
        looked_at &= outputs.events == ""
    rows = Outputs(outputs.values[looked_at])
    if not len(rows):
        return {}
    with np.errstate(all="ignore"):
        here, there = (np.asarray(law.log_density(rows, pair.side(one))) for one in (side, 1 - side))
    only_here = (there == -np.inf) & (here > -np.inf)
    strange = int(np.count_nonzero(here == -np.inf))
    if not only_here.any() and not strange:
        return {}
    return {
        "impossible": np.array([np.count_nonzero(only_here)]),
        "impossible_outputs": rows.values[only_here][:SHOWN],
        "impossible_here": np.array([strange]),
    }


class Impossible:
    """Gathers them from the chunks of one audit, in any order; `error` is what the law raised, where it did."""

    def __init__(self) -> None:
        self.counts = [0, 0]
        self.broken = False
        self.error: str = ""
        self._outputs: tuple[dict[int, Any], dict[int, Any]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        if "impossible_error" in arrays:
            self.error = str(arrays["impossible_error"][0])
        if "impossible" not in arrays:
            return
        self.counts[chunk.side] += int(arrays["impossible"][0])
        self.broken = self.broken or bool(arrays["impossible_here"][0])
        self._outputs[chunk.side][chunk.index] = arrays["impossible_outputs"]

    def outputs(self, side: int) -> list[Any]:
        """The first of those that only this side gives."""
        parts = [self._outputs[side][index] for index in sorted(self._outputs[side])]
        return [row for part in parts for row in part][:SHOWN]
