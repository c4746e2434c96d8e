"""Memorised texts: discoverable extraction, and the exposure of a rank.

A text consists of a prefix and a suffix z. The model is queried with the prefix n times, and each answer is sampled
independently. With p_z = Pr[answer = z | prefix], the suffix occurs at least once with probability 1 - (1 - p_z)^n. The
text is (n, p)-discoverably extractable if this is at least p (Hayes et al. 2025):

    1 - (1 - p_z)^n >= p,    that is    n >= ln(1 - p) / ln(1 - p_z)

p_z is the product of the probabilities of the tokens of the suffix under the sampling scheme: log probabilities at
temperature 1 describe plain sampling, and top-k or another temperature need the log probabilities of that scheme.
Nothing is sampled, so that also 1e-20 is exact. A share of extractable texts is a metric, and bounds no epsilon.

References:
    Hayes, Swanberg, Chaudhari, Yona, Shumailov, Nasr, Choquette-Choo, Lee and Cooper (2025), "Measuring memorization in
    language models via probabilistic extraction", NAACL.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ...mechanisms.core import Floats, ParameterError, open_unit, whole


def extraction_probability(log_probability: ArrayLike, n: int) -> Floats:
    """Return the probability that a suffix occurs at least once in n answers.

    Args:
        log_probability: `(...)` natural logarithm of p_z, <= 0; NaN stays NaN.
        n: number of queries, >= 1.

    Returns:
        Shape `(...)`.

    Raises:
        ParameterError: a log probability above 0.

    Example:
        >>> extraction_probability(np.log([0.5, 1e-20]), 2).round(22).tolist()
        [0.75, 2e-20]
    """
    whole(1, n=n)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(n * np.log1p(-np.exp(_checked(log_probability)))))


def queries_needed(log_probability: ArrayLike, p: float) -> Floats:
    """Return the smallest n for which a suffix is (n, p)-discoverably extractable; inf beyond the largest float.

    Args:
        log_probability: `(...)` natural logarithm of p_z, <= 0; NaN stays NaN.
        p: in (0, 1).

    Returns:
        Shape `(...)`, whole numbers >= 1.

    Raises:
        ParameterError: a log probability above 0, or p outside (0, 1).

    Example:
        >>> queries_needed(np.log([1.0, 0.5, 0.01]), 0.75).tolist()
        [1.0, 2.0, 138.0]
    """
    open_unit(p=p)
    with np.errstate(divide="ignore"):
        n = np.log1p(-p) / np.log1p(-np.exp(_checked(log_probability)))
    return np.asarray(np.maximum(np.ceil(n * (1.0 - 1e-12)), 1.0))


def extractable(log_probability: ArrayLike, n: int, p: float) -> Floats:
    """Return 1 where a suffix is (n, p)-discoverably extractable, 0 where it is not, NaN where it is unknown."""
    values = _checked(log_probability)
    whole(1, n=n)
    return np.where(np.isnan(values), np.nan, (queries_needed(values, p) <= n).astype(np.float64))


def exposure_of_rank(rank: ArrayLike, size: int) -> Floats:
    """Return log2 size - log2 rank, in bits, for ranks from 1 to `size`.

    Example:
        >>> exposure_of_rank([1, 2, 1024], 1024).tolist()
        [10.0, 9.0, 0.0]
    """
    whole(1, size=size)
    ranks = np.asarray(rank, dtype=np.float64)
    if ((ranks < 1) | (ranks > size)).any():
        raise ParameterError(f"rank must lie from 1 to {size}, but is {rank!r}.", argument="rank")
    return np.asarray(np.log2(size) - np.log2(ranks))


def mean_exposure_without(size: int) -> float:
    """Return the mean exposure of a canary that was never in the data, in bits: log2 size - log2(size!) / size.

    Example:
        >>> round(mean_exposure_without(1024), 3), round(mean_exposure_without(10**9), 3)
        (1.437, 1.443)
    """
    whole(1, size=size)
    return float((math.log(size) - gammaln(size + 1.0) / size) / math.log(2.0))


def _checked(log_probability: ArrayLike) -> Floats:
    values = np.asarray(log_probability, dtype=np.float64)
    if (values > 0.0).any():
        raise ParameterError(
            f"log_probability must be <= 0, but is {float(np.nanmax(values)):.4g}.", argument="log_probability"
        )
    return values
