"""Multiplicative weights over the cells of a domain, for many runs at once.

    A(x)  ->  A(x) exp(q(x) (m - n q(A)) / (2 n c^2)),   then normalised

changes a distribution A towards one on which the query q has the answer m (Hardt, Ligett and McSherry 2012, figure 1,
where c = 1). n is the public number of records and c the largest entry of the workload, so that the length of a step
does not depend on the unit of the queries. The state is log A, one row for each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats

Chosen = NDArray[np.int64]
BLOCK = 4_000_000
"""Size of the largest array of one block of runs."""


@dataclass(frozen=True, eq=False)
class Updates:
    """Update rule of multiplicative weights, for a query matrix and a number of records.

    Args:
        matrix: `(n_queries, n_cells)`.
        n_records: public, > 0.
    """

    matrix: Floats
    n_records: float

    def uniform(self, size: int) -> Floats:
        """Return the log weights `(size, n_cells)` of the uniform distribution."""
        return np.full((size, self.matrix.shape[1]), -np.log(self.matrix.shape[1]))

    def answers(self, log_weights: Floats) -> Floats:
        """Return the answer of each run's distribution to each query, as counts, shape `(size, n_queries)`."""
        return np.asarray(self.n_records * (np.exp(log_weights) @ self.matrix.T))

    def apply(self, log_weights: Floats, chosen: Chosen, measured: Floats) -> None:
        """Update every run i in `log_weights` towards the answer `measured[i]` to the query `chosen[i]`, in place."""
        if not len(log_weights):
            return
        rows = self.matrix[chosen]
        predicted = np.einsum("ij,ij->i", rows, np.exp(log_weights))
        largest = float(np.abs(self.matrix).max())
        rows *= ((measured / self.n_records - predicted) / (2.0 * largest * largest))[:, None]
        log_weights += rows
        log_weights -= log_weights.max(axis=1, keepdims=True)
        log_weights -= np.log(np.exp(log_weights).sum(axis=1, keepdims=True))


def blocks(size: int, width: int) -> Iterator[slice]:
    """Yield slices of runs that keep an array `(runs, width)` in bounds; one empty slice for no runs."""
    step = max(1, BLOCK // width)
    yield from (slice(start, min(start + step, size)) for start in range(0, max(size, 1), step))
