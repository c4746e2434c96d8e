"""Definition of plausible deniability for one synthetic record, and the buckets by which it is tested."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Floats
from ...core.errors import ParameterError
from ...core.validation import positive, whole


def check_gamma(gamma: float) -> None:
    """Raise `ParameterError` unless gamma is a finite number above 1; a gamma of 1 defines no buckets."""
    positive(gamma=gamma)
    if gamma <= 1.0:
        raise ParameterError(argument="gamma", value=gamma, allowed="be above 1", advice="Try gamma=2.0.")


def largest_crowd(probabilities: ArrayLike, seed: int, gamma: float) -> int:
    """Return the largest number of records, including the seed, that are equally plausible as the source of an output.

    Records are equally plausible if the ratio of any two of their probabilities to give the output is at most gamma.
    Sorted by probability, such a set is a window; the largest window that contains the seed is found by two searches.

    Args:
        probabilities: Pr[y = M(d_i)] of the one output y, `(n_records,)`, each in [0, 1].
        seed: index of the record that y was generated from.
        gamma: >= 1.

    Returns:
        0 if the seed cannot give the output.

    Example:
        >>> largest_crowd([0.1, 0.2, 0.4, 0.0], seed=1, gamma=2.0)
        2
    """
    positive(gamma=gamma)
    if gamma < 1.0:
        raise ParameterError(argument="gamma", value=gamma, allowed="be at least 1")
    likelihoods = np.asarray(probabilities, dtype=np.float64)
    if likelihoods.ndim != 1 or not np.all((likelihoods >= 0.0) & (likelihoods <= 1.0)):
        raise ParameterError(
            f"probabilities must have shape (n_records,) and lie in [0, 1], but are {probabilities!r}.",
            argument="probabilities",
        )
    if not 0 <= seed < len(likelihoods):
        raise ParameterError(argument="seed", value=seed, allowed=f"be a whole number from 0 to {len(likelihoods) - 1}")
    seed_likelihood = likelihoods[seed]
    if seed_likelihood == 0.0:
        return 0
    ordered = np.sort(likelihoods[likelihoods > 0.0])
    lowest = ordered[
        (ordered <= seed_likelihood) & (ordered * gamma >= seed_likelihood)
    ]  # possible starts of a window over the seed
    ends = np.searchsorted(ordered, lowest * gamma, side="right")
    return int((ends - np.searchsorted(ordered, lowest, side="left")).max())


def plausibly_deniable(probabilities: ArrayLike, seed: int, *, k: int, gamma: float) -> bool:
    """Return True if an output may be released with (k, gamma)-plausible deniability.

    There must be k - 1 further records such that the probabilities of all k records, including the seed, to give the
    output are within a factor gamma of each other. (Bindschaedler, Shokri and Gunter 2017, definition 1.) This is a
    statement on one dataset, and not differential privacy.

    Args:
        probabilities, seed, gamma: see `largest_crowd`.
        k: number of records, including the seed, >= 1.

    Example:
        >>> plausibly_deniable([0.1, 0.2, 0.4], seed=1, k=3, gamma=2.0)
        False
        >>> plausibly_deniable([0.1, 0.2, 0.4], seed=1, k=3, gamma=4.0)
        True
    """
    whole(1, k=k)
    return largest_crowd(probabilities, seed, gamma) >= k


def buckets(log_probabilities: Floats, gamma: float) -> NDArray[np.int64]:
    """Return the whole number i with gamma^-(i + 1) < p <= gamma^-i for each log p; -1 where p is 0.

    The shape is that of `log_probabilities`. Two probabilities in one bucket are within a factor gamma, so a bucket of
    k records satisfies `plausibly_deniable`; the converse does not hold.

    Example:
        >>> buckets(np.log([1.0, 0.5, 0.3, 0.25]), gamma=2.0)
        array([0, 1, 1, 2])
    """
    possible = np.isfinite(log_probabilities)
    steps = np.floor(-np.where(possible, np.minimum(log_probabilities, 0.0), 0.0) / math.log(gamma))
    return np.where(possible, steps, -1.0).astype(np.int64)
