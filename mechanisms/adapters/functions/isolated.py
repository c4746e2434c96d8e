"""Isolated processes: new interpreters in which audited code runs, and what they answer.

An `IsolatedProcess` answers requests until it is closed. `ask` starts several, of which each creates a function anew,
answers one request, and ends.
"""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...core import Neighbours, ParameterError, ReleaseError, terminal
from . import messages
from .calls import Rows
from .isolated_process import WORKING
from .source import FunctionSource, cloudpickle

PROCESS_SECONDS = 120.0
"""Time limit for one request in seconds."""
LAST_SECONDS = 1.0
"""Seconds in which a process ends that has closed its messages, and in which the rest of its output arrives."""
ROOM = Path(__file__).parents[2]
"""Folder of the room `mechanisms`."""
MAX_RELAYED = 2**20
"""Largest number of bytes of the output of audited code that are shown."""
START = """
import sys, types
for name in ("", ".core", ".adapters", ".adapters.functions"):
    package = types.ModuleType("dpassay_isolated" + name)
    package.__path__ = [sys.argv[1] + name.replace(".", "/")]
    sys.modules[package.__name__] = package
from dpassay_isolated.adapters.functions.isolated_process import main
main()
"""
"""Program that imports single modules of the room `mechanisms`, without running its `__init__` files."""


class ProcessEnded(Exception):  # noqa: N818 - it need not be an error
    """The process ended without an answer; the message says how."""


class ProcessOverdue(Exception):  # noqa: N818
    """The process took too long, and was ended."""


