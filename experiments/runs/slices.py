"""Slices of an experiment, run by jobs that do not see each other, and their merge into one run.

    dpassay run CONFIG --slice 3/100 --out DIR     the trials of one slice; no results
    dpassay merge DIR... --out DIR                 the trials of all slices, judged once

The chunks of trials are divided (`dpassay.audit.trials.plan.Slice`), and each chunk has its own random stream, so that
the merged run has the bytes of a run on one machine. Each slice repeats the pilot of the audits that it reaches.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.trials.plan import Slice
from ...audit.trials.store import differences, merge_stores
from ...mechanisms.core import FingerprintError, ParameterError, SliceDoneError, StoreError, listed
from ..config.schema import Config
from ..config.source import Source, allowed_modules
from ..present.results.provenance import TIMES, derived_by, read_times, times_text
from .directory import SLICE, RunDirectory
from .evidence import files_read
from .limits import within_limits
from .record import session, timed
from .runner import RUNS, Execution, plan, run_loaded, run_task
from .writing import ConfigRun

if TYPE_CHECKING:
    from ..config.tasks.base import PointTask

Report = Callable[[str], None]
_KINDS = {
    "number": int,
    "count": int,
    "name": str,
    "inputs": dict,
    "derived_by": dict,
    "finished": bool,
    "trials": dict,
}
"""Types of the values of slice.json."""
MAX_NAMED_SLICES = 20
"""Largest number of slices that an error names."""


@dataclass(frozen=True)
class SliceRecord:
    """The content of slice.json.

    Args:
        number, count: position of the slice, and number of slices.
        name: of the experiment.
        inputs: path -> SHA-256 of files outside the directory that the slice read.
        derived_by: versions and code.
        finished: True if all chunks of the slice are in its directory.
        trials: path of each journal of trials -> its SHA-256 when the slice finished.
    """

    number: int
    count: int
    name: str
    inputs: Mapping[str, str]
    derived_by: Mapping[str, Any]
    finished: bool = False
    trials: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, directory: RunDirectory) -> SliceRecord:
        """Return the record of a directory; raise `StoreError` if it has none."""
        directory.config()
        if not (directory.path / SLICE).is_file():
            raise StoreError(f"{directory.path} has no slice. Pass folders of `dpassay run --slice`.")
        try:
            record = cls(**json.loads(directory.read(SLICE)))
            wrong = [name for name, kind in _KINDS.items() if type(getattr(record, name)) is not kind]
            if wrong or not 1 <= record.number <= record.count:
                raise ValueError(f"the value of {wrong[0] if wrong else 'number'} is none of a slice")
            return record
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{directory.path / SLICE} is damaged: {error}. Run the slice again.") from error

    def write(self, directory: RunDirectory) -> None:
        """Write the record into a directory."""
        directory.write(SLICE, json.dumps(vars(self), indent=1, sort_keys=True) + "\n")

    @property
    def shared(self) -> dict[str, Any]:
        """Content that all slices of an experiment have in common."""
        names = ("count", "name", "inputs", "derived_by")
        shared: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in names}))
        return shared


def run_slice(
    name_or_path: str | Path,
    share: Slice,
    *,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    n_jobs: int | None = 1,
    progress: bool = False,
    report_line: Report | None = None,
    allow: Sequence[str] = (),
) -> Path:
    """Run one slice of an experiment, or continue it; return its directory, which has trials and no results.

    Args:
        name_or_path, settings, n_jobs, progress, report_line, allow: as for `run`.
        share: the slice.
        out: directory of the slice; None is runs/NAME-3-of-100.

    Raises:
        ConfigError: the experiment has no slices, such as a search.
        ParameterError: a mechanism that cannot leave one process.
        FingerprintError, StoreError: the directory has something else, or cannot be written.
    """
    config, source = Config.load(name_or_path, settings)
    source = replace(source, allowed=allowed_modules(allow))
    default = RUNS / f"{source.name}-{share.number}-of-{share.count}"
    directory = RunDirectory(default if out is None else Path(out))
    execution = Execution(n_jobs, progress, report_line)
    with within_limits(config):
        tasks = _divisible(config, source, execution)
        inputs = files_read(config, source.allowed)
        record = SliceRecord(share.number, share.count, source.name, inputs, derived_by())
        _claim(directory, config, record)
        with session(directory, config.seed, n_jobs, inputs):
            for place, task in enumerate(tasks):
                part = replace(share, audit=place, n_audits=len(tasks))
                if part.reaches:
                    _run_part(part, task, config, directory, execution)
            replace(record, finished=True, trials=directory.journals()).write(directory)
    return directory.path


def _divisible(config: Config, source: Source, execution: Execution) -> list[PointTask]:
    """Build the tasks of the experiment; raise `ConfigError` if their runs cannot be divided into slices."""
    tasks = plan(config, source, execution)
    table = "search" if config.search is not None else "game" if config.game is not None else "data"
    single = f"[{table}] has a single run, which one machine makes"
    reason = next((task.indivisible for task in tasks if task.indivisible), "")
    if reason or sum(task.estimate() for task in tasks) == 1:
        raise source.error((table,), f"{reason or single}: run this experiment without slices.")
    return tasks


def _claim(directory: RunDirectory, config: Config, record: SliceRecord) -> None:
    """Make this the directory of the slice; raise unless it is empty, or has the same slice of the same experiment."""
    if directory.claim(config) and (directory.path / "trials").exists():
        if not (directory.path / SLICE).exists():
            raise StoreError(f"{directory.path} has a run without slices. Choose another --out.")
        earlier = SliceRecord.read(directory)
        if (earlier.number, earlier.count) != (record.number, record.count):
            raise FingerprintError(
                f"{directory.path} has slice {earlier.number}/{earlier.count}, not {record.number}/{record.count}. "
                "Choose another --out for each slice."
            )
        _check_same(directory.path, earlier, Path("this slice"), record)
    record.write(directory)


def _run_part(part: Slice, task: PointTask, config: Config, directory: RunDirectory, execution: Execution) -> None:
    """Run the chunks of one task that belong to the slice."""
    number = f"[{part.audit + 1}/{part.n_audits}] "
    with timed(directory, task.folder):
        try:
            run_task(task, config, directory, execution, number=number, part=part)
        except SliceDoneError as done:
            execution.report(f"{number}{task.folder}: {done.n_chunks:,} of {done.n_all:,} chunks")
        else:
            raise AssertionError(f"a slice of {task.folder} has a result")


def merge(
    directories: Sequence[Path | str],
    out: Path | str,
    *,
    allow: Sequence[str] = (),
    progress: bool = False,
    report_line: Report | None = None,
    pdf: bool = False,
) -> ConfigRun:
    """Join the trials of all slices of an experiment, and judge them once.

    Args:
        directories: one for each slice, in any order.
        out: run directory of the whole experiment, new or empty, or that of an interrupted merge.
        allow: as for `run`; needed if the experiment names code of your own.
        progress, report_line, pdf: as for `run`.

    Returns:
        The result: results.json has the bytes of a run on one machine.

    Raises:
        ParameterError: a slice is missing, or is there twice.
        FingerprintError: slices of different configurations, versions or inputs.
        StoreError: a directory has no finished slice, or machines computed different numbers.
    """
    parts = {Path(path): SliceRecord.read(RunDirectory(Path(path))) for path in directories}
    if not parts:
        raise ParameterError(argument="directories", value=[], allowed="name the folder of each slice")
    first = next(iter(parts))
    config, source = RunDirectory(first).config()
    for path, record in parts.items():
        _check_same(first, parts[first], path, record)
        _check_same_config(first, config, path)
    _check_complete(parts)
    source = replace(source, name=parts[first].name, allowed=allowed_modules(allow))
    directory = RunDirectory(Path(out))
    directory.refuse_slice()
    directory.claim(config)
    warn = report_line or (lambda text: None)
    _report_changed(parts, warn)
    _report_other_software(first, parts[first], warn)
    seconds: dict[str, float] = defaultdict(float)
    for folder, stores in _stores(parts).items():
        merge_stores(stores, directory.trials(folder), warn=warn)
        for path in parts:
            seconds[folder] += read_times(path).get(folder, 0.0)
    with suppress(StoreError):
        directory.write(TIMES, times_text(seconds))
    return run_loaded(config, source, directory, Execution(1, progress, report_line), pdf=pdf)


def _report_changed(parts: Mapping[Path, SliceRecord], warn: Report) -> None:
    """Report each slice whose trials are not those with which it finished."""
    for path, record in parts.items():
        if RunDirectory(path).journals() != record.trials:
            warn(f"the trials in {path} are not those of the finished slice; chunks that are missing are run again")


def _report_other_software(path: Path, record: SliceRecord, warn: Report) -> None:
    """Report versions and code of the slices that are not those of the merge, which its records name."""
    for text in differences(record.derived_by, json.loads(json.dumps(derived_by()))):
        there = text.replace("the store", str(path)).replace("this run has", "this merge has")
        warn(f"the trials were made by other software: {there}")


def _stores(parts: Mapping[Path, SliceRecord]) -> dict[str, list[Path]]:
    """Return the folder of the trials of each audit -> the stores of the slices that reach it."""
    stores: dict[str, list[Path]] = defaultdict(list)
    for path in parts:
        for manifest in sorted((path / "trials").glob("*/manifest.json")):
            stores[manifest.parent.name].append(manifest.parent)
    return stores


def _check_same(first: Path, one: SliceRecord, second: Path, other: SliceRecord) -> None:
    """Raise `FingerprintError` unless two slices have the same number of slices, versions, code and inputs."""
    lines = [
        line.replace("the store has", f"{first} has").replace("this run has", f"{second} has")
        for line in differences(one.shared, other.shared)
    ]
    if lines:
        raise FingerprintError(
            f"{first} and {second} are not slices of one experiment. They differ in\n  " + "\n  ".join(lines[:12])
        )


def _check_same_config(first: Path, config: Config, second: Path) -> None:
    other, _ = RunDirectory(second).config()
    lines = list(differences(json.loads(json.dumps(config.setup)), json.loads(json.dumps(other.setup))))
    if lines:
        texts = [line.replace("the store has", f"{first} has").replace("this run has", "it has") for line in lines]
        raise FingerprintError(f"{second} has another experiment than {first}:\n  " + "\n  ".join(texts[:12]))


def _check_complete(parts: Mapping[Path, SliceRecord]) -> None:
    """Raise unless each slice is there once, and finished."""
    count = next(iter(parts.values())).count
    by_number: dict[int, list[Path]] = defaultdict(list)
    for path, record in parts.items():
        by_number[record.number].append(path)
    twice = [f"{number} ({listed(map(str, paths))})" for number, paths in sorted(by_number.items()) if len(paths) > 1]
    if twice:
        raise ParameterError(f"slice {listed(twice)} of {count} is there more than once. Pass each slice once.")
    if n_missing := count - len(by_number):
        absent = (str(number) for number in range(1, count + 1) if number not in by_number)
        missing = list(islice(absent, MAX_NAMED_SLICES))
        more = n_missing - len(missing)
        shown = f"{', '.join(missing)} and {more:,} more" if more else listed(missing)
        raise ParameterError(
            f"missing slices of {count:,}: {shown}. Run each with --slice NUMBER/{count}, and pass its folder."
        )
    open_ = [f"{record.number} ({path})" for path, record in parts.items() if not record.finished]
    if open_:
        named = f"slice {open_[0]} is" if len(open_) == 1 else f"slices {listed(open_[:MAX_NAMED_SLICES])} are"
        raise StoreError(f"{named} not finished. Run the same command again; it continues.")


__all__ = ["SliceRecord", "merge", "run_slice"]
