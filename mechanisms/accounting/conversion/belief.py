"""Bayesian interpretation of a guarantee: how far one release can change an observer's belief."""

from __future__ import annotations

import math

from scipy.special import expit, logit

from ...core import Guarantee, open_unit


def posterior_interval(guarantee: Guarantee, *, prior: float, fpr: float | None = None) -> tuple[float, float]:
    """Return the least and largest posterior probability that the record is in the dataset.

    The observer has the prior probability `prior`, and knows both datasets and the mechanism. After one output, whose
    likelihood ratio lies in [e^-epsilon, e^epsilon], Bayes' rule gives

        prior / (prior + (1 - prior) e^epsilon)  <=  posterior  <=  prior / (prior + (1 - prior) e^-epsilon)

    Args:
        guarantee: the guarantee of the mechanism; epsilon is `guarantee.epsilon(0)`. If it is infinite, a single output
            may reveal the side, and the interval is (0, 1).
        prior: in (0, 1).
        fpr: None for the posterior after a single output; or a probability in (0, 1): the observer learns only whether
            an event occurred that has probability `fpr` without the record. With the record its probability is at most
            1 - guarantee.tradeoff(fpr), which bounds the posterior for every guarantee, also with delta > 0.

    Raises:
        ParameterError: `prior` or `fpr` outside (0, 1).

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP, PureDP
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
    largest_tpr = 1.0 - float(guarantee.tradeoff(fpr))
    least_tpr = float(guarantee.tradeoff(1.0 - fpr))
    return _after(prior, _log_ratio(least_tpr, fpr)), _after(prior, _log_ratio(largest_tpr, fpr))


def _after(prior: float, log_ratio: float) -> float:
    """Return the posterior after evidence with this log likelihood ratio."""
    return float(expit(logit(prior) + log_ratio))


def _log_ratio(tpr: float, fpr: float) -> float:
    return math.log(tpr / fpr) if tpr > 0.0 else -math.inf
