"""Running a configuration in a run directory.

    config -> tasks -> answers -> results.json, results.csv -> evidence card -> figures -> report

`results.json` has the same bytes whether the experiment ran serially, on several workers, or was killed and continued.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.metrics.membership.result import MembershipResult
from ...audit.results.audit_result import AuditResult
from ...audit.trials.options import RunOptions
from ...audit.trials.plan import Slice
from ...audit.trials.progress import LONG_SECONDS, ProgressBar, in_words
from ...audit.trials.store import SlicedStore
from ...audit.trials.workers import named_errors, options
from ...mechanisms.core import ParameterError, number
from ..config.command_table import command_of, located, task_of
from ..config.config_errors import at
from ..config.schema import Config
from ..config.source import Source, allowed_modules
from ..present.results.parameters import cut, parameters_text
from ..present.results.sweep import SweepResult
from .again import read_result
from .cluster import Cluster, connected
from .directory import RunDirectory
from .evidence import files_read
from .kept import keep
from .limits import announced, within_limits
from .record import add_time, finished, session, timed
from .writing import ConfigRun, Heading, write_results

if TYPE_CHECKING:
    from ..config.tasks.base import PointTask

RUNS = Path("runs")
"""Default parent of run directories: runs/NAME."""
AT_ONCE = 4
"""Smallest number of audits that run at the same time on a cluster, if there are so many; or one per core, if more."""


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
    """Run an experiment, or continue an interrupted one; or run the task in the table of a command, such as [risk].

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
    source = Source.find(name_or_path, settings)
    directory = RunDirectory(RUNS / source.name if out is None else Path(out))
    if (command := command_of(source)) is not None:
        for option in (option for option, given in (("allow", allow), ("cluster", cluster)) if given):
            raise ParameterError(f"{option} is for trials, and [{command}] has none. Leave it out.", argument=option)
        with located(command, source):
            return keep(task_of(command, source), directory.path, RunOptions(n_jobs, progress=progress), pdf=pdf)
    config = Config.of(source)
    source = replace(source, allowed=allowed_modules(allow))
    directory.refuse_slice()
    execution = Execution(n_jobs, progress, report_line, cluster)
    may_have_changed = bool(allow or config.data_files)
    if not may_have_changed and (done := _reused(config, source.name, directory, execution, pdf)) is not None:
        return done
    return run_loaded(config, source, directory, execution, pdf=pdf)


def run_loaded(
    config: Config, source: Source, directory: RunDirectory, execution: Execution, *, pdf: bool = False
) -> ConfigRun:
    """Run a loaded experiment in its directory, from the trials that are there."""
    with within_limits(config):
        tasks = plan(config, source, execution)
        directory.claim(config)
        inputs = files_read(config, source.allowed)
        with session(directory, config.seed, execution.cluster or execution.n_jobs, inputs):
            result = compute(tasks, config, source, directory, execution)
            heading, ids = Heading.of(result, config, source.name), tasks[0].record_ids
            return write_results(result, heading, directory, ids=ids, inputs=inputs, pdf=pdf)


def compute(
    tasks: Sequence[PointTask], config: Config, source: Source, directory: RunDirectory, execution: Execution
) -> SweepResult | MembershipResult:
    """Return the result of the tasks of an experiment, whose trials are kept in the directory."""
    with connected(execution.cluster, source.allowed) as cluster:
        answers = _run_tasks(tasks, config, directory, execution, cluster)
    return _joined(config, source.name, tasks, answers)


def plan(config: Config, source: Source, execution: Execution) -> list[PointTask]:
    """Build the tasks of an experiment, checked before the first run."""
    from ..config.tasks.planning import plan_tasks

    with announced("checking the configuration", config, execution.report_line):
        return plan_tasks(config, source)


def _reused(config: Config, name: str, directory: RunDirectory, execution: Execution, pdf: bool) -> ConfigRun | None:
    """Return a finished run from its numbers; missing or changed figures and reports are drawn again.

    None if it must be computed.
    """
    if (done := finished(directory, config)) is None:
        return None
    execution.report(
        f"{directory.path} is finished; its results follow. To repeat the run, remove it or choose another --out."
    )
    result = read_result(done.results, directory, config)
    numbers = ("results.json", "results.csv")
    files = [directory.path / product for product in directory.products() if product not in numbers]
    if not done.complete or (pdf and all(file.suffix != ".pdf" for file in files)):
        directory.claim(config)
        with session(directory, config.seed, None):
            return write_results(result, Heading.of(result, config, name), directory, pdf=pdf)
    return ConfigRun(directory.path, result, tuple(files))


