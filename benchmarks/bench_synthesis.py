"""Attack statistics of synthetic tables, against a loop over tables in plain numpy.

A thousand tables of 1,000 rows and ten columns. The loops process 20 of them, and their time is scaled up.
"""

from __future__ import annotations

import numpy as np
from benchmarks.measure import interleaved, ratio, report

from dpassay.attacks.literature.synthetic_tables.base import in_chunks
from dpassay.attacks.literature.synthetic_tables.density import pairs
from dpassay.attacks.literature.synthetic_tables.generated_queries import AgreementCounts, draw_queries
from dpassay.attacks.literature.synthetic_tables.records import KnownRecords

TABLES, LOOPED, ROWS, COLUMNS = 1_000, 20, 1_000, 10


def agreement_loop(tables: np.ndarray, record: np.ndarray, queries: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Return the numbers of rows that agree with the record on each set of columns, table by table."""
    return np.array([[(t[:, list(q)] == record[list(q)]).all(axis=1).sum() for q in queries] for t in tables])


def density_loop(tables: np.ndarray, records: np.ndarray, n_levels: int) -> np.ndarray:
    """Return the sums over pairs of columns of log counts of two-dimensional histograms, table by table."""
    log_density = np.zeros((len(tables), len(records)))
    edges = np.arange(n_levels + 1) - 0.5
    for place, table in enumerate(tables):
        for i in range(COLUMNS):
            for j in range(i + 1, COLUMNS):
                counts = np.histogram2d(table[:, i], table[:, j], bins=(edges, edges))[0]
                log_density[place] += np.log(counts[records[:, i], records[:, j]] + 0.5)
    return log_density


def main() -> None:
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 8, (TABLES, ROWS, COLUMNS))
    records, few = rng.integers(0, 8, (200, COLUMNS)), tables[:LOOPED]
    queries = draw_queries(COLUMNS, 100, (1, 2, 3), rng)
    counts = AgreementCounts(np.repeat(records[:1, :, None].astype(np.float64), 2, axis=2), queries)
    np.testing.assert_array_equal(in_chunks(counts, few), agreement_loop(few, records[0], queries))
    ours, naive = interleaved(
        lambda: in_chunks(counts, tables), lambda: agreement_loop(few, records[0], queries), repeats=3
    )
    scaled = [time * TABLES / LOOPED for time in naive]
    report("counts of 100 generated queries, a loop / packed bits", ratio(scaled, ours), 20.0, smaller_is_better=False)
    known = KnownRecords.of(np.arange(8).repeat(COLUMNS).reshape(8, COLUMNS), records)
    exact = pairs(few, records, known) - density_loop(few, records, 8)
    np.testing.assert_allclose(exact, exact[0, 0])
    ours, naive = interleaved(
        lambda: pairs(tables[:200], records, known), lambda: density_loop(few, records, 8), repeats=3
    )
    scaled = [time * 200 / LOOPED for time in naive]
    report("densities of 45 pairs at 200 records, a loop / bincount", ratio(scaled, ours), 5.0, smaller_is_better=False)


if __name__ == "__main__":
    main()
