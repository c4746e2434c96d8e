"""Peak memory of audit() at 100,000,000 trials a side against 10,000,000, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import report

SCRIPT = """
import resource
from dpassay.audit import audit
from dpassay.mechanisms import Laplace
audit(Laplace(epsilon=1.0), trials={trials}, seed=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_mib(trials: int) -> float:
    command = [sys.executable, "-c", SCRIPT.format(trials=trials)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024


def main() -> None:
    small, large = peak_mib(10_000_000), peak_mib(100_000_000)
    report("peak memory, 100,000,000 trials a side / 10,000,000", large / small, 1.2)
    report("peak memory, 100,000,000 trials a side", large, 1024, unit="MiB")
