"""How long the command line and the imports take, as whole processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import report, seconds


def median_seconds(command: list[str]) -> float:
    def once() -> None:
        subprocess.run(command, capture_output=True, check=True)

    once()
    return statistics.median(seconds(once) for _ in range(9))


def main() -> None:
    dpassay = str(Path(sys.executable).parent / "dpassay")
    report("dpassay --help", median_seconds([dpassay, "--help"]), 0.7, unit="s")
    report("import audit", median_seconds([sys.executable, "-c", "import audit"]), 0.7, unit="s")
