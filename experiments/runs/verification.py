"""Verification of a finished run that someone else has made: `dpassay card RUN --verify`.

    files      statement.json names each file of the run with its SHA-256, and each journal the SHA-256 of its trials
    versions   Python, packages and code are those that made the run
    pages      card, reports, tables and figures are made again from results.json, in another folder
    verdict    results.json is made again, from the saved trials or from the files that were judged
    trials     with `rerun`, the trials are run again as well

Two runs of one version write the same bytes, so each comparison is one of bytes. What is made again is made in a
temporary folder; the run itself is only read.

A single changed, missing or added file is found. Someone who changes a number and everything that is derived from it,
the trials included, is found by `rerun` only. Without a signature nothing shows who has made the run.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...audit.results.saved import comparable
from ...mechanisms.core import DpassayError, ParameterError, StoreError, plural
from ..config.command_table import task_of_line
from ..config.source import allowed_modules
from ..present.results.provenance import TIMES, commit, derived_by
from ..present.results.sweep import SweepResult
from .again import read_result, report, saved
from .directory import JUDGED, STATEMENT, RunDirectory
from .evidence import files_read, statement
from .kept import written_as
from .limits import within_limits
from .record import NAME, NUMBERS, recorded
from .runner import Execution, compute, plan
from .writing import Result

SHOWN = 5
"""Largest number of files that a sentence names."""
RECORDS = "results.records.csv"
"""Table of records, whose names are not in the numbers."""
ORIGINALS = (NUMBERS, "config.toml", JUDGED, NAME, TIMES)
"""Files from which the pages of a run are made."""


@dataclass(frozen=True)
class Compared:
    """One comparison of a run with what it says of itself.

    Args:
        name: what is compared.
        agrees: whether everything is the same.
        text: what was compared, or what differs, in one sentence.
    """

    name: str
    agrees: bool
    text: str


@dataclass(frozen=True)
class Verification:
    """Comparisons of a run with what it says of itself.

    Args:
        checks: in the order in which they were made.
        outcome: the headline of the run; empty if a comparison does not agree.
        judged: whether the results come from files, and not from trials of the run.
    """

    checks: tuple[Compared, ...]
    outcome: str
    judged: bool

    @property
    def agrees(self) -> bool:
        """Whether all comparisons agree."""
        return all(check.agrees for check in self.checks)

    @property
    def text(self) -> str:
        """The answer, and what it does not show."""
        if not self.agrees:
            return "Not verified: do not rely on this run."
        invented = " Trials that were invented agree as well: --rerun runs them again."
        if self.judged or any(check.name == "trials" for check in self.checks):
            invented = " Files that were invented agree as well." if self.judged else ""
        return f"Verified. {self.outcome}.{invented} Without a signature, nothing shows who made this run."


def verify(
    directory: Path | str,
    *,
    rerun: bool = False,
    files: Path | str = ".",
    allow: Sequence[str] = (),
    n_jobs: int | None = 1,
) -> Verification:
    """Compare a finished run with what it says of itself, and make its results again from the saved evidence.

    Args:
        directory: of `dpassay run`, or of `--out` of `dpassay judge`, `membership` or `risk`.
        rerun: also run the trials again, with the same seed.
        files: folder of the files that were judged; for runs without trials.
        allow: files or modules of the user that the configuration names, as for `run`; their code is run.
        n_jobs: workers, as for `audit`; the numbers do not depend on it.

    Raises:
        StoreError: it is not the directory of a run, or the run was not finished.
        ParameterError: `rerun` for a result without trials.

    Example:
        >>> import tempfile
        >>> from dpassay.experiments.runs import run
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = run("laplace-count", settings={"audit.trials": 500}, out=folder)
        ...     [(check.name, check.agrees) for check in verify(folder).checks]
        [('files', True), ('versions', True), ('pages', True), ('verdict', True)]
    """
    run = RunDirectory(Path(directory))
    stated = _stated(run)
    judged = (run.path / JUDGED).is_file()
    if rerun and judged:
        raise ParameterError(
            f"{run.path} has no trials that can be run again: its results come from files. Verify it without rerun.",
            argument="--rerun",
        )
    checks = [Compared("files", *_files(run, stated)), Compared("versions", *_versions(run))]
    repeated: dict[str, Callable[[RunDirectory, Path], tuple[bool, str]]] = {"pages": _pages}
    if not checks[0].agrees:
        repeated = {}  # it is not known what they would be made from
    elif judged:
        repeated["verdict"] = partial(_judged_again, files=Path(files))
    else:
        repeated["verdict"] = partial(_run_again, allow=allow, n_jobs=n_jobs, kept=True)
        if rerun:
            repeated["trials"] = partial(_run_again, allow=allow, n_jobs=n_jobs, kept=False)
    with tempfile.TemporaryDirectory(prefix="dpassay-") as folder:
        for name, make in repeated.items():
            try:
                checks.append(Compared(name, *make(run, Path(folder, name))))
            except DpassayError as error:
                checks.append(Compared(name, False, f"it cannot be made again: {error}"))
    agrees = all(check.agrees for check in checks)
    return Verification(tuple(checks), saved(run)[0].text().headline if agrees else "", judged)


def _stated(run: RunDirectory) -> dict[str, Any]:
    """Return the statement of a run; raise `StoreError` without one."""
    if not run.path.exists():
        raise StoreError(f"{run.path} does not exist. Pass the folder of a run.")
    if not (run.path / STATEMENT).exists():
        raise StoreError(
            f"{run.path} has no {STATEMENT}, with which a finished run states its files. Finish the run, or write it "
            f"with `dpassay card {run.path}`."
        )
    try:
        content = json.loads(run.read(STATEMENT))
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {}


def _files(run: RunDirectory, stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Compare the files with the digests of the statement, the trials with those of the journals."""
    try:
        known = {str(each["name"]): str(each["digest"]["sha256"]) for each in stated["subject"]}
        known |= _of_journals(run, known)
    except (LookupError, TypeError, ValueError, AttributeError, StoreError) as error:
        return False, f"{STATEMENT} or a journal is damaged ({error})."
    there = run.contents()
    changed = [name for name in known if name in there and there[name] != known[name]]
    missing, added = sorted(known.keys() - there.keys()), sorted(there.keys() - known.keys())
    if not changed and not missing and not added:
        if run.read(STATEMENT) != statement(run):
            return False, f"{STATEMENT} was changed: it says something else than the files that it names."
        return True, f"{plural(len(known), 'file')} with the stated SHA-256, and no other."
    kinds = (("changed", changed), ("missing", missing), ("not stated", added))
    return False, "; ".join(f"{kind}: {_listed(names)}" for kind, names in kinds if names) + "."


