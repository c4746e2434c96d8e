"""Least squares in a box: the column whose answers are nearest to the observed answers in the sum of squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from ....mechanisms.core import Bools, Floats, NonNegative, positive, whole
from .base import SOLVER_TOLERANCE, DecodedAnswers, Decoder, DecodingStatus

STEPS, MAX_STEPS = 10, 4000
"""Number of steps between two convergence checks, and largest number of steps."""
RELAXATION = 1.6
MIN_RIDGE = 1e-6
"""Ridge as a share of the mean diagonal of A^T A, which makes the minimum unique."""
NOT_CONVERGED = f"not converged after {MAX_STEPS} steps: a fit that is close to the best"


@dataclass(frozen=True)
class BoxedLeastSquares(Decoder):
    """Rounded minimiser of |A z - a|^2 over 0 <= z <= 1 (Dwork and Yekhanin 2008, without the box).

    The best of the fast decoders under Gaussian noise. All runs share A^T A, and are solved together: thousands of runs
    take little more time than one (see `_boxed_minimum`).

    Args:
        noise: standard deviation of the noise, >= 0. Above 0 the bits are shrunk to 1/2 by 4 noise^2 |z - 1/2|^2, as by
            a prior of variance 1/4, which helps if queries are few. 0 fits only the answers.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> BoxedLeastSquares().decode(queries, [[1.0, 1.0, 2.0], [0.0, 1.0, 1.0]]).values.round(3)
        array([[1., 0., 1.],
               [0., 0., 1.]])
    """

    chosen_by_auto: ClassVar[bool] = True

    noise: NonNegative = 0.0

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        gram = queries.T @ queries
        size = float(gram.diagonal().mean())
        ridge = 4.0 * self.noise**2 + MIN_RIDGE * size
        np.fill_diagonal(gram, gram.diagonal() + ridge)
        values, converged = _boxed_minimum(gram, answers @ queries + 0.5 * ridge)
        status = tuple(DecodingStatus.OPTIMAL if done else DecodingStatus.TIME_LIMIT for done in converged)
        return DecodedAnswers(values, status, tuple("" if done else NOT_CONVERGED for done in converged))


def _boxed_minimum(gram: Floats, right: Floats) -> tuple[Floats, Bools]:
    """Minimise z gram z / 2 - right z over [0, 1]^n, for each row of `right`.

    The alternating direction method of multipliers, over-relaxed (Boyd, Parikh, Chu, Peleato and Eckstein 2011,
    sections 3.4.3 and 5.2): the box and the squares each have a copy of z, updated in turn. All runs share one inverse,
    so that a step is one product of matrices. A run ends when both copies have converged.

    Args:
        gram: `(n, n)` symmetric, positive definite.
        right: `(n_runs, n)` linear terms.

    Returns:
        Minima `(n_runs, n)`, and a mask `(n_runs,)` of those that converged within SOLVER_TOLERANCE.
    """
    penalty = 0.5 * float(gram.diagonal().mean())
    inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
    minima = np.clip(np.linalg.solve(gram, right.T).T, 0.0, 1.0)
    active = np.arange(len(right))
    box, multiplier, right = minima.copy(), np.zeros_like(minima), right.copy()
    for _ in range(MAX_STEPS // STEPS):
        for _ in range(STEPS):
            previous, squares = box, (right + penalty * (box - multiplier)) @ inverse
            relaxed = RELAXATION * squares + (1.0 - RELAXATION) * box
            box = np.clip(relaxed + multiplier, 0.0, 1.0)
            multiplier = multiplier + relaxed - box
        minima[active] = box
        unfinished = np.maximum(np.abs(squares - box), np.abs(box - previous)).max(axis=1) > SOLVER_TOLERANCE
        active, box, multiplier, right = active[unfinished], box[unfinished], multiplier[unfinished], right[unfinished]
        if not len(active):
            break
    converged = np.ones(len(minima), dtype=np.bool_)
    converged[active] = False
    return minima, converged


def least_squares_accuracy(n_records: int, n_queries: int, noise: float) -> float:
    """Return the expected share of correct bits of least squares without a box, for random subsets of half the records.

    The error of each bit is nearly normal with variance 4 noise^2 / (m - n), the diagonal of noise^2 (A^T A)^-1, so
    that the share is Phi(1 / (2 noise sqrt(4 / (m - n)))). The box makes it a little larger.

    Args:
        n_records: n >= 1.
        n_queries: m > n.
        noise: standard deviation, > 0.

    Example:
        >>> [round(least_squares_accuracy(100, 500, noise), 3) for noise in (2.0, 4.0, 8.0)]
        [0.994, 0.894, 0.734]
    """
    whole(1, n_records=n_records)
    whole(n_records + 1, n_queries=n_queries)
    positive(noise=noise)
    return float(ndtr(math.sqrt(n_queries - n_records) / (4.0 * noise)))
