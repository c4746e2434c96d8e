"""Gaussian differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import erfcx, ndtr, ndtri

from ...core import Floats, Positive, Relation, arithmetic, bisect, bracket, geometric, open_unit, positive
from .profile import ProfileGuarantee

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, repr=False)
class GaussianDP(ProfileGuarantee):
    """mu-Gaussian DP: distinguishing the sides is as hard as distinguishing N(0, 1) from N(mu, 1).

    The exact curve of the Gaussian mechanism, for a query of any dimension; mu = 1 / noise_multiplier
    = L2 sensitivity / standard deviation.

        tradeoff(x)    = Phi(Phi^-1(1 - x) - mu)
        delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

    Args:
        mu: finite, > 0.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: False if the curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: mu not a finite number > 0; an unknown relation.

    Guarantees:
        * The two terms of delta are subtracted as Mills ratios with their common factor taken out, so that delta keeps
          its relative accuracy in the tails, down to the smallest floats.
        * epsilon is the limit of a decreasing Newton sequence, hence never too small (up to rounding).

    References:
        Balle, Wang (2018), Theorem 8 (delta); Dong, Roth, Su (2019), Definition 2.6 and Corollary 2.13.

    Example:
        >>> claim = GaussianDP(1.0)
        >>> round(claim.epsilon(1e-5), 4), round(claim.delta(1.0), 6)
        (4.3772, 0.126937)
        >>> round(1.0 / GaussianDP.for_budget(epsilon=1.0, delta=1e-5).mu, 4)  # the least noise multiplier
        3.7306
    """

    mu: Positive
    relation: Relation | None = None
    exact: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(mu=float(self.mu))

    @classmethod
    def for_budget(cls, *, epsilon: float, delta: float, relation: str | Relation | None = None) -> Self:
        """Return the largest mu that is (epsilon, delta)-DP; 1 / mu is the least noise multiplier for this budget.

        By bisection, because delta grows with mu (Balle, Wang 2018, Algorithm 1); returns the safe end of the last
        bracket.
        """
        positive(epsilon=epsilon)
        open_unit(delta=delta)

        def exceeds_budget(mu: float) -> bool:
            return bool(_delta(mu, np.array([epsilon]))[0] > delta)

        def middle(low: float, high: float) -> float:
            return arithmetic(low, high) if high < 2.0 * low else geometric(low, high)

        low, high = bracket(exceeds_budget, 1e-100, 2.0)
        largest, _ = bisect(exceeds_budget, low, high, middle=middle)
        return cls(largest, None if relation is None else Relation.of(relation))

    def _parameters(self) -> Mapping[str, float]:
        return {"mu": self.mu}

    def _delta(self, epsilon: Floats) -> Floats:
        return _delta(self.mu, epsilon)

    def _epsilon(self, delta: Floats) -> Floats:
        """Solve delta(epsilon) = delta by Newton's method on log delta(epsilon), which is concave and decreasing.

        Started above the root, the iterates fall monotonically towards it. The start is above the root because
        delta(epsilon) is below Phi(mu/2 - epsilon/mu).
        """
        positive_delta = np.maximum(delta, 5e-324)
        target = np.log(positive_delta)
        epsilon = np.maximum(0.0, self.mu * (0.5 * self.mu - ndtri(positive_delta)))
        for _ in range(60):
            value, slope = _log_delta(self.mu, epsilon)
            step = np.minimum(epsilon, np.maximum(0.0, (value - target) / slope))
            epsilon = epsilon - step
            if not np.any(step > 1e-15 * epsilon):
                break
        return np.where(delta == 0.0, np.inf, epsilon)

    def _tradeoff(self, fpr: Floats) -> Floats:
        return np.asarray(ndtr(-ndtri(fpr) - self.mu))


def _mills(z: Floats) -> Floats:
    """Return the Mills ratio (1 - Phi(z)) / phi(z)."""
    return np.asarray(math.sqrt(math.pi / 2.0) * erfcx(z / math.sqrt(2.0)))


def _delta(mu: float, epsilon: Floats) -> Floats:
    """Return delta by Balle, Wang (2018), Theorem 8, with phi(near) = e^epsilon phi(far) factored out."""
    near, far = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    density = np.exp(-0.5 * near * near - _HALF_LOG_2PI)
    tail = density * (_mills(np.maximum(near, 0.0)) - _mills(far))
    return np.maximum(0.0, np.where(near > 0.0, tail, ndtr(-near) - density * _mills(far)))


def _log_delta(mu: float, epsilon: Floats) -> tuple[Floats, Floats]:
    """Return log delta and its derivative, -e^epsilon Phi(-far) / delta."""
    near, far = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    log_density = -0.5 * near * near - _HALF_LOG_2PI
    second = _mills(far)
    first = np.where(near > 0.0, _mills(np.maximum(near, 0.0)), ndtr(-near) / np.exp(np.maximum(log_density, -700.0)))
    gap = np.maximum(first - second, 1e-300)
    return log_density + np.log(gap), -second / gap
