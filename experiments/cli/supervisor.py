"""A child process for audited code: whatever ends it, the parent says so, and with which exit code.

Audited code can end the process that it runs in, by `os._exit(0)`, a signal or a crash; no exception shows it. So
the work is done in a child, which passes its exit code on by a pipe. A child that ends without having done so has come
to no verdict, whatever its own exit code says. A child whose parent is gone ends too.

Nothing outlives the command: workers, and whatever processes the audited code has started, also those that have left
their parent. On Linux they come back to the nearest "subreaper" above them, which is the parent, or the child itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from .signals import catchable

LAST_SECONDS = 5.0
"""How long a child that has passed on its exit code may take to end."""
GRACE = 1.0
"""Seconds that a process has to end when it is asked to, before it is killed."""
_PR_SET_CHILD_SUBREAPER = 36
_in_child = False


def in_child() -> bool:
    """Whether this process is a supervised child, which may end at any time."""
    return _in_child


def supervised(work: Callable[[], int], *, unfinished: int) -> int:
    """The exit code that `work`, run in a child, returns there.

    Args:
        work: returns an exit code, 0 to 255.
        unfinished: what stands for the exit code of a child that ended without returning one; stderr says how.
    """
    if not hasattr(os, "fork"):
        return work()
    adopt_orphans()
    others = descendants()  # those that were there before: no business of ours
    done, tell = os.pipe()
    alive, holder = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(done)
        os.close(holder)
        _be_child(work, tell, alive)
    os.close(tell)
    os.close(alive)
    received = _forward_signals(child)
    code, status = _wait(child, done)
    end_descendants(others)
    if code is not None:
        return code
    how = os.waitstatus_to_exitcode(status)
    if received and how in (-received[-1], 128 + received[-1]):
        return 128 + received[-1]
    sys.stderr.write(f"dpassay: {_how(how)} Audited code must return or raise: there is no verdict.\n")
    return unfinished


def _be_child(work: Callable[[], int], tell: int, alive: int) -> None:
    """Does the work, passes its exit code on, and exits."""
    global _in_child
    _in_child = True
    adopt_orphans()
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    me = os.getpid()
    code = work()
    if os.getpid() == me:  # and no copy that the audited code has made
        with suppress(OSError):
            os.write(tell, bytes([code]))
    sys.exit(code)


def _end_with(alive: int) -> None:
    """Ends this process, and all below it, when the other end of a pipe closes, because the parent is gone."""
    with suppress(OSError):
        os.read(alive, 1)
    end_descendants()
    os._exit(128 + signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the parent of every process below it that loses its own; no effect where that is unknown."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> set[int]:
    """Return the processes below this one that have not ended; none where there is no /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(stat.parent.name)] = int(parent)
    found: set[int] = set()
    new = {os.getpid()}
    while new := {process for process, parent in parents.items() if parent in new} - found:
        found |= new
    return found


def end_descendants(spared: Collection[int] = ()) -> None:
    """End the processes below this one: ask them, then kill all but the resource tracker, then kill that one too.

    The resource tracker of joblib removes the semaphores of workers that are gone when nobody is left who uses them.
    """
    for number, all_of_them in ((signal.SIGTERM, True), (signal.SIGKILL, False), (signal.SIGKILL, True)):
        until = time.monotonic() + GRACE
        left = descendants() - set(spared)
        for process in left:
            if all_of_them or b"resource_tracker" not in _command_line(process):
                with suppress(OSError):
                    os.kill(process, number)
        while left and time.monotonic() < until:
            time.sleep(0.02)
            left = descendants() - set(spared)
        if not left:
            return


def _command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _forward_signals(child: int) -> list[int]:
    """Hands signals on to the child; the list holds those that came."""
    received: list[int] = []

    def forward(number: int, _: object) -> None:
        received.append(number)
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in catchable():
        signal.signal(number, forward)
    return received


def _wait(child: int, done: int) -> tuple[int | None, int]:
    """The exit code that the child passed on, None if none; and the status that it ended with."""
    os.set_blocking(done, False)
    status: int | None = None
    while status is None and not select.select([done], [], [], 0.2)[0]:
        status = _status(child, os.WNOHANG)
    try:
        content = os.read(done, 1)
    except BlockingIOError:
        content = b""
    if status is None:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
        status = _status(child, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return (content[0] if content else None), status or 0


def _status(child: int, options: int) -> int | None:
    ended, status = os.waitpid(child, options)
    return status if ended else None


def _how(code: int) -> str:
    """How a child ended, in a sentence."""
    if code >= 0:
        return f"the audited code ended its process with exit code {code}."
    with suppress(ValueError):
        return f"the process of the audited code was ended by {signal.Signals(-code).name}."
    return f"the process of the audited code was ended by signal {-code}."
