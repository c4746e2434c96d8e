"""Results for scores of other code, in a directory like that of a run: numbers, figures, report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...audit.results.audit_result import AuditResult
from ..config.toml_text import to_toml
from ..report.results.sweep import SweepResult, corrected
from .directory import RunDirectory
from .runner import ConfigRun, session, write_numbers


def keep_judged(
    result: AuditResult, out: Path, *, name: str, asked: Mapping[str, Any], assumed: str, command: str
) -> ConfigRun:
    """Write the result of `audit_scores`, its figures and its report.

    Args:
        result: one audit.
        out: a new or empty directory, or that of an earlier result for the same scores.
        name: display name of the scores.
        asked: the scores, the claim and the options; plain values, None for omitted ones.
        assumed: the assumptions of the bounds, in sentences.
        command: reproduces the numbers.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
    """
    from ..report import write
    from ..report.plots import draw_all

    directory = RunDirectory(out)
    directory.claim_judged(to_toml({key: value for key, value in asked.items() if value is not None}))
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
    with session(directory, result.seed, None):
        write_numbers(sweep, directory)
        with directory.disk():
            figures = draw_all(sweep, directory.figures())
            pages = write(sweep, directory.path, figures, command=command, assumed=assumed)
    return ConfigRun(directory.path, sweep, (*figures, *pages))


__all__ = ["keep_judged"]
