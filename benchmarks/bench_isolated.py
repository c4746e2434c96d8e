"""`dpassay check` of a function, which runs in a process of its own, against one process, in CPU time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import report

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters import IsolatedFunction
from dpassay.mechanisms.adapters.functions.target import load_target

MODULE = """
def number(dataset, rng):
    return sum(dataset) + rng.laplace(scale=2.0)

def vector(dataset, rng):
    return sum(dataset) + rng.laplace(scale=8.0, size=4)

def many(dataset, size, rng):
    return sum(dataset) + rng.laplace(scale=2.0, size=size)

def mapping(dataset, rng):
    return {"sum": sum(dataset) + rng.laplace(scale=2.0), "kind": "plain"}
"""
PAIR = Neighbours([0, 1], [0, 1, 1], "add_remove")
TRIALS = {"number": 100_000, "vector": 100_000, "many": 100_000, "mapping": 30_000}
"""Runs of each function on each side."""


def cpu_seconds(target: str, trials: int, *, isolated: bool) -> float:
    """Return the CPU time of an audit, with that of the processes that it starts."""
    before = os.times()
    if isolated:
        with IsolatedFunction(target) as function:
            audit(function, PAIR, claim=PureDP(1.0), trials=trials, seed=0)
    else:
        audit(load_target(target), PAIR, claim=PureDP(1.0), trials=trials, seed=0)
    return sum(os.times()[:4]) - sum(before[:4])


def check(target: str, trials: int) -> float:
    """Return the CPU time of `dpassay check`."""
    before = os.times()
    words = [
        "check",
        target,
        "--epsilon",
        "1",
        "--d0",
        "[0, 1]",
        "--d1",
        "[0, 1, 1]",
        "--trials",
        str(trials),
        "--quiet",
    ]
    subprocess.run([sys.executable, "-m", "dpassay", *words], stdout=subprocess.DEVNULL, check=True)
    return sum(os.times()[:4]) - sum(before[:4])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "functions.py")).write_text(MODULE)
        for name, trials in TRIALS.items():
            target = f"{file}:{name}"
            cpu_seconds(target, 1_000, isolated=False)
            ratios = []
            for _ in range(3):
                command = check(target, trials)
                more = cpu_seconds(target, trials, isolated=True) - cpu_seconds(target, trials, isolated=False)
                ratios.append(command / (command - more))
            report(f"check of {name}, {2 * trials:,} runs / in one process", statistics.median(ratios), 1.3)
