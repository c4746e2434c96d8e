"""Noisy aggregation of 250 teachers for ten labels, against drawing the noise and taking the maximum in bare numpy."""

from __future__ import annotations

import statistics

import numpy as np
from benchmarks.measure import interleaved, ratio, report

from dpassay.mechanisms.literature.pate import ConfidentGNMax, GNMax, LNMax

QUERIES, RUNS = 1_000, 200


def main() -> None:
    rng = np.random.default_rng(0)
    votes = rng.multinomial(250, rng.dirichlet(np.ones(10)), size=QUERIES)
    mechanisms = (
        LNMax(0.05, n_queries=QUERIES),
        GNMax(40.0, n_queries=QUERIES),
        ConfidentGNMax(150.0, 150.0, 40.0, n_queries=QUERIES),
    )

    def bare() -> None:
        np.argmax(rng.standard_normal((RUNS, QUERIES, 10)) * 40.0 + votes, axis=2)

    works = [lambda mechanism=mechanism: mechanism.release(votes, RUNS, rng) for mechanism in mechanisms]
    *times, plain = interleaved(*works, bare)
    for mechanism, taken in zip(mechanisms, times, strict=True):
        name = type(mechanism).__name__
        rate = QUERIES * RUNS / statistics.median(taken) / 1e6
        report(f"{name}, different queries", rate, 1.0, unit="M/s", smaller_is_better=False)
        report(f"{name}, time / bare numpy", ratio(taken, plain), 1.5)


if __name__ == "__main__":
    main()
