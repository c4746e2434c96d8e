"""Least squares in a box: the column whose answers lie nearest to those given, in the sum of squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ....mechanisms.validation import non_negative, positive, whole
from .base import TOLERANCE, Decoded, Decoder, Floats, Status

STEPS, MOST_STEPS = 10, 4000
"""Steps between two looks at which runs have settled, and after which the others are left as they are."""
RELAXATION = 1.6
LEAST_RIDGE = 1e-6
"""Of the mean diagonal of A^T A: makes the minimum the only one, and moves it by no more than that."""
UNSETTLED = f"not settled after {MOST_STEPS} steps: a fit that is close to the best"


@dataclass(frozen=True)
class BoxedLeastSquares(Decoder):
    """Minimises |A z - a|^2 over 0 <= z <= 1, and rounds. (Dwork and Yekhanin 2008, without the box.)

    The best of the fast decoders under Gaussian noise. All runs share A^T A, and take their steps together: thousands
    of them cost little more than one (see `boxed_minimum`).

    Args:
        noise: standard deviation of the noise, >= 0. Above 0 the bits are drawn to 1/2 as a prior of variance 1/4 does,
            by 4 noise^2 |z - 1/2|^2, which helps where queries are few. 0 fits the answers alone.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> BoxedLeastSquares().decode(queries, [[1.0, 1.0, 2.0], [0.0, 1.0, 1.0]]).values.round(3)
        array([[1., 0., 1.],
               [0., 0., 1.]])
    """

    noise: float = 0.0

    def __post_init__(self) -> None:
        non_negative(noise=self.noise)

    def _decode(self, queries: Floats, answers: Floats) -> Decoded:
        gram = queries.T @ queries
        size = float(gram.diagonal().mean())
        ridge = 4.0 * self.noise**2 + LEAST_RIDGE * size
        np.fill_diagonal(gram, gram.diagonal() + ridge)
        values, settled = boxed_minimum(gram, answers @ queries + 0.5 * ridge)
        status = tuple(Status.OPTIMAL if one else Status.TIME_LIMIT for one in settled)
        return Decoded(values, status, tuple("" if one else UNSETTLED for one in settled))


def boxed_minimum(gram: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """z in [0, 1]^n that minimises z gram z / 2 - right z, for each row of `right`, and whether it has settled.

    The alternating direction method of multipliers, over-relaxed (Boyd, Parikh, Chu, Peleato and Eckstein 2011,
    sections 3.4.3 and 5.2): the box and the squares each have a copy of z, and take turns. All runs share one inverse,
    so that a step is one product of matrices. Runs leave when both copies have stopped moving.

    Args:
        gram: `(n, n)` symmetric, positive definite.
        right: `(n_runs, n)`.

    Returns:
        `(n_runs, n)` minima, and `(n_runs,)` whether each was reached within TOLERANCE.
    """
    penalty = 0.5 * float(gram.diagonal().mean())
    inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
    found = np.clip(np.linalg.solve(gram, right.T).T, 0.0, 1.0)
    moving = np.arange(len(right))
    box, price, right = found.copy(), np.zeros_like(found), right.copy()
    for _ in range(MOST_STEPS // STEPS):
        for _ in range(STEPS):
            before, squares = box, (right + penalty * (box - price)) @ inverse
            relaxed = RELAXATION * squares + (1.0 - RELAXATION) * box
            box = np.clip(relaxed + price, 0.0, 1.0)
            price = price + relaxed - box
        found[moving] = box
        still = np.maximum(np.abs(squares - box), np.abs(box - before)).max(axis=1) > TOLERANCE
        moving, box, price, right = moving[still], box[still], price[still], right[still]
        if not len(moving):
            break
    settled = np.ones(len(found), dtype=np.bool_)
    settled[moving] = False
    return found, settled


def least_squares_accuracy(n_records: int, n_queries: int, noise: float) -> float:
    """Expected share of right bits of least squares without a box, for random subsets of half the records.

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
