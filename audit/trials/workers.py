"""Workers: processes of this machine, which end with the process that started them, and workers of a cluster.

The death of a worker is an error that names its cause. Work for a cluster is pickled once, with user code by value, so
that its workers need no file of the user. Dask keeps it at the scheduler: no worker is the only one that has it.

The resource tracker of joblib removes its semaphores and folders in shared memory. If the tracker was killed as well,
the next process that starts workers removes them: each owner has a file there that it locks while it lives.
"""

from __future__ import annotations

import atexit
import os
import pickle
import platform
import re
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent import futures
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pickle import PicklingError
from typing import Any

from ...mechanisms.adapters.functions.guard import mark_expendable, work_in_threads
from ...mechanisms.adapters.functions.source import cloudpickle
from ...mechanisms.core import ClusterError, DpassayError, ParameterError, ReleaseError, number
from .options import versions

WATCH_SECONDS = 0.5
"""Seconds between two checks that the parent is alive."""

SHARED_MEMORY_FOLDER = Path("/dev/shm")
"""Folder of semaphores on Linux, and of the shared memory of joblib."""
_OWNER_NAME = "dpassay-workers-{}"
_PATTERNS = ("sem.loky-{}-*", "joblib_memmapping_folder_{}_*")


def _begin_worker(parent: int, path: tuple[str, ...]) -> None:
    """Prepare a worker; called once in each worker, before its first task.

    The parent handles Ctrl-C and ends its workers. A worker whose parent was killed ends by itself, instead of waiting
    minutes for tasks and keeping the pipes of its output open.

    Args:
        parent: id of the process that starts the worker.
        path: folders from which that process imports modules. joblib replaces idle workers that began with another
            path, so that a worker finds all modules that the parent can import.
    """
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    mark_expendable()
    if hasattr(os, "getppid"):
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


@dataclass(frozen=True, eq=False)
class PickledWork:
    """Pickled work for the workers of a cluster.

    Args:
        content: the work.
        versions: of the packages that trials depend on, where it was packed.
    """

    content: bytes
    versions: Mapping[str, str]

    def open(self) -> Any:
        """Return the work; raise `ClusterError` if this worker has other versions, or lacks a module."""
        difference = different_versions(self.versions)
        if difference:
            raise ClusterError(f"a worker on {platform.node()} has {difference}. Install the same versions everywhere.")
        work_in_threads()
        try:
            return pickle.loads(self.content)
        except ImportError as error:
            raise ClusterError(
                f"a worker on {platform.node()} cannot import a module that the trials need ({error}). Install it on "
                "all workers; or, for a file of your own, add --allow FILE.py, or call "
                "cloudpickle.register_pickle_by_value(module)."
            ) from error


def different_versions(wanted: Mapping[str, str]) -> str:
    """Return the versions of this process that differ from the given ones, in words; empty if none does."""
    here = versions()
    return ", ".join(f"{name} {here[name]} instead of {wanted[name]}" for name in here if here[name] != wanted[name])


def as_future(work: Any, client: Any) -> Any:
    """Return the work as a Dask future, which the scheduler can make again from its pickle if a worker is lost."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(PickledWork, cloudpickle().dumps(work), versions(), pure=False)


def dask_client(prefer: str) -> Any:
    """Return the client of the active backend of joblib, if that is Dask; None for another backend."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer=prefer)
    return getattr(backend, "client", None)


def n_threads(client: Any) -> int:
    """Return the number of threads of all workers of a Dask client."""
    return sum(client.nthreads().values())


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(128 + signal.SIGTERM)


def options(prefer: str, timeout: float | None = None) -> dict[str, Any]:
    """Return extra arguments for `joblib.Parallel`, if it starts worker processes on this machine.

    Raises:
        ParameterError: a timeout for functions on workers of a cluster, which run in threads that no alarm can stop.
    """
    from joblib.parallel import LokyBackend, get_active_backend

    backend, _ = get_active_backend(prefer=prefer)
    if isinstance(backend, LokyBackend):
        _note_owner(os.getpid())
        return {"initializer": _begin_worker, "initargs": (os.getpid(), tuple(sys.path))}
    if timeout is not None and prefer == "processes":
        raise ParameterError(
            f"timeout is {timeout:g}, but workers of the joblib backend {type(backend).__name__} cannot be "
            "interrupted. Leave timeout out, or run on this machine, without joblib.parallel_config.",
            argument="timeout",
        )
    return {}


