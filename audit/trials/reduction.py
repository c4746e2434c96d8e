"""Reductions, which merge chunks in any order into the input of the next step; and changes of the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ...mechanisms.core import Floats, Ints, Outputs
from ..evidence.scores import PairCounts, PairScores, Scores, Tally
from .array_files import Arrays, Expected
from .impossible_outputs import ImpossibleOutputs
from .independence import Independence
from .plan import Chunk, TrialPlan
from .repeated_outputs import DistinctOutputs
from .seeds import Stage

GLOBAL_STATE_PREFIX = "global random state of "
"""Prefix of the changes that are draws from a global generator."""


class Reduction(Protocol):
    """The interface that receives finished chunks, in any order."""

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""


class SeveralReductions:
    """Several reductions, each of which receives every chunk."""

    def __init__(self, *reductions: Reduction) -> None:
        self._reductions = reductions

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        for reduction in self._reductions:
            reduction.add(chunk, arrays)


class PilotOutputs:
    """Outputs of both sides, in the order of the chunks.

    Args:
        independence: receives the order of the runs; None if independence is not tested.
    """

    def __init__(self, independence: Independence | None = None) -> None:
        self._independence = independence
        self._parts: tuple[dict[int, Arrays], dict[int, Arrays]] = ({}, {})

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished pilot chunk."""
        self._parts[chunk.side][chunk.index] = arrays
        if self._independence is not None:
            self._independence.add(chunk, arrays)

    def texts(self) -> dict[float, str]:
        """Return the texts that numbers of the outputs stand for."""
        parts = [side[index] for side in self._parts for index in sorted(side)]
        return {code: text for part in parts for code, text in _texts_in(part).items()}

    def side(self, side: int) -> Outputs:
        """Return all pilot outputs of one side."""
        parts = [self._parts[side][index] for index in sorted(self._parts[side])]
        return joined([Outputs(part["values"], part.get("events")) for part in parts] or [Outputs(np.empty(0))])


MAX_TEXTS = 200
"""Largest number of texts that are kept of a chunk of pilot outputs, the first ones."""
EXPECTED_TEXTS = {
    "text_codes": Expected("f", (range(MAX_TEXTS + 1),), optional=True),
    "texts": Expected("U", (range(MAX_TEXTS + 1),), optional=True),
}


def texts_as_arrays(texts: Mapping[float, str]) -> Arrays:
    """Return the first texts and the numbers that stand for them, for the file of a chunk; empty if there are none."""
    if not texts:
        return {}
    return {
        "text_codes": np.array(list(texts)[:MAX_TEXTS], dtype=np.float64),
        "texts": np.array(list(texts.values())[:MAX_TEXTS], dtype=np.str_),
    }


def _texts_in(arrays: Arrays) -> dict[float, str]:
    """Return the texts of a chunk by the numbers that stand for them."""
    if "texts" not in arrays or "text_codes" not in arrays:
        return {}
    return dict(zip(arrays["text_codes"].tolist(), arrays["texts"].tolist(), strict=False))


def joined(runs: Sequence[Outputs]) -> Outputs:
    """Return the outputs of one or more calls, concatenated."""
    values = np.concatenate([run.values for run in runs])
    if all(run.events is None for run in runs):
        return Outputs(values)
    return Outputs(values, np.concatenate([run.labels for run in runs]))


SECOND_PREFIX = "second_"
"""Prefix of the names of the arrays of a second scorer of the same outputs."""


