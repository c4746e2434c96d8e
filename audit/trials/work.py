"""One chunk of trials: run, mark odd outcomes, score, reduce. This is what travels to workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attacks.base import Scorer
from attacks.events import mark
from audit.games import Floats
from audit.trials.independence import order
from audit.trials.plan import Chunk
from audit.trials.repeats import signature
from audit.trials.seeds import stream
from audit.trials.store import Arrays
from audit.trials.unvarying import only_output
from mechanisms.base import Mechanism, Neighbours, Outputs
from mechanisms.errors import ReleaseError


def run(mechanism: Mechanism, neighbours: Neighbours, seed: int, chunk: Chunk) -> Outputs:
    """The outputs of one chunk, odd outcomes marked; raises `ReleaseError` if they are not one a run."""
    rng = stream(seed, chunk.stage, chunk.side, chunk.index)
    outputs = mechanism.release(neighbours.side(chunk.side), chunk.size, rng)
    if not isinstance(outputs, Outputs):
        outputs = Outputs(np.asarray(outputs))
    outputs = replace(outputs, values=outputs.values.copy())  # a mechanism may fill the same array again
    if outputs.values.ndim == 0 or len(outputs) != chunk.size:
        raise ReleaseError(
            f"{type(mechanism).__name__}.release was asked for {chunk.size} runs and returned an array of shape "
            f"{outputs.values.shape}: axis 0 must be the run."
        )
    return mark(outputs)


@dataclass(frozen=True)
class PilotWork:
    """Runs a chunk and keeps its outputs, for the attack to learn from.

    Args:
        tested: whether the independence of the runs is tested, here by the sum of the numbers of each output.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    seed: int
    tested: bool = False

    def __call__(self, chunk: Chunk) -> Arrays:
        outputs = run(self.mechanism, self.neighbours, self.seed, chunk)
        events = {} if outputs.events is None else {"events": outputs.events}
        sums = outputs.values.reshape(len(outputs), -1).sum(axis=1, dtype=np.float64)
        seen = order(outputs, sums, np.empty(0)) if self.tested else {}
        return {"values": outputs.values, "signature": signature(outputs)} | events | seen


@dataclass(frozen=True, eq=False)
class EvaluationWork:
    """Runs a chunk, scores it, and reduces it to its scores or, with a grid, to hits at each threshold.

    Args:
        grid: `(m,)` increasing thresholds, or None to keep the scores.
        events: `(k,)` thresholds of the events whose independence is tested; None where it is not.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    seed: int
    scorer: Scorer
    grid: Floats | None
    events: Floats | None = None

    def __call__(self, chunk: Chunk) -> Arrays:
        outputs = run(self.mechanism, self.neighbours, self.seed, chunk)
        scores = np.asarray(self.scorer.score(outputs), dtype=np.float64)
        reduced = {"scores": scores} if self.grid is None else {"hits": hits(scores, self.grid)}
        if self.events is not None:
            reduced |= order(outputs, scores, self.events)
        seen = {"signature": signature(outputs), "only_output": only_output(outputs)}
        return reduced | seen | _event_counts(outputs)


def hits(scores: Floats, grid: Floats) -> NDArray[np.int64]:
    """How many scores reach each threshold of the grid, shape as `grid`."""
    return len(scores) - np.searchsorted(np.sort(scores), grid)


def _event_counts(outputs: Outputs) -> Arrays:
    """Label and count of each odd outcome of the chunk; nothing when there is none."""
    if outputs.events is None:
        return {}
    counts = Counter(str(label) for label in outputs.events if label)
    labels = sorted(counts)
    return {"event_labels": np.array(labels, dtype=np.str_), "event_counts": np.array([counts[x] for x in labels])}
