"""Base class of the mechanisms that answer public subset counts on a secret column of bits.

The dataset is a column of n bits. A query is a subset of the records, and its exact answer is the number of ones in
it. The vector of all answers is A x, where A is the public `(m, n)` matrix of 0 and 1. Neighbours differ in one bit, so
that the answers to the queries that contain this record change by 1, all in one direction.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import NonNegativeInt, OpenUnit, PositiveInt
from ...core.errors import NeighboursError, ParameterError, plural
from ...core.records import check_records
from ...core.relation import Relation

Subsets: TypeAlias = tuple[tuple[int, ...], ...]
"""A row of 0 and 1 for each query."""


def random_subsets(n_records: int, n_queries: int, *, share: float = 0.5, seed: int = 0) -> NDArray[np.int8]:
    """Draw a 0/1 matrix `(n_queries, n_records)`: each record is in each subset with probability `share`.

    Example:
        >>> random_subsets(5, 2, seed=1).tolist()
        [[0, 0, 1, 0, 1], [1, 0, 1, 0, 1]]
    """
    uniforms = np.random.default_rng(seed).random((n_queries, n_records))
    return (uniforms < share).astype(np.int8)


class SubsetCounts(Mechanism):
    """Base class of mechanisms that answer `n_queries` subset counts of a column of bits.

    Attributes:
        n_records: length of the column.
        n_queries: number of queries.
        share: probability of each record to be in each of the random subsets.
        queries_seed: seed of the random subsets, which are public.
        queries: the subsets, instead of random ones.
    """

    relation: Relation = Relation.REPLACE_ONE
    n_records: PositiveInt
    n_queries: PositiveInt
    share: OpenUnit
    queries_seed: NonNegativeInt
    queries: Subsets | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.queries is not None:
            matrix = np.asarray(self.queries)
            if matrix.shape != (self.n_queries, self.n_records) or not np.isin(matrix, (0, 1)).all():
                raise ParameterError(
                    f"queries must be 0 and 1 in {plural(self.n_queries, 'row')} (n_queries) of {self.n_records} "
                    f"(n_records), but have shape {matrix.shape}.",
                    argument="queries",
                )
            object.__setattr__(self, "queries", tuple(tuple(row) for row in matrix.astype(int).tolist()))
        if self.most_queries == 0:
            raise ParameterError("queries must contain a record, but all of them are empty.", argument="queries")

    @cached_property
    def subsets(self) -> NDArray[np.int8]:
        """Public 0/1 matrix of the queries, `(n_queries, n_records)`."""
        if self.queries is not None:
            return np.array(self.queries, dtype=np.int8)
        return random_subsets(self.n_records, self.n_queries, share=self.share, seed=self.queries_seed)

    @cached_property
    def most_queries(self) -> int:
        """Largest number of queries that contain the same record: at most this many answers change, by 1 each.

        This number is the L1 sensitivity of all answers, and the square of the L2 sensitivity.
        """
        return int(self.subsets.sum(axis=0, dtype=np.int64).max())

    def counts(self, dataset: Dataset) -> Floats:
        """Return the exact answers, `(n_queries,)`; `ParameterError` unless `dataset` is a column of n_records bits."""
        bits = np.asarray(dataset)
        if bits.shape != (self.n_records,) or bits.dtype.kind not in "biuf" or not np.isin(bits, (0, 1)).all():
            shape = "" if bits.shape == (self.n_records,) else f", of shape {bits.shape}"
            shown = " ".join(f"{dataset!r}".split())[:60]
            raise ParameterError(
                f"a dataset must be a column of {plural(self.n_records, 'bit')} (n_records), 0 or 1, in one "
                f"dimension, but is {shown}{shape}.",
                argument="dataset",
            )
        return np.asarray(self.subsets @ bits.astype(np.float64))

    @abstractmethod
    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the answers of `size` runs, `(size, n_queries)`."""

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    @abstractmethod
    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density, or log probability, of each output, `(size,)`."""

    def worst_case(self) -> Neighbours:
        """Return a column of zeros, and one with a single 1 at a record that the most queries contain."""
        d0 = np.zeros(self.n_records, dtype=np.int64)
        d1 = d0.copy()
        d1[int(self.subsets.sum(axis=0, dtype=np.int64).argmax())] = 1
        return Neighbours(d0, d1, self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        for side in (neighbours.d0, neighbours.d1):
            self.counts(side)
        check_records(neighbours)
        if np.count_nonzero(np.not_equal(neighbours.d0, neighbours.d1)) > 1:
            raise NeighboursError(
                "d0 and d1 differ in more than one place: queries name their records, so that neighbours differ in "
                "one bit.",
                argument=("d0", "d1"),
            )
        return self
