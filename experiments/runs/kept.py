"""Running the task of a command in a directory: judged scores, texts, shadow models, synthetic tables, a certificate.

Each result on files is kept in a directory like that of a run, with `judged.toml` in place of `config.toml`: it
describes what was judged, so that the same call finds its own directory and refuses another one; and it has the
heading of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.audit_result import AuditResult
from ...audit.trials.options import RunOptions
from ..config.toml_text import to_toml
from ..data.table_files import csv_text
from ..present.results.sweep import SweepResult
from ..tasks.base import HERE, CommandTask, FileTask
from .certificate import write_certificate
from .directory import RunDirectory
from .record import session
from .writing import ConfigRun, Heading, Result, write_results

TITLES: dict[type, str] = {
    AuditResult: "Scores in",
    MembershipResult: "Membership attacks on",
    RiskResult: "Risks of",
}
"""Kind of a result -> start of its title."""


def keep(task: CommandTask, out: Path, options: RunOptions = HERE, *, pdf: bool = False) -> ConfigRun:
    """Run a task, and write its result with figures and reports; several results in a folder each, below one page.

    Finished simulations of a certificate are kept in the directory: the same call continues from there.

    Args:
        task: its files are read, and its result is computed, unless they were before.
        out: a new or empty directory, or that of an earlier result for the same files and options.
        options: workers and progress.
        pdf: whether to draw the figures as PDF too.

    Raises:
        FingerprintError, StoreError: the directory has another result, or cannot be written.
        DpassayError: as for the result of the task.
    """
    directory = RunDirectory(out)
    if not isinstance(task, FileTask):
        certificate = task.answer(task.run(replace(options, store=directory.trials("certificate"))))
        return ConfigRun(out, certificate, tuple(write_certificate(certificate, directory, task.command_line)))
    request = {"command": task.command_line, **task.digests}
    if len(task.parts) > 1 or task.tables:
        directory.claim_judged(to_toml(request))
    for name, table in task.tables.items():
        directory.write(name, csv_text(table))
    kept = [_keep(part, task, RunDirectory(out / folder), request, pdf) for folder, part in task.parts.items()]
    return kept[0] if len(kept) == 1 else _first_page(task, directory, kept)


def _first_page(task: FileTask, directory: RunDirectory, kept: list[ConfigRun]) -> ConfigRun:
    """Write one page for all parts, whose figures and numbers are in their folders."""
    from ..present.pages import Drawn, write

    kind = TITLES.get(type(task.result), "Language model on")
    title, folders = f"{kind} {task.title}", " and ".join(run.directory.name for run in kept)
    with directory.disk():
        about: dict[str, Any] = {
            "title": title,
            "command": task.command_line,
            "description": f"Figures and numbers: {folders}.",
        }
        files = write(task.result.text(), directory.path, Drawn(), **about)
    return ConfigRun(directory.path, kept[-1].result, tuple(files))


def _keep(result: Any, task: FileTask, directory: RunDirectory, request: Mapping[str, str], pdf: bool) -> ConfigRun:
    written, heading = written_as(result, task)
    directory.claim_judged(to_toml({**heading.to_dict(), **request}))
    with session(directory, getattr(written, "seed", 0), None):
        return write_results(written, heading, directory, ids=task.record_ids, pdf=pdf)


def written_as(result: Any, task: FileTask) -> tuple[Result, Heading]:
    """Return what is written of a result on files, and the heading of its pages."""
    heading = Heading(f"{TITLES[type(result)]} {task.title}", task.command_line, task.privacy_unit)
    if not isinstance(result, AuditResult):
        return result, heading
    heading = replace(heading, assumptions=f"{result.valid_if} This cannot be verified from the file.")
    about = {"name": task.title, "title": heading.title, "description": "", "fingerprint": result.fingerprint}
    return SweepResult.of([{}], [result], result.confidence, seed=result.seed, **about), heading


__all__ = ["keep", "written_as"]
