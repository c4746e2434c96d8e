"""What a result depended on besides its configuration: versions, commit, machine. Kept beside it, never in it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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


def environment() -> dict[str, Any]:
    """Versions, commit and machine, JSON-ready.

    >>> sorted(environment())
    ['commit', 'machine', 'versions']
    """
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "commit": _commit(),
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:  # run from a checkout, not installed
        return None


def _commit() -> str | None:
    """The commit of the checkout that this code is in, "+changes" if files differ from it; None outside a checkout."""
    home = Path(__file__).resolve().parents[2]
    if not (home / ".git").exists():
        return None
    head = _git(home, "rev-parse", "HEAD")
    changed = _git(home, "status", "--porcelain", "--untracked-files=no")
    return f"{head}+changes" if head and changed else head or None


def _git(home: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(home), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
