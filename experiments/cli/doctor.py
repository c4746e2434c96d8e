"""`dpassay doctor`: the installation, and a short audit with known verdicts."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ...audit.api import audit
from ...audit.results.saved import comparable
from ...mechanisms.accounting import PureDP
from ...mechanisms.core import Neighbours, Relation, fixed
from ..data.datasets import ADULT, MNIST, VARIABLE
from ..present.results.provenance import commit

Status = Literal["ok", "note", "failed"]
RUNS = Path("runs")
"""Folder in which `dpassay run` writes by default, in the working directory."""
MIN_FREE_BYTES = 2**30
"""Free bytes below which the space for runs is noted."""
TRIALS = 5_000
"""Trials per side of each audit of the self-check."""
CONFIDENCE = 1 - 1e-9
"""Confidence of the self-check, so that a false alarm is no explanation of a failure."""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Args:
        name: what was checked.
        status: "ok"; "note" for what limits some features; "failed" for what makes results wrong or impossible.
        found: what was found.
        advice: the next step; empty for "ok".
    """

    name: str
    status: Status
    found: str
    advice: str = ""


def examine() -> Iterator[Check]:
    """Yield the checks, the self-check last."""
    try:
        package = importlib.metadata.distribution("dpassay")
    except importlib.metadata.PackageNotFoundError:
        found = f"commit {commit() or 'unknown'}, not installed: its dependencies are unknown"
        yield Check("dpassay", "failed", found, "pip install -e . in a copy of dpassay")
    else:
        yield Check("dpassay", "ok", f"{package.version}, commit {commit() or 'unknown'}")
        yield _python(package)
        yield from _dependencies(package)
        yield from _extras(package)
    yield _threads()
    yield _data()
    yield _runs()
    yield from _self_check()


def as_json(checks: list[Check]) -> str:
    """Return the checks as JSON; "ok" is true if none failed."""
    healthy = all(check.status != "failed" for check in checks)
    return json.dumps({"ok": healthy, "checks": [asdict(check) for check in checks]}, indent=1) + "\n"


def _python(package: Distribution) -> Check:
    found = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    needed = package.metadata["Requires-Python"] or ""
    if SpecifierSet(needed).contains(platform.python_version(), prereleases=True):
        return Check("python", "ok", found)
    return Check("python", "failed", found, f"dpassay needs Python {needed}.")


def _declared(package: Distribution, extra: str = "") -> list[Requirement]:
    """Return the requirements of the package, or those that an extra adds."""
    requirements = [Requirement(text) for text in package.requires or ()]
    return [
        one
        for one in requirements
        if (one.marker is None or one.marker.evaluate({"extra": extra}))
        and bool(extra) == (one.marker is not None and "extra" in str(one.marker))
    ]


def _installed(requirement: Requirement) -> tuple[str | None, bool]:
    """Return the installed version, None for none, and whether it is in the declared range."""
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return None, False
    return version, requirement.specifier.contains(version, prereleases=True)


def _dependencies(package: Distribution) -> Iterator[Check]:
    for requirement in _declared(package):
        version, fits = _installed(requirement)
        declared = f"{requirement.name}{requirement.specifier}"
        found = f"{version or 'not installed'} (declared {declared})"
        advice = "" if fits else f"pip install '{declared}'"
        yield Check(requirement.name, "ok" if fits else "failed", found, advice)


def _extras(package: Distribution) -> Iterator[Check]:
    for extra in sorted(package.metadata.get_all("Provides-Extra") or ()):
        if extra == "dev":
            continue
        versions = {one.name: (one, *_installed(one)) for one in _declared(package, extra)}
        lacking = [f"{one.name}{one.specifier}" for one, _, fits in versions.values() if not fits]
        have = ", ".join(f"{name} {version}" for name, (_, version, _) in versions.items() if version)
        name = f"extra {extra}"
        if lacking:
            advice = f"if needed, in a copy of dpassay: pip install '.[{extra}]'"
            yield Check(name, "note", f"not complete: needs {', '.join(lacking)}{have and f'; has {have}'}", advice)
        else:
            yield Check(name, "ok", have)


def _threads() -> Check:
    from threadpoolctl import threadpool_info

    np.zeros((2, 2)) @ np.zeros((2, 2))
    pools = [
        f"{pool['internal_api']} {pool.get('version') or ''} with {pool['num_threads']} threads".replace("  ", " ")
        for pool in threadpool_info()
    ]
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("cores", "ok", f"{usable} of {os.cpu_count()} usable; {', '.join(pools) or 'no thread pools found'}")


def _data() -> Check:
    directory = os.environ.get(VARIABLE)
    if not directory:
        advice = f"only for the datasets mnist and adult: set {VARIABLE} to a folder"
        return Check("data", "note", f"{VARIABLE} is not set", advice)
    folder = Path(directory)
    if not folder.is_dir():
        return Check(
            "data", "note", f"{VARIABLE} is {directory}, which is no folder", "create it, or unset the variable"
        )
    names = [
        name
        for name, files in (("mnist", (MNIST,)), ("adult", ADULT))
        if all((folder / file).is_file() for file in files)
    ]
    return Check("data", "ok", f"{directory} holds {', '.join(names) or 'neither mnist nor adult'}")


def _runs() -> Check:
    """Write a file where the first run would, and remove it; no folder is left."""
    folder = RUNS if RUNS.is_dir() else Path()
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        advice = "work in another folder, or give --out"
        return Check("runs", "failed", f"{folder.absolute()} cannot be written: {error.strerror}", advice)
    found = f"{folder.absolute()} can be written, {fixed(free / 2**30, 1)} GiB free"
    return Check("runs", "ok", found) if free >= MIN_FREE_BYTES else Check("runs", "note", found, "free some space")


def _right_count(dataset: list[int], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return counts with Laplace noise of scale 1: epsilon 1."""
    return sum(dataset) + rng.laplace(size=size)


def _broken_count(dataset: list[int], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return counts with Laplace noise of scale 1/4: epsilon 4, where 1 is claimed."""
    return sum(dataset) + rng.laplace(scale=0.25, size=size)


def _self_check() -> Iterator[Check]:
    """Audit a right and a broken function, in this process and in two others."""
    pair = Neighbours([1, 0], [1, 0, 1], Relation.ADD_REMOVE)
    report = "please report it with the output of `dpassay doctor --json`"
    cases: tuple[tuple[str, Callable[..., Any], str], ...] = (
        ("right", _right_count, "consistent"),
        ("broken", _broken_count, "violation"),
    )
    for word, function, expected in cases:
        name = f"audit of a {word} mechanism"
        try:
            results = [
                audit(function, pair, claim=PureDP(1.0), trials=TRIALS, confidence=CONFIDENCE, seed=0, n_jobs=n_jobs)
                for n_jobs in (1, 2)
            ]
        except Exception as error:
            yield Check(name, "failed", f"{type(error).__name__}: {error}", report)
            continue
        found = f"{results[0].verdict.value}, epsilon >= {fixed(results[0].bound.epsilon)}"
        if results[0].verdict.value != expected:
            yield Check(name, "failed", f"{found}; expected {expected}", report)
        elif comparable(results[0].to_json()) != comparable(results[1].to_json()):
            yield Check(name, "failed", f"{found}; two workers give another result", report)
        else:
            yield Check(name, "ok", f"{found}; the same bytes with two workers")
