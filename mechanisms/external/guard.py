"""Audited code is called inside a `Guard`: it may raise, exit or change the process as it likes.

    with Guard():                # around some calls
        guard = current()
        guard.begin()            # around each of them
        ...
        guard.end()

* **Signals.** Ctrl-C, SIGTERM and other signals that somebody handles arrive as exceptions inside the audited code,
  where they look like its own. The guard notes which exception a handler raised: that one always gets through, even
  where audited code has swallowed it. Every other exception, `KeyboardInterrupt` and `GeneratorExit` too, is the
  audited code's own.
* **State.** What belongs to the whole process (see `process_state`) is put back at the end, and named in `changed`.
  The global random states of numpy and Python start from the seed that is given.
* **Time.** A call that takes longer than `timeout` seconds is stopped.

All of it works in the main thread of a process only, which is where Python receives signals; elsewhere a guard does
nothing. A guard inside another one does nothing either.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import IO, Any

from ..errors import DpassayError, ParameterError, ReleaseError
from ..validation import positive
from .process_state import ProcessState

NAMES = "INT TERM HUP QUIT ABRT ALRM VTALRM PROF USR1 USR2 CHLD PIPE BREAK"
SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in NAMES.split() if hasattr(signal, f"SIG{name}"))
GRACE = 5.0
"""Seconds beyond twice the timeout after which a worker is ended whose call nothing else has stopped."""

_state: dict[str, Any] = {"open": None, "expendable": False, "timeout": None}


class Guard:
    """Around calls of audited code; see above.

    Args:
        name: of what is called, for messages.
        timeout: seconds that one call may take, > 0; None takes what `calls_take_at_most` says.
        seed: of the global random states; None leaves them as they are.

    After it was left, `changed` names what the audited code has changed in the process.
    """

    def __init__(self, name: str = "", *, timeout: float | None = None, seed: int | None = None) -> None:
        self.name = name
        self.changed: tuple[str, ...] = ()
        self.outside: BaseException | None = None
        self._timeout = _state["timeout"] if timeout is None else timeout
        self._seed = seed
        self._active = False
        self._process_id = 0
        self._handlers: dict[int, tuple[Any, Any]] = {}

    def __enter__(self) -> Guard:
        self._active = _state["open"] is None and threading.current_thread() is threading.main_thread()
        if self._active:
            if self._timeout is not None:
                self._since, self._alarm = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._process = ProcessState(self._seed)
            self._take_signals()
            self._process_id = os.getpid()
            _state["open"] = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not self._active:
            return
        replaced_names = self.put_back()  # before anything else, which may call them
        self._end_copies()
        _state["open"] = None
        replaced = self._return_signals()
        self.changed = (*self._process.restore(), *(["signal handlers"] if replaced else []))
        if self._timeout is not None and self._alarm[0] > 0.0:
            left = self._alarm[0] - (time.monotonic() - self._since)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), self._alarm[1])
        if self.outside is not None and error is not self.outside:
            raise self.outside
        if replaced_names and error is not None and error is not self.outside:
            said = (
                f"{self.name or 'the audited code'} changed {', '.join(replaced_names)}, which the library calls, too. "
                "Change it for the time of a call only, as unittest.mock.patch does, or in a process of its own."
            )
            if not isinstance(error, DpassayError):
                raise ReleaseError(f"no verdict: {said}") from error
            error.add_note(said)

    def put_back(self) -> tuple[str, ...]:
        """Put back what names of modules stand for, such as `numpy.sum`; return those that were changed."""
        return self._process.put_back_names() if self._active else ()

    def begin(self) -> None:
        """Before each call."""
        if self._timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, self._timeout)
            if _state["expendable"]:
                faulthandler.dump_traceback_later(2 * self._timeout + GRACE, exit=True, file=_nowhere())

    def end(self) -> None:
        """After each call, however it ended: raises what a signal handler has raised meanwhile."""
        if self._timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if _state["expendable"]:
                faulthandler.cancel_dump_traceback_later()
        self._end_copies()
        if self.outside is not None:
            raise self.outside

    def _end_copies(self) -> None:
        """Ends this process if it is a copy of the one that was called, made by audited code that forks."""
        if self._active and os.getpid() != self._process_id:
            os._exit(0)

    def _take_signals(self) -> None:
        """Every handler that is a Python function is called through the guard, which notes what it raises."""
        for number in SIGNALS:
            found = signal.getsignal(number)
            ours = self._noting(found) if callable(found) else found
            self._handlers[number] = (found, ours)
        if self._timeout is not None:
            self._handlers[signal.SIGALRM] = (signal.getsignal(signal.SIGALRM), self._noting(self._too_long))
        for number, (found, ours) in self._handlers.items():
            if ours is not found:
                signal.signal(number, ours)

    def _return_signals(self) -> bool:
        """Puts the handlers back; True if the audited code had set others."""
        replaced = False
        for number, (found, ours) in self._handlers.items():
            now = signal.getsignal(number)
            replaced = replaced or now is not ours
            if now is not found and found is not None:
                signal.signal(number, found)
        return replaced

    def _noting(self, handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], Any]:
        def called(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                self.outside = error
                raise

        return called

    def _too_long(self, *_: object) -> None:
        raise ReleaseError(
            f"a call of {self.name} took longer than timeout={self._timeout:g} seconds. Give it more time, or find out "
            "why it hangs."
        )


_IDLE = Guard()


def current() -> Guard:
    """The guard that is open around the caller; one that does nothing where there is none."""
    found: Guard | None = _state["open"]
    return found if found is not None and threading.current_thread() is threading.main_thread() else _IDLE


@contextmanager
def calls_take_at_most(timeout: float | None) -> Iterator[None]:
    """Calls in guards without a timeout of their own may take this many seconds; None changes nothing.

    Raises:
        ParameterError: no positive number, or the system has no alarm clock.
    """
    if timeout is not None:
        positive(timeout=timeout)
        if not hasattr(signal, "setitimer"):
            raise ParameterError(
                "timeout cannot be kept on this system, which has no signal.setitimer. Leave it out.",
                argument="timeout",
            )
    before = _state["timeout"]
    _state["timeout"] = before if timeout is None else float(timeout)
    try:
        yield
    finally:
        _state["timeout"] = before


def expendable() -> None:
    """Says that this process may be ended when nothing else stops a call: a worker, which is not the user's own."""
    _state["expendable"] = True


def _nowhere() -> IO[str]:
    if "nowhere" not in _state:
        _state["nowhere"] = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open as long as the process lives
    nowhere: IO[str] = _state["nowhere"]
    return nowhere
