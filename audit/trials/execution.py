"""Chunks spread over workers, with everything finished kept in the store.

joblib does the spreading: `n_jobs` workers on this machine, or whatever backend `joblib.parallel_config` has set
(dask, ray). Vectorised mechanisms run on threads, because numpy frees the interpreter lock; Python functions run in
processes.
"""

from __future__ import annotations

import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pickle import PicklingError

from ...mechanisms.base import Workers
from ...mechanisms.errors import ReleaseError
from ...mechanisms.label import label
from .guards.replay import ReplayGuard
from .plan import Chunk
from .progress import Reporter, Silent, TimeLeft
from .reduction import Reduction
from .store import Arrays, TrialStore
from .workers import died, options

Work = Callable[[Chunk], Arrays]
Results = Generator[tuple[Chunk, Arrays], None, None]
NOTE_SECONDS, NOTE_SHARE = 0.5, 0.05
"""Shortest time between two notes, and the most of the whole time that they may take."""
HANDFULS = 16
"""Into how many tasks the chunks of a vectorised mechanism are put when several workers share them."""
LARGEST_HANDFUL = 1024
"""Chunks in one of these tasks, at most: its results are held until it is done."""


def execute(
    chunks: Sequence[Chunk],
    work: Work,
    into: Reduction,
    *,
    store: TrialStore | None,
    n_jobs: int | None,
    workers: Workers,
    repeats: ReplayGuard,
    reporter: Reporter,
    note: Callable[[], str] = str,
    total: int | None = None,
) -> None:
    """Runs every chunk that the store does not hold, and merges all of them into `into`.

    Args:
        chunks: what to run; made as they are needed.
        work: runs one chunk.
        into: takes the finished chunks, in any order.
        store: None keeps everything in memory.
        n_jobs: workers; None takes what `joblib.parallel_config` says, 1 runs here.
        workers: which suit what is run.
        repeats: refuses chunks that repeat earlier ones.
        reporter: receives the progress.
        note: says what is known so far, for a reporter that shows it; asked at most once every `NOTE_SECONDS`, and
            more seldom where the answer takes long.
        total: runs of the whole stage, where these chunks are one round of several; None: they are all of it.
    """
    if not chunks:
        return
    first = next(iter(chunks))
    if first.start == 0:
        reporter.start(first.stage.label, sum(chunk.size for chunk in chunks) if total is None else total)
    stored: set[str] = set()
    for chunk in chunks if store is not None else ():
        arrays = store.load(chunk.key) if store is not None else None
        if arrays is not None:
            stored.add(chunk.key)
            repeats.check(chunk, arrays)
            into.add(chunk, arrays)
            reporter.advance(chunk.size)
    missing = (chunk for chunk in chunks if chunk.key not in stored)
    if n_jobs == 1 or workers is Workers.HERE:
        results = _here(missing, work)
    else:
        results = _spread(missing, len(chunks) - len(stored), work, n_jobs, workers)
    next_note = time.monotonic() + NOTE_SECONDS if type(reporter) is not Silent else math.inf
    timed = TimeLeft(first, lambda: sum(chunk.size for chunk in chunks if chunk.key not in stored), reporter)
    with closing(results):
        for chunk, arrays in results:
            repeats.check(chunk, arrays)
            if store is not None:
                store.save(chunk.key, arrays)
            into.add(chunk, arrays)
            before = time.monotonic()
            timed.add(chunk.size)
            due = before >= next_note
            reporter.advance(chunk.size, note() if due else "")
            if due:
                took = time.monotonic() - before
                next_note = before + max(NOTE_SECONDS, took / NOTE_SHARE)


def _here(chunks: Iterable[Chunk], work: Work) -> Results:
    """Finished chunks in their order. BLAS gets one thread, as in workers: its rounding depends on their number."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        for chunk in chunks:
            with in_this_process():
                arrays = work(chunk)
            yield chunk, arrays


def _spread(chunks: Iterator[Chunk], n_chunks: int, work: Work, n_jobs: int | None, workers: Workers) -> Results:
    """Finished chunks as they come; raises `ReleaseError` when a worker dies. BLAS and OpenMP get one thread a worker.

    Threads are handed several chunks at a time: a vectorised chunk takes a millisecond or two, and passing the
    interpreter lock back and forth for each would cost as much. Processes get them one by one.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    size = min(max(1, n_chunks // HANDFULS), LARGEST_HANDFUL) if workers is Workers.THREADS else 1
    handfuls = iter(lambda: list(islice(chunks, size)), [])
    more = options(workers.value, getattr(work, "timeout", None))
    parallel = Parallel(n_jobs=n_jobs, prefer=workers.value, return_as="generator_unordered", batch_size=1, **more)
    name = label(getattr(work, "mechanism", work))
    with threadpool_limits(limits=1):  # before the first chunk is handed out, which joblib does at once
        finished = parallel(delayed(_run_all)(work, handful, _this_process()) for handful in handfuls)
        try:
            for handful in finished:
                yield from handful
        except BrokenExecutor as error:
            raise died(error, name, getattr(work, "timeout", None)) from error
        except PicklingError as error:
            raise ReleaseError(
                f"{name} cannot be sent to worker processes ({error}). Use n_jobs=1, or leave out what cannot be "
                "pickled."
            ) from error
        finally:
            with warnings.catch_warnings():  # work that is thrown away when a run ends early is no surprise
                warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
                finished.close()


def _run_all(work: Work, chunks: list[Chunk], sender: tuple[str, int]) -> list[tuple[Chunk, Arrays]]:
    """Run chunks by one thread of BLAS and OpenMP: the rounding of a product depends on the number of threads.

    The limit of BLAS belongs to the process, that of OpenMP to the calling thread. In the process that sent the chunks
    the former is set already; another one keeps it, as lifting it would change chunks that its other threads run.
    """
    from threadpoolctl import threadpool_limits

    if _this_process() != sender:
        threadpool_limits(limits=1)
    with threadpool_limits(limits=1, user_api="openmp"):
        return [(chunk, work(chunk)) for chunk in chunks]


def _this_process() -> tuple[str, int]:
    """What tells this process from those of this and other machines."""
    return platform.node(), os.getpid()


@contextmanager
def in_this_process() -> Iterator[None]:
    """What scikit-learn would spread over workers stays here: a backend of `joblib.parallel_config` is for trials.

    Attacks that learn or score on another machine are rounded as that machine rounds.
    """
    from joblib import parallel_config

    with parallel_config(backend="sequential"):
        yield
