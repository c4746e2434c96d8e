"""Provenance of a result in addition to its configuration: versions, commit, machine, and duration of each audit.

`environment.json` and `times.json` are stored next to the result. Code and packages are inspected once per process,
since imported code does not change with its files.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ....audit.trials.folder import Folder
from ....mechanisms.core import packages_used

TIMES = "times.json"
"""File with the duration of each audit, separate from the numbers, which are the same on every machine."""
PACKAGES = (
    "dpassay",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "matplotlib",
    "joblib",
    "dp-accounting",
    "pydantic",
)
HOME = Path(__file__).resolve().parents[3]
"""Folder of the rooms of dpassay."""
ROOMS = ("mechanisms", "attacks", "audit", "experiments")


def environment() -> dict[str, Any]:
    """Return versions, commit and machine, JSON-ready.

    >>> sorted(environment())
    ['code', 'commit', 'machine', 'versions']
    """
    return {
        **derived_by(),
        "commit": commit(),
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


def derived_by() -> dict[str, Any]:
    """Return the inputs that determine numbers from the same trials: versions, and the code."""
    return {"versions": versions(), "code": code()}


def versions() -> dict[str, str | None]:
    """Return the versions of Python, of the packages that numbers depend on, and of the plug-ins that took part."""
    own = {name: _version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **own, **packages_used()}


@cache
def code() -> str:
    """Return the SHA-256 of the sources and templates of dpassay, installed or in a checkout."""
    return digest_of(HOME)


def digest_of(home: Path, rooms: Sequence[str] = ROOMS) -> str:
    """Return the SHA-256 of the sources and templates in a folder, or in some of its rooms, as they are now."""
    digest = sha256()
    for room in rooms:
        for path in sorted((home / room).rglob("*")):
            if path.suffix in (".py", ".j2"):
                text = path.read_bytes()
                digest.update(f"{path.relative_to(home).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:  # run from a checkout, not installed
        return None


@cache
def commit() -> str | None:
    """Return the commit of the checkout, or that of the installed package; None where it is unknown.

    It ends with "+changes" if tracked files differed from the commit. Sdist and wheel state theirs in `commit.txt`.
    """
    if not (HOME / ".git").exists():
        try:
            return (HOME / "commit.txt").read_text(encoding="utf-8").strip() or None
        except OSError:
            return None
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{head}+changes" if head and changed else head or None


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(HOME), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def read_times(directory: Path) -> dict[str, float]:
    """Return wall-clock seconds by the folder of the trials of an audit; empty without a record."""
    try:
        seconds_by_point = json.loads(Folder(directory).read(TIMES))
        times = {str(point): float(seconds) for point, seconds in seconds_by_point.items()}
        return {point: seconds for point, seconds in times.items() if 0.0 <= seconds < math.inf}
    except (OSError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {}


def times_text(times: Mapping[str, float]) -> str:
    """Return the text of `times.json`; for a continued run, `times` has the sums over all sessions."""
    return json.dumps({point: round(seconds, 3) for point, seconds in times.items()}, indent=1) + "\n"
