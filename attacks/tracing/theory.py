"""How far members lie from strangers, in closed form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from ...mechanisms.studies.populations import check_frequencies
from ...mechanisms.validation import non_negative, whole
from .base import varying

Floats = NDArray[np.float64]


def expected_z(
    frequencies: ArrayLike, n_records: int, standard_deviation: float = 0.0, *, weights: ArrayLike | None = None
) -> float:
    """(mean score of a member - mean of strangers) / standard deviation of strangers, over studies and people.

        z = (sum_j w_j v_j / n) / sqrt(sum_j w_j^2 v_j (v_j / n + s^2)),      v = p (1 - p)

    The score is the inner product with weights w. Homer's statistic has in the end the weights 1 / v, see below.

    Args:
        frequencies: p, `(d,)`; columns of 0 or 1 count for nothing.
        n_records: n, people in the study.
        standard_deviation: s, of what was added to each mean.
        weights: w, `(d,)`; None for the best ones, 1 / (v / n + s^2).

    With the best weights z^2 = sum_j v_j / (n^2 (v_j / n + s^2)): without noise d / n. Each term is at most
    1 / (4 n^2 s^2), so that z <= mu / 2 where Gaussian noise has mu = sqrt(d) / (n s): strangers are themselves unlike
    each other, which hides a person as much again.

    Example:
        >>> round(expected_z(np.full(1_000, 0.5), 100), 3), round(expected_z(np.full(1_000, 0.5), 100, 0.05), 3)
        (3.162, 2.236)
    """
    v, chosen = _variances(frequencies, n_records, standard_deviation)
    spread = v / n_records + standard_deviation**2
    w = (
        1.0 / spread
        if weights is None
        else np.broadcast_to(np.asarray(weights, dtype=np.float64), chosen.shape)[chosen]
    )
    return float((w * v).sum() / n_records / math.sqrt(float((w * w * v * spread).sum())))


def homer_z(frequencies: ArrayLike, n_records: int, standard_deviation: float = 0.0) -> float:
    """The same for Homer's statistic, inside [0, 1]: 2 sum v / n / sqrt(sum (v / n + s^2)).

    Its spread is larger than that of the inner product with w = 1, to which it comes down where the score is
    standardised by other people for each release: a stranger's mean, sum (2 p - 1) (q - p), is then known.

    Example:
        >>> round(homer_z(np.full(1_000, 0.5), 100), 3)
        3.162
    """
    v, _ = _variances(frequencies, n_records, standard_deviation)
    return float(2.0 * v.sum() / n_records / math.sqrt(float((v / n_records + standard_deviation**2).sum())))


def power(z: float, fpr: float) -> float:
    """True positive rate at a false positive rate, of scores that are normal with variance 1: Phi(z - Phi^-1(1 - fpr)).

    Example:
        >>> round(power(3.162, 0.001), 3)
        0.529
    """
    return float(ndtr(z + ndtri(fpr)))


def _variances(frequencies: ArrayLike, n_records: int, standard_deviation: float) -> tuple[Floats, NDArray[np.bool_]]:
    """v of the columns that vary, and which these are."""
    whole(1, n_records=n_records)
    non_negative(standard_deviation=standard_deviation)
    p = check_frequencies(frequencies)
    chosen = varying(p)
    return (p * (1.0 - p))[chosen], chosen
