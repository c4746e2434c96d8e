"""What a guarantee says to an observer who believes something beforehand: how far a release can move the belief."""

from __future__ import annotations

import math

from scipy.special import expit, logit

from ...validation import open_unit
from ..base import Guarantee


def posterior_interval(guarantee: Guarantee, *, prior: float, fpr: float | None = None) -> tuple[float, float]:
    """Least and largest probability that an observer of a release may give to "the record is in".

    The observer believes it with probability `prior`, and knows all else: both datasets, and the mechanism. After one
    output, whose likelihood ratio lies in [e^-epsilon, e^epsilon], Bayes' rule gives

        prior / (prior + (1 - prior) e^epsilon)  <=  posterior  <=  prior / (prior + (1 - prior) e^-epsilon)

    Args:
        guarantee: what the mechanism keeps; epsilon is `guarantee.epsilon(0)`. Where that is infinite a single output
            may settle the matter, and the interval is (0, 1).
        prior: in (0, 1).
        fpr: None for the posterior after the single output; or a probability in (0, 1): the observer learns only
            whether an event happened that has probability `fpr` without the record. The record raises it to at most
            1 - guarantee.tradeoff(fpr), which bounds the belief for every guarantee, with delta too.

    Raises:
        ParameterError: `prior` or `fpr` outside (0, 1).

    Example:
        >>> from dpassay.mechanisms.guarantees import GaussianDP, PureDP
        >>> low, high = posterior_interval(PureDP(1.0), prior=0.4)
        >>> round(low, 5), round(high, 5)
        (0.19695, 0.6444)
        >>> low, high = posterior_interval(GaussianDP(1.0), prior=0.4, fpr=0.1)
        >>> round(low, 5), round(high, 5)
        (0.06981, 0.72178)
    """
    open_unit(prior=prior)
    if fpr is None:
        epsilon = float(guarantee.epsilon(0.0))
        return _after(prior, -epsilon), _after(prior, epsilon)
    open_unit(fpr=fpr)
    most = 1.0 - float(guarantee.tradeoff(fpr))
    least = float(guarantee.tradeoff(1.0 - fpr))
    return _after(prior, _log_ratio(least, fpr)), _after(prior, _log_ratio(most, fpr))


def _after(prior: float, log_ratio: float) -> float:
    """The posterior after evidence with this log likelihood ratio."""
    return float(expit(logit(prior) + log_ratio))


def _log_ratio(tpr: float, fpr: float) -> float:
    return math.log(tpr / fpr) if tpr > 0.0 else -math.inf
