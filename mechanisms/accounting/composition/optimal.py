"""Optimal composition of equal guarantees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln, log_expit

from ...core.arrays import Floats
from ...core.relation import Relation
from ...core.validation import delta_range, non_negative, whole
from ..kinds.profile import ProfileGuarantee
from ..numerics.losses import LossProfile


@dataclass(frozen=True, init=False, repr=False)
class OptimalComposition(ProfileGuarantee):
    """The optimal k-fold composition, adaptive or not, of (epsilon, delta)-DP mechanisms.

    k-fold randomized response dominates: with probability 1 - (1 - delta)^k the privacy loss is infinite, otherwise it
    is (2j - k) epsilon where j is binomial with k draws of probability e^epsilon / (1 + e^epsilon).

    Args:
        epsilon, delta: parameters of each mechanism. Stored as `nominal_epsilon`, `nominal_delta`.
        count: k, the number of mechanisms, >= 1.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: True if each mechanism attains the whole curve of its guarantee, as randomized response does.

    Raises:
        ParameterError: a value out of range; an unknown relation.

    Guarantees:
        * Optimal among bounds that use only (epsilon, delta) and k; attained by randomized response.
        * Closed forms on the breakpoints, for every epsilon, not only the multiples in the theorem.

    References:
        Kairouz, Oh, Viswanath (2015), Theorem 3.3.

    Example:
        >>> claim = OptimalComposition(0.1, 0.0, count=100)
        >>> round(claim.epsilon(1e-6), 6), round(claim.epsilon(0.0), 6)
        (4.774568, 10.0)
    """

    nominal_epsilon: float
    nominal_delta: float
    count: int
    relation: Relation | None
    exact: bool = field(repr=False)

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        count: int,
        relation: str | Relation | None = None,
        exact: bool = False,
    ) -> None:
        non_negative(epsilon=epsilon)
        delta_range(delta=delta)
        whole(1, count=count)
        self._set(nominal_epsilon=float(epsilon), nominal_delta=float(delta), count=int(count))
        self._set(relation=relation, exact=exact)

    @property
    def default_delta(self) -> float | None:
        """Zero for pure mechanisms, whose composition is pure, else None."""
        return 0.0 if self.nominal_delta == 0.0 else None

    @cached_property
    def profile(self) -> LossProfile:
        k, e = self.count, self.nominal_epsilon
        j = np.arange(k + 1.0)
        log_binomial = gammaln(k + 1.0) - gammaln(j + 1.0) - gammaln(k - j + 1.0)
        log_finite = k * math.log1p(-self.nominal_delta)
        log_probability = log_binomial + j * log_expit(e) + (k - j) * log_expit(-e) + log_finite
        return LossProfile.of((2.0 * j - k) * e, np.exp(log_probability), -math.expm1(log_finite))

    def _parameters(self) -> Mapping[str, float]:
        return {"epsilon": self.nominal_epsilon, "delta": self.nominal_delta, "count": self.count}

    def _delta(self, epsilon: Floats) -> Floats:
        return self.profile.delta(epsilon)

    def _epsilon(self, delta: Floats) -> Floats:
        return self.profile.epsilon(delta)
