"""Errors of DualQuery against epsilon, queries and attributes: docs/mechanisms/multiplicative-weights.md."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from stated import DOCS, Number

from dpassay.mechanisms import Gaussian, Relation
from dpassay.mechanisms.core import Ints
from dpassay.mechanisms.literature.query_release.multiplicative_weights import DualQuery
from dpassay.mechanisms.noise.queries import Domain, Marginals

DELTA = 1e-3
ADULT, KDD99 = 30_162, 494_021
"""Numbers of records of two data sets of Gaboardi et al. (2014), table 1."""
RELEASED = 0.48958564
"""Epsilon at which eta is 1.2 with 170 rounds of 1,750 draws on KDD99: the parameters of the released experiments."""


def chain(n: int, d: int) -> Ints:
    """Return n records of d bits, each of which mostly repeats the previous one."""
    rng = np.random.default_rng(2014)
    bits = [rng.random(n) < 0.3]
    for _ in range(d - 1):
        bits.append(np.where(rng.random(n) < 0.2, rng.random(n) < 0.3, bits[-1]))
    return np.column_stack(bits).astype(np.int64)


def marginals(d: int, count: int | None = None) -> Marginals:
    """Return `count` random marginals of three of d bits, by default all."""
    every = Marginals(Domain({f"a{i}": 2 for i in range(d)}), 3)
    if count is None:
        return every
    chosen = np.random.default_rng(2014).permutation(len(every.marginals))[:count]
    return Marginals(every.domain, [every.marginals[i] for i in chosen])


def errors(estimates: Iterable[NDArray[np.float64]], exact: NDArray[np.float64]) -> list[float]:
    """Return the means over runs of the largest and of the mean absolute error."""
    off = np.abs(np.stack(list(estimates)) - exact)
    return [float(off.max(axis=1).mean()), float(off.mean())]


def of_dual_query(mechanism: DualQuery, records: Ints, n_runs: int) -> list[float]:
    """Return `errors` of the answers of the synthetic tables."""
    query = mechanism.marginals
    tables = mechanism.release(records, n_runs, np.random.default_rng(0)).values
    return errors((query(table) / len(table) for table in tables), query(records) / len(records))


def of_noise(epsilon: float, query: Marginals, records: Ints, n_runs: int) -> list[float]:
    """Return `errors` of Gaussian noise on each answer."""
    noise = Gaussian(
        epsilon,
        DELTA,
        query=query,
        n_queries=query.n_answers,
        sensitivity=query.sensitivity(Relation.REPLACE_ONE, norm=2),
        relation="replace_one",
    )
    answers = noise.release(records, n_runs, np.random.default_rng(0)).values
    return errors(answers / len(records), query(records) / len(records))


def against_epsilon(epsilons: Iterable[float]) -> list[float]:
    """Return for each epsilon the errors of DualQuery, and the largest error of noise: 960 queries, 30,162 records."""
    query, records = marginals(10), chain(ADULT, 10)
    rows = []
    for epsilon in epsilons:
        mechanism = DualQuery(query, ADULT, epsilon=epsilon, delta=DELTA, rounds=100, samples=200, view="table")
        rows.append([epsilon, *of_dual_query(mechanism, records, 5), of_noise(epsilon, query, records, 5)[0]])
    return np.ravel(rows).tolist()


def against_queries() -> list[float]:
    """Return for each number of queries the errors of DualQuery: 12 attributes, 494,021 records."""
    records = chain(KDD99, 12)
    queries = [marginals(12, count) for count in (5, 15, 55, 220)]
    return np.ravel([[query.n_answers, *_released(query, records)] for query in queries]).tolist()


def against_attributes() -> list[float]:
    """Return for each number of attributes that of all queries, and the errors of DualQuery: 494,021 records."""
    rows = [[d, marginals(d).n_answers, *_released(marginals(d), chain(KDD99, d))] for d in (4, 6, 8, 10, 12)]
    return np.ravel(rows).tolist()


def _released(query: Marginals, records: Ints) -> list[float]:
    mechanism = DualQuery(query, KDD99, epsilon=RELEASED, delta=DELTA, rounds=170, samples=1750, view="table")
    return of_dual_query(mechanism, records, 3)


WEAKEST = "| {0.25} | {0.064} | {0.015} | {0.014} |"
BY_EPSILON = """
| {0.5} | {0.043} | {0.010} | {0.008} |
| {1} | {0.031} | {0.008} | {0.004} |
| {2} | {0.029} | {0.007} | {0.002} |
| {5} | {0.030} | {0.009} | {0.001} |
"""
BY_QUERIES = """
| {40} | {0.007} | {0.002} |
| {120} | {0.010} | {0.003} |
| {440} | {0.014} | {0.004} |
| {1,760} | {0.018} | {0.004} |
"""
BY_ATTRIBUTES = """
| {4} | {32} | {0.006} | {0.002} |
| {6} | {160} | {0.009} | {0.003} |
| {8} | {448} | {0.012} | {0.003} |
| {10} | {960} | {0.016} | {0.004} |
| {12} | {1,760} | {0.016} | {0.004} |
"""
PAGE = DOCS / "mechanisms" / "multiplicative-weights.md"
NUMBERS = (
    Number("dual-query-quarter", PAGE, WEAKEST, lambda: against_epsilon((0.25,)), 0.00051, 2),
    Number("dual-query-epsilon", PAGE, BY_EPSILON, lambda: against_epsilon((0.5, 1.0, 2.0, 5.0)), 0.00051, 9),
    Number("dual-query-queries", PAGE, BY_QUERIES, against_queries, 0.00051, 16),
    Number("dual-query-attributes", PAGE, BY_ATTRIBUTES, against_attributes, 0.00051, 17),
)
