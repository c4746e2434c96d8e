"""A result as a section of Markdown, and the summary of a GitHub step, which GitHub shows below the job.

GitHub names a file for it in `$GITHUB_STEP_SUMMARY`. Every command with a verdict appends its result there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ....audit.results.plain import plain
from ....audit.results.result_text import ResultText, TextTable
from ....mechanisms.core import StoreError, fenced, markdown, typeset

VARIABLE = "GITHUB_STEP_SUMMARY"
MAX_ROWS = 200
"""Largest number of rows of a table: GitHub shows at most 1 MiB a step."""


def step_summary_file() -> Path | None:
    """Return the file of the summary of this GitHub step; None outside of GitHub."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None


def append(file: Path, text: str) -> None:
    """Append text to a file; raises `StoreError` if it cannot be written."""
    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}. Choose another file.") from error


def section(text: ResultText, *, heading: str) -> str:
    """Return a result as a section of Markdown: its tables, or all of its text if it has no table.

    Args:
        text: of the result, without values of datasets and outputs.
        heading: what was done; the headline follows.
    """
    if text.table is None:
        lines = [fenced(plain(text, examples=False))]
    else:
        tables = [text.table, *(part.table for part in text.details if part.table is not None and not text.parts)]
        said = [text.answer, *(f"Next step: {step}" for step in text.next_steps)]
        lines = [*(f"{_cell(each)}\n" for each in (*text.conditions, *said)), *(_table(table) for table in tables)]
        lines += [f"- {_cell(note)}" for note in (*text.warnings, *text.notes)]
    outcome = text.tone.label if text.conditions and text.tone.label else text.headline  # no number before a condition
    return "\n".join([f"### {_cell(f'{heading}: {outcome}')}", "", *lines]).rstrip() + "\n\n"


def _table(table: TextTable) -> str:
    more = len(table.rows) - MAX_ROWS
    lines = [_row(table.head), "|" + "---|" * len(table.head), *(_row(cells) for _, cells in table.rows[:MAX_ROWS])]
    return "\n".join([*lines, *(["", f"... and {more:,} more"] if more > 0 else []), ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return markdown(typeset(text))
