"""Start of isolated processes: each creates a function anew, answers its request, and ends."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core.base import Neighbours
from . import isolated_process as process
from .forms import RaisedException
from .source import FunctionSource, cloudpickle

PROCESS_SECONDS = 120.0
"""Time limit for one request in seconds."""
_START = "import sys; exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'))"


@dataclass(frozen=True)
class Call:
    """Runs on one side, in one call.

    Args:
        side: 0 or 1.
        size: number of runs, >= 1.
        rng: the generator that the function gets; its state is not changed.
        seed: seed of the global random states.
    """

    side: int
    size: int
    rng: np.random.Generator
    seed: int


@dataclass(frozen=True)
class ProcessAnswer:
    """Answer of one process.

    Args:
        results: the results of each call, as the function returned them; `RaisedException` for a run that raised.
        left: for each call, a digest of the random states that it changed; empty if it drew from none.
        read: what the runs read from outside: "entropy", "file PATH", "socket.connect", ...
        constants: values that the statements of the program give its names again, by name.
        modules: the modules that may be preloaded for other processes.
    """

    results: tuple[Any, ...]
    left: tuple[str, ...]
    read: tuple[str, ...]
    constants: dict[str, Any] = field(default_factory=dict)
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """Calls of a function in one process, in this order.

    Args:
        calls: the calls.
        names: names of the program whose statements are run again.
    """

    calls: tuple[Call, ...]
    names: tuple[str, ...] = ()


def ask(
    source: FunctionSource,
    neighbours: Neighbours,
    style: str,
    requests: Sequence[Request],
    *,
    first: int = 1,
    preload: Sequence[str] | None = None,
) -> list[ProcessAnswer | None]:
    """Return the answers of several processes; None for one that fails, hangs, or cannot create the function.

    Each process has other hashes of texts, and a clock that is ahead by another time.

    Args:
        source: the function, in the state before its first run.
        neighbours: the pair of datasets.
        style: how the function is called: see `FunctionMechanism`.
        requests: one for each process.
        first: number of the first process, from 1 on, which sets hashes and clock.
        preload: modules that may be imported once for several processes: these are then copies, by fork, of one for
            each processor, and share the hashes of texts. None starts each by itself.
    """
    pickler, n_workers = cloudpickle(), os.cpu_count() or 1
    datasets = [pickler.dumps(neighbours.side(side)) for side in (0, 1)]
    written = [
        {
            "source": source.request,
            "datasets": datasets,
            "style": style,
            "calls": [(one.side, one.size, one.rng.bit_generator.state, one.seed) for one in request.calls],
            "names": list(request.names),
            "shift": 86_400 * (first + k),
        }
        for k, request in enumerate(requests)
    ]
    grouped = preload is not None and hasattr(os, "fork")
    jobs = [written[k::n_workers] for k in range(n_workers)] if grouped else [[request] for request in written]
    base = {
        "path": [path or str(Path.cwd()) for path in sys.path],
        "cloudpickle": pickler.__name__,
        "preload": list(preload or ()) if grouped else [],
    }

    running: list[subprocess.Popen[bytes]] = []

    def answers(number: int) -> list[ProcessAnswer | None]:
        environment = {**source.environment, "PYTHONHASHSEED": str(first + number), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        try:
            seconds = PROCESS_SECONDS * len(jobs[number])
            content = _run(pickle.dumps(base | {"requests": jobs[number]}), environment, seconds, running)
            return [_answer(one) for one in pickle.loads(content)]
        except Exception:
            return [None] * len(jobs[number])

    pool = ThreadPoolExecutor(n_workers)
    try:
        found = list(pool.map(answers, range(len(jobs))))
    except BaseException:  # such as Ctrl-C: nothing more is started, and what runs is ended
        pool.shutdown(wait=False, cancel_futures=True)
        for child in [*running]:
            _end(child)
        raise
    finally:
        pool.shutdown()
    if not grouped:
        return [one for (one,) in found]
    return [found[k % n_workers][k // n_workers] for k in range(len(written))]


def _answer(content: bytes) -> ProcessAnswer | None:
    answer = pickle.loads(content)
    if answer is None:
        return None
    constants = {}
    for name, value in answer["constants"].items():
        with suppress(Exception):
            constants[name] = pickle.loads(value)
    results = tuple(map(_results, answer["results"]))
    return ProcessAnswer(results, tuple(answer["left"]), tuple(answer["read"]), constants, tuple(answer["modules"]))


@contextmanager
def _started(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and end it afterwards with all that it started."""
    child = subprocess.Popen(
        [sys.executable, "-c", _START, str(Path(process.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        _end(child)
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        child.wait()


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _run(job: bytes, environment: dict[str, str], seconds: float, running: list[subprocess.Popen[bytes]]) -> bytes:
    """Return what a process writes for a job, empty if it does not answer in time."""
    with _started(environment) as child:
        running.append(child)
        assert child.stdin is not None
        assert child.stdout is not None
        alarm = threading.Timer(seconds, _end, (child,))
        alarm.daemon = True
        alarm.start()
        try:
            child.stdin.write(job)
            child.stdin.close()
            return process.received(child.stdout)
        finally:
            alarm.cancel()
            running.remove(child)


def _results(results: Any) -> Any:
    """Return the results of a call, with placeholders of runs that raised."""
    if not isinstance(results, list):
        return results
    return [
        RaisedException(one[1], one[2]) if isinstance(one, tuple) and one[:1] == (process.FAILED,) else one
        for one in results
    ]
