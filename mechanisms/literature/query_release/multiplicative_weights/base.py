"""Base class for a public workload of linear queries, and the update rule of multiplicative weights.

Under replace_one and zero_out the number of records is equal on both sides: it is `n_records`, and a dataset of another
length is rejected. Under add_remove it is private: `n_records` is then a public constant that scales the distribution
over cells, and the dataset may have any length. A data-dependent choice of this constant would leak.

Answers are counts. Between neighbours the answer to one query changes by at most the `sensitivity` of the workload:

    add_remove    the largest |entry|
    replace_one   the largest distance between two entries of one row
    zero_out      the largest distance of an entry from the entry of the blank record, which is in cell 0

One query is chosen or measured at a time, so that the sensitivity is this number, not a norm of a whole column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np

from ....core.arrays import Floats, Ints
from ....core.base import Dataset, Neighbours, example
from ....core.constraints import PositiveInt, instance_of
from ....core.errors import ParameterError, plural
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.queries.domain import Domain
from ....noise.queries.workload import Workload

MOST_QUERIES, MOST_CELLS = 3, 8
"""Numbers of queries and of cells among which the worst pair is searched."""
DETECTABLE_DELTA = 0.03
"""Value of delta, at epsilon 1, at which the epsilons of pairs are compared: see `detectability`."""


PairCells: TypeAlias = tuple[int | None, int, int, int]


def detectability(curve: Guarantee, epsilon: float) -> tuple[float, float]:
    """Return the key by which pairs are compared: epsilon at delta = 0.03 min(1, epsilon), and delta at epsilon 0.

    The largest epsilon at delta = 0 may belong to an event that is too rare to occur in trials. An event with a
    probability of a few percent is observed even if a broken mechanism makes it rarer.

    Args:
        curve: the exact curve of the pair.
        epsilon: the claim.
    """
    return float(curve.epsilon(DETECTABLE_DELTA * min(1.0, epsilon))), float(curve.delta(0.0))


def checked_records(domain: Domain, dataset: Dataset, n_records: int, relation: Relation) -> Ints:
    """Return the records of a dataset; raise `ParameterError` if their number is public, and not `n_records`."""
    records = domain.records(dataset)
    if relation is not Relation.ADD_REMOVE and len(records) != n_records:
        raise ParameterError(
            f"n_records is {n_records}, but the dataset has {plural(len(records), 'record')}. Set "
            f"n_records={len(records)}: under {relation.value!r} the number is public.",
            argument="n_records",
        )
    return records


@dataclass(frozen=True)
class WorkloadRelease(RecordsMechanism):
    """Base class of mechanisms that depend on the records only through the answers to a workload.

    Args:
        workload: the queries, over the cells of a domain.
        n_records: public, >= 1; see the module docstring.
        relation: the neighbouring relation of the claim.
    """

    _example = example(workload=Workload(Domain.of({"cell": 3}), np.eye(2, 3)))

    workload: Annotated[Workload, instance_of(Workload, "Workload.identity({'age': 4})")]
    n_records: PositiveInt
    _: KW_ONLY
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensitivity == 0.0:
            raise ParameterError(
                f"workload has only queries whose answers are public under {self.relation.value!r}: {self.workload} is "
                "equal for every record, and needs no noise. Give a query that distinguishes records, or use "
                "relation='add_remove'.",
                argument="workload",
            )

    @cached_property
    def sensitivity(self) -> float:
        """Largest change of the answer to one query between neighbours, the L-infinity sensitivity."""
        matrix = self.workload.matrix
        if self.relation is Relation.ADD_REMOVE:
            return float(np.abs(matrix).max())
        if self.relation is Relation.REPLACE_ONE:
            return float(np.ptp(matrix, axis=1).max())
        return float(np.abs(matrix - matrix[:, :1]).max())

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers, as counts, shape `(n_queries,)`."""
        records = checked_records(self.workload.domain, dataset, self.n_records, self.relation)
        return self.workload.of(self.workload.domain.histogram(records))

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.answers(dataset)

    def pairs(self) -> list[Neighbours]:
        """Return pairs in which some answer changes by `sensitivity`, with the other records in one or two cells.

        The differing record is in a cell, or moves between two cells, for which a query changes most.
        """
        return [self._pair(cells, (self.n_records - 1) // 2) for cells in self._pair_cells()]

    def _pair_cells(self) -> list[PairCells]:
        """Return for each of `pairs` the cells of the differing record, and the two cells of the others."""
        common_cells = np.unique(self.workload.matrix, axis=1, return_index=True)[1][:MOST_CELLS]
        return [
            (cell0, cell1, common, second)
            for cell0, cell1 in self._differing_cells()
            for common, second in {(a, b) for a in common_cells for b in (a, cell0, cell1) if b is not None}
        ]

    def _pair(self, cells: PairCells, n_second: int) -> Neighbours:
        """Return the pair with these cells, with `n_second` of the other records in the last cell."""
        cell0, cell1, common, second = cells
        others = [common] * (self.n_records - 1 - n_second) + [second] * n_second
        side0, side1 = ([] if cell is None else [cell] for cell in (cell0, cell1))
        return Neighbours(self._records(side0 + others), self._records(side1 + others), self.relation)

    def _differing_cells(self) -> list[tuple[int | None, int]]:
        """Return the cells of the differing record on both sides, for the `MOST_QUERIES` queries that change most."""
        matrix, blank = self.workload.matrix, self.workload.matrix[:, :1]
        if self.relation is Relation.REPLACE_ONE:
            rows = np.argsort(-np.ptp(matrix, axis=1), kind="stable")[:MOST_QUERIES]
            return sorted({(int(matrix[row].argmin()), int(matrix[row].argmax())) for row in rows})
        moves = np.abs(matrix if self.relation is Relation.ADD_REMOVE else matrix - blank)
        rows = np.argsort(-moves.max(axis=1), kind="stable")[:MOST_QUERIES]
        first = None if self.relation is Relation.ADD_REMOVE else 0
        return sorted({(first, int(moves[row].argmax())) for row in rows}, key=lambda cells: cells[1])

    def _records(self, cells: list[int]) -> Ints:
        domain = self.workload.domain
        return domain.records_in(np.array(cells, dtype=np.int64)).reshape(len(cells), len(domain.shape))


MAX_BLOCK_ENTRIES = 4_000_000
"""Size of the largest array of one block of runs."""


@dataclass(frozen=True, eq=False)
class MultiplicativeWeightsUpdate:
    """Update rule of multiplicative weights over the cells of a domain, for many runs at once.

        A(x)  ->  A(x) exp(q(x) (m - n q(A)) / (2 n c^2)),   then normalised

    changes a distribution A towards one on which the query q has the answer m (Hardt, Ligett and McSherry 2012, figure
    1, where c = 1). c is the largest entry of the workload, so that the length of a step does not depend on the unit of
    the queries. The state is log A, one row for each run.

    Args:
        matrix: the queries, `(n_queries, n_cells)`.
        n_records: n, public, > 0.
    """

    matrix: Floats
    n_records: float

    def uniform(self, size: int) -> Floats:
        """Return the log weights `(size, n_cells)` of the uniform distribution."""
        return np.full((size, self.matrix.shape[1]), -np.log(self.matrix.shape[1]))

    def answers(self, log_weights: Floats) -> Floats:
        """Return the answer of each run's distribution to each query, as counts, shape `(size, n_queries)`."""
        return np.asarray(self.n_records * (np.exp(log_weights) @ self.matrix.T))

    def apply(self, log_weights: Floats, chosen: Ints, measured: Floats) -> None:
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
    step = max(1, MAX_BLOCK_ENTRIES // width)
    yield from (slice(start, min(start + step, size)) for start in range(0, max(size, 1), step))
