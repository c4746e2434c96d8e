"""Time of a thousand releases of MWEM, against a loop over runs that follows the algorithm literally."""

from __future__ import annotations

import time

import numpy as np
from benchmarks.measure import ratio, report, seconds

from dpassay.mechanisms.literature.query_release.multiplicative_weights import MWEM
from dpassay.mechanisms.noise.queries import Workload

CELLS, QUERIES, ROUNDS, RUNS, LOOPED = 1_024, 100, 10, 1_000, 50
EPSILON, PEOPLE = 1.0, 1_000


def loop(matrix: np.ndarray, exact: np.ndarray, runs: int) -> list[np.ndarray]:
    """Return the answers of one run after the other: Hardt, Ligett and McSherry (2012), figure 1."""
    rng, answers = np.random.default_rng(0), []
    for _ in range(runs):
        a, total = np.full(CELLS, 1.0 / CELLS), np.zeros(CELLS)
        for _ in range(ROUNDS):
            total += a
            utility = EPSILON / (4 * ROUNDS) * np.abs(exact - PEOPLE * (matrix @ a))
            p = np.exp(utility - utility.max())
            q = rng.choice(QUERIES, p=p / p.sum())
            measured = exact[q] + rng.laplace(scale=2 * ROUNDS / EPSILON)
            a = a * np.exp(matrix[q] * (measured - PEOPLE * (matrix[q] @ a)) / (2 * PEOPLE))
            a = a / a.sum()
        answers.append(PEOPLE * (matrix @ total) / ROUNDS)
    return answers


def main() -> None:
    workload = Workload.random({"cell": CELLS}, QUERIES)
    people = np.random.default_rng(0).integers(0, CELLS, PEOPLE)
    mechanism, exact = MWEM(workload, PEOPLE, epsilon=EPSILON, rounds=ROUNDS, view="answers"), workload(people)
    ours, naive, cpu = [], [], []
    for _ in range(3):
        start = time.process_time()
        ours.append(seconds(lambda: mechanism.release(people, RUNS, np.random.default_rng(0))))
        cpu.append(time.process_time() - start)
        naive.append(seconds(lambda: loop(workload.matrix, exact, LOOPED)) * RUNS / LOOPED)
    what = f"{RUNS:,} releases of MWEM, {CELLS:,} cells, {QUERIES} queries, {ROUNDS} rounds"
    report(f"{what} / a loop", ratio(ours, naive), 1.0)
    report(f"{what}, CPU time", min(cpu), 20.0, unit="s")


if __name__ == "__main__":
    main()
