"""Strategy of small error for Laplace noise: each cell, and a few weighted sums of cells.

A = [I; Theta] diag(1 / s) with Theta >= 0 of shape (p, T) and s_j = 1 + sum_i Theta_ij, so that each column has the L1
norm 1. The error tr(W^T W (A^T A)^-1) has local minima; it is minimised from random starts. (McKenna, Miklau, Hay and
Machanavajjhala 2018.)
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats


def p_identity(matrix: Floats, n_sums: int, *, starts: int, seed: int, steps: int = 150) -> Floats:
    """Return the best strategy of several descents, shape `(T + n_sums, T)`, of L1 sensitivity 1 under add_remove.

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
