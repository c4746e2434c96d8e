"""Bounded range: all log likelihood ratios of the two sides lie in an interval of a known length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core import Floats, Positive, Relation
from .profile import ProfileGuarantee


@dataclass(frozen=True, repr=False)
class BoundedRange(ProfileGuarantee):
    """eta-bounded range: for each pair there is a t with log(p1(y) / p0(y)) in [t - eta, t] for every output y.

    The interval contains 0, so that the guarantee implies eta-DP; the interval is only half as long as that of
    eta-DP, so that the guarantee is stronger. The worst mechanism for a known t has two outputs, of loss t and t - eta:

        p_t = (e^eta - e^t) / (e^eta - 1)   and   q_t = p_t e^-t   are the probabilities of the first.

    The curve is the worst over all t; its closed forms are those of logistic noise shifted by eta:

        delta(x)    = (e^(eta/2) - e^(x/2))^2 / (e^eta - 1)   for x <= eta, else 0      at t = (eta + x) / 2
        tradeoff(x) = (1 - x) / (1 + (e^eta - 1) x)                                     at q_t = x

    Args:
        eta: length of the interval, finite, > 0.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: eta not a finite number > 0; an unknown relation.

    Guarantees:
        * Tight at each single point: no smaller delta or larger false negative rate holds for all mechanisms with this
          range. Each pair attains one point only, so that `exact` is False.
        * Composition of several mechanisms: `compose(..., accounting="optimal")`.

    References:
        Durfee, Rogers (2019); Dong, Durfee, Rogers (2020) (the worst mechanism for a known t).

    Example:
        >>> claim = BoundedRange(1.0)
        >>> claim.epsilon(0.0), round(claim.epsilon(0.01), 6), round(claim.delta(0.0), 6)
        (1.0, 0.83431, 0.244919)
    """

    eta: Positive
    relation: Relation | None = None
    exact = False
    default_delta = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(eta=float(self.eta))

    def _parameters(self) -> Mapping[str, float]:
        return {"eta": self.eta}

    def _delta(self, epsilon: Floats) -> Floats:
        short = np.minimum(0.0, epsilon - self.eta)
        return np.asarray(np.expm1(0.5 * short) ** 2 / -np.expm1(-self.eta))

    def _epsilon(self, delta: Floats) -> Floats:
        below = np.minimum(np.sqrt(-delta * np.expm1(-self.eta)), 1.0)
        return np.asarray(np.maximum(0.0, self.eta + 2.0 * np.log1p(-below)))

    def _tradeoff(self, fpr: Floats) -> Floats:
        growth = np.exp(self.eta + np.log(fpr)) - fpr
        return np.asarray((1.0 - fpr) / (1.0 + growth))
