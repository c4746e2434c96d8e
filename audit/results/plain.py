"""A result as plain text, for terminals, logs and notebooks: a table of two columns, the details below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...mechanisms.core import line
from .result_text import ResultText, Row, TextSection, TextTable, Tone

MIN_WIDTH = 10
"""Smallest width of the names, so that the texts of most results begin in the same column."""


def plain(text: ResultText, *, details: bool = True, examples: bool = True) -> str:
    """Return the text of a result as plain text.

    Args:
        text: the text.
        details: whether to add the details, below the result.
        examples: whether to show datasets and outputs, which may be values of people.
    """
    rows: list[Row] = [("condition", condition) for condition in text.conditions]
    rows += [("verdict" if _is_verdict(text) else "result", _headline(text)), ("", text.answer)]
    rows += [("next step", step) for step in text.next_steps]
    rows += [*text.facts, *text.evidence, *(text.examples if examples else ())]
    rows += [("warning", warning) for warning in text.warnings]
    notes: list[Row] = [("note", note) for note in text.notes]
    below = [*notes, *(row for section in text.details for row in section.facts)] if details else notes
    width = _width([*rows, *below])
    table = [plain_table(text.table)] if text.table is not None else []
    sections = [_section(section) for section in text.details] if details else []
    blocks = (plain_rows(rows, width), *table, plain_rows(below, width), *sections)
    return "\n".join(block for block in blocks if block)


def plain_details(text: ResultText) -> str:
    """Return the details of a result as plain text, below its title."""
    facts = plain_rows([row for section in text.details for row in section.facts])
    blocks = (f"\n{text.title}" if text.title else "", facts, *map(_section, text.details))
    return "\n".join(block for block in blocks if block)


def message(text: ResultText) -> str:
    """Return the text without details as the message of an exception, which begins with the headline."""
    return plain(text, details=False).removeprefix("verdict").removeprefix("result").lstrip()


def _is_verdict(text: ResultText) -> bool:
    """Return whether the headline is a verdict, and not that there is none."""
    stated = text.headline.startswith(text.tone.label) and text.tone is not Tone.DEPENDENT
    return stated if text.tone in (Tone.UNDERPOWERED, Tone.DEPENDENT) else text.tone is not Tone.PLAIN


def _headline(text: ResultText) -> str:
    """Return the headline with its verdict in capitals, which stand out in a log without colours."""
    label = text.tone.label
    return text.headline.replace(label, label.upper(), 1) if label else text.headline


def _section(section: TextSection) -> str:
    """Return the sentences and the table of a section below its title; "" if it has facts only."""
    lines = [f"* {line(paragraph)}" for paragraph in section.paragraphs]
    if section.table is not None:
        lines += [plain_table(section.table), *([section.table.caption] if section.table.caption else [])]
    return "\n".join(["", section.title, *lines]) if lines else ""


def plain_rows(rows: Sequence[Row], width: int | None = None) -> str:
    """Return facts as lines of a name and a text."""
    width = _width(rows) if width is None else width
    return "\n".join(f"{name:<{width}}  {line(text)}" for name, text in rows)


def _width(rows: Iterable[Row]) -> int:
    return max([MIN_WIDTH, *(len(name) for name, _ in rows)])


def plain_table(table: TextTable) -> str:
    """Return a table as aligned lines: text to the left, numbers to the right."""
    lines = [table.head, *(cells for _, cells in table.rows)]
    widths = [max(len(line(cells[place])) for cells in lines) for place in range(len(table.head))]
    shown = []
    for cells in lines:
        padded = (
            line(cell).ljust(width) if place < table.n_text else line(cell).rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        shown.append("  ".join(padded).rstrip())
    return "\n".join(shown)


__all__ = ["message", "plain", "plain_details", "plain_rows", "plain_table"]
