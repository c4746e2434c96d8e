"""Chunks spread over workers, with everything finished kept in the store.

joblib does the spreading: `n_jobs` workers on this machine, or whatever backend `joblib.parallel_config` has set
(dask, ray). Vectorised mechanisms run on threads, because numpy frees the interpreter lock; Python functions run in
processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing

from audit.trials.plan import Chunk
from audit.trials.progress import Reporter
from audit.trials.reduction import Reduction
from audit.trials.store import Arrays, TrialStore

Work = Callable[[Chunk], Arrays]
Results = Generator[tuple[Chunk, Arrays], None, None]
NOTE_SECONDS = 0.5
HANDFULS = 16
"""Into how many tasks the chunks of a vectorised mechanism are put when several workers share them."""


def execute(
    chunks: list[Chunk],
    work: Work,
    into: Reduction,
    *,
    store: TrialStore | None,
    n_jobs: int | None,
    workers: str,
    reporter: Reporter,
    note: Callable[[], str] = str,
) -> None:
    """Runs every chunk that the store does not hold, and merges all of them into `into`.

    Args:
        chunks: what to run.
        work: runs one chunk.
        into: takes the finished chunks, in any order.
        store: None keeps everything in memory.
        n_jobs: workers; None takes what `joblib.parallel_config` says, 1 runs here.
        workers: "threads" or "processes".
        reporter: hears about progress.
        note: says what is known so far, for the reporter; asked at most once every `NOTE_SECONDS`.
    """
    if not chunks:
        return
    reporter.start(chunks[0].stage.label, sum(chunk.size for chunk in chunks))
    missing = []
    for chunk in chunks:
        arrays = store.load(chunk.key) if store is not None else None
        if arrays is None:
            missing.append(chunk)
        else:
            into.add(chunk, arrays)
            reporter.advance(chunk.size)
    results = _here(missing, work) if n_jobs == 1 else _spread(missing, work, n_jobs, workers)
    noted = time.monotonic()
    with closing(results):
        for chunk, arrays in results:
            if store is not None:
                store.save(chunk.key, arrays)
            into.add(chunk, arrays)
            due = time.monotonic() - noted >= NOTE_SECONDS
            reporter.advance(chunk.size, note() if due else "")
            noted = time.monotonic() if due else noted


def _here(chunks: list[Chunk], work: Work) -> Results:
    for chunk in chunks:
        yield chunk, work(chunk)


def _spread(chunks: list[Chunk], work: Work, n_jobs: int | None, workers: str) -> Results:
    """Finished chunks as they come. BLAS and OpenMP get one thread a worker.

    Threads are handed several chunks at a time: a vectorised chunk takes a millisecond or two, and passing the
    interpreter lock back and forth for each would cost as much. Processes get them one by one.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    size = max(1, len(chunks) // HANDFULS) if workers == "threads" else 1
    handfuls = [chunks[start : start + size] for start in range(0, len(chunks), size)]
    parallel = Parallel(n_jobs=n_jobs, prefer=workers, return_as="generator_unordered", batch_size=1)
    with threadpool_limits(limits=1):
        for finished in parallel(delayed(_run_all)(work, handful) for handful in handfuls):
            yield from finished


def _run_all(work: Work, chunks: list[Chunk]) -> list[tuple[Chunk, Arrays]]:
    return [(chunk, work(chunk)) for chunk in chunks]
