"""The work on one chunk of trials: run, mark exceptional outputs, score, reduce. Workers receive these objects."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...attacks.base import Scorer
from ...attacks.distinguishing.events import mark
from ...attacks.distinguishing.likelihood_ratio import LikelihoodRatioScorer
from ...mechanisms.adapters.functions.function import N_BATCH_RUNS, FunctionMechanism
from ...mechanisms.adapters.functions.guard import Guard, cut, in_words
from ...mechanisms.core.arrays import Floats, Ints
from ...mechanisms.core.base import Dataset, Mechanism, Neighbours, Outputs
from ...mechanisms.core.errors import DpassayError, ReleaseError, plural
from ...mechanisms.core.printable import display_name
from .array_files import NUMBER_KINDS, Arrays, Expected
from .examples import Followed, examples, expected_examples
from .impossible_outputs import N_KEPT_OUTPUTS, impossible
from .independence import expected_order, independent_by_construction, order, order_of_sums
from .plan import Chunk
from .reduction import EXPECTED_TEXTS, SECOND_PREFIX, texts_as_arrays
from .repeated_outputs import SIGNATURE_TYPE, common_output_digest, signature
from .seeds import Stage, stream


def run(
    mechanism: Mechanism, neighbours: Neighbours, seed: int, chunk: Chunk, timeout: float | None = None
) -> tuple[Outputs, Arrays]:
    """Return the outputs of one chunk, with marked exceptional outputs, and the names of changes in the process.

    Raises:
        ReleaseError: there is not one output per run, or a call took longer than `timeout` seconds or did not return.
    """
    rng = stream(seed, chunk.stage, chunk.side, chunk.index)
    ((outputs,), changed) = run_each(mechanism, [(neighbours.side(chunk.side), chunk.size)], rng, seed, chunk, timeout)
    return outputs, changed


def run_each(
    mechanism: Mechanism,
    calls: Iterable[tuple[Dataset, int]],
    rng: np.random.Generator,
    seed: int,
    chunk: Chunk,
    timeout: float | None = None,
) -> tuple[list[Outputs], Arrays]:
    """Return the result of `run` for several datasets in one chunk, each with its number of runs."""
    outputs, changed = _release(mechanism, calls, seed, chunk, rng, timeout)
    return [mark(release) for release in outputs], {"changed": np.array(changed, dtype=np.str_)} if changed else {}


def _release(
    mechanism: Mechanism,
    calls: Iterable[tuple[Dataset, int]],
    seed: int,
    chunk: Chunk,
    rng: np.random.Generator,
    timeout: float | None,
) -> tuple[list[Outputs], tuple[str, ...]]:
    """Call `release`, and return the outputs and the changes in the process; calls of user code are guarded."""
    if independent_by_construction(mechanism):
        return [_read(mechanism, mechanism.release(dataset, size, rng), size) for dataset, size in calls], ()
    guard = Guard(display_name(mechanism), timeout=timeout, seed=global_seed(seed, chunk))
    calls_itself = isinstance(mechanism, FunctionMechanism)  # then each call of the function opens the guard
    results = []
    try:
        with guard:
            for dataset, size in calls:
                if not calls_itself:
                    guard.begin()
                try:
                    outputs = mechanism.release(dataset, size, rng)
                finally:
                    if not calls_itself:
                        guard.end()
                outputs = _read(mechanism, outputs, size)
                results.append(replace(outputs, values=outputs.values.copy()))  # the code may reuse its array
    except BaseException as error:
        if error is guard.outside or isinstance(error, DpassayError):
            raise
        raise ReleaseError(f"{display_name(mechanism)} raised {in_words(error)} in release.") from error
    return results, guard.changed


def _read(mechanism: Mechanism, outputs: Any, size: int) -> Outputs:
    """Return the result of `release` as `size` outputs; raise `ReleaseError` if it has another length."""
    converted = outputs if isinstance(outputs, Outputs) else Outputs(np.asarray(outputs))
    if converted.values.dtype == np.longdouble:  # 64 bits everywhere: in chunks, and on every machine
        with np.errstate(over="ignore"):
            converted = replace(converted, values=converted.values.astype(np.float64))
    if converted.values.ndim == 0 or len(converted) != size:
        raise ReleaseError(
            f"{type(mechanism).__name__}.release was called for {plural(size, 'run')} and returned an array of shape "
            f"{converted.values.shape}: axis 0 must be the run."
        )
    return converted


def probe(mechanism: Mechanism, neighbours: Neighbours, seed: int) -> tuple[Any, float]:
    """Return the output of one run on side 0, from a separate stream that no chunk uses, and its seconds."""
    chunk, began = Chunk(Stage.PROBE, 0, 0, 0, 1), time.monotonic()
    outputs, _ = _release(mechanism, [(neighbours.d0, 1)], seed, chunk, stream(seed, Stage.PROBE), None)
    return outputs[0], time.monotonic() - began


def seconds_of_calls(mechanism: Mechanism, one_run: float, n_runs: int, n_chunks: int) -> float:
    """Return the time of the runs of user code, from calls that were made anyway: further ones could change its state.

    Args:
        mechanism: the mechanism.
        one_run: seconds of a call for one run.
        n_runs, n_chunks: planned numbers of runs, and of calls if a call makes many runs.

    Returns:
        Seconds in one process; where the time of a call of many runs is unknown, those that it takes at least.
    """
    earlier = mechanism.seconds_per_run if isinstance(mechanism, FunctionMechanism) else 0.0
    if isinstance(mechanism, FunctionMechanism) and mechanism.style != "many-runs":
        return n_runs * min(one_run, earlier or one_run)
    further_run = max(0.0, N_BATCH_RUNS * earlier - one_run) / (N_BATCH_RUNS - 1)
    return n_chunks * one_run + n_runs * further_run


def global_seed(seed: int, chunk: Chunk) -> int:
    """Return the seed of the global random states in a chunk, for functions that do not draw from their rng."""
    key = (chunk.stage, chunk.side, chunk.index, 1)
    return int(np.random.SeedSequence(entropy=seed, spawn_key=key).generate_state(1, np.uint64)[0])


NAMES_TYPE = Expected("U", (None,), optional=True)
"""Type and shape of a list of names."""
_EXPECTED_IMPOSSIBLE = {
    "impossible": Expected("i", (1,), most=2**53, optional=True),
    "impossible_here": Expected("i", (1,), most=2**53, optional=True),
    "impossible_outputs": Expected(f"{NUMBER_KINDS}cU", (range(N_KEPT_OUTPUTS + 1),), more=True, optional=True),
    "impossible_error": Expected("U", (1,), optional=True),
}


@dataclass(frozen=True)
class PilotWork:
    """The work that runs a pilot chunk and keeps its outputs, for the training of the attack.

    Args:
        tested: True if the independence of the runs is tested; the pilot uses the sum of the numbers of each output.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    seed: int
    tested: bool = False
    timeout: float | None = None

    def __call__(self, chunk: Chunk) -> Arrays:
        outputs, changed = run(self.mechanism, self.neighbours, self.seed, chunk, self.timeout)
        events = {} if outputs.events is None else {"events": outputs.events}
        ordering = order_of_sums(outputs) if self.tested else {}
        kept = {"values": outputs.values, "signature": signature(outputs)}
        return kept | events | texts_as_arrays(outputs.texts) | ordering | changed

    def expected(self, chunk: Chunk) -> dict[str, Expected]:
        """Return the types and shapes of the arrays of a chunk."""
        values = Expected(f"{NUMBER_KINDS}cU", (chunk.size,), more=True)
        events = Expected("U", (chunk.size,), optional=True)
        ordering = expected_order(chunk.size, 0) if self.tested else {}
        kept = {"values": values, "events": events, "signature": SIGNATURE_TYPE, "changed": NAMES_TYPE}
        return kept | EXPECTED_TEXTS | ordering


