"""Report pages of membership attacks, report.html and report.md, which the templates arrange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...audit.metrics.membership.records import GroupRow
from ...audit.metrics.membership.result import HEADLINE_FPR as AT, MembershipResult
from ...audit.metrics.membership.text import auc_with_interval, cells, notes, setting_rows
from ...audit.results.text import percent
from ...audit.trials.folder import write_atomically
from ...mechanisms.core import plural
from .content import ReportTable
from .pages import CI_ROWS, load_figures, markdown_page, page, versions_of
from .results.formatting import cut


def write_membership(
    result: MembershipResult,
    directory: Path,
    figures: Iterable[Path],
    *,
    title: str,
    command: str,
    description: str = "",
    settings: Sequence[tuple[str, str]] = (),
    config: str | None = None,
) -> list[Path]:
    """Write `report.html` and `report.md` into a run directory.

    Args:
        result: the metrics of the attacks.
        directory: the run directory.
        figures: files that `dpassay.experiments.report.plots.membership.draw_study` returned.
        title: heading of the page.
        command: command that reproduces the numbers.
        description: paragraphs below the heading.
        settings: names and values for the list of settings.
        config: the configuration, printed in full; None if there is none.

    Returns:
        The two files. The page is self-contained and needs no network.
    """
    titles, rows = cells(result)
    variables = {
        "title": title,
        "headline": "No evidence of membership" if result.confounded else "Results of the membership attacks",
        "answer": answer(result),
        "rates": ReportTable(titles, tuple(("", row) for row in rows), 2),
        "settings": [*setting_rows(result), *settings],
        "notes": notes(result),
    }
    text = page(
        "membership.html.j2",
        **variables,
        paragraphs=[part for part in description.strip().split("\n\n") if part],
        verdict="underpowered" if result.confounded else "plain",
        figures=list(load_figures(figures).values()),
        groups=[
            (f"{m.attack}, by {unit}", _groups(rows, unit))
            for m in result.attacks
            for unit, rows in (("group", m.groups), ("model", m.models))
            if rows
        ],
        confidence=percent(result.confidence),
        command=command,
        config=config or "",
        versions=versions_of(directory),
    )
    files = {
        directory / "report.html": text,
        directory / "report.md": markdown_page("membership.md.j2", **variables, **_best_groups(result)),
    }
    for path, written in files.items():
        write_atomically(path, written.encode())
    return list(files)


def answer(result: MembershipResult) -> str:
    """Return the main result in two or three sentences."""
    if result.confounded and result.feature_baseline is not None:
        auc = result.feature_baseline.auc
        return (
            f"The features alone distinguish members from non-members (AUC {auc:.3f}), without any model: members and "
            "non-members come from different distributions, and the attacks give no evidence about the models."
        )
    best = result.headline
    rate = best.rate_at(AT)
    of = "" if result.target is None else f" of model {cut(result.target, 60)}"
    doubts = "".join(f"Warning: {warning} " for warning in result.warnings)
    rates = (
        f"{cut(best.attack, 60)} identifies {100 * rate.tpr:.3g} % of the members{of} at {100 * AT:g} % false "
        f"positives ({100 * rate.lower:.3g} to {100 * rate.upper:.3g} %, {percent(result.confidence)} confidence); its "
        f"AUC is {best.auc:.3f}. Guessing would identify {100 * AT:g} %."
    )
    exposed = len(best.records.exposed()) if best.records and best.records.resolvable else None
    total = plural(result.n_records, "record")
    records = "" if exposed is None else f" It individually exposes {exposed:,} of {total}."
    return f"{doubts}{rates}{records} These are metrics, not bounds on epsilon."


def _best_groups(result: MembershipResult) -> dict[str, Any]:
    """Return the groups of the headline attack for the summary, the most exposed first; None if there are none."""
    best = result.headline
    table = _groups(best.groups)
    first_rows = replace(table, rows=table.rows[:CI_ROWS]) if table.rows else None
    return {"best": best.attack, "of_best": first_rows, "n_hidden": max(0, len(table.rows) - CI_ROWS)}


def _groups(groups: Iterable[GroupRow], unit: str = "group") -> ReportTable:
    """Return one row per group or model, the most exposed first."""
    rows = []
    for row in sorted(groups, key=lambda row: -row.auc):
        rate = f"{100 * row.rate.tpr:.3g} %"
        rows.append(("", (row.group, f"{row.n_in:,}", f"{row.n_out:,}", auc_with_interval(row), rate)))
    return ReportTable((unit, "scores in", "scores out", "AUC", "TPR@1%FPR"), tuple(rows), 1)


__all__ = ["answer", "write_membership"]
