"""Running a configuration in a run directory.

    config -> tasks -> audits -> results.json, results.csv -> evidence card -> figures -> report

`results.json` has the same bytes whether the experiment ran serially, on several workers, or was killed and continued.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.metrics.membership.result import MembershipResult
from ...audit.results.audit_result import AuditResult
from ...audit.trials.progress import LONG_SECONDS, ProgressBar, in_words
from ...audit.trials.workers import named_errors, options
from ...mechanisms.core.errors import plural
from ..config.schema import Config
from ..config.source import Source, allowed_modules
from ..report.results.formatting import cut, parameters_text
from ..report.results.sweep import SweepResult, corrected
from .again import read_result
from .cluster import Cluster, connected
from .directory import RunDirectory
from .evidence import files_read
from .limits import announced, within_limits
from .record import Finished, add_time, finished, session, timed
from .writing import ConfigRun, Heading, write_records, write_results

if TYPE_CHECKING:
    from ..config.tasks.base import Task
    from ..config.tasks.membership import TrainedStudy

RUNS = Path("runs")
"""Default parent of run directories: runs/NAME."""
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

    def bar(self, name: str) -> ProgressBar | bool:
        """Return a progress bar of that name; False without progress."""
        return ProgressBar(name) if self.progress else False


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
            files = write_results(result, Heading.of(result, config, source.name), directory, inputs=inputs, pdf=pdf)
    return ConfigRun(directory.path, result, tuple(files))


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
    result = read_result(done.results, config, directory)
    numbers = ("results.json", "results.csv")
    files = [directory.path / product for product in directory.products() if product not in numbers]
    if done.complete and not (pdf and all(file.suffix != ".pdf" for file in files)):
        return ConfigRun(directory.path, result, tuple(files))
    directory.claim(config)
    with session(directory, config.seed, None):
        files = write_results(result, Heading.of(result, config, name), directory, pdf=pdf)
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
        expected=config.expected,
    )


__all__ = ["Execution", "run", "run_loaded"]
