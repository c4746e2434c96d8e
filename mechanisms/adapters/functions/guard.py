"""Guard inside which audited code is called, and short texts of its objects and errors.

Audited code may raise, exit or change the process in any way.

    with Guard():                # around some calls
        guard = current()
        guard.begin()            # around each of them
        ...
        guard.end()

* **Signals.** Ctrl-C, SIGTERM and other signals with a handler arrive as exceptions inside the audited code, where they
  look like its own. The guard records the exception that a handler raised: this one is always propagated, even if the
  audited code has swallowed it. Every other exception, including `KeyboardInterrupt` and `GeneratorExit`, belongs to
  the audited code.
* **State.** The state of the whole process (see `state.py`) is restored at the end, and changes are named in
  `changed`. The global random states of numpy and Python start from the given seed.
* **Time.** A call that takes longer than `timeout` seconds is stopped.

All of this works only in the main thread of a process, which is where Python receives signals; in other threads a guard
does nothing. The exception is a worker of a cluster, which runs its tasks in threads (`work_in_threads`): there guards
take turns and keep the state of the process, but they leave signals, and do not limit the time. A guard inside another
one does nothing.

Objects and errors of audited code are converted to short texts (`cut`, `short_repr`, `in_words`, `class_name`),
whatever their methods return or raise.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from types import FrameType, TracebackType
from typing import IO, Any

from ...core.errors import DpassayError, NoAnswerError, ParameterError, ReleaseError
from ...core.number_text import parameter_text
from ...core.validation import positive
from .state import PYTHON_RANDOM_STATE, ProcessState

SIGNAL_NAMES = "INT TERM HUP QUIT ABRT ALRM VTALRM PROF USR1 USR2 CHLD PIPE BREAK"
CAUGHT_SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in SIGNAL_NAMES.split() if hasattr(signal, f"SIG{name}"))
GRACE_SECONDS = 5.0
"""Seconds after twice the timeout at which a worker is ended if nothing else has stopped its call."""

_state: dict[str, Any] = {"open": None, "expendable": False, "timeout": None, "in_threads": False}
_turn = threading.RLock()
"""Held by the thread of a cluster's worker whose guard is open."""


class Guard:
    """Context manager for calls of audited code; see the module.

    Args:
        name: name of the called object, for messages.
        timeout: time limit of one call in seconds, > 0; None takes the limit of `limit_calls`.
        seed: seed of the global random states; None does not change them.

    On exit, `changed` names everything that the audited code has changed in the process.
    """

    def __init__(self, name: str = "", *, timeout: float | None = None, seed: int | None = None) -> None:
        self.name = name
        self.changed: tuple[str, ...] = ()
        self.outside: BaseException | None = None
        self._reported: tuple[str, ...] = ()
        self._n_seeds = 0
        self._timeout = _state["timeout"] if timeout is None else timeout
        self._seed = seed
        self._active = self._in_turn = False
        self._thread = threading.current_thread()
        self._process_id = 0
        self._handlers: dict[int, tuple[Any, Any]] = {}

    def __enter__(self) -> Guard:
        self._thread = threading.current_thread()
        is_main = self._thread is threading.main_thread()
        self._in_turn = _state["in_threads"] and not is_main
        if self._in_turn:
            _turn.acquire()
        self._active = _state["open"] is None and (is_main or self._in_turn)
        if self._active:
            if self._in_turn:
                self._timeout = None
            if self._timeout is not None:
                self._since, self._alarm = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._process = ProcessState(self._seed)
            if is_main:
                self._take_signals()
            self._process_id = os.getpid()
            _state["open"] = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._close(error)
        finally:
            if self._in_turn:
                _turn.release()

    def _close(self, error: BaseException | None) -> None:
        if not self._active:
            return
        replaced_names = self.put_back()  # before anything else, which may call them
        self._end_copies()
        _state["open"] = None
        replaced = self._return_signals()
        changed = [name for name in self._process.restore() if not (self._in_turn and name == PYTHON_RANDOM_STATE)]
        self.changed = (*changed, *(["signal handlers"] if replaced else []), *self._reported)
        if self._timeout is not None and self._alarm[0] > 0.0:
            remaining = self._alarm[0] - (time.monotonic() - self._since)
            signal.setitimer(signal.ITIMER_REAL, max(remaining, 1e-3), self._alarm[1])
        if self.outside is not None and error is not self.outside:
            raise self.outside
        if replaced_names and error is not None and error is not self.outside:
            message = (
                f"{self.name or 'the audited code'} changed {', '.join(replaced_names)}, which the library also calls. "
                "Change it only during a call, as unittest.mock.patch does, or in a separate process."
            )
            if not isinstance(error, DpassayError):
                raise ReleaseError(f"no verdict: {message}") from error
            error.add_note(message)

    def put_back(self) -> tuple[str, ...]:
        """Put back what names of modules stand for, such as `numpy.sum`; return those that were changed."""
        return self._process.put_back_names() if self._active else ()

    def begin(self) -> None:
        """Prepare one call; to be called before it."""
        if self._timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, self._timeout)
            if _state["expendable"]:
                faulthandler.dump_traceback_later(2 * self._timeout + GRACE_SECONDS, exit=True, file=_nowhere())

    def end(self) -> None:
        """Finish one call, however it ended; raise the exception that a signal handler raised during the call."""
        if self._timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if _state["expendable"]:
                faulthandler.cancel_dump_traceback_later()
        self._end_copies()
        if self.outside is not None:
            raise self.outside

    @property
    def timeout(self) -> float | None:
        """Time limit of one call in seconds."""
        return self._timeout

    def next_seed(self) -> int | None:
        """Return the seed of the global random states of another process for its next runs inside this guard."""
        if self._seed is None or not self._active:
            return None
        self._n_seeds += 1
        return self._seed if self._n_seeds == 1 else self._seed + (self._n_seeds << 64)

    def report(self, changed: tuple[str, ...]) -> None:
        """Add names of what audited code changed in another process."""
        if self._active:
            self._reported += tuple(name for name in changed if name not in self._reported)

    def _end_copies(self) -> None:
        """End this process if it is a copy of the process that was called, made by audited code that forks."""
        if self._active and os.getpid() != self._process_id:
            os._exit(0)

    def _take_signals(self) -> None:
        """Replace every handler that is a Python function by one that records the exception that it raises."""
        for number in CAUGHT_SIGNALS:
            original = signal.getsignal(number)
            ours = self._noting(original) if callable(original) else original
            self._handlers[number] = (original, ours)
        if self._timeout is not None:
            self._handlers[signal.SIGALRM] = (signal.getsignal(signal.SIGALRM), self._noting(self._too_long))
        for number, (original, ours) in self._handlers.items():
            if ours is not original:
                signal.signal(number, ours)

    def _return_signals(self) -> bool:
        """Restore the handlers; return True if the audited code had set others."""
        replaced = False
        for number, (original, ours) in self._handlers.items():
            current_handler = signal.getsignal(number)
            replaced = replaced or current_handler is not ours
            if current_handler is not original and original is not None:
                signal.signal(number, original)
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
        raise NoAnswerError(too_long(self.name, self._timeout))


