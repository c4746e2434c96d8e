"""Keeping results that no configuration made: judged scores, shadow models and synthetic tables.

Each is kept in a directory like that of a run, with `judged.toml` in place of `config.toml`: it describes what was
judged, so that the same call finds its own directory and refuses another one; and it has the heading of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.audit_result import AuditResult
from ..config.toml_text import to_toml
from ..report.results.sweep import SweepResult, corrected
from .directory import RunDirectory
from .record import session
from .writing import ConfigRun, Heading, Result, write_results


def keep_judged(
    result: AuditResult, out: Path, *, name: str, request: Mapping[str, str], assumptions: str, command: str
) -> ConfigRun:
    """Write the result of `audit_scores`, its figures and its report.

    Args:
        result: one audit.
        out: a new or empty directory, or that of an earlier result for the same scores.
        name: display name of the scores.
        request: name -> digest of what was judged.
        assumptions: the assumptions of the bounds, in sentences.
        command: reproduces the numbers.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    points, verdict, entry = corrected([{}], [result], confidence=result.confidence)
    heading = Heading(f"Scores in {name}", command, assumptions=assumptions)
    sweep = SweepResult(
        name=name,
        title=heading.title,
        description="",
        fingerprint=result.fingerprint,
        seed=result.seed,
        confidence=result.confidence,
        points=points,
        verdict=verdict,
        ledger=(entry,),
    )
    return _keep(sweep, out, heading, request, seed=result.seed)


def keep_membership(
    result: MembershipResult, ids: Sequence[str], out: Path, *, name: str, request: Mapping[str, str], command: str
) -> ConfigRun:
    """Write the metrics of shadow models of other code, a table of their records, figures and report.

    Args:
        result: the metrics.
        ids: `(n_records,)` names of the records.
        out, name, request, command: as for `keep_judged`.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    return _keep(result, out, Heading(f"Membership attacks on {name}", command), request, ids=ids)


def keep_risk(result: RiskResult, out: Path, *, name: str, request: Mapping[str, str], command: str) -> ConfigRun:
    """Write the risks of a synthetic table and their report.

    Args:
        result: the risks.
        out, name, request, command: as for `keep_judged`.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    return _keep(result, out, Heading(f"Risks of {name}", command), request)


def _keep(
    result: Result,
    out: Path,
    heading: Heading,
    request: Mapping[str, str],
    *,
    seed: int = 0,
    ids: Sequence[str] = (),
) -> ConfigRun:
    """Claim a directory, and write a result in a session; see `keep_judged` for the arguments."""
    directory = RunDirectory(out)
    directory.claim_judged(to_toml({**heading.to_dict(), **request}))
    with session(directory, seed, None):
        files = write_results(result, heading, directory, ids=ids)
    return ConfigRun(directory.path, result, tuple(files))


__all__ = ["keep_judged", "keep_membership", "keep_risk"]
