"""Strategies of the matrix mechanism: the queries that are measured in place of the workload."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from ....core import Floats, NonNegativeInt, Options, ParameterError, PositiveInt, at_least, named_in, single_thread
from ....noise.queries.domain import check_memory
from ....noise.queries.workload import Workload, product
from ..error_bounds import squared_error

MAX_OPTIMISED_CELLS = 2048
"""Largest number of cells for an optimised strategy; each step decomposes a matrix of that size."""


@named_in("dpassay.mechanisms.literature.query_release.catalogue:strategies")
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
class IdentityStrategy(Strategy):
    """Count of every cell, that is, noise on the whole histogram."""

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return Workload.identity(workload.domain)


@dataclass(frozen=True)
class TotalStrategy(Strategy):
    """Number of records only."""

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return Workload.total(workload.domain)


@dataclass(frozen=True)
class HierarchicalStrategy(Strategy):
    """Counts of a tree of intervals, from all values down to single values.

    For several attributes, all products of the trees. (Hay, Rastogi, Miklau and Suciu 2010.)

    Args:
        branching: number of parts, as equal as possible, into which an interval is cut, >= 2.
    """

    branching: Annotated[int, at_least(2)] = 2

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        return product(
            workload.domain,
            lambda n: np.array([_inside(n, *node) for level in _levels(n, self.branching) for node in level]),
            lambda n: sum(map(len, _levels(n, self.branching))),
            f"tree of branching {self.branching}",
        )


@dataclass(frozen=True)
class WaveletStrategy(Strategy):
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
class OptimisedStrategy(Strategy):
    """Optimised strategy for the workload: the optimum for Gaussian noise, the best local optimum for Laplace noise.

    It minimises `squared_error` under add_remove, and is never worse than `IdentityStrategy`, `HierarchicalStrategy`,
    `WaveletStrategy` and `WorkloadStrategy`. Under other relations it is valid, but not optimised.

    Args:
        n_sums: for Laplace noise, number of weighted sums that are measured in addition to the cells, >= 1; None for
            one for each 16 cells.
        starts: for Laplace noise, number of random starts, >= 1.
        seed: seed of the random starts.
    """

    _: KW_ONLY
    n_sums: PositiveInt | None = None
    starts: PositiveInt = 2
    seed: NonNegativeInt = 0

    def queries(self, workload: Workload, *, norm: float) -> Workload:
        domain = workload.domain
        if domain.n_cells > MAX_OPTIMISED_CELLS:
            raise ParameterError(
                f"a strategy is optimised for at most {MAX_OPTIMISED_CELLS:,} cells, but the domain has "
                f"{domain.n_cells:,}. Use strategy = {{name = 'hierarchical'}}, or fewer values.",
                argument="strategy",
            )
        best = Workload(domain, self._matrix(workload.matrix, norm), name="optimised strategy")
        others = [
            other.queries(workload, norm=norm)
            for other in (IdentityStrategy(), HierarchicalStrategy(), WaveletStrategy(), WorkloadStrategy())
        ]
        return min([best, *others], key=lambda measured: squared_error(workload, measured, norm=norm))

    def _matrix(self, matrix: Floats, norm: float) -> Floats:
        if norm == 2.0:
            return _optimal_gaussian_strategy(matrix)[0]
        n_sums = self.n_sums or max(1, matrix.shape[1] // 16)
        return _p_identity(matrix, n_sums, starts=self.starts, seed=self.seed)


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


MIN_PRICE = 1e-9
"""Smallest price relative to the largest; the price of a cell whose constraint is not active tends to 0."""


def _optimal_gaussian_strategy(matrix: Floats, *, tolerance: float = 1e-4, steps: int = 200) -> tuple[Floats, float]:
    """Return a strategy of minimum error for Gaussian noise, and a bound on its relative excess error.

    Its L2 sensitivity is 1 under add_remove. The error of A is tr(G X^-1) with G = W^T W and X = A^T A, and the squared
    sensitivity of A is the largest entry on the diagonal of X: a convex problem in X (Li, Miklau, Hay, McGregor and
    Rastogi 2015; Yuan, Yang, Zhang and Hao 2016). With a price l_i > 0 on each diagonal entry, R = diag(l)^(1/2) and
    M = (R G R)^(1/2),

        min over X of tr(G X^-1) + sum_i l_i X_ii  is attained at  X = R^-1 M R^-1,  where it is 2 tr M.

    So 2 tr M - sum_i l_i is a lower bound on the error of every strategy, and so is its largest value over multiples of
    l, tr(M)^2 / sum_i l_i; at l = 1 it is the singular value bound. At the optimum each X_ii is 1 or l_i is 0. Prices
    increase where X_ii is above 1: l_i <- l_i X_ii^2. (The first power gives the steps of Denisov, McMahan, Rush, Smith
    and Thakurta 2022, and needs twice as many; if no two cells share a query, one step is enough.)

    Args:
        matrix: W, shape `(m, T)`, not all zeros.
        tolerance: the gap at which the iteration stops.
        steps: largest number of steps; each computes the eigenvectors of a `(T, T)` matrix.

    Returns:
        A, shape `(rank of W, T)`, and the gap: an upper bound on its error / the minimum error - 1.
    """
    counted = matrix.any(axis=0)
    gram = matrix[:, counted].T @ matrix[:, counted]
    rank = int(np.linalg.matrix_rank(matrix))
    prices, best, gap = np.ones(len(gram)), np.zeros((0, len(gram))), np.inf
    for _ in range(steps):
        root = np.sqrt(prices)
        values, vectors = np.linalg.eigh(root[:, None] * gram * root)
        values = np.sqrt(values[-rank:].clip(min=0.0))
        vectors = vectors[:, -rank:]
        squares = vectors**2 @ values / prices
        candidate_gap = float(squares.max() * prices.sum() / values.sum()) - 1.0
        if candidate_gap < gap:
            gap, best = candidate_gap, np.sqrt(values)[:, None] * vectors.T / root
        if gap <= tolerance:
            break
        prices = prices * squares**2
        prices = np.maximum(prices, MIN_PRICE * prices.max())
    strategy = np.zeros((rank, matrix.shape[1]))
    strategy[:, counted] = best / np.linalg.norm(best, axis=0).max()
    return strategy, max(0.0, gap)


def _p_identity(matrix: Floats, n_sums: int, *, starts: int, seed: int, steps: int = 150) -> Floats:
    """Return the best of several strategies of small error for Laplace noise, shape `(T + n_sums, T)`.

    Each cell and a few weighted sums of cells: A = [I; Theta] diag(1 / s) with Theta >= 0 of shape (p, T) and s_j = 1 +
    sum_i Theta_ij, so that each column has the L1 norm 1 under add_remove. The error tr(W^T W (A^T A)^-1) has local
    minima; it is minimised from random starts. (McKenna, Miklau, Hay and Machanavajjhala 2018.)

    Args:
        matrix: W, shape `(m, T)`.
        n_sums: p, >= 1.
        starts: number of random starts.
        seed: seed of the random starts; public.
        steps: largest number of steps of each descent.
    """
    from scipy.optimize import minimize

    gram, rng = matrix.T @ matrix, np.random.default_rng(seed)
    shape = (n_sums, len(gram))
    with single_thread("blas"):  # threads take longer for matrices this small
        descents = [
            minimize(
                _error_and_slope,
                (0.3 * rng.random(shape)).ravel(),
                args=(gram, shape),
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, None)] * (n_sums * len(gram)),
                options={"maxiter": steps},
            )
            for _ in range(starts)
        ]
    sums = min(descents, key=lambda descent: float(descent.fun)).x.reshape(shape)
    return np.asarray(np.vstack([np.eye(len(gram)), sums]) / (1.0 + sums.sum(axis=0)))


def _error_and_slope(flat: Floats, gram: Floats, shape: tuple[int, int]) -> tuple[float, Floats]:
    """Return tr(N K^-1) and its gradient, where N = diag(s) G diag(s) and K = I + Theta^T Theta.

    No `(T, T)` matrix is inverted: with B = Theta K^-1 = (I + Theta Theta^T)^-1 Theta, K^-1 is I - Theta^T B.
    """
    sums = flat.reshape(shape)
    scales = 1.0 + sums.sum(axis=0)
    solved = np.linalg.solve(np.eye(shape[0]) + sums @ sums.T, sums)
    weighted, weighted_solved = (((rows * scales) @ gram) * scales for rows in (sums, solved))
    diagonal = gram.diagonal() * scales**2 - (weighted * solved).sum(axis=0)
    slope = 2.0 * diagonal / scales - 2.0 * (weighted_solved - weighted_solved @ sums.T @ solved)
    return float(diagonal.sum()), slope.ravel()
