"""Takes one correction after another out of a copy of the sources, and looks whether a fast test fails.

    python tests/run_breaks.py                      every entry of tests/breaks.toml, one after the other
    python tests/run_breaks.py --only holm-plain    some of them
    python tests/run_breaks.py --write              writes the table of tests/README.md, or with --only these rows

A break counts as seen when its tests pass without it, and fail with it by an assertion: a break that cannot be imported
shows nothing. The sessions load this file as a plugin (`-p run_breaks`), which notes how tests fail and which files
were imported, so that no session can have looked at an installed dpassay instead of the copy.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "__init__.py", "mechanisms", "attacks", "audit", "testing", "experiments", "src", "tests", "pyproject.toml",
)  # fmt: skip
NOTES = "DPASSAY_BREAKS_NOTES"
"""Environment variable with the file that a session leaves its notes in."""
BEGIN, END = "<!-- breaks: written by `make breaks` -->", "<!-- end of breaks -->"
LONGEST = 300
"""Seconds that the tests of one break may take."""


@dataclass(frozen=True)
class Break:
    """One correction, and how to take it out.

    Args:
        id: short name.
        file: path below the repository.
        breaks: what is wrong then, in plain words.
        find: text that occurs exactly once in the file.
        replace: what takes its place.
        tests: node ids of fast tests that must see it.
    """

    id: str
    file: str
    breaks: str
    find: str
    replace: str
    tests: tuple[str, ...]

    @property
    def module(self) -> str:
        """Name that the file is imported by."""
        path = self.file.removeprefix("src/dpassay/").removesuffix(".py").removesuffix("/__init__")
        return f"dpassay.{path.replace('/', '.')}"


@dataclass(frozen=True)
class Session:
    """A run of pytest in the copy.

    Args:
        code: exit status of pytest; -1 if it took too long.
        failures: (test, error, whether it is an assertion).
        files: where the modules of dpassay were imported from.
        output: what pytest printed.
    """

    code: int
    failures: tuple[tuple[str, str, bool], ...]
    files: dict[str, str]
    output: str


def read(path: Path = ROOT / "tests" / "breaks.toml") -> list[Break]:
    """The entries, in the order of the file."""
    entries = tomllib.loads(path.read_text())["breaks"]
    return [Break(**entry | {"tests": tuple(entry["tests"])}) for entry in entries]


def applied(one: Break, text: str) -> str:
    """The text of the file without the correction; raises `ValueError` unless `find` occurs exactly once."""
    if text.count(one.find) != 1:
        raise ValueError(f"{one.id}: {one.find!r} occurs {text.count(one.find)} times in {one.file}, and not once.")
    return text.replace(one.find, one.replace)


# --- a session -------------------------------------------------------------------------------------------------------


def run_tests(copy: Path, tests: Sequence[str], *, longest: float) -> Session:
    """The fast tests among `tests`, in a process that imports dpassay from `copy`, up to the first failure."""
    notes = copy / "notes.json"
    notes.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "run_breaks", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command += ["-p", "no:hypothesispytest"]  # it would import Hypothesis where no test does
    command += ["-p", "no:xdist", "-p", "no:dpassay", "-m", "not slow", "-x", "-q", "--no-header", "--tb=short", *tests]
    path = os.pathsep.join([str(copy / "src"), str(Path(__file__).resolve().parent)])
    settings = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", NOTES: str(notes)}
    try:
        done = subprocess.run(
            command, cwd=copy, env=os.environ | settings, capture_output=True, text=True, timeout=longest, check=False
        )
    except subprocess.TimeoutExpired:
        return Session(-1, (), {}, f"not done after {longest:g} seconds")
    noted = json.loads(notes.read_text()) if notes.exists() else {"failures": [], "files": {}}
    failures = tuple((test, error, asserts) for test, error, asserts in noted["failures"])
    return Session(done.returncode, failures, noted["files"], done.stdout + done.stderr)


_failures: list[tuple[str, str, bool]] = []


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Notes the error of a test, and whether it is an assertion."""
    if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
        _failures.append((item.nodeid, call.excinfo.typename, _asserts(call.excinfo.value)))


