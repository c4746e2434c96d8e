"""Keeping results that no configuration made: judged scores, sweeps in Python, shadow models and synthetic tables.

Each is kept in a directory like that of a run, with `judged.toml` in place of `config.toml`: it describes what was
judged, so that the same call finds its own directory and refuses another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.audit_result import AuditResult
from ..config.toml_text import to_toml
from ..report.results.provenance import environment
from ..report.results.sweep import SweepResult, corrected
from .directory import RunDirectory
from .evidence import write_evidence
from .record import session
from .writing import ConfigRun, write_numbers, write_records


def keep_judged(
    result: AuditResult, out: Path, *, name: str, request: Mapping[str, Any], assumptions: str, command: str
) -> ConfigRun:
    """Write the result of `audit_scores`, its figures and its report.

    Args:
        result: one audit.
        out: a new or empty directory, or that of an earlier result for the same scores.
        name: display name of the scores.
        request: the scores, the claim and the options; plain values, None for omitted ones.
        assumptions: the assumptions of the bounds, in sentences.
        command: reproduces the numbers.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    points, verdict, entry = corrected([{}], [result], confidence=result.confidence)
    sweep = SweepResult(
        name=name,
        title=f"Scores in {name}",
        description="",
        fingerprint=result.fingerprint,
        seed=result.seed,
        confidence=result.confidence,
        points=points,
        verdict=verdict,
        ledger=(entry,),
    )
    with _kept(out, request, result.seed) as directory:
        return keep_sweep(sweep, directory, command=command, assumptions=assumptions)


def keep_sweep(
    sweep: SweepResult,
    directory: RunDirectory,
    *,
    command: str,
    assumptions: str | None = None,
    unit: str = "",
    inputs: Mapping[str, str] | None = None,
    pdf: bool = False,
) -> ConfigRun:
    """Write numbers, evidence card, figures and report of audits without a configuration.

    Args:
        sweep: the result.
        directory: claimed by `RunDirectory.claim_judged`.
        command: reproduces the numbers.
        assumptions: the assumptions of the bounds, in sentences; None for those of the games.
        unit, inputs: see `write_evidence`.
        pdf: whether to draw the figures as PDF too.
    """
    from ..report.pages import write
    from ..report.plots import draw_all

    write_numbers(sweep, directory)
    _, evidence = write_evidence(
        sweep, directory, title=sweep.title, command=command, environment=environment(), unit=unit, inputs=inputs
    )
    with directory.disk():
        figures = draw_all(sweep, directory.figures(), pdf=pdf)
        pages = write(sweep, directory.path, figures, command=command, assumptions=assumptions)
    return ConfigRun(directory.path, sweep, (*figures, *pages, *evidence))


def keep_membership(
    result: MembershipResult, ids: Sequence[str], out: Path, *, name: str, request: Mapping[str, Any], command: str
) -> ConfigRun:
    """Write the metrics of shadow models of other code, a table of their records, figures and report.

    Args:
        result: the metrics.
        ids: `(n_records,)` names of the records.
        out, name, request, command: as for `keep_judged`.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    from ..report.membership import write_membership
    from ..report.plots.membership import draw_study

    with _kept(out, request) as directory:
        write_numbers(result, directory)
        write_records(result, ids, directory)
        title = f"Membership attacks on {name}"
        _, evidence = write_evidence(result, directory, title=title, command=command, environment=environment())
        with directory.disk():
            figures = draw_study(result, directory.figures())
            pages = write_membership(result, directory.path, figures, title=title, command=command)
    return ConfigRun(directory.path, result, (*figures, *pages, *evidence))


def keep_risk(result: RiskResult, out: Path, *, name: str, request: Mapping[str, Any], command: str) -> ConfigRun:
    """Write the risks of a synthetic table and their report.

    Args:
        result: the risks.
        out, name, request, command: as for `keep_judged`.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    from ..report.table_risk import write_risk

    with _kept(out, request) as directory:
        write_numbers(result, directory)
        with directory.disk():
            pages = write_risk(result, directory.path, title=f"Risks of {name}", command=command)
    return ConfigRun(directory.path, result, tuple(pages))


@contextmanager
def _kept(out: Path, request: Mapping[str, Any], seed: int = 0) -> Iterator[RunDirectory]:
    """Claim a directory for a result, and record the session that writes it; see `keep_judged` for the arguments."""
    directory = RunDirectory(out)
    directory.claim_judged(to_toml({key: value for key, value in request.items() if value is not None}))
    with session(directory, seed, None):
        yield directory


__all__ = ["keep_judged", "keep_membership", "keep_risk", "keep_sweep"]