@cache
def _note_owner(process: int) -> None:
    """Remove the shared memory of dead owners, and register this process as an owner."""
    with suppress(ImportError, OSError):
        _remove_left_behind()
        owner_file = SHARED_MEMORY_FOLDER / _OWNER_NAME.format(process)
        if _locked(owner_file, os.O_CREAT) is not None:  # stays open and locked while this process lives
            atexit.register(_forget_owner, owner_file, process)


def _forget_owner(file: Path, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):
            file.unlink()


def _remove_left_behind() -> None:
    """Remove semaphores and folders of workers whose owner, a process of this user and this library, is dead."""
    for file in SHARED_MEMORY_FOLDER.glob(_OWNER_NAME.format("[0-9]*")):
        descriptor = _locked(file)
        if descriptor is None:
            continue
        process = file.name.rpartition("-")[2]
        for path in [path for pattern in _PATTERNS for path in SHARED_MEMORY_FOLDER.glob(pattern.format(process))]:
            with suppress(OSError):
                if path.lstat().st_uid != os.geteuid():
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
        with suppress(OSError):
            file.unlink()
        os.close(descriptor)


def _locked(file: Path, flags: int = 0) -> int | None:
    """Return a descriptor of the file, locked by this process; None if another process or user owns it."""
    import fcntl

    with suppress(OSError):
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
        with suppress(OSError):
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
        os.close(descriptor)
    return None


@contextmanager
def named_errors(name: str, timeout: float | None, client: Any = None) -> Iterator[None]:
    """Convert errors of joblib and of its workers to errors that name their cause and the next step.

    Args:
        name: display name of what the workers run.
        timeout: seconds that one of its calls may take.
        client: of the Dask cluster that runs it, if one does.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise _worker_died_error(error, name, timeout) from error
    except PicklingError as error:
        raise ReleaseError(
            f"{name} cannot be sent to worker processes ({error}). Use n_jobs=1, or remove the parts that cannot "
            "be pickled."
        ) from error
    except _no_answer() as error:
        if isinstance(error, DpassayError):
            raise
        raise cluster_lost_error(str(error)) from error
    except Exception as error:
        if client is not None and client.status != "running" and not isinstance(error, DpassayError):
            raise cluster_lost_error(str(error)) from error  # which error depends on the interrupted call
        if type(error).__name__ != "KilledWorker":
            raise
        raise ReleaseError(
            f"{name} has ended several workers of the cluster, one after the other, as os._exit or too little memory "
            "does. There is no result without its runs. Try a few trials on this machine to see where it happens."
        ) from error


def _no_answer() -> tuple[type[BaseException], ...]:
    """Return the errors of a cluster that does not answer; asyncio is imported only after an error."""
    from asyncio import CancelledError

    general = CancelledError, futures.CancelledError, TimeoutError, ConnectionError
    if "distributed" not in sys.modules:
        return general
    from distributed.comm import CommClosedError

    return *general, CommClosedError


def cluster_lost_error(reason: str) -> ClusterError:
    """Return the error for a cluster that does not answer."""
    return ClusterError(
        f"the cluster does not answer: {' '.join(reason.split()).rstrip('.')}. Finished chunks in the store are safe: "
        "start the scheduler again, and run the same command; it continues from there."
    )


def _worker_died_error(error: BrokenExecutor, name: str, timeout: float | None) -> ReleaseError:
    """Return the error for a worker that died, or that could not read its task."""
    if "un-serialize" in str(error):
        return ReleaseError(
            f"a worker process cannot read {name}. Define it in a module that can be imported, without objects that "
            "are pickled by name, such as a function under functools.lru_cache in a script; or use n_jobs=1."
        )
    exit_codes = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
    codes = f" ({exit_codes[1]})" if exit_codes else ""
    late = "" if timeout is None else f" It may have ignored timeout={number(timeout)} seconds."
    return ReleaseError(
        f"a worker process that ran {name} died{codes}: {name} ended it, as os._exit does, "
        f"crashed, or used up the memory.{late} There is no result without its runs. Try n_jobs=1 to see where it "
        "happens."
    )
