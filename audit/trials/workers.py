"""Worker processes: they end with the process that started them, and their death is an error that names its cause.

What joblib keeps in shared memory for them, semaphores and folders, is removed by its resource tracker. Where that was
killed as well, the next process that starts workers removes it: each one has a file there that it locks while it lives.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import threading
import time
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ...mechanisms.errors import ParameterError, ReleaseError
from ...mechanisms.external.guard import expendable

WATCH_SECONDS = 0.5
"""Between two looks whether the parent still lives."""

SHARED = Path("/dev/shm")
"""Where Linux keeps semaphores, and joblib what workers share."""
_OWNER = "dpassay-workers-{}"
_KEPT = ("sem.loky-{}-*", "joblib_memmapping_folder_{}_*")


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
        _note_owner(os.getpid())
        return {"initializer": begin_worker, "initargs": (os.getpid(),)}
    if timeout is not None and prefer == "processes":
        raise ParameterError(
            f"timeout is {timeout:g}, but workers of the joblib backend {type(backend).__name__} cannot be "
            "interrupted. Leave timeout out, or run on this machine, without joblib.parallel_config.",
            argument="timeout",
        )
    return {}


@cache
def _note_owner(process: int) -> None:
    """Remove what dead owners left in shared memory, and note that this process owns what it will keep there."""
    with suppress(ImportError, OSError):
        remove_left_behind()
        mine = SHARED / _OWNER.format(process)
        if _locked(mine, os.O_CREAT) is not None:  # stays open, and locked, as long as this process lives
            atexit.register(_forget_owner, mine, process)


def _forget_owner(file: Path, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):
            file.unlink()


def remove_left_behind() -> None:
    """Remove semaphores and folders of workers whose owner, a process of this user and this library, is dead."""
    for file in SHARED.glob(_OWNER.format("[0-9]*")):
        descriptor = _locked(file)
        if descriptor is None:
            continue
        process = file.name.rpartition("-")[2]
        for left in [left for pattern in _KEPT for left in SHARED.glob(pattern.format(process))]:
            with suppress(OSError):
                if left.lstat().st_uid != os.geteuid():
                    continue
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()
        with suppress(OSError):
            file.unlink()
        os.close(descriptor)


def _locked(file: Path, flags: int = 0) -> int | None:
    """A descriptor of the file, locked by this process; None where another one has it, or another user owns it."""
    import fcntl

    with suppress(OSError):
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
        with suppress(OSError):
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
        os.close(descriptor)
    return None


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
