"""Durations of the command line, the imports and a test session, as whole processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import interleaved, ratio, report, seconds


def process(*command: str) -> Callable[[], None]:
    def once() -> None:
        subprocess.run(command, capture_output=True, check=True)

    once()
    return once


def median_seconds(*command: str) -> float:
    once = process(*command)
    return statistics.median(seconds(once) for _ in range(9))


def plugin_ratio() -> float:
    """Return the time of a pytest session without privacy checks, divided by that without the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "test_nothing.py")
        path.write_text("def test_nothing(): pass\n")
        session = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(path))
        return ratio(*interleaved(process(*session), process(*session, "-p", "no:dpassay")))


def main() -> None:
    dpassay = str(Path(sys.executable).parent / "dpassay")
    report("dpassay --help", median_seconds(dpassay, "--help"), 0.7, unit="s")
    report("import dpassay.audit", median_seconds(sys.executable, "-c", "import dpassay.audit"), 0.5, unit="s")
    report("a pytest session without privacy checks, against no plugin", plugin_ratio(), 1.1)
