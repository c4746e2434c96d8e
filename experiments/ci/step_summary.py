"""Markdown of outcomes and comparisons, and the summary of a GitHub step, which GitHub shows below the job.

GitHub names a file for it in `$GITHUB_STEP_SUMMARY`. Every command with a verdict appends its result there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...mechanisms.core import StoreError, fenced, markdown, number
from .checked import CheckedClaim, CheckedClaims
from .comparison import ComparedClaim, Comparison

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


def claims_section(checked: CheckedClaims, *, heading: str, notes: Iterable[str] = ()) -> str:
    """Return the claims of a result as a section of Markdown."""
    head = ("audit", "epsilon ≥", "claimed", "delta", "detects", "verdict")
    rows = [
        (c.name, number(c.bound), number(c.claim), number(c.delta), number(c.detectable), _verdict(c))
        for c in checked.claims
    ]
    return _section(f"{heading}: {checked.outcome}", [*_table(head, rows), "", *_bullets(notes)])


def comparison_section(comparison: Comparison, *, heading: str, notes: Iterable[str] = ()) -> str:
    """Return a comparison as a section of Markdown."""
    rows = [tuple(cells) for cells in map(comparison_cells, comparison.claims)]
    reasons = [f"{claim.name}: {claim.reason}" for claim in comparison.failures]
    body = [markdown(comparison.headline()), "", *_table(COMPARISON_HEAD, rows), "", *_bullets([*reasons, *notes])]
    return _section(heading, [*body, "", markdown(comparison.level())])


def text_section(text: str, *, heading: str) -> str:
    """Return plain text as a section of Markdown."""
    return _section(heading, [fenced(text)])


COMPARISON_HEAD = ("audit", "epsilon ≥", "claimed", "detects", "verdict", "change")
"""Columns of a comparison."""


def comparison_cells(claim: ComparedClaim) -> tuple[str, ...]:
    """Return the cells of one claim, with both values where they differ in the digits that are shown."""
    both = [side for side in (claim.before, claim.after) if side is not None]
    numbers = [_arrow([number(getattr(side, name)) for side in both]) for name in ("bound", "claim", "detectable")]
    return (claim.name, *numbers, _arrow([side.outcome for side in both]), claim.change.value)


def _verdict(claim: CheckedClaim) -> str:
    return f"{claim.outcome} (expected)" if claim.expected else claim.outcome


def _arrow(values: Sequence[str]) -> str:
    return " → ".join(dict.fromkeys(values)) if len(set(values)) > 1 else values[0]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in [head, *rows[:MAX_ROWS]]]
    lines.insert(1, "|" + "---|" * len(head))
    more = len(rows) - MAX_ROWS
    return [*lines, *(["", f"... and {more:,} more"] if more > 0 else [])]


def _bullets(notes: Iterable[str]) -> list[str]:
    return [f"- {markdown(note)}" for note in notes]


def _section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {markdown(heading)}", "", *lines]).rstrip() + "\n\n"
