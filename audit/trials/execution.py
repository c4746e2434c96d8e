"""Execution of chunks on workers; finished chunks are kept in the store.

joblib distributes the chunks: to `n_jobs` workers on this machine, or to the backend that `joblib.parallel_config` has
set (ray); to that of Dask they are submitted here, so that workers may join and leave. Vectorised mechanisms run on
threads, because numpy releases the interpreter lock; Python functions run in processes.
"""

from __future__ import annotations

import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from ...mechanisms.core import ParameterError, SliceDoneError, Workers, display_name, plural, single_thread
from .array_files import Arrays
from .plan import Chunk
from .progress import LONG_SECONDS, Reporter, SilentReporter, TimeLeft, in_words, is_long
from .reduction import Reduction
from .repeated_outputs import ReplayGuard
from .seeds import Stage
from .store import TrialStore
from .workers import PickledWork, as_future, cluster_lost_error, dask_client, n_threads, named_errors, options

Work = Callable[[Chunk], Arrays]
Results = Generator[tuple[Chunk, Arrays], None, None]
NOTE_SECONDS, NOTE_SHARE = 0.5, 0.05
"""Shortest time between two notes, and the largest share of the time that they may take."""
N_TASKS = 16
"""Number of tasks into which the chunks of a vectorised mechanism are grouped if several workers share them."""
GROUPS_PER_THREAD = 4
"""Number of these tasks for each thread of the workers of a cluster, if that is more."""
TASKS_PER_THREAD = 4
"""Number of tasks that are submitted for each thread of the workers of a cluster, so that none waits for the next."""
TIMED_SECONDS, TIMED = 0.2, 10**9
"""Time of a call after which no larger one is timed, and the index of the streams of timed runs, of no chunk."""
COUNT_SECONDS, POLL_SECONDS = 2.0, 0.005
"""Time after which the workers of a cluster are counted again, and between two looks for finished tasks."""
MAX_TASK_CHUNKS = 1024
"""Largest number of chunks in one of these tasks: its results are held until the task is done."""


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
    """Run every chunk that the store does not hold, and merge all chunks into `into`.

    The store of a slice gets the whole pilot, but of the other chunks only those of the slice.

    Args:
        chunks: chunks to run, which may be created lazily.
        work: function that runs one chunk; if it has a method `expected(chunk)`, stored chunks must have these arrays.
        into: receives the finished chunks, in any order.
        store: store of finished chunks; None keeps everything in memory.
        n_jobs: number of workers; None takes the value of `joblib.parallel_config`, 1 runs in this process.
        workers: kind of workers that the work needs.
        repeats: guard that refuses chunks that repeat earlier ones.
        reporter: receives the progress.
        note: returns a note on the current results for the reporter; called at most once every `NOTE_SECONDS`, and less
            often if the call takes long.
        total: runs of the whole stage, if these chunks are one round of several; None if they are the whole stage.

    Raises:
        SliceDoneError: all chunks of the slice are finished. Those of other slices are not, so there is no result.
        ParameterError: the store is that of a slice, but the work cannot leave this process.
    """
    if not chunks:
        return
    first = next(iter(chunks))
    share = None if store is None or first.stage is Stage.PILOT else store.share
    if share is not None:
        _check_divisible(work, workers)
        n_all, chunks = len(chunks), chunks[share.of(len(chunks))]
        total = sum(chunk.size for chunk in chunks)
    if first.start == 0:
        reporter.start(first.stage.label, sum(chunk.size for chunk in chunks) if total is None else total)
    stored: set[str] = set()
    expected = getattr(work, "expected", lambda _: None)
    for chunk in chunks if store is not None else ():
        arrays = store.load(chunk.key, expected(chunk)) if store is not None else None
        if arrays is not None:
            stored.add(chunk.key)
            repeats.check(chunk, arrays)
            into.add(chunk, arrays)
            reporter.advance(chunk.size)
    missing = (chunk for chunk in chunks if chunk.key not in stored)
    if n_jobs == 1 or workers is Workers.THIS_PROCESS:
        results = _in_process(missing, work)
    else:
        results = _spread(missing, len(chunks) - len(stored), work, n_jobs, workers)
    next_note = time.monotonic() + NOTE_SECONDS if type(reporter) is not SilentReporter else math.inf
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
    if share is not None:
        raise SliceDoneError(share, len(chunks), n_all)


def announce(
    seconds: float,
    n_runs: int,
    n_chunks: int,
    *,
    store: TrialStore | None,
    n_jobs: int | None,
    workers: Workers,
    reporter: Reporter,
) -> None:
    """Announce the time of long work before its first chunk, less the chunks in the store.

    Args:
        seconds: of all runs, in one process.
        n_runs, n_chunks: number of all runs and chunks.
        store, n_jobs, workers, reporter: as for `execute`.
    """
    n_workers = 1 if workers is Workers.THIS_PROCESS else (os.cpu_count() or 1) if n_jobs == -1 else n_jobs or 1
    share = 1.0 if store is None else max(0.0, 1.0 - store.n_finished / n_chunks)
    if store is not None and store.share is not None:
        share = min(share, 1.0 / store.share.count)
    if is_long(remaining := share * seconds / n_workers, reporter):
        n_remaining = plural(round(share * n_runs), "run")
        reporter.message(f"about {in_words(remaining)} for {n_remaining}, as the time of the first ones shows")


