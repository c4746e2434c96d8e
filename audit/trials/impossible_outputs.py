"""Outputs of one side that are impossible under the law of the other side, if the law is known.

An output counts if its log density is finite under the dataset that it came from, and -inf under the other one. This
module makes no decision: a law under which outputs of the same side are impossible is wrong, which `broken` records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanisms.core import Floats, LogDensity, Neighbours, Outputs
from .array_files import Arrays
from .plan import Chunk

N_KEPT_OUTPUTS = 3
"""Number of outputs that are kept per chunk, and per side."""
N_TESTED_RUNS = 1_000
"""Number of runs at the beginning of a chunk that are tested; of the others, only those with an infinite score."""


def impossible(
    outputs: Outputs, scores: Floats, law: LogDensity, pair: Neighbours, side: int, *, by_law: bool
) -> Arrays:
    """Return the outputs of a chunk that the other side never gives; empty if there are none.

    Args:
        outputs: outputs of one chunk, with marked exceptional outputs.
        scores: `(size,)` scores of the outputs; an infinite score suggests an output of one side only.
        law: law of the outputs.
        pair, side: the datasets, and the side of the outputs.
        by_law: True if the scores are likelihood ratios of this law, so that outputs with finite scores are possible.

    Returns:
        `impossible`, `(1,)`: their number; `impossible_outputs`: the first of them, up to `N_KEPT_OUTPUTS`;
        `impossible_here`, `(1,)`: the number of tested outputs that are impossible under the law of the same side.
    """
    tested = np.isinf(scores)
    if by_law and not tested.any():
        return {}
    tested[:N_TESTED_RUNS] = True
    if outputs.events is not None:
        tested &= outputs.events == ""
    rows = Outputs(outputs.values[tested])
    if not len(rows):
        return {}
    with np.errstate(all="ignore"):
        same_side, other_side = (np.asarray(law.log_density(rows, pair.side(number))) for number in (side, 1 - side))
    only_this_side = (other_side == -np.inf) & (same_side > -np.inf)
    n_contradictions = int(np.count_nonzero(same_side == -np.inf))
    if not only_this_side.any() and not n_contradictions:
        return {}
    return {
        "impossible": np.array([np.count_nonzero(only_this_side)]),
        "impossible_outputs": rows.values[only_this_side][:N_KEPT_OUTPUTS],
        "impossible_here": np.array([n_contradictions]),
    }


class ImpossibleOutputs:
    """The impossible outputs of all chunks of one audit, in any order; `error` is the error of the law, if any."""

    def __init__(self) -> None:
        self.counts = [0, 0]
        self.broken = False
        self.error: str = ""
        self._outputs: tuple[dict[int, Any], dict[int, Any]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        if "impossible_error" in arrays:
            self.error = str(arrays["impossible_error"][0])
        if "impossible" not in arrays:
            return
        self.counts[chunk.side] += int(arrays["impossible"][0])
        self.broken = self.broken or bool(arrays["impossible_here"][0])
        self._outputs[chunk.side][chunk.index] = arrays["impossible_outputs"]

    def outputs(self, side: int) -> list[Any]:
        """Return the first outputs that only this side gives."""
        parts = [self._outputs[side][index] for index in sorted(self._outputs[side])]
        return [row for part in parts for row in part][:N_KEPT_OUTPUTS]
