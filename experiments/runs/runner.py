"""Running a configuration in a run directory.

    config -> tasks -> audits -> results.json, results.csv -> evidence card -> figures -> report

`results.json` has the same bytes whether the experiment ran serially, on several workers, or was killed and continued.
`keep_judged` writes the result for scores of other code into a directory like that of a run, and `keep_sweep` that of a
sweep in Python.
"""

from __future__ import annotations

import io
import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...audit.evidence.verdict import Verdict
from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.results.audit_result import AuditResult
from ...audit.trials.progress import LONG_SECONDS, Bar, in_words
from ...audit.trials.workers import named_errors, options
from ...mechanisms.core.errors import ResultError, StoreError, plural
from ...mechanisms.core.printable import csv_cell
from ..config.schema import Config
from ..config.source import Source, allowed_modules
from ..config.toml_text import to_toml
from ..report.results.formatting import cut, parameters_text
from ..report.results.provenance import TIMES, environment, read_times, times_text
from ..report.results.sweep import SweepResult, corrected
from .cluster import Cluster, connected
from .directory import JUDGED, RunDirectory
from .evidence import files_read, latex_table, write_evidence
from .limits import announced, within_limits
from .record import Finished, append_session, finished, left, recorded

if TYPE_CHECKING:
    import pandas as pd

    from ..config.tasks.base import Task
    from ..config.tasks.membership import TrainedStudy
    from ..report.card.card import Card

RUNS = Path("runs")
"""Default parent of run directories: runs/NAME."""
AGAIN = "dpassay run config.toml --out again"
"""Command that repeats an experiment from the configuration in its report."""
AT_ONCE = 4
"""Smallest number of audits that run at the same time on a cluster, if there are so many; or one per core, if more."""
SHADOWS = "shadow-models"
"""Folder, within the trials, for the signals of the shadow models of [membership]."""


@dataclass(frozen=True)
class Execution:
    """Options of a run that do not affect its numbers.

    Args:
        n_jobs: workers on this machine, as for `dpassay.audit.audit`.
        progress: whether to show a progress bar, when stderr is a terminal.
        report_line: receives a line on each finished audit.
        cluster: address of a Dask scheduler, or "local:N"; None for this machine.
    """

    n_jobs: int | None = 1
    progress: bool = False
    report_line: Callable[[str], None] | None = None
    cluster: str | None = None

    def report(self, text: str) -> None:
        """Report a line, if there is a receiver."""
        if self.report_line is not None:
            self.report_line(text)

    def bar(self, name: str) -> Bar | bool:
        """Return a progress bar of that name; False without progress."""
        return Bar(name) if self.progress else False


@dataclass(frozen=True)
class ConfigRun:
    """A finished experiment.

    Args:
        directory: the run directory.
        result: the audits and the verdict; or the metrics of membership attacks; or the risks of a table.
        files: the figures, the reports and the evidence.
    """

    directory: Path
    result: SweepResult | MembershipResult | RiskResult
    files: tuple[Path, ...]

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the claims; None for metrics."""
        return self.result.verdict if isinstance(self.result, SweepResult) else None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per audit or attack, as in results.csv."""
        return self.result.to_frame()

    def to_latex(self) -> str:
        """Return the table of results as LaTeX, as in results.tex; it needs the package booktabs."""
        return latex_table(self.result)


def run(
    name_or_path: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    n_jobs: int | None = 1,
    progress: bool = False,
    report_line: Callable[[str], None] | None = None,
    allow: Sequence[str] = (),
    pdf: bool = False,
    cluster: str | None = None,
) -> ConfigRun:
    """Run an experiment, or continue an interrupted one.

    Args:
        name_or_path: a configuration by path, or by name among those that come with dpassay.
        settings: dotted key -> value, on top of the configuration.
        out: the run directory; None is runs/NAME.
        n_jobs: workers, as for `dpassay.audit.audit`; the numbers do not depend on it.
        progress: whether to show a progress bar, when stderr is a terminal.
        report_line: receives a line on each finished audit.
        allow: Python files or modules, such as "mine.py", whose functions and mechanisms the configuration may name as
            "mine:release". They run with your rights; a configuration alone runs no code.
        pdf: whether to draw the figures as PDF too.
        cluster: address of a Dask scheduler, such as "tcp://HOST:8786", or "local:N"; `n_jobs` is then not used.

    Returns:
        The result, and its directory. A run that the same code finished is loaded, not repeated.

    Raises:
        ConfigError: the configuration is invalid, and nothing has been written; or it needs more memory than is
            available.
        FingerprintError, StoreError: the directory has another experiment, or cannot be written.
        ClusterError: the cluster does not answer, or was lost; the same call continues from the finished trials.
        DataError, ReleaseError, AttackError: see `dpassay.mechanisms.core.errors`.
    """
    config, source = Config.load(name_or_path, settings)
    source = replace(source, allowed=allowed_modules(allow))
    directory = RunDirectory(RUNS / source.name if out is None else Path(out))
    directory.refuse_slice()
    shadows = config.data is not None and config.data.shadows is not None
    reads_files = bool(allow) or shadows or "'csv'" in repr(config.question)  # they may have changed since
    if not reads_files and (done := finished(directory, config)) is not None:
        return _reused(done, config, source.name, directory, report_line, pdf)
    return run_loaded(config, source, directory, Execution(n_jobs, progress, report_line, cluster), pdf=pdf)