class IsolatedProcess:
    """A new interpreter that runs `isolated_process.py`, in a process group of its own.

    Args:
        environment: its environment variables.
        name: shown before each line that its code prints; None discards the lines.
        python: the interpreter, of an environment with numpy; empty for the one of this process.
        folder: its working directory; None for that of this process.

    Attributes:
        worked: True after its first sign of work.
    """

    def __init__(
        self, environment: Mapping[str, str], name: str | None = None, python: str = "", folder: str | None = None
    ) -> None:
        self.nonce = secrets.token_bytes(messages.NONCE_BYTES)
        self.child = _start(python, environment, folder, relayed=name is not None)
        self.worked = False
        self._greeted = False
        self._relay: threading.Thread | None = None
        if name is not None:
            self._relay = threading.Thread(target=_relay, args=(self.child.stderr, name), daemon=True)
            self._relay.start()

    def ask(self, request: Mapping[str, Any], seconds: float | None = None, *, first: float | None = None) -> Any:
        """Return the answer to a request.

        Args:
            request: plain data; `ask` names what is asked.
            seconds: time limit, which begins again with each sign of work; None for no limit.
            first: time limit until the first sign of work; None for the same.

        Raises:
            ProcessOverdue: the time is over.
            ProcessEnded: the process ended, or wrote something else than an answer.
        """
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        overdue = threading.Event()

        def stop() -> None:
            overdue.set()
            self.end()

        alarm = _alarm(first or seconds, stop)
        try:
            if not self._greeted:
                self.child.stdin.write(self.nonce)
                self._greeted = True
            messages.write(self.child.stdin, self.nonce, dict(request))
            while (answer := messages.read(self.child.stdout, self.nonce)) == WORKING:
                alarm.cancel()
                self.worked = True
                alarm = _alarm(seconds, stop)
            return answer
        except (messages.EndedError, OSError) as error:
            if overdue.is_set():
                raise ProcessOverdue from error
            raise ProcessEnded(self._ending()) from error
        except messages.MessageError as error:
            self.close()
            raise ProcessEnded(f"the process of the audited code sent {error}.") from error
        finally:
            alarm.cancel()

    def _ending(self) -> str:
        """Return a sentence about the end of the process."""
        try:
            code = self.child.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            return "the audited code closed the connection to its process."
        return end_text(code)

    def end(self) -> None:
        """End the process and its group at once."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.child.pid, signal.SIGKILL)
            else:
                self.child.kill()

    def close(self) -> None:
        """End the process and its group, and show the rest of what it printed."""
        if self.child.returncode is None or self._relay is not None:
            self.end()
        for stream in (self.child.stdin, self.child.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        self.child.wait()
        if self._relay is not None:
            self._relay.join(LAST_SECONDS)


def _start(
    python: str, environment: Mapping[str, str], folder: str | None, *, relayed: bool
) -> subprocess.Popen[bytes]:
    """Return a new interpreter that runs `isolated_process.py`, in a session of its own."""
    return subprocess.Popen(
        [python or sys.executable, "-c", START, str(ROOM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if relayed else subprocess.DEVNULL,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )


def check_interpreter(python: str) -> None:
    """Raise `ParameterError` unless `python` is an interpreter that can run isolated functions."""
    program = "import sys, numpy; sys.exit(0 if sys.version_info >= (3, 11) else f'it is Python {sys.version}')"
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=PROCESS_SECONDS)
        if done.returncode == 0:
            return
        said = done.stderr.strip().rpartition("\n")[2]
        reason = said if "Error: " in said or said.startswith("it is Python") else "it is no Python interpreter"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        reason = str(getattr(error, "strerror", None) or error)
    raise ParameterError(
        f"python must be the interpreter of an environment with Python 3.11 or later and numpy, but {python!r} is not: "
        f"{reason}.",
        argument="python",
    )


def import_path(python: str) -> list[str]:
    """Return the folders from which an isolated process imports beside its own; those of this process if it shares."""
    return [str(Path.cwd())] if python else [path or str(Path.cwd()) for path in sys.path]


def packed(dataset: Any, python: str) -> bytes:
    """Return a dataset as bytes, for `unpacked` in an isolated process.

    Another interpreter, which may have another version of numpy, gets plain data where a dataset is plain.
    """
    if python:
        with suppress(messages.MessageError):
            return b"m" + messages.to_bytes(dataset)
    try:
        return b"p" + pickle.dumps(dataset)
    except Exception:
        return b"p" + bytes(cloudpickle().dumps(dataset))


def end_text(code: int) -> str:
    """Return a sentence about the end of a process of audited code."""
    if code >= 0:
        return f"the audited code ended its process with exit code {code}."
    with suppress(ValueError):
        return f"the process of the audited code was ended by {signal.Signals(-code).name}."
    return f"the process of the audited code was ended by signal {-code}."


def _alarm(seconds: float | None, stop: Callable[[], None]) -> threading.Timer:
    """Return a timer, which runs if there is a limit."""
    alarm = threading.Timer(seconds or 0.0, stop)
    alarm.daemon = True
    if seconds is not None:
        alarm.start()
    return alarm


def _relay(stream: IO[bytes], name: str) -> None:
    """Write each line of a stream to the standard error, with its name; control characters are escaped."""
    left = MAX_RELAYED
    with suppress(OSError, ValueError), stream:
        while line := stream.readline(4096):
            if left > 0:
                text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
                sys.stderr.write(f"{terminal(name)}: {terminal(text)}\n")
                left -= len(line)
                if left <= 0:
                    sys.stderr.write(f"{terminal(name)}: what it prints further is not shown.\n")


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
        results: the results of each call, for `FunctionMechanism.outputs_of`.
        left: for each call, a digest of the random states that it changed; empty if it drew from none.
        read: what the runs read from outside: "entropy", "file PATH", "socket.connect", ...
        constants: digests of the values that the statements of the program give its names again, by name.
        modules: the modules that may be preloaded for other processes.
    """

    results: tuple[Rows, ...]
    left: tuple[str, ...]
    read: tuple[str, ...]
    constants: dict[str, bytes] = field(default_factory=dict)
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
    n_workers = os.cpu_count() or 1
    datasets = [packed(neighbours.side(side), source.python) for side in (0, 1)]
    written = [_written(source, datasets, style, request, first + k) for k, request in enumerate(requests)]
    grouped = preload is not None and hasattr(os, "fork")
    jobs = [written[k::n_workers] for k in range(n_workers)] if grouped else [[request] for request in written]
    base = {
        "ask": "fresh",
        "path": import_path(source.python),
        "preload": list(preload or ()) if grouped else [],
    }
    running: list[IsolatedProcess] = []

    def answers(number: int) -> list[ProcessAnswer | None]:
        process: IsolatedProcess | None = None
        try:
            process = IsolatedProcess(_environment(source, first + number), python=source.python)
            running.append(process)
            content = process.ask(base | {"requests": jobs[number]}, PROCESS_SECONDS * len(jobs[number]))
            found = [_answer(one) for one in content]
            return found if len(found) == len(jobs[number]) else [None] * len(jobs[number])
        except Exception:
            return [None] * len(jobs[number])
        finally:
            if process is not None:
                process.close()
                running.remove(process)

    pool = ThreadPoolExecutor(n_workers)
    try:
        results = list(pool.map(answers, range(len(jobs))))
    except BaseException:  # such as Ctrl-C: nothing more is started, and what runs is ended
        pool.shutdown(wait=False, cancel_futures=True)
        for process in [*running]:
            process.end()
        raise
    finally:
        pool.shutdown()
    if not grouped:
        return [one for (one,) in results]
    return [results[k % n_workers][k // n_workers] for k in range(len(written))]


def answers_within(
    source: FunctionSource, neighbours: Neighbours, style: str, call: Call, seconds: float, *, number: int
) -> bool:
    """Return whether one call answers within `seconds`, in a process of its own that makes no other one.

    An exception is an answer. The time begins when the process has created the function.

    Args:
        source, neighbours, style: as for `ask`.
        call: the call.
        seconds: time limit, > 0.
        number: number of the process, which sets hashes and clock.

    Raises:
        ReleaseError: the process cannot create the function, or ends.
    """
    datasets = [packed(neighbours.side(side), source.python) for side in (0, 1)]
    requests = [_written(source, datasets, style, Request((call,)), number)]
    job = {"ask": "fresh", "path": import_path(source.python), "preload": [], "requests": requests}
    process = IsolatedProcess(_environment(source, number), python=source.python)
    try:
        process.ask(job, seconds, first=PROCESS_SECONDS)
    except ProcessOverdue:
        if process.worked:
            return False
    except ProcessEnded as error:
        raise ReleaseError(f"a call in a process of its own: {error}") from error
    finally:
        process.close()
    if not process.worked:
        raise ReleaseError("the function cannot be created in a process of its own.")
    return True


def _environment(source: FunctionSource, number: int) -> dict[str, str]:
    """Return the environment variables of a fresh process."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    return {**source.environment, "PYTHONHASHSEED": str(number), "PYTHONDONTWRITEBYTECODE": "1"} | threads


def _written(
    source: FunctionSource, datasets: list[bytes], style: str, request: Request, number: int
) -> dict[str, Any]:
    """Return the request of a fresh process as plain data."""
    return {
        "source": source.request,
        "datasets": datasets,
        "style": style,
        "calls": [(one.side, one.size, one.rng, one.seed) for one in request.calls],
        "names": list(request.names),
        "shift": 86_400 * number,
    }


def _answer(answer: Any) -> ProcessAnswer | None:
    if answer is None:
        return None
    lists = {name: tuple(map(str, answer[name])) for name in ("left", "read", "modules")}
    return ProcessAnswer(tuple(answer["results"]), constants=dict(answer["constants"]), **lists)
