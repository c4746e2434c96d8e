"""Exposure: the rank of a planted canary among all texts that could have been planted.

A canary is drawn uniformly from a space of |R| texts. With rank = 1 + number of other texts to which the model gives
a probability at least as large,

    exposure = log2 |R| - log2 rank        bits; log2 |R| at most (Carlini et al. 2019, definition 6)

A canary that was never in the data has a uniform rank: its mean exposure is log2 |R| - log2(|R|!) / |R|, which tends to
1 / ln 2 = 1.443 bits. A learner that is epsilon-DP when the canary is replaced by another ranks the true one first with
probability at most e^epsilon / (e^epsilon + |R| - 1). An exposure estimated with a fitted law is an
`ExtrapolatedExposure` and not evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.validation import positive, whole
from ....mechanisms.learning.ngrams.model import NGramModel


def exposure_of_rank(rank: ArrayLike, size: int) -> NDArray[np.float64]:
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


def ranks(scores: ArrayLike, place: ArrayLike) -> NDArray[np.int64]:
    """Return 1 + the number of other candidates that score at least as high as the true one.

    Args:
        scores: `(..., n_candidates)`, higher = likelier.
        place: `(...)` index of the true candidate.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.shape or not values.shape[-1]:
        raise ParameterError("candidates must not be empty, but there are no scores.", argument="candidates")
    true = np.take_along_axis(values, np.asarray(place)[..., None], axis=-1)
    return np.asarray((values >= true).sum(axis=-1), dtype=np.int64)


def exposure(model: NGramModel, candidates: Sequence[str], canary: str) -> NDArray[np.float64]:
    """Return the exact exposure of a canary among all candidates; `()`, or `(n_runs,)` for many runs.

    Args:
        model: model under attack.
        candidates: all texts that the canary was drawn from, itself included.
        canary: one of the candidates.

    Raises:
        ParameterError: no candidates, or a canary that is not one of them.
    """
    if canary not in candidates:
        raise ParameterError(
            f"canary must be one of the {len(candidates)} candidates, but is {canary!r}.", argument="canary"
        )
    place = list(candidates).index(canary)
    scores = model.log_probability(candidates)
    return exposure_of_rank(ranks(scores, np.full(scores.shape[:-1], place)), len(candidates))


@dataclass(frozen=True)
class ExtrapolatedExposure:
    """Exposure estimated from sampled alternatives: a number without coverage.

    Args:
        sampled: bits, from the share of the samples that score at least as high, including the canary itself.
        value: bits, from the tail of a skew-normal law fitted to the samples: it can exceed `limit`.
        limit: largest possible value of `sampled`: log2(samples + 1).
        label: why there is no coverage.
    """

    sampled: float
    value: float
    limit: float
    label: str = "no coverage: a skew-normal law is fitted to sampled alternatives"


def extrapolated_exposure(canary: float, samples: ArrayLike) -> ExtrapolatedExposure:
    """Estimate the exposure from scores of randomly drawn alternatives (Carlini et al. 2019, section 4.3).

    Args:
        canary: log probability of the canary.
        samples: `(n,)` log probabilities of alternatives, uniform from the space; at least 8, not all equal.

    Raises:
        ParameterError: fewer samples, or samples without spread.
    """
    from scipy.stats import skewnorm

    values = np.asarray(samples, dtype=np.float64).ravel()
    if len(values) < 8 or not np.isfinite(values).all() or np.ptp(values) == 0.0:
        raise ParameterError(
            f"samples must be at least 8 finite numbers that are not all the same, but are {len(values)} from "
            f"{values.min(initial=math.inf):.4g} to {values.max(initial=-math.inf):.4g}. Sample more alternatives.",
            argument="samples",
        )
    above = int((values >= canary).sum())
    shape, centre, scale = skewnorm.fit(values)
    tail = float(skewnorm.logsf(canary, shape, centre, scale))
    bits = -tail / math.log(2.0) if math.isfinite(tail) else math.inf
    return ExtrapolatedExposure(-math.log2((1 + above) / (1 + len(values))), bits, math.log2(1 + len(values)))


def most_often_first(guarantee: Guarantee, size: int) -> float:
    """Return the largest probability with which a canary can be ranked first, or guessed, under a guarantee.

    The guarantee holds when the canary is replaced by another; the probability is the gamma with
    gamma = 1 - f((1 - gamma) / (size - 1)). For epsilon-DP it is e^epsilon / (e^epsilon + size - 1).

    Example:
        >>> from dpassay.mechanisms import PureDP
        >>> round(most_often_first(PureDP(1.0), 1024), 6) == round(math.e / (math.e + 1023), 6)
        True
    """
    whole(2, size=size)
    positive(size=size)
    low, high = 1.0 / size, 1.0
    for _ in range(60):  # 1 - f((1 - gamma) / (size - 1)) - gamma falls in gamma
        middle = 0.5 * (low + high)
        if 1.0 - float(guarantee.tradeoff((1.0 - middle) / (size - 1))) > middle:
            low = middle
        else:
            high = middle
    return high
