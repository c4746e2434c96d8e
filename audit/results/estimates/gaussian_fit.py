"""The epsilon of an attack at any delta, if its trade-off curve is that of a Gaussian pair: estimated by ranks.

At a delta such as 1e-5 the observed rates alone say nothing: no event with so small a probability occurs in a thousand
trials. With a family of curves the whole ranking of the scores gives an estimate. The area under the ROC curve of
GaussianDP(mu) is Phi(mu / sqrt(2)), therefore

    mu = sqrt(2) Phi^-1(area)

for any increasing function of Gaussian scores. The interval is that of the bootstrap of the area (percentiles).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ....mechanisms.accounting import GaussianDP
from ....mechanisms.core import Floats, whole
from ...evidence.scores import Counts, Scores
from .base import Estimate, check_arguments
from .bootstrap import Bins


def gaussian_fit(
    scores: Scores, *, rng: np.random.Generator, delta: float, level: float = 0.95, resamples: int = 1000
) -> Estimate:
    """Estimate the epsilon that the likelihood ratio of the scores would show, from the area under their ROC curve.

    Args:
        scores: of both sides, higher on side 1.
        rng: draws the resamples.
        delta: in (0, 1).
        level: in (0, 1), of the interval.
        resamples: >= 100; each redraws both sides from the observed scores.

    Returns:
        The estimate; infinite where no score of side 0 reaches any of side 1.

    Guarantees:
        * Consistent if the scores are an increasing function of Gaussian scores with equal variances, and the interval
          then has its level in the limit. For other scores, the number has no meaning.

    Example:
        >>> from dpassay.audit.evidence.scores import PairScores
        >>> draws = np.random.default_rng(1).normal(size=(2, 2000))
        >>> estimate = gaussian_fit(PairScores(draws[0], draws[1] + 1.0), rng=np.random.default_rng(2), delta=1e-5)
        >>> estimate.interval[0] < GaussianDP(1.0).epsilon(1e-5) < estimate.interval[1]
        True

    References:
        Bamber (1975), J. Math. Psychol. 12: the area under the ROC curve. Dong, Roth and Su (2022): GaussianDP.
    """
    check_arguments(scores, delta=delta, confidence=level)
    whole(100, resamples=resamples)
    observed = Bins.of(scores, None)
    value = _epsilon(_area(observed.hits_out, observed.hits_in, observed.n_out, observed.n_in), delta)
    areas = _area(*observed.resampled(rng, resamples), observed.n_out, observed.n_in)
    ends = np.quantile(areas, [0.5 * (1.0 - level), 0.5 * (1.0 + level)], method="inverted_cdf")
    low, high = (_epsilon(end, delta) for end in ends)
    return Estimate(
        value=value,
        interval=(low, high),
        level=level,
        delta=delta,
        method="gaussian-fit",
        n_trials=observed.n_out + observed.n_in,
        label="no coverage: exact only if the trade-off curve is Gaussian, and a bootstrap",
    )


def _area(hits_out: Counts, hits_in: Counts, n_out: int, n_in: int) -> Floats:
    """Return the area under the ROC curve, over the last axis; ties count half."""
    edges = [np.full((*hits_out.shape[:-1], 1), end) for end in (1.0, 0.0)]
    fpr = np.concatenate([edges[0], hits_out / n_out, edges[1]], axis=-1)
    tpr = np.concatenate([edges[0], hits_in / n_in, edges[1]], axis=-1)
    return np.asarray(-np.sum(np.diff(fpr, axis=-1) * 0.5 * (tpr[..., 1:] + tpr[..., :-1]), axis=-1))


def _epsilon(area: Floats, delta: float) -> float:
    """Return epsilon at delta of the Gaussian pair with this area under its ROC curve; 0 for an area up to 1/2."""
    mu = math.sqrt(2.0) * float(special.ndtri(min(float(area), 1.0)))
    if mu <= 0.0:
        return 0.0
    return math.inf if math.isinf(mu) else float(GaussianDP(mu).epsilon(delta))
