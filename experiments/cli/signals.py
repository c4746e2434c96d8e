"""Conversion of Ctrl-C, SIGTERM and SIGHUP to exceptions, for an orderly shutdown."""

from __future__ import annotations

import signal
import time

CATCHABLE = ("SIGINT", "SIGTERM", "SIGHUP")
SAME_MOMENT = 0.5
"""Seconds within which a signal that arrives twice, at a process and at its group, counts once."""


class Terminated(KeyboardInterrupt):
    """Interruption by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """Return 128 plus the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def catchable() -> list[int]:
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

    for number in catchable():
        signal.signal(number, arrived)