def run_loaded(
    config: Config, source: Source, directory: RunDirectory, execution: Execution, *, pdf: bool = False
) -> ConfigRun:
    """Run a loaded experiment in its directory, from the trials that are there."""
    prepare = _audits if config.membership is None else _study
    with within_limits(config):
        with announced("checking the configuration", config, execution.report_line):
            compute = prepare(config, source, execution)
        directory.claim(config)
        inputs = files_read(config, source.allowed)
        with session(directory, config.seed, execution.cluster or execution.n_jobs, inputs):
            with connected(execution.cluster, source.allowed) as cluster:
                result = compute(directory, cluster)
            files = write_results(result, config, source.name, directory, inputs=inputs, pdf=pdf)
    return ConfigRun(directory.path, result, tuple(files))


@contextmanager
def session(
    directory: RunDirectory, seed: int, workers: int | str | None, inputs: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Record a session: time, workers, digests of the files it read, whether it finished, and digests of its files."""
    started, clock, done = datetime.now(UTC), time.monotonic(), False
    try:
        yield
        done = True
    finally:
        entry = {
            "started": started.isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - clock, 3),
            "workers": workers,
            "finished": done,
            **({"inputs": dict(inputs)} if inputs else {}),
        }
        append_session(directory, seed, entry | (left(directory) if done else {}))


def _reused(
    done: Finished,
    config: Config,
    name: str,
    directory: RunDirectory,
    report_line: Callable[[str], None] | None,
    pdf: bool,
) -> ConfigRun:
    """Return a finished run from its numbers; missing or changed figures and reports are drawn again."""
    if report_line is not None:
        report_line(
            f"{directory.path} is finished; its results follow. To repeat the run, remove it or choose another --out."
        )
    result = _read(done.results, config, directory)
    numbers = ("results.json", "results.csv")
    files = [directory.path / product for product in directory.products() if product not in numbers]
    if done.complete and not (pdf and all(file.suffix != ".pdf" for file in files)):
        return ConfigRun(directory.path, result, tuple(files))
    directory.claim(config)
    with session(directory, config.seed, None):
        files = write_results(result, config, name, directory, pdf=pdf)
    return ConfigRun(directory.path, result, tuple(files))


Answer = Callable[[RunDirectory, Cluster | None], SweepResult | MembershipResult]


def _audits(config: Config, source: Source, execution: Execution) -> Answer:
    """Plan and check the audits; return the function that runs them and computes the verdict."""
    from ..config.tasks.planning import plan_tasks

    tasks = plan_tasks(config, source)

    def compute(directory: RunDirectory, cluster: Cluster | None) -> SweepResult:
        run_all = _one_by_one if cluster is None or len(tasks) == 1 else _at_once
        results = run_all(tasks, config, directory, execution, cluster)
        return _conclude(config, source.name, tasks, results)

    return compute


def _one_by_one(
    tasks: Sequence[Task], config: Config, directory: RunDirectory, execution: Execution, cluster: Cluster | None
) -> list[AuditResult]:
    """Run the audits one after the other."""
    results: list[AuditResult] = []
    began = time.monotonic()
    for place, task in enumerate(tasks, start=1):
        number = f"[{place}/{len(tasks)}]"
        with timed(directory, task.folder):
            results.append(_run_task(task, config, directory, execution, cluster, number, len(tasks)))
        execution.report(_line(number, task, results[-1]))
        remaining = (time.monotonic() - began) * (len(tasks) - 1)
        if place == 1 and remaining >= LONG_SECONDS:
            execution.report(
                f"about {in_words(remaining)} left for the other {len(tasks) - 1} audits, if they take as long"
            )
    return results


def _at_once(
    tasks: Sequence[Task], config: Config, directory: RunDirectory, execution: Execution, cluster: Cluster | None
) -> list[AuditResult]:
    """Run several audits at the same time on a cluster, each from a process of this machine."""
    from joblib import Parallel, delayed

    n_processes = min(len(tasks), max(AT_ONCE, os.cpu_count() or 1))
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered", batch_size=1, **options("processes"))
    by_place: dict[int, AuditResult] = {}
    with named_errors("an audit", None):
        for place, result, seconds in parallel(
            delayed(_run_there)(place, task, config, directory, cluster, len(tasks)) for place, task in enumerate(tasks)
        ):
            by_place[place] = result
            add_time(directory, tasks[place].folder, seconds)
            execution.report(_line(f"[{len(by_place)}/{len(tasks)}]", tasks[place], result))
    return [by_place[place] for place in range(len(tasks))]


def _run_there(
    place: int, task: Task, config: Config, directory: RunDirectory, cluster: Cluster, n_hypotheses: int
) -> tuple[int, AuditResult, float]:
    """Run an audit in a process; return its place, its result and the elapsed seconds."""
    began = time.monotonic()
    result = _run_task(task, config, directory, Execution(), cluster, "", n_hypotheses)
    return place, result, time.monotonic() - began


def _study(config: Config, source: Source, execution: Execution) -> Answer:
    """Plan and check membership attacks; return the function that trains the shadow models and measures."""
    from ..config.tasks.membership import TrainedStudy, study

    task = study(config, source)
    if isinstance(task, TrainedStudy):
        return partial(_attack_trained, task, config, execution)
    step, kind = task.activity

    def compute(directory: RunDirectory, cluster: Cluster | None) -> MembershipResult:
        execution.report(f"{step} {task.section.n_models} {kind}, then attacking them")
        bar = execution.bar(f"shadow {kind}:")
        with announced(f"{step} {kind}", config, execution.report_line, bar), _workers(cluster, execution) as n_jobs:
            return task.answer(n_jobs=n_jobs, store=directory.trials(SHADOWS), progress=bar)

    return compute


@contextmanager
def _workers(cluster: Cluster | None, execution: Execution) -> Iterator[int | None]:
    """Yield the option `n_jobs` for an audit: on a cluster None, as in `joblib.parallel_config`."""
    if cluster is None:
        yield execution.n_jobs
        return
    with cluster.joined():
        yield None


def _attack_trained(
    task: TrainedStudy, config: Config, execution: Execution, directory: RunDirectory, cluster: Cluster | None
) -> MembershipResult:
    """Attack the shadow models of a file, and write the table of its records."""
    models = plural(len(task.named.shadows), "model")
    with announced(f"attacking {models}", config, execution.report_line, False):
        result = task.answer()
    write_records(result, task.named.ids, directory)
    return result


def write_results(
    result: SweepResult | MembershipResult,
    config: Config,
    name: str,
    directory: RunDirectory,
    *,
    inputs: Mapping[str, str] | None = None,
    known: Mapping[str, Any] | None = None,
    pdf: bool = False,
) -> list[Path]:
    """Write the numbers, the evidence card, the figures and the reports; return all but the numbers.

    Args:
        result, config, directory: of the run.
        name: of the experiment.
        inputs: path -> SHA-256 of files outside the directory that the run read.
        known: environment of the run; None for the present one.
        pdf: whether to draw the figures as PDF too.
    """
    from ..report.membership import write_membership
    from ..report.pages import write
    from ..report.plots import draw_all
    from ..report.plots.membership import draw_study

    write_numbers(result, directory)
    title = result.title if isinstance(result, SweepResult) else config.title or name
    _, evidence = write_evidence(
        result,
        directory,
        title=title,
        command=AGAIN,
        environment=environment() if known is None else known,
        unit=config.unit,
        inputs=inputs,
    )
    with directory.disk():
        if isinstance(result, MembershipResult):
            figures = draw_study(result, directory.figures(), pdf=pdf)
            trained = config.data.shadows if config.data is not None else None
            models = ("mechanism", config.mechanism.name) if trained is None else ("shadow models", trained)
            settings = (models, ("seed", str(config.seed)))
            pages = write_membership(
                result,
                directory.path,
                figures,
                title=title,
                description=config.description,
                settings=settings,
                command=AGAIN,
                config=config.to_toml(),
            )
            return [*figures, *pages, *evidence]
        figures = draw_all(result, directory.figures(), pdf=pdf)
        pages = write(result, directory.path, figures, command=AGAIN, config=config.to_toml())
        return [*figures, *pages, *evidence]


def write_numbers(result: SweepResult | MembershipResult | RiskResult, directory: RunDirectory) -> None:
    """Write results.json and results.csv."""
    directory.write("results.json", result.to_json())
    table = io.StringIO()
    frame = result.to_frame().map(csv_cell).rename(columns=csv_cell)
    frame.to_csv(table, index=False, lineterminator="\n")
    directory.write("results.csv", table.getvalue())


def report(directory: Path | str, *, pdf: bool = False) -> ConfigRun:
    """Draw and report a finished run again, from its numbers; with `pdf`, draw the figures as PDF too.

    Raises:
        StoreError: it is not a run directory, or the run is not finished.
        ResultError: the numbers were damaged or changed, contradict each other, or belong to another configuration.
    """
    run_directory = RunDirectory(Path(directory))
    config, source = run_directory.config()
    result = _read(run_directory.read("results.json"), config, run_directory)
    known, inputs = recorded(run_directory)
    files = write_results(result, config, source.name, run_directory, inputs=inputs, known=known, pdf=pdf)
    return ConfigRun(run_directory.path, result, tuple(files))


def card(directory: Path | str) -> tuple[Card, ConfigRun]:
    """Write evidence card, registry record and LaTeX table of a finished run again, from its numbers.

    Args:
        directory: of `dpassay run`, or of `dpassay judge --out`, `dpassay membership --out` or `sweep`.

    Returns:
        The card; and the result, with the files that were written.

    Raises:
        StoreError: it is not such a directory, or the run is not finished.
        ResultError: the numbers were damaged or changed, or belong to another configuration.
    """
    run_directory = RunDirectory(Path(directory))
    title, unit, command = "", "", AGAIN
    if (run_directory.path / JUDGED).is_file():
        result = _read_any(run_directory)
        request = judged_request(run_directory)
        command, unit = str(request.get("command", command)), str(request.get("unit", ""))
    else:
        config, _ = run_directory.config()
        result = _read(run_directory.read("results.json"), config, run_directory)
        title, unit = config.title, config.unit
    if not title:
        name = run_directory.path.resolve().name
        title = result.title if isinstance(result, SweepResult) else f"Membership attacks in {name}"
    known, inputs = recorded(run_directory)
    if not known:
        raise StoreError(
            f"{run_directory.path} does not say how its numbers were made: environment.json is missing or damaged, or "
            "the last session did not finish. Run the experiment again; it continues from its trials."
        )
    made, files = write_evidence(
        result, run_directory, title=title, command=command, environment=known, unit=unit, inputs=inputs
    )
    return made, ConfigRun(run_directory.path, result, tuple(files))


def judged_request(directory: RunDirectory) -> dict[str, Any]:
    """Return the description of external scores; raise `StoreError` if it is damaged."""
    try:
        return tomllib.loads(directory.read(JUDGED))
    except ValueError as error:
        raise StoreError(f"{directory.path / JUDGED} is damaged: {error}. Judge the scores again.") from error


def _read_any(directory: RunDirectory) -> SweepResult | MembershipResult:
    """Load the numbers of a directory without a configuration, by the format that they state."""
    text = directory.read("results.json")
    try:
        is_sweep = json.loads(text).get("format") == SweepResult.FORMAT
        return SweepResult.from_json(text) if is_sweep else MembershipResult.from_json(text)
    except (ValueError, AttributeError, RecursionError) as error:
        raise ResultError(f"{directory.path / 'results.json'}: {error}") from error


def _read(text: str, config: Config, directory: RunDirectory) -> SweepResult | MembershipResult:
    """Load the result of a run directory; raise `ResultError` if it is damaged or of another configuration."""
    read = SweepResult.from_json if config.membership is None else MembershipResult.from_json
    path = directory.path / "results.json"
    try:
        result = read(text)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from error
    if isinstance(result, SweepResult) and result.fingerprint != config.fingerprint:
        raise ResultError(
            f"{path} has the results of another configuration than the config.toml next to it. Restore both, or run "
            "the experiment again in another directory."
        )
    return result


def _run_task(
    task: Task,
    config: Config,
    directory: RunDirectory,
    execution: Execution,
    cluster: Cluster | None,
    place: str,
    n_hypotheses: int,
) -> AuditResult:
    """Run one of `n_hypotheses` audits, with a separate folder of trials."""
    name = f"{place} {cut(parameters_text(task.parameters), 40)}"
    store, bar = directory.trials(task.folder), execution.bar(name)
    with announced(name, config, execution.report_line, bar), _workers(cluster, execution) as n_jobs:
        return task.answer(n_hypotheses=n_hypotheses, n_jobs=n_jobs, store=store, progress=bar)


@contextmanager
def timed(directory: RunDirectory, point: str) -> Iterator[None]:
    """Add the elapsed seconds to the recorded time of the audit, also if it is interrupted."""
    clock = time.monotonic()
    try:
        yield
    finally:
        add_time(directory, point, time.monotonic() - clock)


def add_time(directory: RunDirectory, point: str, seconds: float) -> None:
    """Add seconds to the recorded time of an audit."""
    times = read_times(directory.path)
    times[point] = times.get(point, 0.0) + seconds
    with suppress(StoreError):  # a full disk must not hide the error that ended the audit
        directory.write(TIMES, times_text(times))


def _line(place: str, task: Task, result: AuditResult) -> str:
    """Return the line on a finished audit."""
    return f"{place} {parameters_text(task.parameters) or result.mechanism}: {_outcome(result)}"


def _outcome(result: AuditResult) -> str:
    """Return bound and claim, and the violation at another delta, if there is one."""
    where = f"; refuted at another delta: {result.refuted_elsewhere}" if result.refuted_elsewhere else ""
    return f"epsilon >= {result.bound.epsilon:.4g}, claimed {result.claim:.4g}{where}"


def _conclude(config: Config, name: str, tasks: list[Task], results: list[AuditResult]) -> SweepResult:
    """Compute the verdict over all audits."""
    confidence = config.audit.confidence
    points, verdict, entry = corrected([task.parameters for task in tasks], results, confidence=confidence)
    return SweepResult(
        name=name,
        title=config.title or name,
        description=config.description.strip(),
        fingerprint=config.fingerprint,
        seed=config.seed,
        confidence=confidence,
        points=points,
        verdict=verdict,
        ledger=(entry,),
    )


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
    directory = RunDirectory(out)
    directory.claim_judged(to_toml({key: value for key, value in request.items() if value is not None}))
    with session(directory, result.seed, None):
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

    directory = RunDirectory(out)
    directory.claim_judged(to_toml({key: value for key, value in request.items() if value is not None}))
    with session(directory, 0, None):
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

    directory = RunDirectory(out)
    directory.claim_judged(to_toml({key: value for key, value in request.items() if value is not None}))
    with session(directory, 0, None):
        write_numbers(result, directory)
        with directory.disk():
            pages = write_risk(result, directory.path, title=f"Risks of {name}", command=command)
    return ConfigRun(directory.path, result, tuple(pages))


def write_records(result: MembershipResult, ids: Sequence[str], directory: RunDirectory) -> None:
    """Write results.records.csv, the table of the records of shadow models of other code."""
    table = record_frame(result, ids).map(csv_cell).to_csv(index=False, lineterminator="\n")
    directory.write("results.records.csv", table)


def record_frame(result: MembershipResult, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per record: AUC, share of detections at 1 % FPR and adjusted p-value under each attack.

    The most exposed record is first.
    """
    import pandas as pd

    frame = pd.DataFrame({"record": list(ids)})
    for metrics in result.attacks:
        if metrics.records is not None:
            frame[f"{metrics.attack}: AUC"] = metrics.records.auc
            frame[f"{metrics.attack}: detected"] = metrics.records.tpr
            frame[f"{metrics.attack}: p (Holm)"] = metrics.records.holm
    best = result.headline.records
    if best is None:
        return frame
    return frame.iloc[np.lexsort((-np.nan_to_num(best.auc), best.p_value))]


__all__ = ["card", "keep_judged", "keep_membership", "keep_risk", "keep_sweep", "report", "run"]