def measure_run_time(work: Work, chunk: Chunk, n_runs: int, size: int) -> float:
    """Return the time of `n_runs` runs, measured on runs that are not counted, on streams that no chunk uses.

    Only for work without user code, which more runs could change. Calls with more and more runs are timed, up to `size`
    or `TIMED_SECONDS`, but one call only if the whole work is short.
    """
    n_timed, seconds = 1, 0.0
    with in_this_process():
        while True:
            before = time.monotonic()
            work(replace(chunk, stage=Stage.PROBE, index=TIMED, start=0, size=n_timed))
            seconds = time.monotonic() - before
            if seconds * n_runs < LONG_SECONDS * n_timed or seconds >= TIMED_SECONDS or n_timed >= size:
                return seconds * n_runs / n_timed
            n_timed = min(4 * n_timed, size)


def _check_divisible(work: Work, workers: Workers) -> None:
    """Raise `ParameterError` for work of a slice that has to be done in one process, in order."""
    if workers is Workers.THIS_PROCESS:
        raise ParameterError(
            f"{display_name(getattr(work, 'mechanism', work))} draws from a generator of its own, and each slice would "
            "draw the same numbers from it. Run it without slices, or draw all noise from the rng that it receives.",
            argument="slice",
        )


def _in_process(chunks: Iterable[Chunk], work: Work) -> Results:
    """Yield finished chunks in order. BLAS gets one thread, as in workers: its rounding depends on their number."""
    with single_thread():
        for chunk in chunks:
            with _sequentially():
                arrays = work(chunk)
            yield chunk, arrays


def _spread(chunks: Iterator[Chunk], n_chunks: int, work: Work, n_jobs: int | None, workers: Workers) -> Results:
    """Yield finished chunks in order of completion; raise `ReleaseError` if a worker dies.

    BLAS and OpenMP get one thread per worker. Threads receive several chunks at a time: a vectorised chunk takes a
    millisecond or two, and switching the interpreter lock for each would take as long. Processes get them one by one.
    """
    from joblib import Parallel, delayed

    client = dask_client(workers.value)
    timeout = getattr(work, "timeout", None)
    extra = options(workers.value, timeout)
    # one thread of BLAS before the first chunk is submitted, which joblib does at once
    with single_thread(), named_errors(display_name(getattr(work, "mechanism", work)), timeout, client):
        handfuls = N_TASKS if client is None else max(N_TASKS, GROUPS_PER_THREAD * n_threads(client))
        size = min(max(1, n_chunks // handfuls), MAX_TASK_CHUNKS) if workers is Workers.THREADS else 1
        tasks = iter(lambda: list(islice(chunks, size)), [])
        if client is not None:
            yield from _on_dask(client, tasks, work)
            return
        parallel = Parallel(n_jobs=n_jobs, prefer=workers.value, return_as="generator_unordered", batch_size=1, **extra)
        finished = parallel(delayed(_run_all)(work, task, _this_process()) for task in tasks)
        try:
            for results in finished:
                yield from results
        finally:
            with warnings.catch_warnings():  # joblib warns about discarded work when a run ends early
                warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
                finished.close()


def _on_dask(client: Any, tasks: Iterator[list[Chunk]], work: Work) -> Results:
    """Yield finished chunks of a Dask cluster. Workers may join, and leave: their chunks are run again by others.

    The tasks are submitted here and not by joblib, whose number of tasks in flight is that of the first workers, and
    which runs them in this process if there is only one worker.
    """
    from distributed import as_completed

    finished = as_completed(with_results=True, loop=client.loop)
    parcel, next_count, in_flight = as_future(work, client), 0.0, set[Any]()
    try:
        while True:
            if time.monotonic() >= next_count:
                max_in_flight, next_count = (
                    TASKS_PER_THREAD * max(n_threads(client), 1),
                    time.monotonic() + COUNT_SECONDS,
                )
            for task in islice(tasks, max(max_in_flight - len(in_flight), 0)):
                future = client.submit(_run_all, parcel, task, _this_process(), pure=False)
                in_flight.add(future)
                finished.add(future)
            if not in_flight:
                return
            _await_any(finished, client)
            future, results = next(finished)
            in_flight.remove(future)
            if future.status != "finished":  # errors were raised
                raise cluster_lost_error(str(results))
            yield from results
    finally:
        if in_flight and client.status == "running":
            client.cancel(list(in_flight))


def _await_any(finished: Any, client: Any) -> None:
    """Wait for a finished task; raise `ClusterError` if the client has closed, after which no task finishes."""
    while not finished.has_ready():
        if client.status in ("closing", "closed"):
            raise cluster_lost_error("the connection to its scheduler has ended")
        time.sleep(POLL_SECONDS)


def _run_all(work: Work | PickledWork, chunks: list[Chunk], sender: tuple[str, int]) -> list[tuple[Chunk, Arrays]]:
    """Run chunks with one thread of BLAS and OpenMP: the rounding of a product depends on the number of threads.

    The limit of BLAS belongs to the process, the limit of OpenMP to the calling thread. In the sending process the
    former is already set; a worker process keeps it, because lifting it would affect chunks of its other threads.
    """
    run: Work = work.open() if isinstance(work, PickledWork) else work
    if _this_process() != sender:
        single_thread()  # never lifted
    with single_thread("openmp"), _sequentially():
        return [(chunk, run(chunk)) for chunk in chunks]


def _this_process() -> tuple[str, int]:
    """Return an identifier of this process, unique across machines."""
    return platform.node(), os.getpid()


@contextmanager
def in_this_process() -> Iterator[None]:
    """Fit and score in this process, on one core: the rounding of an attack must not depend on machine or workers.

    The parallel parts of scikit-learn are kept from a backend of `joblib.parallel_config`, which is for trials only,
    and BLAS and OpenMP get one thread, as for trials.
    """
    with _sequentially(), single_thread():
        yield


@contextmanager
def _sequentially() -> Iterator[None]:
    """Run the parallel parts of scikit-learn in this process."""
    from joblib import parallel_config

    with parallel_config(backend="sequential"):
        yield
