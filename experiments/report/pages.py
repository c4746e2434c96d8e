"""Writes the pages: report.html and report.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape

from ...audit.trials.folder import Folder, write_atomically
from ...mechanisms.printable import fenced, html, markdown
from ..plots.style.palette import AMBER, BLUE, GREEN, INK, MUTED, PAGE, RULE, VERMILION, dark_rules
from ..results import times
from ..results.provenance import environment
from ..results.sweep import SweepResult
from .content import content
from .figures import each_caption_once, load, of_audit

TEMPLATES = Path(__file__).parent / "templates"
CI_ROWS = 20
"""Rows of the table in the Markdown summary; violations come first."""
CI_EVIDENCE = 3
"""Violations whose evidence stands in the Markdown summary, and notes on the table."""
_THEME = {
    "ink": INK,
    "muted": MUTED,
    "rule": RULE,
    "violation": VERMILION,
    "consistent": GREEN,
    "underpowered": AMBER,
    "dependent": AMBER,
    "link": BLUE,
}


def write(
    sweep: SweepResult,
    directory: Path,
    figures: Iterable[Path],
    *,
    command: str,
    config: str | None = None,
    assumed: str | None = None,
) -> list[Path]:
    """Writes `report.html` and `report.md` into a run directory.

    Args:
        sweep: the result.
        directory: the run directory. Its `environment.json` is quoted if it is there, else the versions in use; from
            `times.json` is how long the audits took.
        figures: what `dpassay.experiments.plots.draw_all` returned; the SVG files go into the page.
        command: gives the same numbers again.
        config: the text of the config.toml that the command reads, printed in full; None where it reads none.
        assumed: what has to be true for the bounds to hold, in sentences; None for what the games say.

    Returns:
        The two files. The page needs no other file and no network.
    """
    shown = content(sweep, times.read(directory))
    shown = shown if assumed is None else replace(shown, assumed=assumed)
    drawn = load(figures)
    text = page(
        "report.html.j2",
        report=shown,
        overviews=[drawn[name] for name in ("bound-claim", "success") if name in drawn],
        audits=list(
            zip(shown.audits, each_caption_once([of_audit(drawn, a.number) for a in shown.audits]), strict=True)
        ),
        config="" if config is None else escape(html(config)),
        command=escape(html(command)),
        versions=versions_of(directory),
    )
    rows = sorted(shown.table.rows, key=lambda row: row[0] != "violation")
    summary = markdown_page(
        "report.md.j2",
        report=shown,
        rows=rows[:CI_ROWS],
        n_hidden=max(0, len(rows) - CI_ROWS),
        notes=shown.notes[:CI_EVIDENCE],
        refuted=[audit for audit in shown.audits if audit.evidence][:CI_EVIDENCE],
    )
    files = {directory / "report.html": text, directory / "report.md": summary}
    for path, written in files.items():
        write_atomically(path, written.encode())
    return list(files)


def page(template: str, **shown: Any) -> str:
    """A page in the style of all reports, from a template that extends `page.html.j2` and what it shows."""
    theme = {name: (colour.light, colour.dark) for name, colour in _THEME.items()} | {"page": PAGE}
    figure_rules = dark_rules(".dpassay-figure")
    return _environment(html=True).get_template(template).render(theme=theme, figure_rules=figure_rules, **shown)


def markdown_page(template: str, **shown: Any) -> str:
    """A summary in Markdown, from a template and what it shows."""
    return _environment(html=False).get_template(template).render(**shown)


def _environment(*, html: bool) -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=_tied if html else _shown,
    )
    made.filters["cell"] = markdown
    made.filters["fenced"] = fenced
    return made


def _shown(value: Any) -> Any:
    """Whatever a template prints; autoescape follows."""
    return html(value) if type(value) is str else value


def _tied(value: Any) -> Any:
    """The same on a page, where no line begins with a per cent sign."""
    return re.sub(r"(?<=\d) %", "\u00a0%", html(value)) if type(value) is str else value


def versions_text(known: dict[str, Any]) -> str:
    """What numbers depend on, in one line, from an `environment()`."""
    versions, commit = dict(known["versions"]), known.get("commit")
    parts = [f"{name} {version}" for name, version in versions.items() if version]
    return ", ".join([*parts, f"commit {commit}"] if commit else parts)


def versions_of(directory: Path) -> str:
    """Of the run, if it was noted; else those in use."""
    try:
        return versions_text(json.loads(Folder(directory).read("environment.json")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return versions_text(environment())
