"""Who receives how far the work is."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from ...mechanisms.printable import line


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


def reporter_for(progress: bool | Reporter) -> Reporter:
    """True: a bar; False: silence; a reporter: itself."""
    if isinstance(progress, bool):
        return Bar() if progress else Silent()
    return progress
