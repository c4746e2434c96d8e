"""Separation of members and non-members, in closed form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from ....mechanisms.core import Bools, Floats, non_negative, whole
from ....mechanisms.literature.studies.populations import check_frequencies
from .base import varying


def expected_z(
    frequencies: ArrayLike, n_records: int, standard_deviation: float = 0.0, *, weights: ArrayLike | None = None
) -> float:
    """Return the expected standardised difference of members and non-members, over studies and people.

        z = (sum_j w_j v_j / n) / sqrt(sum_j w_j^2 v_j (v_j / n + s^2)),      v = p (1 - p)

    is (mean score of a member - mean of non-members) / standard deviation of non-members. The score is the inner
    product with weights w. Homer's statistic has the weights 1 / v, see below.

    Args:
        frequencies: p, `(d,)`; columns of 0 or 1 are not used.
        n_records: n, number of people in the study.
        standard_deviation: s, standard deviation of the noise of each mean.
        weights: w, `(d,)`; None for the best weights, 1 / (v / n + s^2).

    With the best weights z^2 = sum_j v_j / (n^2 (v_j / n + s^2)): without noise d / n. Each term is at most
    1 / (4 n^2 s^2), so that z <= mu / 2 for Gaussian noise with mu = sqrt(d) / (n s): the variation among non-members
    hides a person as much as the noise does.

    Example:
        >>> round(expected_z(np.full(1_000, 0.5), 100), 3), round(expected_z(np.full(1_000, 0.5), 100, 0.05), 3)
        (3.162, 2.236)
    """
    v, varies = _variances(frequencies, n_records, standard_deviation)
    spread = v / n_records + standard_deviation**2
    w = 1.0 / spread
    if weights is not None:
        w = np.broadcast_to(np.asarray(weights, dtype=np.float64), varies.shape)[varies]
    return float((w * v).sum() / n_records / math.sqrt(float((w * w * v * spread).sum())))


def power(z: float, fpr: float) -> float:
    """Return the true positive rate of normal scores with variance 1: Phi(z - Phi^-1(1 - fpr)).

    Example:
        >>> round(power(3.162, 0.001), 3)
        0.529
    """
    return float(ndtr(z + ndtri(fpr)))


def _variances(frequencies: ArrayLike, n_records: int, standard_deviation: float) -> tuple[Floats, Bools]:
    """Return v of the columns that vary, and a mask of these columns."""
    whole(1, n_records=n_records)
    non_negative(standard_deviation=standard_deviation)
    p = check_frequencies(frequencies)
    varies = varying(p)
    return (p * (1.0 - p))[varies], varies
