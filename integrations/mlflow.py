"""Audits in MLflow: `log_audit(result)` in an active run."""

from __future__ import annotations

from pathlib import Path

import mlflow

from ..audit.results.audit_result import AuditResult
from .tracking import files, numbers, words


def log_audit(result: AuditResult, directory: Path | str | None = None, *, folder: str = "dpassay") -> None:
    """Log an audit in the active run of MLflow, which is started if there is none.

    The numbers become metrics, the words become tags (`dpassay.verdict`, ...), and the files artifacts.

    Args:
        result: of `audit`, or of the audit of a training.
        directory: its run directory with report, card and statement; None logs its JSON and its text.
        folder: folder of the artifacts.

    Raises:
        ParameterError: the directory does not exist.
    """
    with files(result, directory) as content:
        mlflow.log_metrics(numbers(result))
        mlflow.set_tags(words(result))
        mlflow.log_artifacts(str(content), artifact_path=folder)


__all__ = ["log_audit"]
