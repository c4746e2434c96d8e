"""Scores of other code, judged, in a directory like that of a run: numbers, figures, report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...audit.results.audit_result import AuditResult
from ..config.toml_text import to_toml
from ..results.sweep import SweepResult, corrected
from .directory import RunDirectory
from .runner import Run, session, write_numbers


def keep_judged(
    result: AuditResult, out: Path, *, name: str, asked: Mapping[str, Any], assumed: str, command: str
) -> Run:
    """Writes the result of `audit_scores`, its figures and its report.

    Args:
        result: one audit.
        out: a new or empty directory, or the one that the same scores were judged into before.
        name: of the scores, for people.
        asked: the scores, and what they were judged against; plain values, None for what was left out.
        assumed: what has to be true for the bounds to hold, in sentences.
        command: gives the same numbers again.

    Raises:
        FingerprintError, StoreError: the directory holds something else, or cannot be written.
    """
    from ..plots import draw_all
    from ..report import write

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
    return Run(directory.path, sweep, (*figures, *pages))


__all__ = ["keep_judged"]
