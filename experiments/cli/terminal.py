"""Terminal output of the command line: tables in a terminal, plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...audit.evidence.verdict import Verdict
from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.text import ESTIMATE_LABEL, percent, verdict_meaning, verdict_reason
from ...mechanisms.core import line, terminal

if TYPE_CHECKING:
    from ...audit.calibration.certificate import Certificate
    from ...audit.trials.plan import Slice
    from ..ci.comparison import Comparison
    from ..report.results.sweep import SweepPoint, SweepResult
    from ..runs.calibration import CalibrationRun
    from ..runs.writing import ConfigRun
    from .doctor import Check

STYLES = {
    Verdict.VIOLATION: "bold red",
    Verdict.CONSISTENT: "green",
    Verdict.UNDERPOWERED: "yellow",
    Verdict.DEPENDENT: "bold yellow",
}
NOTES = 6
"""Largest number of notes on claims that are refuted at another delta."""
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


def show_run(run: ConfigRun) -> None:
    """Print the table of a finished experiment, its verdict, and the paths of its files."""
    from ..report.results.sentences import elsewhere_notes, headline, unexpected, warning_notes

    out = console()
    if isinstance(run.result, MembershipResult | RiskResult):
        out.print(Text(terminal(run.result.summary())), soft_wrap=True)
        show_files(run)
        return
    for condition in dict.fromkeys(point.result.valid_if for point in run.result.points if point.result.valid_if):
        out.print(Text(line(condition)), soft_wrap=True)
    out.print(_results_table(run.result))
    for row in _verdict_lines(run.result):
        out.print(row)
    surprises = unexpected(run.result)
    if surprises is not None:
        style = STYLES[Verdict.UNDERPOWERED if surprises else Verdict.CONSISTENT]
        out.print(Text(headline(run.result).upper(), style))
    if any(_only_uncorrected(point) for point in run.result.points):
        out.print(Text("* refuted individually, but not after the correction for the number of audits", style="dim"))
    for warning in warning_notes(run.result.points):
        out.print(Text(line(warning), style="yellow"))
    notes = elsewhere_notes(run.result.points)
    for note in notes[:NOTES]:
        out.print(Text(line(note), style="dim"))
    if len(notes) > NOTES:
        out.print(Text(f"... and {len(notes) - NOTES:,} more", style="dim"))
    for entry in run.result.ledger:
        out.print(Text(line(f"{entry.what}: {entry.looked_at}; {entry.correction}"), style="dim"))
    show_files(run)


def _verdict_lines(result: SweepResult) -> list[Text]:
    """Return one line for each verdict that occurs."""
    lines = []
    for verdict in Verdict:
        audits = [point.result for point in result.points if point.verdict is verdict]
        several = f" ({len(audits)} of {len(result.points)} audits)" if len(result.points) > 1 else ""
        if audits:
            reasons = {verdict_reason(audit) for audit in audits if audit.verdict is verdict}
            explanation = reasons.pop() if len(reasons) == 1 else verdict_meaning(verdict)
            level = f"; {percent(result.confidence)} confidence"
            lines.append(Text.assemble((verdict.value.upper(), STYLES[verdict]), f": {explanation}{several}{level}"))
    return lines


def show_files(run: ConfigRun) -> None:
    """Print the paths of the results and the report."""
    out, page = console(), run.directory / "report.html"
    out.print(Text(line(f"results: {run.directory}")), soft_wrap=True)
    if page in run.files:
        out.print(Text(line(f"report:  {page}")), soft_wrap=True)


def _results_table(result: SweepResult) -> Table:
    """Return a table with one row per audit."""
    from ..report.results.formatting import IN_FAMILY, NOTHING_ASSUMED, number, p_text, short_keys, value_text

    table = Table(title=Text(line(result.title)), title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in short_keys(result.parameter_names):
        table.add_column(Text(line(heading)))
    p_value = "p-value" if len(result.points) == 1 else "p (Holm)"
    both = any(point.result.family_bound for point in result.points)
    bounds = (f"epsilon >=\n{IN_FAMILY}", f"epsilon >=\n{NOTHING_ASSUMED}") if both else ("epsilon >=",)
    estimates = (ESTIMATE_LABEL.replace(", ", ",\n"),) if any(point.result.estimates for point in result.points) else ()
    secrets = any(point.result.recovery for point in result.points)
    recovered = ("recovered", "at most") if secrets else ()
    for name in (*recovered, *bounds, *estimates, "claimed", "exact", "delta", p_value, "verdict"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for point in result.points:
        cells = [Text(line(value_text(value))) for value in point.parameters.values()]
        table.add_row(
            *cells,
            *(number(value) for value in (_recovered(point) if secrets else ())),
            *(number(value, 4) for value in _numbers(point, both, bool(estimates))),
            p_text(point.p_adjusted, 1.0 - result.confidence, 4),
            _verdict_text(point),
        )
    return table


def show_calibration(done: CalibrationRun) -> None:
    """Print one row per method, the verdict, and the paths of the files."""
    from ..report.certificate import summary_table, too_few_audits

    out, content = console(), summary_table(done.certificate)
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(content.head):
        table.add_column(name, justify="left" if place < content.n_text or place == len(content.head) - 1 else "right")
    for _, cells in content.rows:
        table.add_row(*(Text(line(cell)) for cell in cells))
    out.print(table)
    out.print(_calibration_verdict(done.certificate))
    if note := too_few_audits(done.certificate):
        out.print(Text(note, style="yellow"), soft_wrap=True)
    out.print(Text(f"results: {done.directory}"), soft_wrap=True)
    out.print(Text(f"report:  {done.page}"), soft_wrap=True)


def _calibration_verdict(certificate: Certificate) -> Text:
    """Return whether the bounds keep their level, or that nothing was measured that could tell."""
    if certificate.failures:
        return Text.assemble(("FAILS", "bold red"), ": a bound misses too often")
    if not certificate.decides:
        return Text.assemble(("UNDECIDED", "yellow"), ": no bound was measured in enough audits")
    return Text.assemble(("HOLDS", "green"), ": no bound misses more often than allowed")


def show_comparison(comparison: Comparison, notes: Sequence[str]) -> None:
    """Print the table of a comparison, the reasons of its failures, and what else differs."""
    from ..ci.step_summary import COMPARISON_HEAD, comparison_cells

    out, table = console(), Table(box=None, pad_edge=False)
    for name in COMPARISON_HEAD:
        table.add_column(name, justify="left" if name in ("audit", "verdict", "change") else "right")
    for claim in comparison.claims:
        *cells, change = (Text(line(cell)) for cell in comparison_cells(claim))
        change.stylize("bold red" if claim.change.fails else "dim" if claim.change.value == "unchanged" else "yellow")
        table.add_row(*cells, change)
    out.print(table)
    out.print(Text(comparison.headline(), style="bold red" if comparison.failures else "green"))
    for claim in comparison.failures:
        out.print(Text(line(f"{claim.name}: {claim.reason}"), style="yellow"))
    for note in notes:
        out.print(Text(line(note), style="dim"))
    out.print(Text(comparison.level(), style="dim"))


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


def _numbers(point: SweepPoint, both: bool, with_estimate: bool) -> list[float | None]:
    """Return the numbers of a row: `both` bounds (with and without a family) or the larger one, and an estimate."""
    result = point.result
    lower_bounds = [result.family_bound, result.assumption_free_bound] if both else [result.bound]
    epsilons = [None if bound is None else bound.epsilon for bound in lower_bounds]
    estimates = [next((estimate.value for estimate in result.estimates), None)] if with_estimate else []
    return [*epsilons, *estimates, result.claim, result.exact_epsilon, result.delta]


def _recovered(point: SweepPoint) -> tuple[float | None, float | None]:
    """Return the success rate of a reconstruction, and the largest one that the claim allows."""
    recovery = point.result.recovery
    return (None, None) if recovery is None else (recovery.success, recovery.allowed)


def _verdict_text(point: SweepPoint) -> Text:
    from ..report.results.formatting import DAGGER
    from ..report.results.sentences import refuted_elsewhere

    mark = "*" if _only_uncorrected(point) else f" {DAGGER}" if refuted_elsewhere(point) else ""
    return Text(point.verdict.value + mark, style=STYLES[point.verdict])


def _only_uncorrected(point: SweepPoint) -> bool:
    """Return True if the claim is refuted individually, but not after the correction for several audits."""
    return point.result.verdict is Verdict.VIOLATION is not point.verdict
