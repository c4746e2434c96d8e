"""Keeping results that no configuration made: judged scores, shadow models and synthetic tables.

Each is kept in a directory like that of a run, with `judged.toml` in place of `config.toml`: it describes what was
judged, so that the same call finds its own directory and refuses another one; and it has the heading of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.audit_result import AuditResult
from ..config.toml_text import to_toml
from ..report.results.sweep import SweepResult
from .directory import RunDirectory
from .record import session
from .writing import ConfigRun, Heading, Result, write_results

TITLES: dict[type, str] = {
    AuditResult: "Scores in",
    MembershipResult: "Membership attacks on",
    RiskResult: "Risks of",
}
"""Kind of a result -> start of its title."""


def keep(
    result: AuditResult | MembershipResult | RiskResult,
    out: Path,
    *,
    name: str,
    request: Mapping[str, str],
    command: str,
    ids: Sequence[str] = (),
) -> ConfigRun:
    """Write a result of `dpassay judge`, `membership`, `text` or `risk`, its figures and its report.

    Args:
        result: one audit of scores; the metrics of shadow models; or the risks of a synthetic table.
        out: a new or empty directory, or that of an earlier result for the same files.
        name: display name of the files.
        request: name -> digest of what was judged.
        command: reproduces the numbers.
        ids: `(n_records,)` names of the records of shadow models, for a table of them.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    heading, seed = Heading(f"{TITLES[type(result)]} {name}", command), 0
    if not isinstance(result, AuditResult):
        written: Result = result
    else:
        seed, assumptions = result.seed, f"{result.valid_if} This cannot be verified from the file."
        heading = replace(heading, assumptions=assumptions)
        about = {"name": name, "title": heading.title, "description": "", "fingerprint": result.fingerprint}
        written = SweepResult.of([{}], [result], result.confidence, seed=seed, **about)
    directory = RunDirectory(out)
    directory.claim_judged(to_toml({**heading.to_dict(), **request}))
    with session(directory, seed, None):
        files = write_results(written, heading, directory, ids=ids)
    return ConfigRun(directory.path, written, tuple(files))


__all__ = ["keep"]
