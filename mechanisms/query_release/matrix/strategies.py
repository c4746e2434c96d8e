"""Strategies of the matrix mechanism: the queries that are measured in place of the workload."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from ...core.arrays import Floats
from ...core.constraints import NonNegativeInt, Options, PositiveInt, at_least, check_fields
from ...core.errors import ParameterError
from ...core.validation import whole
from ...noise.queries.domain import check_memory
from ...noise.queries.workload import Workload, product
from .convex import least_error
from .errors import squared_error
from .p_identity import p_identity

LARGEST_OPTIMISED = 2048
"""Largest number of cells for an optimised strategy; each step decomposes a matrix of that size."""


class Strategy(Options):
    """Rule that selects the queries to measure for a workload; subclasses are frozen dataclasses."""

    @abstractmethod
    def queries(self, workload: Workload, *, norm: float) -> Workload:
        """Return the measured queries, over the domain of `workload`.

        Args:
            workload: the queries that are answered.
            norm: norm of the sensitivity: 1 for Laplace noise, 2 for Gaussian noise.
        """


@dataclass(frozen=True)
class Identity(Strategy):
    """Count of every cell, that is, noise on the whole histogram."""

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return Workload.identity(workload.domain)


@dataclass(frozen=True)
class Total(Strategy):
    """Number of records only."""

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return Workload.total(workload.domain)


@dataclass(frozen=True)
class Hierarchical(Strategy):
    """Counts of a tree of intervals, from all values down to single values.

    For several attributes, all products of the trees. (Hay, Rastogi, Miklau and Suciu 2010.)

    Args:
        branching: number of parts, as equal as possible, into which an interval is cut, >= 2.
    """

    branching: Annotated[int, at_least(2)] = 2

    def __post_init__(self) -> None:
        check_fields(self)

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return product(
            workload.domain,
            lambda n: np.array([_inside(n, *node) for level in _levels(n, self.branching) for node in level]),
            lambda n: sum(map(len, _levels(n, self.branching))),
            f"tree of branching {self.branching}",
        )


@dataclass(frozen=True)
class Wavelet(Strategy):
    """Total, and for each interval of a binary tree the count of the first half minus that of the second half.

    There are as many queries as cells. If the number of values is a power of two, this is the Haar wavelet. (Xiao, Wang
    and Gehrke 2010.)
    """

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return product(workload.domain, _haar, lambda n: n, "wavelet")


@dataclass(frozen=True)
class WorkloadStrategy(Strategy):
    """Measurement of the workload itself, where least squares makes the answers consistent with each other."""

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return workload


@dataclass(frozen=True)
class ExplicitStrategy(Strategy):
    """User-defined queries.

    Args:
        workload: the queries that are measured.
    """

    workload: Workload

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return self.workload


@dataclass(frozen=True)
class Optimised(Strategy):
    """Optimised strategy for the workload: the optimum for Gaussian noise, the best local optimum for Laplace noise.

    It minimises `squared_error` under add_remove, and is never worse than `Identity`, `Hierarchical`, `Wavelet` and
    `WorkloadStrategy`. Under other relations it is valid, but not optimised.

    Args:
        n_sums: for Laplace noise, number of weighted sums that are measured in addition to the cells, >= 1; None for
            one for each 16 cells.
        starts: for Laplace noise, number of random starts, >= 1.
        seed: seed of the random starts.
    """

    _: KW_ONLY
    n_sums: int | None = None
    starts: PositiveInt = 2
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_fields(self)
        whole(1, n_sums=1 if self.n_sums is None else self.n_sums)

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        domain = workload.domain
        if domain.n_cells > LARGEST_OPTIMISED:
            raise ParameterError(
                f"a strategy is optimised for at most {LARGEST_OPTIMISED:,} cells, but the domain has "
                f"{domain.n_cells:,}. Use strategy = {{name = 'hierarchical'}}, or fewer values.",
                argument="strategy",
            )
        best = Workload(domain, self._matrix(workload.matrix, norm), name="optimised strategy")
        others = [
            other.queries(workload, norm=norm) for other in (Identity(), Hierarchical(), Wavelet(), WorkloadStrategy())
        ]
        return min([best, *others], key=lambda measured: squared_error(workload, measured, norm=norm))

    def _matrix(self, matrix: Floats, norm: float) -> Floats:
        if norm == 2.0:
            return least_error(matrix)[0]
        n_sums = self.n_sums or max(1, matrix.shape[1] // 16)
        return p_identity(matrix, n_sums, starts=self.starts, seed=self.seed)


def _levels(n: int, branching: int) -> list[list[tuple[int, int]]]:
    """Return the intervals [first, end) of a tree over n values, level by level; single values are not cut again."""
    check_memory(2 * n * n, "a tree as a matrix")
    levels = [[(0, n)]]
    while longer := [(first, end) for first, end in levels[-1] if end - first > 1]:
        cuts = [first + (end - first) * np.arange(branching + 1) // branching for first, end in longer]
        pairs = [(int(a), int(b)) for cut in cuts for a, b in pairwise(cut) if a < b]
        levels.append(pairs)
    return levels


def _inside(n: int, first: int, end: int) -> Floats:
    return ((np.arange(n) >= first) & (np.arange(n) < end)).astype(np.float64)


def _haar(n: int) -> Floats:
    """Return the queries of the total and of the differences of halves, shape `(n, n)`."""
    rows = [np.ones(n)]
    for level in _levels(n, 2)[1:]:
        rows += [
            _inside(n, *first) - _inside(n, *second) for first, second in zip(level[::2], level[1::2], strict=True)
        ]
    return np.array(rows)
