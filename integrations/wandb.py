"""Audits in Weights & Biases: `log_audit(result)` in an active run, also offline."""

from __future__ import annotations

from pathlib import Path

import wandb

from ..audit.results.audit_result import AuditResult
from ..mechanisms.core import ParameterError
from .tracking import files, numbers, words


def log_audit(result: AuditResult, directory: Path | str | None = None, *, name: str = "dpassay") -> None:
    """Log an audit in the active run of Weights & Biases: numbers and words in its summary, files as an artifact.

    Args:
        result: of `audit`, or of the audit of a training.
        directory: its run directory with report, card and statement; None logs its JSON and its text.
        name: name of the artifact, of type "privacy-audit".

    Raises:
        ParameterError: there is no active run; the directory does not exist.
    """
    if wandb.run is None:
        raise ParameterError("there is no active run of Weights & Biases: call wandb.init() first.")
    with files(result, directory) as content:
        wandb.run.summary.update({**numbers(result), **words(result)})
        artifact = wandb.Artifact(name, type="privacy-audit", metadata=words(result))
        artifact.add_dir(str(content))
        wandb.run.log_artifact(artifact)


__all__ = ["log_audit"]
