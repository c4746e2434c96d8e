"""Who receives how far the work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from ...mechanisms.printable import line
from .plan import Chunk


class Reporter(Protocol):
    """Receives the progress of the work. All counts are runs, both sides together."""

    def start(self, stage: str, total: int) -> None:
        """A stage ("pilot", "evaluation") of `total` runs begins."""

    def advance(self, runs: int, note: str = "") -> None:
        """`runs` more are done; `note` says what is known so far."""

    def message(self, text: str) -> None:
        """Something that the user should know, such as a damaged chunk that is recomputed."""

    def close(self) -> None:
        """The work is over, or was interrupted."""


class Silent:
    """Says nothing, but for messages, which go to stderr."""

    def start(self, stage: str, total: int) -> None:
        """Nothing to say."""

    def advance(self, runs: int, note: str = "") -> None:
        """Nothing to say."""

    def message(self, text: str) -> None:
        """One line on stderr."""
        sys.stderr.write(f"dpassay: {line(text)}\n")

    def close(self) -> None:
        """Nothing to say."""


NUMBERS = 62
"""Columns that the numbers of a bar take at most: runs done of all, rate, time left and the note."""
SHORTEST_NAME = 12


class Bar(Silent):
    """A rich progress bar: runs done, rate, time left, current note. Quiet when stderr is not a terminal.

    Where the terminal is narrow the name is cut and the bar shrinks; numbers stay whole.

    Args:
        name: of the audit, where it is one of several.
    """

    def __init__(self, name: str = "") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),  # the one column that may shrink
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
        """Begins a line for the stage."""
        self._progress.start()
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(self._described(stage), total=total, rate="", note="")

    def _described(self, stage: str) -> str:
        """Name and stage, as much of the name as there is room for."""
        room = max(SHORTEST_NAME, self._progress.console.width - NUMBERS - len(stage))
        name = self._name if len(self._name) <= room else self._name[: room - 1] + "…"
        return f"{name} {stage}".lstrip()

    def advance(self, runs: int, note: str = "") -> None:
        """Moves the bar."""
        self.moved = True
        task = self._progress.tasks[0] if self._progress.tasks else None
        rate = f"{task.speed:,.0f}/s" if task is not None and task.speed else ""
        self._note = note or self._note
        self._progress.update(self._task, advance=runs, rate=rate, note=self._note)

    def message(self, text: str) -> None:
        """One line above the bar."""
        self._progress.console.print(f"dpassay: {line(text)}", highlight=False, markup=False)

    def close(self) -> None:
        """Takes the bar away."""
        self._progress.stop()


MEASURED_SECONDS, LONG_SECONDS = 2.0, 60.0
"""How long the first chunks of a stage are timed, and from which remaining time on it is announced."""


class TimeLeft:
    """Announces once how long a stage will take, extrapolated from its first chunks, where that is over a minute.

    Args:
        first: the first chunk; a stage that goes on after another round is not announced again.
        n_runs: how many runs there are to do; asked once.
        reporter: is told; not one that is silent.
    """

    def __init__(self, first: Chunk, n_runs: Callable[[], int], reporter: Reporter) -> None:
        self._stage, self._n_runs, self._reporter = first.stage.label, n_runs, reporter
        self._open = first.start == 0 and type(reporter) is not Silent
        self._began, self._done = time.monotonic(), 0

    def add(self, runs: int) -> None:
        """So many more runs are done."""
        self._done += runs
        seconds = time.monotonic() - self._began
        if not self._open or seconds < MEASURED_SECONDS:
            return
        self._open, n_runs = False, self._n_runs()
        left = seconds * (n_runs - self._done) / self._done
        if left >= LONG_SECONDS:
            said = f"about {in_words(left)} left, as the first {self._done:,} of {n_runs:,} runs show"
            self._reporter.message(f"{self._stage}: {said}")


def in_words(seconds: float) -> str:
    """Return a long time in the largest unit that it fills.

    >>> in_words(90.0), in_words(8_000.0), in_words(1e6)
    ('2 minutes', '2 hours', '12 days')
    """
    for size, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3_600.0, "hours")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 60.0:.0f} minutes"


def reporter_for(progress: bool | Reporter) -> Reporter:
    """True: a bar; False: silence; a reporter: itself."""
    if isinstance(progress, bool):
        return Bar() if progress else Silent()
    return progress