def pytest_unconfigure() -> None:
    """Leaves the notes."""
    if NOTES not in os.environ:
        return
    loaded = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    files = {name: file for name, file in loaded.items() if file and name.partition(".")[0] == "dpassay"}
    Path(os.environ[NOTES]).write_text(json.dumps({"failures": _failures, "files": files}))


def _asserts(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_asserts(one) for one in error.exceptions)
    return isinstance(error, (AssertionError, pytest.fail.Exception))


# --- breaking --------------------------------------------------------------------------------------------------------


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """A copy of the sources that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="dpassay-breaks-") as name:
        copy = Path(name).resolve()
        for source in SOURCES:
            if (root / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".*")
                shutil.copytree(root / source, copy / source, symlinks=True, ignore=ignored)
            elif (root / source).exists():
                shutil.copy(root / source, copy / source)
        yield copy


def examined(one: Break, copy: Path, *, longest: float = LONGEST) -> tuple[bool, str]:
    """Whether the tests of a break fail by an assertion with it, and the one that does, or what happened instead."""
    file = copy / one.file
    whole = file.read_text()
    try:
        file.write_text(applied(one, whole))
        session = run_tests(copy, one.tests, longest=longest)
    finally:
        file.write_text(whole)
    if session.code == 0:
        return False, "no test fails"
    if session.code != 1 or not session.failures:
        return False, "pytest failed: " + session.output.strip().splitlines()[-1]
    imported = session.files.get(one.module)
    if imported is None or Path(imported).resolve() != file:
        return False, f"the tests imported {imported}, which is not broken"
    test, error, asserts = session.failures[0]
    name = test.partition("::")[2].partition("[")[0]
    return asserts, name if asserts else f"{name} fails by {error}, and not by an assertion"


def unbroken(copy: Path, breaks: Sequence[Break]) -> None:
    """Raises `SystemExit` unless all named tests pass as long as nothing is broken."""
    tests = sorted({test for one in breaks for test in one.tests})
    session = run_tests(copy, tests, longest=LONGEST * 4)
    if session.code != 0:
        sys.exit(f"{session.output}\n\nThe named tests must pass before anything is broken.")


def table(breaks: Sequence[Break], results: Mapping[str, tuple[bool, str]], page: str = "") -> str:
    """Return the table of breaks and the first test that fails under each; rows without a result stay as in `page`."""
    lines = ["| removed correction | file | effect | failing test |", "|---|---|---|---|"]
    before = {line.split(" | ")[0].removeprefix("| "): line for line in page.splitlines() if line.startswith("| ")}
    for one in breaks:
        if one.id in results or one.id not in before:
            seen, what = results.get(one.id, (False, "not run"))
            outcome = f"`{what}`" if seen else f"**not seen**: {what}"
            lines.append(f"| {one.id} | `{one.file}` | {one.breaks} | {outcome} |")
        else:
            lines.append(before[one.id])
    return "\n".join(lines)


def written(page: str, text: str) -> str:
    """The page with `text` between the two markers."""
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Every break, or some; 1 if one was not seen."""
    parser = argparse.ArgumentParser(description="Takes out one correction after another; a fast test must fail.")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these breaks, instead of all")
    parser.add_argument("--write", action="store_true", help="writes the table into tests/README.md")
    chosen = parser.parse_args(arguments)
    breaks = [one for one in read() if chosen.only is None or one.id in chosen.only]
    unknown = sorted(set(chosen.only or ()) - {one.id for one in breaks})
    if unknown:
        parser.error(f"no such break: {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is thrown away then too
    results: dict[str, tuple[bool, str]] = {}
    with copied(ROOT) as copy:
        unbroken(copy, breaks)
        for one in breaks:
            start = time.monotonic()
            results[one.id] = seen, what = examined(one, copy)
            verdict = "seen" if seen else "NOT SEEN"
            print(f"{verdict:<9} {time.monotonic() - start:5.1f} s  {one.id}: {what}", flush=True)
    if chosen.write:
        page = ROOT / "tests" / "README.md"
        page.write_text(written(page.read_text(), table(read(), results, page.read_text())))
    print(f"\n{sum(seen for seen, _ in results.values())} of {len(results)} breaks are seen.")
    return 0 if all(seen for seen, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