def _of_journals(run: RunDirectory, known: Iterable[str]) -> dict[str, str]:
    """Return path -> SHA-256 of the files of the trials, as the journals state them."""
    chunks = {}
    for journal in (name for name in known if name.endswith("/journal.jsonl")):
        for line in run.read(journal).splitlines() if (run.path / journal).is_file() else ():
            entry = json.loads(line)
            chunks[f"{Path(journal).parent.as_posix()}/chunks/{entry['chunk']}.npz"] = str(entry["sha256"])
    return chunks


def _versions(run: RunDirectory) -> tuple[bool, str]:
    """Compare Python, packages and code of the run with those of this process."""
    known, _ = recorded(run)
    if not known:
        return False, f"{NAME} is missing or damaged, or the last session did not finish."
    here = derived_by()
    ours = {name: version for name, version in here["versions"].items() if version}
    names = [name for name in known["versions"] | ours if known["versions"].get(name) != ours.get(name)]
    different = [f"{name} {known['versions'].get(name, 'none')} (here {ours.get(name, 'none')})" for name in names]
    if known["code"] != here["code"]:
        same = known["commit"] and known["commit"] == commit()
        changed = ", with changes that are not committed, there or here" if same else ""
        different.append(f"the code of dpassay, commit {known['commit'] or 'unknown'}{changed}")
    if different:
        return False, f"the run was made by other versions: {_listed(different)}. Verify it with those."
    return True, f"Python, {plural(len(ours) - 1, 'package')} and the code of dpassay are those of the run."


def _pages(run: RunDirectory, copy: Path) -> tuple[bool, str]:
    """Make everything that is derived from the numbers again."""
    for name in (name for name in run.contents() if name in ORIGINALS or name.endswith("/journal.jsonl")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.path / name, copy / name)
    found = {name: digest for name, digest in run.products().items() if name != RECORDS}
    report(copy, pdf=any(name.endswith(".pdf") for name in found))
    wanted = RunDirectory(copy).products()
    return _compared(found, wanted, f"{plural(len(wanted), 'file')} made again from results.json: the same bytes.")


def _run_again(run: RunDirectory, copy: Path, allow: Sequence[str], n_jobs: int | None, kept: bool) -> tuple[bool, str]:
    """Run the configuration again, with the saved trials if they are `kept`, else with new ones of the same seed."""
    config, source = run.config()
    again = RunDirectory(copy)
    if kept and not (run.path / "trials").is_dir():
        return False, "the run has no trials, from which its verdict could be computed: run them again with --rerun."
    if kept:
        shutil.copytree(run.path / "trials", copy / "trials", symlinks=True)
    result = read_result(run.read(NUMBERS), run, config)
    name = result.name if isinstance(result, SweepResult) else source.name
    source = replace(source, name=name, allowed=allowed_modules(allow))
    if (read := files_read(config, source.allowed)) != (inputs := recorded(run)[1]):
        names = sorted(name for name in read.keys() | inputs.keys() if read.get(name) != inputs.get(name))
        return False, f"the run read other files than those here: {_listed(names)}."
    with within_limits(config):
        tasks = plan(config, source, Execution(n_jobs))
        result = compute(tasks, config, source, again, Execution(n_jobs))
    how = "from the saved trials" if kept else "with all trials run again"
    return _same(run, again, result, how)


def _judged_again(run: RunDirectory, copy: Path, files: Path) -> tuple[bool, str]:
    """Judge the files again by the command that the run states."""
    try:
        command = tomllib.loads(run.read(JUDGED))["command"]
    except (ValueError, LookupError) as error:
        raise StoreError(f"{JUDGED} is damaged ({error}).") from error
    task = task_of_line(command, files)
    folder = run.path.resolve().name
    result, _ = written_as(task.parts[folder if folder in task.parts else ""], task)
    return _same(run, RunDirectory(copy), result, "from the judged files")


def _same(run: RunDirectory, again: RunDirectory, result: Result, how: str) -> tuple[bool, str]:
    """Compare numbers and journals of a run with those that were made again."""
    found = {NUMBERS: comparable(run.read(NUMBERS))} | run.journals()
    wanted = {NUMBERS: comparable(result.to_json())} | again.journals()
    return _compared(found, wanted, f"results.json made again {how}: the same bytes.")


def _compared(found: Mapping[str, str], wanted: Mapping[str, str], same: str) -> tuple[bool, str]:
    names = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    return (False, f"another result: {_listed(names)}.") if names else (True, same)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


__all__ = ["Compared", "Verification", "verify"]