@dataclass(frozen=True, eq=False)
class EvaluationWork:
    """The work that runs a chunk, scores it, and reduces it to its scores or, with a grid, to hits at each threshold.

    Args:
        grid: `(m,)` increasing thresholds, or None to keep the scores.
        events: `(k,)` thresholds of the events whose independence is tested; None if it is not tested.
        timeout: seconds that one call of audited code may take.
        followed: events for which a few outputs are kept as examples.
        second: a second scorer of the same outputs, and its grid; None for none.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    seed: int
    scorer: Scorer
    grid: Floats | None
    events: Floats | None = None
    timeout: float | None = None
    followed: tuple[Followed, ...] = ()
    second: tuple[Scorer, Floats | None] | None = None

    def __call__(self, chunk: Chunk) -> Arrays:
        outputs, changed = run(self.mechanism, self.neighbours, self.seed, chunk, self.timeout)
        scores = np.asarray(self.scorer.score(outputs), dtype=np.float64)
        reduced = _reduced(scores, self.grid)
        if self.second is not None:
            other, grid = self.second
            reduced |= _reduced(np.asarray(other.score(outputs), dtype=np.float64), grid, SECOND_PREFIX)
        if self.events is not None:
            reduced |= order(outputs, scores, self.events)
        details = {"signature": signature(outputs), "only_output": common_output_digest(outputs)}
        details |= self._impossible(outputs, scores, chunk.side)
        details |= examples(outputs, scores, self.followed, self.mechanism._output_names(outputs.texts))
        return reduced | details | _event_counts(outputs) | changed

    def expected(self, chunk: Chunk) -> dict[str, Expected]:
        """Return the types and shapes of the arrays of a chunk."""
        fields = {
            "signature": SIGNATURE_TYPE,
            "only_output": SIGNATURE_TYPE,
            "changed": NAMES_TYPE,
            **_EXPECTED_IMPOSSIBLE,
        }
        fields |= _expected_reduced(chunk.size, self.grid)
        if self.second is not None:
            fields |= _expected_reduced(chunk.size, self.second[1], SECOND_PREFIX)
        if self.events is not None:
            fields |= expected_order(chunk.size, len(self.events))
        fields |= expected_examples(chunk.size, len(self.followed))
        counts = Expected("i", (None,), most=chunk.size, optional=True)
        return fields | {"event_labels": NAMES_TYPE, "event_counts": counts}

    def _impossible(self, outputs: Outputs, scores: Floats, side: int) -> Arrays:
        """Return outputs that the law of the other side never gives; a law that raises loses the witness only."""
        law = self.mechanism.output_law()
        if law is None:
            return {}
        by_law = isinstance(getattr(self.scorer, "base", None), LikelihoodRatioScorer)
        try:
            return impossible(outputs, scores, law, self.neighbours, side, by_law=by_law)
        except Exception as error:
            return {"impossible_error": np.array([cut(in_words(error))])}


def _reduced(scores: Floats, grid: Floats | None, prefix: str = "") -> Arrays:
    """Return the scores, or their hits on a grid."""
    return {f"{prefix}scores": scores} if grid is None else {f"{prefix}hits": hits(scores, grid)}


def _expected_reduced(size: int, grid: Floats | None, prefix: str = "") -> dict[str, Expected]:
    """Return the type and shape of `_reduced`."""
    if grid is None:
        return {f"{prefix}scores": Expected("f", (size,))}
    return {f"{prefix}hits": Expected("i", (len(grid),), most=size)}


def hits(scores: Floats, grid: Floats) -> Ints:
    """Return the number of scores that reach each threshold of the grid, shape as `grid`."""
    return len(scores) - np.searchsorted(np.sort(scores), grid)


def _event_counts(outputs: Outputs) -> Arrays:
    """Return the label and count of each exceptional output of the chunk; empty if there is none."""
    if outputs.events is None:
        return {}
    counts = Counter(str(display_name) for display_name in outputs.events if display_name)
    labels = sorted(counts)
    return {"event_labels": np.array(labels, dtype=np.str_), "event_counts": np.array([counts[x] for x in labels])}
