"""Terminal output of the command line: tables in a terminal, plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...audit.results.plain import plain_details, plain_rows
from ...audit.results.result_text import ResultText, TextTable, Tone
from ...audit.results.saved import Described
from ...mechanisms.core import line, terminal
from ..present.results.sweep import SweepResult

if TYPE_CHECKING:
    from ...audit.trials.plan import Slice
    from ..ci.comparison import Comparison
    from ..ci.history import History
    from ..runs.writing import ConfigRun
    from .doctor import Check

STYLES = {
    Tone.VIOLATION: "bold red",
    Tone.CONSISTENT: "green",
    Tone.WEAK: "bold yellow",
    Tone.UNDERPOWERED: "yellow",
    Tone.DEPENDENT: "bold yellow",
    Tone.PLAIN: "bold",
}
ONLY_IN_REPORT = ("ceiling", "p-value", "bound / claim")
"""Columns that the terminal has no room for."""
NOTES = 6
"""Largest number of notes."""
PLAIN_WIDTH = 120
"""Width in characters without a terminal, such as in the log of a build."""


def console() -> Console:
    """Return a console that writes to stdout."""
    result = Console(file=sys.stdout, highlight=False)
    if not result.is_terminal:
        result.width = PLAIN_WIDTH
    return result


def show_slice(share: Slice, directory: Path) -> None:
    """Print that a slice is finished, and the next step."""
    next_step = "no verdict before `dpassay merge` joins all slices"
    console().print(Text(line(f"slice {share} is finished in {directory}: {next_step}")), soft_wrap=True)


def first_screen(result: Described, *, verbose: bool) -> str:
    """Return a result as plain text; without its details, a last line says how to see them."""
    hidden = [] if verbose else [s.title.lower() for s in result.text().details if s.facts or s.paragraphs or s.table]
    more = plain_rows([("more", f"-v adds: {', '.join(hidden)}")]) + "\n" if hidden else ""
    return f"{result.summary(details=verbose)}\n{more}"


def history_lines(history: History | None) -> str:
    """Return what a build has added to its history, as lines; empty without one."""
    if history is None:
        return ""
    from ..ci.history_text import rows

    return plain_rows(rows(history)) + "\n"


def show_history(history: History, files: Sequence[Path]) -> None:
    """Print the text of a history, and the paths of its figures."""
    _show_text(history.text(), all_notes=True)
    for file in files:
        console().print(Text(line(str(file)), style="dim"), soft_wrap=True)


def show_run(run: ConfigRun, *, verbose: bool = False) -> None:
    """Print the text of a finished experiment, and the paths of its files."""
    text = run.result.text()
    _show_text(text, title=run.result.title if isinstance(run.result, SweepResult) else "")
    for part in (text, *text.parts) if verbose else ():
        console().print(Text(plain_details(part)), soft_wrap=True)
    show_files(run)


def _show_text(text: ResultText, *, title: str = "", all_notes: bool = False) -> None:
    """Print the text of a result: headline, answer, facts, table and notes; details are in the report."""
    out, style = console(), STYLES[text.tone]
    for condition in text.conditions:
        out.print(Text(line(condition)), soft_wrap=True)
    out.print(Text(line(f"{text.tone.sign} {text.headline}".strip()), style), soft_wrap=True)
    out.print(Text(line(text.answer)), soft_wrap=True)
    for step in text.next_steps:
        out.print(Text.assemble(("next step: ", "bold"), line(step)), soft_wrap=True)
    for warning in text.warnings:
        out.print(Text(line(f"warning: {warning}"), "yellow"), soft_wrap=True)
    if text.facts or text.evidence:
        out.print(Text(plain_rows([*text.facts, *text.evidence, *text.examples])), soft_wrap=True)
    if text.table is not None:
        out.print(_table(text.table, title))
    for note in text.notes if all_notes else text.notes[:NOTES]:
        out.print(Text(line(note), style="dim"), soft_wrap=True)
    if len(text.notes) > NOTES and not all_notes:
        out.print(Text(f"... and {len(text.notes) - NOTES:,} more notes in the report", style="dim"))


def _table(table: TextTable, title: str = "") -> Table:
    """Return a table for the terminal, without the columns that only the report shows."""
    shown = Table(title=Text(line(title)) if title else None, title_justify="left", title_style="bold")
    shown.box, shown.pad_edge = None, False
    kept = [place for place, name in enumerate(table.head) if name not in ONLY_IN_REPORT]
    for place in kept:
        text = place < table.n_text or table.head[place] == "verdict"
        shown.add_column(table.head[place], justify="left" if text else "right")
    for tone, cells in table.rows:
        row = [Text(line(cells[place])) for place in kept]
        if tone:
            row[-1].stylize(STYLES[Tone(tone)])
        shown.add_row(*row)
    return shown


def show_files(run: ConfigRun) -> None:
    """Print the paths of the results and the report."""
    out, page = console(), run.directory / "report.html"
    out.print(Text(line(f"results: {run.directory}")), soft_wrap=True)
    if page in run.files:
        out.print(Text(line(f"report:  {page}")), soft_wrap=True)


def show_comparison(comparison: Comparison, notes: Sequence[str]) -> None:
    """Print the text of a comparison; `notes` say what else differs."""
    from ..ci.text import describe_comparison

    _show_text(describe_comparison(comparison, notes), all_notes=True)


def show_checks(checks: Sequence[Check]) -> None:
    """Print one row per check of the installation, and how many failed."""
    styles = {"ok": "green", "note": "yellow", "failed": "bold red"}
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in checks:
        found = f"{check.found}\n{check.advice}" if check.advice else check.found
        table.add_row(Text(check.status, style=styles[check.status]), Text(line(check.name)), Text(terminal(found)))
    console().print(table)
    failed = sum(check.status == "failed" for check in checks)
    text = f"{failed} of {len(checks)} checks failed" if failed else "no check failed"
    console().print(Text(text, style="bold red" if failed else "green"))


def show_entries(entries: Mapping[str, str]) -> None:
    """Print names and summaries in two columns."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, text in entries.items():
        table.add_row(Text(line(name), style="bold"), Text(line(text)))
    console().print(table)
