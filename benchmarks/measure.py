"""Helpers of the benchmarks: interleaved timing, and one line per number."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(*works: Callable[[], Any], repeats: int = 9) -> list[list[float]]:
    """Return the times of each work, in turns so that drift of the machine affects all equally; one warm-up each."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            taken.append(seconds(work))
    return times


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """Return the median of the pairwise ratios."""
    return statistics.median(a / b for a, b in zip(numerator, denominator, strict=True))


def report(what: str, value: float, target: float, *, unit: str = "x", smaller_is_better: bool = True) -> None:
    reached = value <= target if smaller_is_better else value >= target
    sign = "<=" if smaller_is_better else ">="
    print(f"{what:<64} {value:8.3f} {unit:<3} target {sign} {target:g}  {'reached' if reached else 'MISSED'}")


def sorted_million() -> None:
    """Run the baseline of benchmarks without a mechanism."""
    np.sort(np.random.default_rng(0).normal(size=1_000_000))


def against_sorting(what: str, work: Callable[[], Any], target: float) -> None:
    """Report the time of `work` as a ratio to drawing and sorting a million normal numbers."""
    report(f"{what} / draw and sort", ratio(*interleaved(work, sorted_million)), target)