def _run_tasks(
    tasks: Sequence[PointTask], config: Config, directory: RunDirectory, execution: Execution, cluster: Cluster | None
) -> list[Any]:
    """Return the answer of each task, one after the other, or several at the same time on a cluster."""
    answers: dict[int, Any] = {}
    began, runs = time.monotonic(), [task.estimate() for task in tasks]
    run_all = _at_once if cluster and len(tasks) > 1 else _one_by_one
    for place, answer in run_all(tasks, config, directory, execution, cluster):
        answers[place] = answer
        if isinstance(answer, AuditResult):
            name = parameters_text(tasks[place].parameters) or answer.mechanism
            execution.report(f"[{len(answers)}/{len(tasks)}] {name}: {outcome(answer)}")
        remaining = (time.monotonic() - began) * sum(runs[1:]) / max(runs[0], 1)
        if len(answers) == 1 and cluster is None and remaining >= LONG_SECONDS:
            execution.report(
                f"about {in_words(remaining)} left for the other {len(tasks) - 1} audits, if each run takes as long"
            )
    return [answers[place] for place in range(len(tasks))]


def _one_by_one(
    tasks: Sequence[PointTask], config: Config, directory: RunDirectory, execution: Execution, cluster: Cluster | None
) -> Iterator[tuple[int, Any]]:
    """Yield the place and the answer of each task."""
    for place, task in enumerate(tasks):
        with timed(directory, task.folder):
            answer = run_task(task, config, directory, execution, cluster, f"[{place + 1}/{len(tasks)}] ")
        yield place, answer


def _at_once(
    tasks: Sequence[PointTask], config: Config, directory: RunDirectory, execution: Execution, cluster: Cluster | None
) -> Iterator[tuple[int, Any]]:
    """Yield the place and the answer of each finished task; each runs in a process of this machine."""
    from joblib import Parallel, delayed

    n_processes = min(len(tasks), max(AT_ONCE, os.cpu_count() or 1))
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered", batch_size=1, **options("processes"))
    with named_errors("an audit", None):
        for place, answer, seconds in parallel(
            delayed(_run_there)(place, task, config, directory, cluster) for place, task in enumerate(tasks)
        ):
            add_time(directory, tasks[place].folder, seconds)
            yield place, answer


def _run_there(
    place: int, task: PointTask, config: Config, directory: RunDirectory, cluster: Cluster
) -> tuple[int, Any, float]:
    """Run a task in a process; return its place, its answer and the elapsed seconds."""
    began = time.monotonic()
    answer = run_task(task, config, directory, Execution(), cluster, "")
    return place, answer, time.monotonic() - began


def run_task(
    task: PointTask,
    config: Config,
    directory: RunDirectory,
    execution: Execution,
    cluster: Cluster | None = None,
    number: str = "",
    part: Slice | None = None,
) -> Any:
    """Run one task, with a separate folder of trials, and return its answer.

    Args:
        task, config, directory, execution, cluster: of the run.
        number: of the task, for messages.
        part: the slice of the trials to run; None for all.

    Raises:
        SliceDoneError: the slice is finished, which has no answer.
    """
    if task.activity and part is None:
        execution.report(task.activity)
    name = task.activity or f"{number}{cut(parameters_text(task.parameters), 40)}"
    bar = ProgressBar(name) if execution.progress else False
    folder = directory.trials(task.folder)
    store = folder if part is None else SlicedStore(folder, part)
    workers, n_jobs = (nullcontext(), execution.n_jobs) if cluster is None else (cluster.joined(), None)
    with announced(name, config, execution.report_line, bar), at(task.parameters), workers:
        return task.answer(task.run(RunOptions(n_jobs, store, bar)))


def outcome(result: AuditResult) -> str:
    """Return bound and claim, and the violation at another delta, if there is one."""
    where = f"; refuted at another delta: {result.refuted_elsewhere}" if result.refuted_elsewhere else ""
    return f"epsilon >= {number(result.bound.epsilon)}, claimed {number(result.claim)}{where}"


def _joined(
    config: Config, name: str, tasks: Sequence[PointTask], answers: Sequence[Any]
) -> SweepResult | MembershipResult:
    """Return the result of an experiment: metrics as they are, and the verdict over all audits."""
    if isinstance(answers[0], MembershipResult):
        return answers[0]
    return SweepResult.of(
        [task.parameters for task in tasks],
        answers,
        config.audit.confidence,
        name=name,
        title=config.title or name,
        description=config.description.strip(),
        fingerprint=config.fingerprint,
        seed=config.seed,
        expected=config.expected,
    )


__all__ = ["Execution", "compute", "outcome", "plan", "run", "run_loaded", "run_task"]