class KeptScores:
    """Scores of both sides, or their hits on a grid.

    Args:
        n: number of evaluation trials per side.
        grid: thresholds at which scores are counted; None keeps the scores.
        prefix: prefix of the names of the arrays.
    """

    def __init__(self, n: int, grid: Floats | None, prefix: str = "") -> None:
        self._n, self._grid, self._prefix = n, grid, prefix
        self._scores = [np.empty(n if grid is None else 0) for _ in (0, 1)]
        self._hits: list[Ints] = [np.zeros(0 if grid is None else len(grid), dtype=np.int64) for _ in (0, 1)]

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add the scores or hits of one finished evaluation chunk."""
        if self._grid is None:
            self._scores[chunk.side][chunk.start : chunk.start + chunk.size] = arrays[self._prefix + "scores"]
        else:
            self._hits[chunk.side] += arrays[self._prefix + "hits"]

    def scores(self, first: int | None = None) -> Scores:
        """Return the evidence after all chunks were added, or the `first` scores of each side after those."""
        if self._grid is None:
            return PairScores(*(side[:first] for side in self._scores))
        return PairCounts(Tally(self._grid, self._hits[0], self._hits[1], self._n, self._n))


class EvaluationScores:
    """Scores of both sides, or their hits on a grid, with the exceptional outputs counted.

    Args:
        plan: plan of the trials.
        grid: thresholds at which scores are counted; None keeps the scores.
        second: receives the scores of a second scorer; None if there is none.
        watch: a threshold whose hits are available at any time, for the progress of a long run.
        independence: receives the order of the scores; None if independence is not tested.
    """

    def __init__(
        self,
        plan: TrialPlan,
        grid: Floats | None,
        watch: float | None = None,
        independence: Independence | None = None,
        second: KeptScores | None = None,
    ) -> None:
        self._independence = independence
        self._main_scores, self.second = KeptScores(plan.evaluation, grid), second
        self.unvarying = DistinctOutputs()
        self.impossible = ImpossibleOutputs()
        self._watch = watch
        self._n_added, self._reached = [0, 0], [0, 0]
        self._grid = grid
        self._events: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished evaluation chunk."""
        assert chunk.stage is Stage.EVALUATION
        self._main_scores.add(chunk, arrays)
        if self.second is not None:
            self.second.add(chunk, arrays)
        self._follow(chunk, arrays)
        self.unvarying.add(chunk, arrays)
        self.impossible.add(chunk, arrays)
        if self._independence is not None:
            self._independence.add(chunk, arrays)
        if "event_labels" in arrays:
            counted = zip(arrays["event_labels"].tolist(), arrays["event_counts"].tolist(), strict=True)
            self._events[chunk.side].update(dict(counted))

    def _follow(self, chunk: Chunk, arrays: Arrays) -> None:
        """Count the hits at the watched threshold."""
        if self._watch is None:
            return
        self._n_added[chunk.side] += chunk.size
        if self._grid is None:
            reached = np.count_nonzero(arrays["scores"] >= self._watch)
        else:
            reached = arrays["hits"][np.searchsorted(self._grid, self._watch)]
        self._reached[chunk.side] += int(reached)

    def so_far(self) -> PairCounts | None:
        """Return the hits at the watched threshold among the finished chunks; None until both sides have one."""
        if self._watch is None or 0 in self._n_added:
            return None
        out, in_ = (np.array([n, reached]) for n, reached in zip(self._n_added, self._reached, strict=True))
        return PairCounts(Tally(np.array([-np.inf, self._watch]), out, in_, *self._n_added))

    def scores(self, first: int | None = None) -> Scores:
        """Return the evidence after all chunks were added, or the `first` scores of each side after those."""
        return self._main_scores.scores(first)

    def events(self) -> dict[str, tuple[int, int]]:
        """Return the counts of exceptional outputs: label -> (side 0, side 1)."""
        labels = sorted(self._events[0].keys() | self._events[1].keys())
        return {label: (self._events[0][label], self._events[1][label]) for label in labels}


class StateChanges:
    """Changes that audited code made in its process, from all chunks of one audit in any order, as warnings.

    Args:
        name: name of the mechanism, for the warnings.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._names: set[str] = set()

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        if "changed" in arrays:
            self._names.update(arrays["changed"].tolist())

    def warnings(self) -> tuple[str, ...]:
        """Return a warning on changes that were restored, and one on the use of global random states."""
        drawn = sorted(
            name.removeprefix(GLOBAL_STATE_PREFIX) for name in self._names if name.startswith(GLOBAL_STATE_PREFIX)
        )
        others = sorted(name for name in self._names if not name.startswith(GLOBAL_STATE_PREFIX))
        texts = []
        if others:
            texts.append(
                f"{self._name} changes the process that it runs in: {', '.join(others)}. The changes were undone after "
                "every chunk of runs."
            )
        if drawn:
            texts.append(
                f"{self._name} draws from the global random state of {' and of '.join(drawn)}, which other code may "
                "reset. It should draw from the rng that it receives. (The state was restored.)"
            )
        return tuple(texts)
