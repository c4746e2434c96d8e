"""Noise of a banded matrix: the noise of a step depends on the last few steps only."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular, toeplitz

from ....core import Floats, ParameterError, PositiveInt, one_of_names, single_thread
from .base import CorrelatedNoise, prefix_decoder

MAX_OPTIMISED_STEPS = 1024
"""Largest number of steps for an optimised matrix; each iteration inverts a matrix of that size."""
MAX_ITERATIONS = 500


@dataclass(frozen=True)
class BandedNoise(CorrelatedNoise):
    """Banded matrix factorisation: C has b bands, and columns of norm 1.

    If a record takes part at least b steps apart, its columns are orthogonal: k participations have mu = sqrt(k) /
    noise_multiplier, as with independent noise. With fewer steps between them the accountant adds the overlaps.

    Args:
        bands: b, >= 1; 1 for independent noise. More than the number of steps count as that number.
        entries: "optimised", for the least mean variance of the prefix sums, or "square-root": the first b coefficients
            of the square root of the prefix sums, binom(2k, k) / 4^k, a Toeplitz matrix whose last columns are shorter.
            With as many bands as steps this is the factorisation of Fichtenberger, Henzinger and Upadhyay (2023).

    Raises:
        ParameterError: on use, more than 1,024 steps with optimised entries.

    References:
        Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu (2023), "(Amplified) banded matrix factorization";
        Kalinin, Lampert (2024), "Banded square root matrix factorization".

    Example:
        >>> BandedNoise(1).strategy(3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> BandedNoise(16).prefix_error(64) < BandedNoise(16, entries="square-root").prefix_error(64)
        True
    """

    bands: PositiveInt
    _: KW_ONLY
    entries: Annotated[str, one_of_names("optimised", "square-root")] = "optimised"

    def matrix(self, steps: int) -> Floats:
        column = _square_root_coefficients(steps)
        column[self.bands :] = 0.0
        square_root = np.tril(toeplitz(column))
        if self.entries == "square-root" or self.bands == 1:
            return np.asarray(square_root)
        if steps > MAX_OPTIMISED_STEPS:
            raise ParameterError(
                f"a banded matrix is optimised for at most {MAX_OPTIMISED_STEPS:,} steps, but there are {steps:,}. Use "
                "entries='square-root', or buffered Toeplitz noise.",
                argument=("entries", "steps"),
            )
        return _optimised(square_root)


def _square_root_coefficients(n: int) -> Floats:
    """Return binom(2k, k) / 4^k for k = 0, ..., n - 1: the square root of the Toeplitz matrix of ones."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))])


def _optimised(start: Floats) -> Floats:
    """Return the matrix with the bands of `start` and columns of norm 1 of least mean variance of the prefix sums.

    Gradient descent (L-BFGS) on the entries, where each column is divided by its norm. In terms of C^T C the problem is
    convex, so that a local minimum is the minimum.
    """
    from scipy.optimize import minimize

    rows, columns = (indices.astype(np.intp) for indices in np.nonzero(start))
    with single_thread("blas"):  # threads take longer for matrices this small
        result = minimize(
            lambda entries: _error_and_slope(entries, rows, columns, len(start)),
            (start / np.linalg.norm(start, axis=0))[rows, columns],
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "ftol": 1e-12, "gtol": 1e-9},
        )
    best = np.zeros_like(start)
    best[rows, columns] = result.x
    best *= np.sign(np.diag(best))
    return np.asarray(best / np.linalg.norm(best, axis=0))


def _error_and_slope(
    entries: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp], n: int
) -> tuple[float, Floats]:
    """Return the mean variance of the prefix sums and its gradient.

    With B = A C^-1, d |B|^2 = -2 <B^T B C^-T, dC>; the normalisation of a column projects its gradient.
    """
    matrix = np.zeros((n, n))
    matrix[rows, columns] = entries
    norms = np.linalg.norm(matrix, axis=0)
    matrix /= norms
    decoder = prefix_decoder(matrix)
    slope = -2.0 / n * solve_triangular(matrix, decoder.T @ decoder, lower=True).T
    slope -= matrix * np.sum(slope * matrix, axis=0)
    return float(np.sum(decoder**2)) / n, (slope / norms)[rows, columns]
