"""Reporters, which receive the progress of the work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from ...mechanisms.core import fixed, line
from .plan import Chunk


class Reporter(Protocol):
    """The interface that receives the progress of the work. All counts are runs, both sides together."""

    def start(self, stage: str, total: int) -> None:
        """Report the start of a stage ("pilot", "evaluation") of `total` runs."""

    def advance(self, runs: int, note: str = "") -> None:
        """Report that `runs` more runs are done; `note` describes the current results."""

    def message(self, text: str) -> None:
        """Report a message to the user, such as a damaged chunk that is recomputed."""

    def close(self) -> None:
        """End the report: the work is done, or was interrupted."""


class SilentReporter:
    """A reporter that prints only messages, to stderr."""

    def start(self, stage: str, total: int) -> None:
        """Do nothing."""

    def advance(self, runs: int, note: str = "") -> None:
        """Do nothing."""

    def message(self, text: str) -> None:
        """Print one line to stderr."""
        sys.stderr.write(f"dpassay: {line(text)}\n")

    def close(self) -> None:
        """Do nothing."""


MAX_NUMBERS_WIDTH = 62
"""Largest width of the numbers of a bar: runs done, all runs, rate, time left and the note."""
MIN_NAME_WIDTH = 12


class ProgressBar(SilentReporter):
    """A rich progress bar: runs done, rate, time left, current note. Hidden if stderr is not a terminal.

    In a narrow terminal the name is cut and the bar shrinks; numbers are never cut.

    Args:
        name: name of the audit, if it is one of several.
    """

    def __init__(self, name: str = "") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),  # the only column that narrows on small terminals
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._name = line(name)
        self._task: Any = None
        self._note = ""
        self.moved = False

    def start(self, stage: str, total: int) -> None:
        """Start a bar for the stage."""
        self._progress.start()
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(self._described(stage), total=total, rate="", note="")

    def _described(self, stage: str) -> str:
        """Return the name, cut to the available width, and the stage."""
        width = max(MIN_NAME_WIDTH, self._progress.console.width - MAX_NUMBERS_WIDTH - len(stage))
        name = self._name if len(self._name) <= width else self._name[: width - 1] + "…"
        return f"{name} {stage}".lstrip()

    def advance(self, runs: int, note: str = "") -> None:
        """Advance the bar."""
        self.moved = True
        task = self._progress.tasks[0] if self._progress.tasks else None
        rate = f"{fixed(task.speed, 0)}/s" if task is not None and task.speed else ""
        self._note = note or self._note
        self._progress.update(self._task, advance=runs, rate=rate, note=self._note)

    def message(self, text: str) -> None:
        """Print one line above the bar."""
        self._progress.console.print(f"dpassay: {line(text)}", highlight=False, markup=False)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


MEASURED_SECONDS, LONG_SECONDS = 2.0, 60.0
"""Time for which the first chunks of a stage are timed, and the shortest time that is announced."""


SILENT_SECONDS = 300.0
"""Shortest time that is announced although no progress was asked for."""


def is_long(seconds: float, reporter: Reporter) -> bool:
    """Return whether work takes so long that a line announces it."""
    return seconds >= (SILENT_SECONDS if type(reporter) is SilentReporter else LONG_SECONDS)


class TimeLeft:
    """A single announcement of the remaining time of a stage, extrapolated from its first chunks, if it is long.

    Args:
        first: the first chunk; a stage that continues after another round is not announced again.
        n_runs: returns the number of runs of the stage; called once.
        reporter: receives the announcement.
    """

    def __init__(self, first: Chunk, n_runs: Callable[[], int], reporter: Reporter) -> None:
        self._stage, self._n_runs, self._reporter = first.stage.label, n_runs, reporter
        self._open = first.start == 0
        self._began, self._done = time.monotonic(), 0

    def add(self, runs: int) -> None:
        """Count `runs` finished runs, and announce the remaining time when it is known."""
        self._done += runs
        seconds = time.monotonic() - self._began
        if not self._open or seconds < MEASURED_SECONDS:
            return
        self._open, n_runs = False, self._n_runs()
        remaining = seconds * (n_runs - self._done) / self._done
        if is_long(remaining, self._reporter):
            message = f"about {in_words(remaining)} left, as the first {self._done:,} of {n_runs:,} runs show"
            self._reporter.message(f"{self._stage}: {message}")


def in_words(seconds: float) -> str:
    """Return a long time in the largest unit that it fills.

    >>> in_words(90.0), in_words(8_000.0), in_words(1e6)
    ('2 minutes', '2 hours', '12 days')
    """
    for size, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3_600.0, "hours")):
        if seconds >= 1.5 * size:
            return f"{fixed(seconds / size, 0)} {unit}"
    return f"{fixed(seconds / 60.0, 0)} minutes"


def reporter_for(progress: bool | Reporter) -> Reporter:
    """Return the reporter for an option: a bar for True, a silent one for False, or the reporter itself."""
    if isinstance(progress, bool):
        return ProgressBar() if progress else SilentReporter()
    return progress
