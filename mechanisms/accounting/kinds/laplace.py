"""Exact curve of Laplace noise on one number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core import Floats, Relation, positive
from .profile import ProfileGuarantee


@dataclass(frozen=True, init=False, repr=False)
class LaplaceDP(ProfileGuarantee):
    """The exact curve of a query of L1 sensitivity D with Laplace noise of scale D / epsilon.

    It is epsilon-DP, and stronger than pure DP between 0 and epsilon:

        delta(t)    = 1 - e^((t - epsilon) / 2)  for t <= epsilon, else 0
        tradeoff(x) = 1 - e^epsilon x            for x < e^-epsilon / 2
                      e^-epsilon / (4 x)         for e^-epsilon / 2 <= x <= 1/2
                      e^-epsilon (1 - x)         for x > 1/2

    Args:
        epsilon: sensitivity / scale of the noise, finite, > 0. Stored as `nominal_epsilon`.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: False if the curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: epsilon not a finite number > 0; an unknown relation.

    Guarantees:
        * Closed forms, with full relative accuracy.
        * Also the exact curve for a vector of queries of total L1 sensitivity D; `Laplace` has the proof.

    References:
        Dwork, McSherry, Nissim, Smith (2006); Dong, Roth, Su (2019), appendix (trade-off).

    Example:
        >>> claim = LaplaceDP(1.0)
        >>> round(claim.delta(0.5), 7), claim.epsilon(0.0)
        (0.2211992, 1.0)
    """

    nominal_epsilon: float
    relation: Relation | None
    exact: bool
    default_delta = 0.0

    def __init__(self, epsilon: float, relation: str | Relation | None = None, *, exact: bool = True) -> None:
        positive(epsilon=epsilon)
        self._set(nominal_epsilon=float(epsilon), relation=relation, exact=exact)

    def _parameters(self) -> Mapping[str, float]:
        return {"epsilon": self.nominal_epsilon}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.asarray(-np.expm1(0.5 * np.minimum(0.0, epsilon - self.nominal_epsilon)))

    def _epsilon(self, delta: Floats) -> Floats:
        return np.asarray(self.nominal_epsilon + 2.0 * np.log1p(-delta))

    def _tradeoff(self, fpr: Floats) -> Floats:
        e = self.nominal_epsilon
        log_odds = e + np.log(fpr)
        middle, flat = 0.25 * np.exp(-log_odds), np.exp(-e) * (1.0 - fpr)
        return np.asarray(np.where(log_odds < -math.log(2.0), -np.expm1(log_odds), np.where(fpr <= 0.5, middle, flat)))
