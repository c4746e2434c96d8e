"""Report pages of the risks of a synthetic table, report.html and report.md, which the templates arrange."""

from __future__ import annotations

from pathlib import Path

from ...audit.metrics.table_risk.result import REPORT_LIMITS, RiskResult, cells, shown_comparisons
from ...audit.results.text import percent
from ...audit.trials.folder import write_atomically
from .content import ReportTable
from .pages import markdown_page, page, versions_of

_HEAD = ("attack", "records", "real", "holdout", "without the table", "due to use", "p (Holm)")


def write_risk(result: RiskResult, directory: Path, *, title: str, command: str) -> list[Path]:
    """Write `report.html` and `report.md` into a run directory.

    Args:
        result: the risks.
        directory: the run directory.
        title: heading of the page.
        command: command that reproduces the numbers.

    Returns:
        The two files. The page is self-contained and needs no network.
    """
    variables = {
        "title": title,
        "headline": result.headline,
        "answer": result.answer,
        "sentences": result.sentences,
        "rates": _rates(result),
        "notes": result.notes,
        "limits": REPORT_LIMITS,
    }
    text = page(
        "table_risk.html.j2",
        **variables,
        verdict=_tone(result),
        exposed=_exposed(result),
        n_exposed=f"{result.n_exposed:,}",
        columns=_columns(result),
        settings=_settings(result),
        command=command,
        versions=versions_of(directory),
    )
    summary = markdown_page("table_risk.md.j2", **variables)
    files = {directory / "report.html": text, directory / "report.md": summary}
    for path, written in files.items():
        write_atomically(path, written.encode())
    return list(files)


def _tone(result: RiskResult) -> str:
    if not result.n_holdout:
        return "underpowered"
    return "consistent" if result.safe_so_far else "violation"


def _rates(result: RiskResult) -> ReportTable:
    """Return a row for each comparison; without a holdout there are fewer columns."""
    kept = range(len(_HEAD)) if result.n_holdout else (0, 1, 2, 4)
    found = set(map(id, result.findings))
    rows = [("violation" if id(c) in found else "", cells(c)) for c in shown_comparisons(result)]
    picked = tuple((tone, tuple(row[i] or "\u2013" for i in kept)) for tone, row in rows)
    return ReportTable(tuple(_HEAD[i] for i in kept), picked, 2)


def _exposed(result: RiskResult) -> ReportTable:
    head = ("row in real", "in the table", "people nearby", "less remote", "distance")
    rows = tuple(
        (
            "",
            (
                f"{e.row:,}",
                "exact copy" if e.exact else "near copy",
                f"{e.nearby:,}",
                f"{100 * e.remoteness:.0f} %",
                f"{e.ratio:.2g}",
            ),
        )
        for e in result.exposed
    )
    return ReportTable(head, rows, 2)


def _columns(result: RiskResult) -> ReportTable:
    rows = tuple(("", (c.name, c.kind, f"{c.n_values:,}", f"{100 * c.missing:.1f} %")) for c in result.columns)
    return ReportTable(("column", "type", "values", "missing"), rows, 2)


def _settings(result: RiskResult) -> list[tuple[str, str]]:
    return [
        ("real rows", f"{result.n_real:,}"),
        ("synthetic rows", f"{result.n_synthetic:,}"),
        ("holdout rows", f"{result.n_holdout:,}" if result.n_holdout else "none: no comparison is possible"),
        ("under attack", f"{result.n_attacked:,} records; copies are counted in all"),
        ("confidence", percent(result.confidence)),
    ]
