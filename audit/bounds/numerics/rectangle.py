"""A rectangle of confidence limits on the two error rates, and the lower bounds that follow from it.

Of the four inequalities of (epsilon, delta)-DP for an event S and its complement, with side 1 on the left or on the
right, two need upper limits on FPR and FNR only:

    TPR <= e^epsilon FPR + delta          S more likely on side 1
    TNR <= e^epsilon FNR + delta          its complement more likely on side 0

so that one rectangle is valid for both directions, and every delta simultaneously.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Floats
from .binomial import lower, upper

_MAX_EPSILON = 700.0  # epsilon above which a limit of fewer than 10^300 trials shows no delta: e^700 times it exceeds 1


@dataclass(frozen=True, eq=False)
class Rectangle:
    """Upper limits on both error rates of the events {score >= threshold}, one rectangle per event.

    Args:
        fpr_upper, fnr_upper: upper limits, any common shape.
        tnr_lower, tpr_lower: 1 - fpr_upper and 1 - fnr_upper, to full relative precision.
    """

    fpr_upper: Floats
    fnr_upper: Floats
    tnr_lower: Floats
    tpr_lower: Floats

    @classmethod
    def at(
        cls, hits_out: ArrayLike, hits_in: ArrayLike, *, n_out: float, n_in: float, significance: float
    ) -> Rectangle:
        """Return exact limits (Clopper and Pearson 1934), each exceeded with probability at most `significance`."""
        fpr_upper, tnr_lower = _upper_and_rest(np.asarray(hits_out, dtype=np.float64), n_out, significance)
        fnr_upper, tpr_lower = _upper_and_rest(n_in - np.asarray(hits_in, dtype=np.float64), n_in, significance)
        return cls(fpr_upper, fnr_upper, tnr_lower, tpr_lower)

    def log_ratios(self, delta: float) -> tuple[Floats, Floats]:
        """Return ln((TPR - delta) / FPR) and ln((TNR - delta) / FNR) at the worst corner; -inf if delta is larger."""
        forward = _log_or_minus_inf(self.tpr_lower - delta) - np.log(self.fpr_upper)
        backward = _log_or_minus_inf(self.tnr_lower - delta) - np.log(self.fnr_upper)
        return forward, backward

    def log_ratio(self, delta: float) -> Floats:
        """Return the larger of the two `log_ratios`."""
        return np.maximum(*self.log_ratios(delta))

    def epsilon_lower(self, delta: float) -> Floats:
        """Return the lower bound on epsilon at `delta` from each event, >= 0."""
        return np.maximum(0.0, self.log_ratio(delta))

    def delta_lower(self, epsilon: ArrayLike) -> Floats:
        """Return the lower bound on delta at each epsilon, shape `epsilon.shape` + the shape of the rectangles."""
        exponent = np.minimum(np.asarray(epsilon, dtype=np.float64), _MAX_EPSILON)
        growth = np.exp(exponent)[..., *(np.newaxis,) * self.fpr_upper.ndim]
        forward = self.tpr_lower - growth * self.fpr_upper
        backward = self.tnr_lower - growth * self.fnr_upper
        return np.maximum(0.0, np.maximum(forward, backward))


def _upper_and_rest(k: Floats, n: float, significance: float) -> tuple[Floats, Floats]:
    limit = np.asarray(upper(k, n, significance))
    rest = np.asarray(1.0 - limit)
    large = ~(limit < 0.5)
    if large.any():
        rest[large] = lower(n - k[large], n, significance)
    return limit, rest


def _log_or_minus_inf(x: Floats) -> Floats:
    return np.log(x, out=np.full_like(x, -np.inf), where=x > 0.0)
