"""From a configuration to a run directory.

    config -> tasks -> audits -> results.json, results.csv -> figures -> report

`results.json` has the same bytes whether the experiment ran serially, on several workers, or was killed and continued.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.evidence.verdict import Verdict
from ...audit.membership.result import MembershipResult
from ...audit.results.audit_result import AuditResult
from ...audit.trials.progress import LONG_SECONDS, Bar, in_words
from ...mechanisms.errors import ResultError, StoreError
from ...mechanisms.printable import csv_cell
from ..config.schema import Config
from ..config.source import Source
from ..results import times
from ..results.formatting import cut, parameters_text
from ..results.sweep import SweepResult, corrected
from .directory import RunDirectory
from .limits import announced, within_limits
from .record import Finished, append_session, finished, left

if TYPE_CHECKING:
    from ..tasks.base import Task

RUNS = Path("runs")
"""Where experiments go that are given no place: runs/NAME."""
AGAIN = "dpassay run config.toml --out again"
"""What runs an experiment once more, from the configuration in its report."""
SHADOWS = "shadow-models"
"""Folder of what the shadow models of [membership] said, among the trials."""


@dataclass(frozen=True)
class Run:
    """A finished experiment.

    Args:
        directory: where everything lies.
        result: the audits and the verdict; or the metrics of membership attacks.
        files: what was written for people: the figures and the reports.
    """

    directory: Path
    result: SweepResult | MembershipResult
    files: tuple[Path, ...]

    @property
    def verdict(self) -> Verdict | None:
        """On the claims; None where none was audited."""
        return self.result.verdict if isinstance(self.result, SweepResult) else None


def run(
    name_or_path: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    n_jobs: int | None = 1,
    progress: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """Runs an experiment, or continues one that was interrupted.

    Args:
        name_or_path: a configuration by path, or by name among those that come with dpassay.
        settings: dotted key -> value, on top of the configuration.
        out: the run directory; None is runs/NAME.
        n_jobs: workers, as for `dpassay.audit.audit`; the numbers do not depend on it.
        progress: whether to show a progress bar, when stderr is a terminal.
        tell: receives a line on each audit that is done.

    Returns:
        The result, and where it lies. A run that was finished by this very code is read back, not run again.

    Raises:
        ConfigError: something in the configuration cannot be run, and nothing has been written; or it needs more
            memory than there is.
        FingerprintError, StoreError: the directory holds something else, or cannot be written.
        DataError, ReleaseError, AttackError: see `dpassay.mechanisms.errors`.
    """
    config, source = Config.load(name_or_path, settings)
    directory = RunDirectory(RUNS / source.name if out is None else Path(out))
    own_file = "'csv'" in repr(config.question)  # which may have changed since, so that its numbers are made again
    if not own_file and (done := finished(directory, config)) is not None:
        return _again(done, config, source.name, directory, tell)
    ask = _audits if config.membership is None else _study
    with within_limits(config):
        with announced("checking the configuration", config, tell):
            answer = ask(config, source, n_jobs, progress, tell)
        directory.claim(config)
        with session(directory, config.seed, n_jobs):
            result = answer(directory)
            files = write_results(result, config, source.name, directory)
    return Run(directory.path, result, tuple(files))


@contextmanager
def session(directory: RunDirectory, seed: int, n_jobs: int | None) -> Iterator[None]:
    """Notes when and how it ran, whether it was finished, and what it left."""
    started, clock, done = datetime.now(UTC), time.monotonic(), False
    try:
        yield
        done = True
    finally:
        noted = {
            "started": started.isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - clock, 3),
            "workers": n_jobs,
            "finished": done,
        }
        append_session(directory, seed, noted | (left(directory) if done else {}))


def _again(
    done: Finished, config: Config, name: str, directory: RunDirectory, tell: Callable[[str], None] | None
) -> Run:
    """A finished run from its numbers; what is no longer as it was drawn is drawn again."""
    if tell is not None:
        tell(f"{directory.path} is finished; its results follow. To run it anew, remove it or choose another --out.")
    result = _read(done.results, config, directory)
    if done.complete:
        files = [directory.path / product for product in directory.products() if not product.startswith("results.")]
        return Run(directory.path, result, tuple(files))
    directory.claim(config)
    with session(directory, config.seed, None):
        files = write_results(result, config, name, directory)
    return Run(directory.path, result, tuple(files))


Answer = Callable[[RunDirectory], SweepResult | MembershipResult]


def _audits(
    config: Config, source: Source, n_jobs: int | None, progress: bool, tell: Callable[[str], None] | None
) -> Answer:
    """Audits, checked: what runs them, and concludes."""
    from ..tasks.planning import plan_tasks

    asked = plan_tasks(config, source)

    def answer(directory: RunDirectory) -> SweepResult:
        results: list[AuditResult] = []
        began = time.monotonic()
        for place, task in enumerate(asked, start=1):
            number = f"[{place}/{len(asked)}]"
            results.append(_answer(task, config, directory, n_jobs, progress, tell, number, len(asked)))
            left = (time.monotonic() - began) * (len(asked) - 1)
            if tell is not None and place == 1 and left >= LONG_SECONDS:
                tell(f"about {in_words(left)} left for the other {len(asked) - 1} audits, if they take as long")
        return _conclude(config, source.name, asked, results)

    return answer


def _study(
    config: Config, source: Source, n_jobs: int | None, progress: bool, tell: Callable[[str], None] | None
) -> Answer:
    """Membership attacks, checked: what trains the shadow models and measures."""
    from ...attacks.synthesis.shadows import ShadowTables
    from ..tasks.membership import study

    asked = study(config, source)
    made = "tables" if isinstance(asked.learner, ShadowTables) else "models"

    def answer(directory: RunDirectory) -> MembershipResult:
        doing = "making" if made == "tables" else "training"
        if tell is not None:
            tell(f"{doing} {asked.section.n_models} {made}, then attacking them")
        bar = Bar(f"shadow {made}:") if progress else False
        with announced(f"{doing} {made}", config, tell, bar):
            return asked.answer(n_jobs=n_jobs, store=directory.trials(SHADOWS), progress=bar)

    return answer


def write_results(
    result: SweepResult | MembershipResult, config: Config, name: str, directory: RunDirectory
) -> list[Path]:
    """Writes the numbers, then draws and reports them. Returns the figures and the reports."""
    from ..plots import draw_all
    from ..plots.membership import draw_study
    from ..report import write, write_membership

    write_numbers(result, directory)
    with directory.disk():
        if isinstance(result, MembershipResult):
            figures = draw_study(result, directory.figures())
            return [*figures, *write_membership(result, config, name, directory.path, figures)]
        figures = draw_all(result, directory.figures())
        pages = write(result, directory.path, figures, command=AGAIN, config=config.to_toml())
        return [*figures, *pages]


def write_numbers(result: SweepResult | MembershipResult, directory: RunDirectory) -> None:
    """Writes results.json and results.csv."""
    directory.write("results.json", result.to_json())
    table = io.StringIO()
    frame = result.to_frame().map(csv_cell).rename(columns=csv_cell)
    frame.to_csv(table, index=False, lineterminator="\n")
    directory.write("results.csv", table.getvalue())


def report(directory: Path | str) -> Run:
    """Draws and reports a finished run again, from its numbers.

    Raises:
        StoreError: it is no run directory, or the run was not finished.
        ResultError: the numbers were damaged or changed, contradict themselves, or are those of another configuration.
    """
    home = RunDirectory(Path(directory))
    config, source = home.config()
    result = _read(home.read("results.json"), config, home)
    return Run(home.path, result, tuple(write_results(result, config, source.name, home)))


def _read(text: str, config: Config, directory: RunDirectory) -> SweepResult | MembershipResult:
    """The result of a run directory; raises `ResultError` where it is damaged, or that of another configuration."""
    read = SweepResult.from_json if config.membership is None else MembershipResult.from_json
    path = directory.path / "results.json"
    try:
        result = read(text)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from error
    if isinstance(result, SweepResult) and result.fingerprint != config.fingerprint:
        raise ResultError(
            f"{path} holds the results of another configuration than the config.toml next to it. Restore both, or run "
            "the experiment again in another directory."
        )
    return result


def _answer(
    task: Task,
    config: Config,
    directory: RunDirectory,
    n_jobs: int | None,
    progress: bool,
    tell: Callable[[str], None] | None,
    place: str,
    n_hypotheses: int,
) -> AuditResult:
    """One of `n_hypotheses` audits, in its own folder of trials."""
    store, point = directory.trials(task.folder), parameters_text(task.parameters)
    bar = Bar(f"{place} {cut(point, 40)}") if progress else False
    with _timed(directory, task.folder), announced(f"{place} {cut(point, 40)}", config, tell, bar):
        result = task.answer(n_hypotheses=n_hypotheses, n_jobs=n_jobs, store=store, progress=bar)
    if tell is not None:
        tell(f"{place} {point or result.mechanism}: {_found(result)}")
    return result


@contextmanager
def _timed(directory: RunDirectory, point: str) -> Iterator[None]:
    """Adds the seconds that pass to what was noted of the audit, also of one that is interrupted."""
    clock = time.monotonic()
    try:
        yield
    finally:
        noted = times.read(directory.path)
        noted[point] = noted.get(point, 0.0) + time.monotonic() - clock
        with suppress(StoreError):  # a disk that is full must not hide what ended the audit
            directory.write(times.NAME, times.written(noted))


def _found(result: AuditResult) -> str:
    """Bound and claim, and where the claim is refuted if not there."""
    where = f"; refuted at another delta: {result.refuted_elsewhere}" if result.refuted_elsewhere else ""
    return f"epsilon >= {result.bound.epsilon:.4g}, claimed {result.claim:.4g}{where}"


def _conclude(config: Config, name: str, asked: list[Task], results: list[AuditResult]) -> SweepResult:
    """The verdict over all audits."""
    confidence = config.audit.confidence
    points, verdict, entry = corrected([q.parameters for q in asked], results, confidence=confidence)
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
