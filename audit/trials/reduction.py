"""Chunks merged into what the next step reads. Merging does not depend on the order of arrival."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs
from ..evidence.scores import Floats, PairCounts, PairScores, Scores, Tally
from .guards.impossible import Impossible
from .guards.independence import Independence
from .guards.unvarying import Unvarying
from .plan import Chunk, TrialPlan
from .seeds import Stage
from .store import Arrays


class Reduction(Protocol):
    """Takes in chunks, in any order."""

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""


class PilotOutputs:
    """Outputs of both sides, in the order of the chunks.

    Args:
        independence: is given the order of the runs; None where independence is not tested.
    """

    def __init__(self, independence: Independence | None = None) -> None:
        self._independence = independence
        self._parts: tuple[dict[int, Arrays], dict[int, Arrays]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished pilot chunk."""
        self._parts[chunk.side][chunk.index] = arrays
        if self._independence is not None:
            self._independence.add(chunk, arrays)

    def side(self, side: int) -> Outputs:
        """All pilot outputs of one side."""
        parts = [self._parts[side][index] for index in sorted(self._parts[side])]
        if not parts:
            return Outputs(np.empty(0))
        values = np.concatenate([part["values"] for part in parts])
        if not any("events" in part for part in parts):
            return Outputs(values)
        blank = [part.get("events", np.zeros(len(part["values"]), dtype=np.str_)) for part in parts]
        return Outputs(values, np.concatenate(blank))


BESIDES = "besides_"
"""Begins the names of the arrays of a second scorer of the same outputs."""


class KeptScores:
    """Scores of both sides, or their hits on a grid.

    Args:
        n: evaluation trials a side.
        grid: thresholds to count on; None keeps the scores.
        prefix: of the names of the arrays.
    """

    def __init__(self, n: int, grid: Floats | None, prefix: str = "") -> None:
        self._n, self._grid, self._prefix = n, grid, prefix
        self._scores = [np.empty(n if grid is None else 0) for _ in (0, 1)]
        self._hits: list[NDArray[np.int64]] = [
            np.zeros(0 if grid is None else len(grid), dtype=np.int64) for _ in (0, 1)
        ]

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Scores or hits of one finished evaluation chunk."""
        name, shape = ("hits", self._hits[0].shape) if self._grid is not None else ("scores", (chunk.size,))
        if arrays[self._prefix + name].shape != shape:  # it would be broadcast
            raise ValueError(f"{name} of {chunk.key} have shape {arrays[self._prefix + name].shape}, not {shape}")
        if self._grid is None:
            self._scores[chunk.side][chunk.start : chunk.start + chunk.size] = arrays[self._prefix + "scores"]
        else:
            self._hits[chunk.side] += arrays[self._prefix + "hits"]

    def scores(self, first: int | None = None) -> Scores:
        """What the bounds read, once every chunk is in; or the `first` scores of each side, once these are."""
        if self._grid is None:
            return PairScores(*(side[:first] for side in self._scores))
        return PairCounts(Tally(self._grid, self._hits[0], self._hits[1], self._n, self._n))


class EvaluationScores:
    """Scores of both sides, or their hits on a grid, with the exceptional outputs counted.

    Args:
        plan: sizes.
        grid: thresholds to count on; None keeps the scores.
        besides: keeps the scores of a second scorer; None where there is none.
        watch: a threshold whose hits are known at any time, for the progress of a long run.
        independence: is given the order of the scores; None where independence is not tested.
    """

    def __init__(
        self,
        plan: TrialPlan,
        grid: Floats | None,
        watch: float | None = None,
        independence: Independence | None = None,
        besides: KeptScores | None = None,
    ) -> None:
        self._independence = independence
        self._kept, self.besides = KeptScores(plan.evaluation, grid), besides
        self.unvarying = Unvarying()
        self.impossible = Impossible()
        self._watch = watch
        self._seen, self._reached = [0, 0], [0, 0]
        self._grid = grid
        self._events: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished evaluation chunk."""
        assert chunk.stage is Stage.EVALUATION
        self._kept.add(chunk, arrays)
        if self.besides is not None:
            self.besides.add(chunk, arrays)
        self._follow(chunk, arrays)
        self.unvarying.add(chunk, arrays)
        self.impossible.add(chunk, arrays)
        if self._independence is not None:
            self._independence.add(chunk, arrays)
        if "event_labels" in arrays:
            counted = zip(arrays["event_labels"].tolist(), arrays["event_counts"].tolist(), strict=True)
            self._events[chunk.side].update(dict(counted))

    def _follow(self, chunk: Chunk, arrays: Arrays) -> None:
        """Keeps the hits at the watched threshold."""
        if self._watch is None:
            return
        self._seen[chunk.side] += chunk.size
        if self._grid is None:
            reached = np.count_nonzero(arrays["scores"] >= self._watch)
        else:
            reached = arrays["hits"][np.searchsorted(self._grid, self._watch)]
        self._reached[chunk.side] += int(reached)

    def so_far(self) -> PairCounts | None:
        """Hits at the watched threshold among the chunks that are in; None until both sides have one."""
        if self._watch is None or 0 in self._seen:
            return None
        out, in_ = (np.array([seen, reached]) for seen, reached in zip(self._seen, self._reached, strict=True))
        return PairCounts(Tally(np.array([-np.inf, self._watch]), out, in_, *self._seen))

    def scores(self, first: int | None = None) -> Scores:
        """What the bounds read, once every chunk is in; or the `first` scores of each side, once these are."""
        return self._kept.scores(first)

    def events(self) -> dict[str, tuple[int, int]]:
        """Exceptional outputs: label -> (side 0, side 1)."""
        labels = sorted(self._events[0].keys() | self._events[1].keys())
        return {label: (self._events[0][label], self._events[1][label]) for label in labels}
