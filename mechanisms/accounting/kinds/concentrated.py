"""Zero-concentrated differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...core import Floats, NonNegative, Relation, bisect, bracket, open_unit, positive
from ..numerics.renyi import largest_total_variation, tight_epsilon, tight_log_delta
from .profile import ProfileGuarantee

_STEPS = 12
"""Steps of Newton's method: each step squares the error, and any order gives a valid bound."""
_MAX_EPSILON = 1e8


@dataclass(frozen=True, repr=False)
class ConcentratedDP(ProfileGuarantee):
    """rho-zCDP: the Renyi divergence of every order > 1 is at most rho * order, in both directions.

    The conversion to epsilon and delta takes the best of all orders, including order one:

        epsilon(delta) = inf over order of rho order + log(1 - 1/order) - (log delta + log order) / (order - 1)

    which is smaller than the textbook rho + 2 sqrt(rho log(1/delta)) at every delta.

    Args:
        rho: finite, >= 0.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: rho negative, infinite or NaN; an unknown relation.

    Guarantees:
        * An upper bound (`exact` is False): the exact curve of a Gaussian mechanism with this rho lies below.
        * Any order gives a valid bound, so that an inexact search for the best order errs on the safe side.

    References:
        Bun, Steinke (2016), Definition 1.1 and Lemma 3.5 (textbook); Canonne, Kamath, Steinke (2020), Proposition 12.

    Example:
        >>> claim = ConcentratedDP(0.5)
        >>> round(claim.epsilon(1e-5), 4), round(claim.textbook_epsilon(1e-5), 4)
        (4.7284, 5.2985)
    """

    rho: NonNegative
    relation: Relation | None = None
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rho=float(self.rho))

    @classmethod
    def for_budget(
        cls, *, epsilon: float, delta: float, relation: str | Relation | None = None, textbook: bool = False
    ) -> Self:
        """Return the largest rho that is (epsilon, delta)-DP by the conversion of this class, or by the textbook one.

        The textbook conversion also starts the search: sqrt(rho) = sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)),
        written without cancellation. From `_MAX_EPSILON` on both are equal up to rounding, and it is the result.
        """
        positive(epsilon=epsilon)
        open_unit(delta=delta)
        log_inverse = -math.log(delta)
        textbook_rho = (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2
        stated_for = None if relation is None else Relation.of(relation)
        if textbook or not 1e-300 < textbook_rho < _MAX_EPSILON:
            return cls(textbook_rho, stated_for)

        def exceeds(rho: float) -> bool:
            return cls(rho).epsilon(delta) > epsilon

        low, high = bracket(exceeds, textbook_rho, 2.0 * textbook_rho)
        low, _ = bisect(exceeds, low, high, close=lambda a, b: b - a < 1e-12 * b)
        return cls(low, stated_for)

    def textbook_epsilon(self, delta: float) -> float:
        """Return rho + 2 sqrt(rho log(1/delta)), for comparison; delta strictly between 0 and 1."""
        open_unit(delta=delta)
        return self.rho + 2.0 * math.sqrt(-self.rho * math.log(delta))

    def _parameters(self) -> Mapping[str, float]:
        return {"rho": self.rho}

    def _delta(self, epsilon: Floats) -> Floats:
        if self.rho == 0.0:
            return np.zeros(epsilon.shape)
        finite = np.minimum(epsilon, 1e100)
        excess = self._excess_for_epsilon(finite)
        best = np.exp(tight_log_delta(excess, self.rho * (1.0 + excess), finite))
        return np.asarray(np.where(np.isinf(epsilon), 0.0, np.minimum(largest_total_variation(self.rho), best)))

    def _epsilon(self, delta: Floats) -> Floats:
        if self.rho == 0.0:
            return np.zeros(delta.shape)
        log_delta = np.log(np.maximum(delta, 5e-324))
        excess = self._excess_for_delta(log_delta)
        best = tight_epsilon(excess, self.rho * (1.0 + excess), log_delta)
        at_zero_epsilon = delta >= largest_total_variation(self.rho)
        return np.where(at_zero_epsilon, 0.0, np.where(delta == 0.0, np.inf, best))

    def _excess_for_epsilon(self, epsilon: Floats) -> Floats:
        """Return order - 1 at which delta is least: the root of rho (2 s + 1) - epsilon + log(s / (s + 1)).

        Concave and increasing in s, so that Newton's method climbs to the root from any point below it. Both starts
        are below: the first because the logarithm is negative, the second because it is at most log(s).
        """
        start = np.exp(np.minimum(0.0, epsilon - self.rho)) / (1.0 + 2.0 * self.rho)
        s = np.maximum((epsilon - self.rho) / (2.0 * self.rho), np.maximum(start, 1e-300))
        for _ in range(_STEPS):
            value = self.rho * (2.0 * s + 1.0) - epsilon + np.log(s) - np.log1p(s)
            s = s + np.maximum(0.0, -value / (2.0 * self.rho + 1.0 / (s * (1.0 + s))))
        return s

    def _excess_for_delta(self, log_delta: Floats) -> Floats:
        """Return order - 1 at which epsilon is least: the root of rho s^2 + log(1 + s) - log(1/delta).

        Convex and increasing in u = log s, so that Newton's method falls to the root from any point above it. Both
        starts are above: each omits one of the two terms.
        """
        target = np.maximum(-log_delta, 1e-300)
        u = np.minimum(0.5 * (np.log(target) - np.log(self.rho)), np.log(np.expm1(target)))
        for _ in range(_STEPS):
            s = np.exp(u)
            value = self.rho * s * s + np.log1p(s) - target
            u = u - np.maximum(0.0, value / (2.0 * self.rho * s * s + s / (1.0 + s)))
        return np.asarray(np.exp(u))
