"""Worker processes: they end with the process that started them, and their death is an error that names its cause."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from concurrent.futures import BrokenExecutor
from typing import Any

from ...mechanisms.errors import ParameterError, ReleaseError
from ...mechanisms.external.guard import expendable

WATCH_SECONDS = 0.5
"""Between two looks whether the parent still lives."""


def begin_worker(parent: int) -> None:
    """Called once in each worker, before its first task.

    Ctrl-C goes to the parent, which ends its workers; a worker whose parent was killed ends by itself, instead of
    waiting minutes for tasks and holding the pipes of those who wait for the output.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    expendable()
    if hasattr(os, "getppid"):
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(128 + signal.SIGTERM)


def options(prefer: str, timeout: float | None = None) -> dict[str, Any]:
    """What `joblib.Parallel` is given beyond its usual arguments, where it starts worker processes of this machine.

    Raises:
        ParameterError: a timeout for functions whose workers a cluster starts: they run in threads there, which no
            alarm clock can stop.
    """
    from joblib.parallel import LokyBackend, get_active_backend

    backend, _ = get_active_backend(prefer=prefer)
    if isinstance(backend, LokyBackend):
        return {"initializer": begin_worker, "initargs": (os.getpid(),)}
    if timeout is not None and prefer == "processes":
        raise ParameterError(
            f"timeout is {timeout:g}, but workers of the joblib backend {type(backend).__name__} cannot be "
            "interrupted. Leave timeout out, or run on this machine, without joblib.parallel_config.",
            argument="timeout",
        )
    return {}


def died(error: BrokenExecutor, name: str, timeout: float | None) -> ReleaseError:
    """What the death of a worker is called, or of one that could not read its task."""
    if "un-serialize" in str(error):
        return ReleaseError(
            f"a worker process cannot read {name}. Define it in a module that can be imported, without what is known "
            "by its name only, such as a function under functools.lru_cache in a script; or use n_jobs=1."
        )
    how = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
    late = "" if timeout is None else f" It may have ignored timeout={timeout:g} seconds."
    return ReleaseError(
        f"a worker process that ran {name} died{f' ({how[1]})' if how else ''}: {name} ended it, as os._exit does, "
        f"crashed, or used up the memory.{late} There is no result without its runs. Try n_jobs=1 to see where it "
        "happens."
    )
