"""Child process for audited code, so that the parent reports its end and sets the exit code.

A function is audited in a process of its own (`IsolatedFunction`), which the child starts; the child never runs it.
Mechanisms and attacks of the user run in the child. They can end it by `os._exit(0)`, a signal or a crash, without an
exception. Therefore the child sends its exit code to the parent through a pipe, after a random token: bytes that
audited code writes into descriptors that it does not know are no exit code. A child that ends without sending one has
no verdict, whatever its process exit code is. A child whose parent has ended also ends.

No process outlives the command: neither workers nor processes that the audited code has started, including those whose
parent has ended. On Linux these are adopted by the nearest "subreaper" above them: the parent, or the child itself.

Ctrl-C, SIGTERM and SIGHUP become exceptions (`raise_on_signals`), for an orderly shutdown.
"""

from __future__ import annotations

import os
import platform
import secrets
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

LAST_SECONDS = 5.0
"""Seconds in which a child must end after it has sent its exit code."""
TOKEN_BYTES = 16
"""Length of the token before an exit code."""
GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
CATCHABLE = ("SIGINT", "SIGTERM", "SIGHUP")
SAME_MOMENT = 0.5
"""Seconds within which a signal that arrives twice, at a process and at its group, counts once."""
_PR_SET_CHILD_SUBREAPER, _PR_SET_DUMPABLE = 36, 4
_in_child = False


def in_child() -> bool:
    """Return True if this process is a supervised child, which may end at any time."""
    return _in_child


def supervised(work: Callable[[], int], *, unfinished: int) -> int:
    """Run `work` in a child process and return its exit code.

    Args:
        work: returns an exit code, 0 to 255.
        unfinished: exit code for a child that ended without returning one; a message on stderr gives the reason.
    """
    if not hasattr(os, "fork"):  # audited code must not decide the exit code
        from ...audit.trials.folder import UNSUPPORTED

        sys.stderr.write(f"dpassay: {UNSUPPORTED.format(system=platform.system())}\n")
        return unfinished
    _adopt_orphans()
    _close_memory()
    others = _descendants()  # processes that existed before are not ended
    done, result_pipe = os.pipe()
    alive, holder = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    token = secrets.token_bytes(TOKEN_BYTES)
    child = os.fork()
    if child == 0:
        os.close(done)
        os.close(holder)
        _run_child(work, result_pipe, alive, token)
    os.close(result_pipe)
    os.close(alive)
    received = _forward_signals(child)
    code, status = _wait(child, done, token)
    _end_descendants(others)
    if code is not None:
        return code
    process_code = os.waitstatus_to_exitcode(status)
    if received and process_code in (-received[-1], 128 + received[-1]):
        return 128 + received[-1]
    from ...mechanisms.adapters.functions.isolated import end_text

    sys.stderr.write(f"dpassay: {end_text(process_code)} Audited code must return or raise: there is no verdict.\n")
    return unfinished


def _run_child(work: Callable[[], int], result_pipe: int, alive: int, token: bytes) -> None:
    """Do the work, send its exit code to the parent, and exit."""
    global _in_child
    _in_child = True
    _adopt_orphans()
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    me = os.getpid()
    code = work()
    if os.getpid() == me:  # not in a fork made by the audited code
        with suppress(OSError):
            os.write(result_pipe, token + bytes([code]))
    sys.exit(code)


def _end_with(alive: int) -> None:
    """End this process and its _descendants when the other end of a pipe closes, because the parent has ended."""
    with suppress(OSError):
        os.read(alive, 1)
    _end_descendants()
    os._exit(128 + signal.SIGKILL)


def _adopt_orphans() -> None:
    """Make this process the parent of every orphaned descendant; no effect on systems without this feature."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _close_memory() -> None:
    """Keep other processes of this user from reading this one's memory and descriptors; its forks inherit this."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _descendants() -> set[int]:
    """Return the running _descendants of this process; empty on systems without /proc."""
    parents: dict[int, int] = {}
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir("/proc")  # noqa: PTH208 - Path.glob raises where a process ends meanwhile
    for name in filter(str.isdigit, names):
        with suppress(OSError, ValueError, IndexError):
            state, parent = Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(name)] = int(parent)
    processes: set[int] = set()
    new = {os.getpid()}
    while new := {process for process, parent in parents.items() if parent in new} - processes:
        processes |= new
    return processes


def _end_descendants(spared: Collection[int] = ()) -> None:
    """End the _descendants of this process: terminate all, kill all except the resource tracker, then kill that too.

    The resource tracker of joblib removes the semaphores of ended workers when no process uses them.
    """
    for number, all_of_them in ((signal.SIGTERM, True), (signal.SIGKILL, False), (signal.SIGKILL, True)):
        until = time.monotonic() + GRACE
        left = _descendants() - set(spared)
        for process in left:
            if all_of_them or b"resource_tracker" not in _command_line(process):
                with suppress(OSError):
                    os.kill(process, number)
        while left and time.monotonic() < until:
            time.sleep(0.02)
            left = _descendants() - set(spared)
        if not left:
            return


def _command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _forward_signals(child: int) -> list[int]:
    """Forward signals to the child, and return a list that collects them."""
    received: list[int] = []

    def forward(number: int, _: object) -> None:
        received.append(number)
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _catchable():
        signal.signal(number, forward)
    return received


def _wait(child: int, done: int, token: bytes) -> tuple[int | None, int]:
    """Return the exit code that the child sent, or None, and the wait status of its process."""
    os.set_blocking(done, False)
    status: int | None = None
    code, received = None, b""
    while code is None:
        closed = False
        if select.select([done], [], [], 0.2)[0]:
            with suppress(BlockingIOError):
                closed = not (content := os.read(done, 4096))
                received = (received + content)[-4096 - TOKEN_BYTES :]
        _, found, after = received.partition(token)
        code = after[0] if found and after else None
        if status is not None or closed:
            break
        status = _status(child, os.WNOHANG)  # and once more what it sent before its end
    if status is None:
        signal.signal(signal.SIGALRM, lambda *_: _kill(child))
        signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
        status = _status(child, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return code, status or 0


def _kill(child: int) -> None:
    """Kill a child that may have ended, and been waited for, at the same moment."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


def _status(child: int, options: int) -> int | None:
    ended, status = os.waitpid(child, options)
    return status if ended else None


class Terminated(KeyboardInterrupt):
    """Interruption by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """Return 128 plus the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def _catchable() -> list[int]:
    """Return the signals that this process does not ignore."""
    numbers = [getattr(signal, name) for name in CATCHABLE if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def raise_on_signals() -> None:
    """Make each of these signals raise a `KeyboardInterrupt`, at most once within `SAME_MOMENT` seconds."""
    last = [-SAME_MOMENT]

    def arrived(number: int, _: object) -> None:
        now = time.monotonic()
        repeated, last[0] = now - last[0] < SAME_MOMENT, now
        if repeated:
            return
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    for number in _catchable():
        signal.signal(number, arrived)
