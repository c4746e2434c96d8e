"""Ctrl-C, SIGTERM and SIGHUP as exceptions, so that what was begun is left in order."""

from __future__ import annotations

import signal
import time

CATCHABLE = ("SIGINT", "SIGTERM", "SIGHUP")
SAME_MOMENT = 0.5
"""Seconds in which a signal that comes twice, to a process and to its group, is one."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """128 and the number of the signal, as shells have it: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def catchable() -> list[int]:
    """Signals that this process was not set to ignore."""
    numbers = [getattr(signal, name) for name in CATCHABLE if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def raise_on_signals() -> None:
    """From now on each of these signals raises a `KeyboardInterrupt`, once a moment."""
    last = [-SAME_MOMENT]

    def arrived(number: int, _: object) -> None:
        now = time.monotonic()
        again, last[0] = now - last[0] < SAME_MOMENT, now
        if again:
            return
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    for number in catchable():
        signal.signal(number, arrived)
