"""The Bayesian estimate: joint posterior of the two error rates of one event, mapped to epsilon.

Independent priors Beta(1/2, 1/2) (Jeffreys) on x = FNR and y = FPR of {score >= threshold} give

    x ~ Beta(1/2 + FN, 1/2 + TP),        y ~ Beta(1/2 + FP, 1/2 + TN)

and Pr[epsilon <= e | data] is the posterior mass of all (x, y) that (e, delta)-DP allows in either direction:

    y >= L(x)  and  1 - y >= L(1 - x),        L(x) = max(0, 1 - delta - e^e x, e^-e (1 - delta - x)).

The mass is one integral over the logit of x, in which the density is smooth and both ends keep their precision, of

    1 - Pr[y < L(x)] - Pr[1 - y < L(1 - x)],

divided where the density, or one of the two probabilities, changes quickly. Epsilon has no upper limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from ....mechanisms.core import Floats, bracket
from ...evidence.scores import Scores
from .base import Estimate, check_arguments

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CUTS = np.array(
    [1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 0.023, 0.16, 0.5, 0.84, 0.977, 0.999]
)  # quantiles; 1 - these are used too
_MAX_EPSILON = 700.0  # e^epsilon is a float up to here


def bayesian(scores: Scores, *, threshold: float, delta: float = 0.0, level: float = 0.95) -> Estimate:
    """Return the posterior median of epsilon and its equal-tailed interval (Zanella-Beguelin et al. 2023).

    Args:
        scores: of both sides.
        threshold: of the event {score >= threshold}, fixed beforehand: the prior does not account for a choice.
        delta: in [0, 1).
        level: in (0, 1); the ends of the interval are the (1 - level) / 2 and (1 + level) / 2 quantiles.

    Guarantees:
        * None as a bound: a credible interval holds on average over the prior, not at the truth. With no or few errors
          the prior dominates, and the low end may exceed every valid lower bound for this number of trials.

    Example:
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> counts = PairCounts(Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000))
        >>> estimate = bayesian(counts, threshold=1.0, delta=1e-5, level=0.9)
        >>> round(estimate.value, 4), round(estimate.interval[0], 4)
        (0.9989, 0.8797)

    References:
        Zanella-Beguelin et al. (2023), ICML, arXiv:2206.05199, section 4.
    """
    check_arguments(scores, delta=delta, confidence=level)
    k0, k1 = scores.hits(threshold)
    n0, n1 = scores.n_out, scores.n_in
    posterior = _Posterior(n1 - k1 + 0.5, k1 + 0.5, k0 + 0.5, n0 - k0 + 0.5, delta)
    tail = 0.5 * (1.0 - level)
    return Estimate(
        value=posterior.quantile(0.5),
        interval=(posterior.quantile(tail), posterior.quantile(1.0 - tail)),
        level=level,
        delta=delta,
        method="bayesian",
        n_trials=n0 + n1,
        label="no coverage: credible under a Jeffreys prior, which dominates at few errors; event fixed beforehand",
    )


@dataclass(frozen=True)
class _Posterior:
    """Joint posterior of the error rates: x ~ Beta(a, b), y ~ Beta(c, d), independent."""

    a: float
    b: float
    c: float
    d: float
    delta: float

    def quantile(self, probability: float) -> float:
        """Return the least epsilon with at least this much mass at or below it."""
        from scipy.optimize import brentq

        def excess(epsilon: float) -> float:
            return self.mass(epsilon) - probability

        if excess(0.0) >= 0.0:
            return 0.0
        low, high = bracket(lambda epsilon: excess(epsilon) >= 0.0, 0.0, 1.0, largest=_MAX_EPSILON)
        return math.inf if high > _MAX_EPSILON else float(brentq(excess, low, high, xtol=1e-9, rtol=1e-12))

    def mass(self, epsilon: float) -> float:
        """Return the posterior probability that the error rates satisfy (epsilon, delta)-DP."""
        cuts = self._cuts(epsilon)
        half = 0.5 * np.diff(cuts)[:, None]
        t = (0.5 * (cuts[1:] + cuts[:-1]))[:, None] + half * _NODES
        x, rest = special.expit(t), special.expit(-t)
        log_density = self.a * special.log_expit(t) + self.b * special.log_expit(-t) - special.betaln(self.a, self.b)
        low, high = self._line(epsilon, x, rest), self._line(epsilon, rest, x)
        outside = special.betainc(self.c, self.d, low) + special.betainc(self.d, self.c, high)
        inside = np.clip(1.0 - outside, 0.0, 1.0)
        return float(np.sum(half * _WEIGHTS * np.exp(log_density) * inside))

    def _line(self, epsilon: float, x: Floats, rest: Floats) -> Floats:
        """Return L(x), with rest = 1 - x."""
        steep = 1.0 - self.delta - math.exp(epsilon) * x
        return np.asarray(np.maximum(np.maximum(steep, math.exp(-epsilon) * (rest - self.delta)), 0.0))

    def _cuts(self, epsilon: float) -> Floats:
        """Return the cuts of the integral, increasing logits: quantiles of x, corners of L, and its crossings of y."""
        slope, top = math.exp(epsilon), 1.0 - self.delta
        y, rest = self._quantiles_of_y
        corners = [top / (1.0 + slope), top]  # of L
        x_small = np.concatenate([corners, (top - y) / slope, top - slope * y])  # x at which L(x) = y
        rest_small = np.concatenate([corners, (top - rest) / slope, top - slope * rest])  # 1 - x, for L(1 - x) = 1 - y
        at = np.concatenate([_logit(x_small), -_logit(rest_small)])
        low, high = self._ends[0], self._ends[-1]
        return np.unique(np.concatenate([self._ends, at[(at > low) & (at < high)]]))

    @cached_property
    def _ends(self) -> Floats:
        """Logits of quantiles of x; the mass beyond the outermost is negligible."""
        below = _logit_quantiles(self.a, self.b, _CUTS)
        above = -_logit_quantiles(self.b, self.a, _CUTS)
        return np.unique(np.concatenate([below, above]))

    @cached_property
    def _quantiles_of_y(self) -> tuple[Floats, Floats]:
        """Quantiles of y, and of 1 - y, each to full precision."""
        y = np.concatenate([special.betaincinv(self.c, self.d, _CUTS), special.betainccinv(self.c, self.d, _CUTS)])
        rest = np.concatenate([special.betainccinv(self.d, self.c, _CUTS), special.betaincinv(self.d, self.c, _CUTS)])
        return y, rest


def _logit_quantiles(a: float, b: float, probabilities: Floats) -> Floats:
    """Return logits of quantiles of Beta(a, b)."""
    x, rest = special.betaincinv(a, b, probabilities), special.betainccinv(b, a, probabilities)
    tiny = 1e-300
    return np.asarray(np.log(np.maximum(x, tiny)) - np.log(np.maximum(rest, tiny)))


def _logit(x: Floats) -> Floats:
    """Return the logits of the values strictly between 0 and 1."""
    inside = x[(x > 0.0) & (x < 1.0)]
    return np.asarray(special.logit(inside))
