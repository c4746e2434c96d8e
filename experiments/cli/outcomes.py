"""Outcomes of the commands: the comparison with a baseline, and what each command writes for build servers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.results.audit_result import AuditResult
from ...audit.search.stress_result import StressResult
from ...mechanisms.core import ParameterError, StoreError, number, plural, terminal
from ..ci.checked import CheckedClaims, claims_of
from ..ci.comparison import ComparedClaim, Comparison, check_power_loss, common_differences, compare
from ..ci.findings import findings_of, text_for_builds
from ..ci.text import describe_comparison
from ..present.builds.findings import Findings, Place, line_of_table
from ..present.builds.step_summary import section
from ..present.results.sweep import SweepResult
from .application import exit_code_of, print_progress
from .outputs import OutputFiles, write_text

if TYPE_CHECKING:
    from ..ci.history import History
    from ..runs.writing import ConfigRun
    from ..tasks.base import FileTask


@dataclass(frozen=True)
class Baseline:
    """The baseline of a check, or none.

    Args:
        checked: the saved claim; None without a baseline.
        power_loss: allowed relative growth of the detectable excess over the claim, >= 0.
    """

    checked: CheckedClaims | None
    power_loss: float

    def __post_init__(self) -> None:
        check_power_loss(self.power_loss, argument="--power-loss")

    def compared(self, result: AuditResult | StressResult) -> Comparison | None:
        """Return the comparison of a result with the baseline; None without a baseline."""
        if self.checked is None:
            return None
        return compare(self.checked, claims_of(result), power_loss=self.power_loss)

    def text(self, compared: Comparison | None) -> str:
        """Return the comparison as lines; empty without one."""
        if compared is None:
            return ""
        lines = [f"baseline    {_against(compared.claims[0])}"]
        lines += [f"            differs: {text}" for text in common_differences(compared.claims)]
        return terminal("\n".join(lines)) + "\n"


def _against(claim: ComparedClaim) -> str:
    before = claim.before
    was = "" if before is None else f" (epsilon >= {number(before.bound)} then, detectable {number(before.detectable)})"
    return f"{claim.change.value}{was}{': ' if claim.reason else ''}{claim.reason}"


def write_check(
    files: OutputFiles,
    result: AuditResult | StressResult,
    compared: Comparison | None,
    history: History | None,
    place: Place,
    *,
    seconds: float,
    strict: bool,
) -> None:
    """Write the files of `dpassay check`."""
    summary = _summary_of_audit(result)
    if compared is not None:
        summary += section(describe_comparison(compared), heading="compared with the baseline")
    if history is not None:
        summary += section(history.text(), heading="history of builds")
    timed = {claims_of(result).title: seconds}
    found = findings_of(result, place, seconds=timed, strict=strict, comparison=compared)
    if history is not None and history.verdict is not result.verdict:
        found = replace(found, claims=(replace(found.claims[0], text=history.text()),))
    files.write(summary, json_text=result.to_json(), found=found)


def finish(task: FileTask, files: OutputFiles, *, out: Path | None, strict: bool = False, verbose: bool = False) -> int:
    """Run a task on files: print its result, write the requested files and the directory, and return the exit code.

    Raises:
        DpassayError: as for the result of the task; or a file or the directory cannot be written.
    """
    from ..runs.kept import keep
    from .terminal import first_screen, show_files

    files.check_writable()
    result = task.result
    sys.stdout.write(terminal(first_screen(result, verbose=verbose)))
    if isinstance(result, AuditResult):
        files.write(_summary_of_audit(result), json_text=result.to_json())
    elif files.json_file is not None:
        write_text(files.json_file, result.to_json())
    if files.records is not None:
        write_text(files.records, task.records_text)
        n_found = plural(len(result.found), "record")
        to = terminal(str(files.records))
        sys.stdout.write(f"wrote {n_found} to {to}: values of real people, for this machine only\n")
    if out is not None:
        show_files(keep(task, out))
    return exit_code_of(result, strict=strict)


def _summary_of_audit(result: AuditResult | StressResult) -> str:
    return section(text_for_builds(result), heading="dpassay check")


def refuse_without_claims(files: OutputFiles, config: str, settings: Mapping[str, Any]) -> None:
    """Raise `ParameterError` if claims are to be written for an experiment that has none, before it runs."""
    if files.junit_file is None and files.sarif_file is None:
        return
    from ..config.schema import Config

    if Config.load(config, settings)[0].membership is not None:
        raise ParameterError(
            f"--junit and --sarif are for experiments with claims, but {config} measures membership attacks. Leave "
            "them out.",
            argument=("--junit", "--sarif"),
        )


def refuse_mixed(stress: bool, alone: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Raise `ParameterError` for options that exclude --stress, and for options of --stress without it."""
    for name, given in (alone if stress else only).items():
        if given:
            advice = "cannot be combined with --stress, which makes the pairs" if stress else "is for --stress"
            raise ParameterError(f"--{name} {advice}. Leave it out.", argument=f"--{name}")


def write_pages(result: AuditResult | StressResult, directory: Path) -> None:
    """Write report.html and report.md of a check into a directory, which is made if it is missing.

    Raises:
        StoreError: the directory cannot be made or written.
    """
    from ..present.pages import Drawn, write

    command = shlex.join(["dpassay", *sys.argv[1:]])
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file in write(
            result.text(), directory, Drawn(), title=f"Hostile data: {claims_of(result).title}", command=command
        ):
            print_progress(f"report: {file}")
    except OSError as error:
        raise StoreError(f"cannot write {directory}: {error.strerror or error}. Choose another directory.") from error


def refuse_results(files: OutputFiles, **flags: bool) -> None:
    """Raise `ParameterError` for options that a slice does not have: it is one job, without results."""
    named = {"markdown": files.markdown, "junit": files.junit_file, "sarif": files.sarif_file, **flags}
    given = [f"--{name}" for name, value in named.items() if value]
    if given:
        raise ParameterError(
            f"{given[0]} cannot be combined with --slice: a slice is one job, and has no results. Leave it out.",
            argument=given,
        )


def write_run(files: OutputFiles, done: ConfigRun, config: str, *, strict: bool) -> None:
    """Write the files of `dpassay run`."""
    files.write(_section(done), found=_findings_of_run(done, config, strict))


def _section(done: ConfigRun) -> str:
    if not isinstance(done.result, SweepResult):
        return section(done.result.text(), heading=f"dpassay run: {done.directory.name}")
    return section(text_for_builds(done.result), heading=f"dpassay run: {done.result.title}")


def _findings_of_run(done: ConfigRun, config: str, strict: bool) -> Findings | None:
    """Return the findings of a run, placed at the table of the mechanism in its configuration."""
    from ..ci.saved_runs import seconds_of

    if not isinstance(done.result, SweepResult):
        return None
    file = Path(config) if config.endswith(".toml") else done.directory / "config.toml"
    place = Place(config, file, line_of_table(file, "mechanism"))
    seconds = seconds_of(done.directory, done.result, claims_of(done.result))
    return findings_of(done.result, place, seconds=seconds, strict=strict)
