"""Strategy of minimum error for Gaussian noise.

The error of A is tr(G X^-1) with G = W^T W and X = A^T A, and the squared sensitivity of A is the largest entry on the
diagonal of X: a convex problem in X (Li, Miklau, Hay, McGregor and Rastogi 2015; Yuan, Yang, Zhang and Hao
2016). With a price l_i > 0 on each diagonal entry, R = diag(l)^(1/2) and M = (R G R)^(1/2),

    min over X of tr(G X^-1) + sum_i l_i X_ii  is attained at  X = R^-1 M R^-1,  where it is 2 tr M.

So 2 tr M - sum_i l_i is a lower bound on the error of every strategy, and so is its largest value over multiples of l,
tr(M)^2 / sum_i l_i; at l = 1 it is the singular value bound. At the optimum each X_ii is 1 or l_i is 0. Prices increase
where X_ii is above 1: l_i <- l_i X_ii^2. (The first power gives the steps of Denisov, McMahan, Rush, Smith and Thakurta
2022, and needs twice as many; if no two cells share a query, one step is enough.)
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats

LEAST_PRICE = 1e-9
"""Smallest price relative to the largest; the price of a cell whose constraint is not active tends to 0."""


def least_error(matrix: Floats, *, tolerance: float = 1e-4, steps: int = 200) -> tuple[Floats, float]:
    """Return a strategy of L2 sensitivity 1 under add_remove, and a bound on its relative excess error.

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
        prices = np.maximum(prices, LEAST_PRICE * prices.max())
    strategy = np.zeros((rank, matrix.shape[1]))
    strategy[:, counted] = best / np.linalg.norm(best, axis=0).max()
    return strategy, max(0.0, gap)