def too_long(name: str, timeout: float | None) -> str:
    """Return the message on a call that took longer than its limit."""
    limit = parameter_text(timeout or 0.0)
    return f"a call of {name} took longer than timeout={limit} seconds. Give it more time, or find out why it hangs."


_IDLE = Guard()


def current_guard() -> Guard:
    """Return the guard that is open around the caller, or one that does nothing."""
    guard: Guard | None = _state["open"]
    return guard if guard is not None and threading.current_thread() is guard._thread else _IDLE


@contextmanager
def limit_calls(timeout: float | None) -> Iterator[None]:
    """Limit calls in guards without a separate timeout to this many seconds; None changes nothing.

    Raises:
        ParameterError: `timeout` is not a positive number, or the system has no alarm clock.
    """
    if timeout is not None:
        positive(timeout=timeout)
        if not hasattr(signal, "setitimer"):
            raise ParameterError(
                "timeout is not supported on this system, which has no signal.setitimer. Leave it out.",
                argument="timeout",
            )
    before = _state["timeout"]
    _state["timeout"] = before if timeout is None else float(timeout)
    try:
        yield
    finally:
        _state["timeout"] = before


def mark_expendable() -> None:
    """Declare that this process may be ended if nothing else stops a call: a worker, not the user's process."""
    _state["expendable"] = True


def work_in_threads() -> None:
    """Declare that this process is a worker of a cluster, whose tasks run in threads: guards take turns there."""
    _state["in_threads"] = True


def _nowhere() -> IO[str]:
    if "nowhere" not in _state:
        _state["nowhere"] = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open as long as the process lives
    nowhere: IO[str] = _state["nowhere"]
    return nowhere


MAX_LABEL_LENGTH = 60
"""Largest number of characters of a label, digest included."""


def cut(text: str) -> str:
    """Return `text` if it is short, otherwise its beginning and a digest; escape what UTF-8 cannot hold."""
    clean = printable(text)
    if len(clean) <= MAX_LABEL_LENGTH and clean == text:
        return text
    return f"{clean[: MAX_LABEL_LENGTH - 13]}... #{digest(text).hex()}"


def printable(text: str) -> str:
    r"""Return `text` with lone surrogates, which files and terminals refuse, as escapes such as \ud800."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def short_repr(value: Any) -> str:
    """Return the `repr` of any object, cut to a label; its class if `repr` raises."""
    try:
        return cut(repr(value))
    except BaseException as error:
        return f"<a {class_name(value)}, whose repr raises {class_name(error)}>"


def in_words(error: BaseException) -> str:
    """Return an exception as text: "ValueError: its message"."""
    message = message_of(error)
    return f"{class_name(error)}: {printable(message)}" if message else class_name(error)


def message_of(error: BaseException) -> str:
    """Return the message of an exception, whatever its `__str__` does."""
    try:
        return str(error)
    except BaseException as worse:
        return f"<a message that raises {class_name(worse)}>"


def class_name(value: Any) -> str:
    """Return the name of the class of any object, whatever its metaclass does."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def digest(text: str) -> bytes:
    """Return four bytes that differ between different texts, except for one pair in 2^32."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest()
