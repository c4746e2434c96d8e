"""Pure and approximate differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core import Floats, Relation, delta_range, non_negative
from .profile import ProfileGuarantee


@dataclass(frozen=True, init=False, repr=False)
class PureDP(ProfileGuarantee):
    """epsilon-differential privacy: no output is more than e^epsilon times likelier on one side than on the other.

    Any epsilon-DP mechanism is a post-processing of binary randomized response that reports the true bit with
    probability e^epsilon / (1 + e^epsilon). The curve of that mechanism is the curve of the guarantee:

        delta(t)    = (e^epsilon - e^t) / (1 + e^epsilon)  for t <= epsilon, else 0
        tradeoff(x) = max{1 - e^epsilon x, e^-epsilon (1 - x)}

    At delta > 0 the least epsilon is therefore a little below the nominal one: log(e^epsilon - delta (1 + e^epsilon)).

    Args:
        epsilon: finite, >= 0; 0 means that the output does not depend on the data. Stored as `nominal_epsilon`.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: True for a mechanism that attains the whole curve (randomized response, or geometric noise at unit
            sensitivity).

    Raises:
        ParameterError: epsilon negative, infinite or NaN; an unknown relation.

    Guarantees:
        * Closed forms; delta keeps its relative accuracy up to t = epsilon.

    References:
        Dwork, McSherry, Nissim, Smith (2006); Kairouz, Oh, Viswanath (2015) (randomized response dominates).

    Example:
        >>> claim = PureDP(1.0)
        >>> claim.epsilon(0.0), round(claim.epsilon(0.01), 6), round(claim.delta(0.5), 6)
        (1.0, 0.986227, 0.287649)
        >>> print(claim, claim.default_delta)
        PureDP(epsilon=1) 0.0
    """

    nominal_epsilon: float
    relation: Relation | None
    exact: bool
    default_delta = 0.0

    def __init__(self, epsilon: float, relation: str | Relation | None = None, *, exact: bool = False) -> None:
        non_negative(epsilon=epsilon)
        self._set(nominal_epsilon=float(epsilon), relation=relation, exact=exact)

    def _parameters(self) -> Mapping[str, float]:
        return {"epsilon": self.nominal_epsilon}

    def _delta(self, epsilon: Floats) -> Floats:
        return response_delta(self.nominal_epsilon, epsilon)

    def _epsilon(self, delta: Floats) -> Floats:
        return response_epsilon(self.nominal_epsilon, delta)

    def _tradeoff(self, fpr: Floats) -> Floats:
        e = self.nominal_epsilon
        return np.asarray(np.maximum(-np.expm1(e + np.log(fpr)), np.exp(-e) * (1.0 - fpr)))


def response_delta(nominal: float | Floats, epsilon: Floats) -> Floats:
    """Return the profile of randomized response: (e^nominal - e^epsilon)+ / (1 + e^nominal), without cancellation."""
    return np.asarray(np.maximum(0.0, -np.expm1(epsilon - nominal)) / (1.0 + np.exp(-nominal)))


def response_epsilon(nominal: float | Floats, delta: Floats) -> Floats:
    """Return the inverse of `response_delta`; 0 at and above its largest delta."""
    below = np.minimum(delta * (1.0 + np.exp(-nominal)), 1.0)
    return np.asarray(np.maximum(0.0, nominal + np.log1p(-below)))


@dataclass(frozen=True, init=False, repr=False)
class ApproximateDP(ProfileGuarantee):
    """(epsilon, delta)-differential privacy: Pr[S on one side] <= e^epsilon Pr[S on the other] + delta, for all S.

    The worst mechanism with this guarantee leaks the dataset with probability delta and is randomized response
    otherwise. Its curve is the curve of the guarantee:

        delta(t)    = delta + (1 - delta) (e^epsilon - e^t)+ / (1 + e^epsilon)
        tradeoff(x) = max{0, 1 - delta - e^epsilon x, e^-epsilon (1 - delta - x)}

    Args:
        epsilon: finite, >= 0. Stored as `nominal_epsilon`.
        delta: in [0, 1). Stored as `nominal_delta`.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: True if the mechanism attains the whole curve.

    Raises:
        ParameterError: a value out of range; an unknown relation.

    Guarantees:
        * Closed forms. `epsilon` is inf below the nominal delta, where no finite epsilon is guaranteed.

    References:
        Dwork, Kenthapadi, McSherry, Mironov, Naor (2006); Kairouz, Oh, Viswanath (2015);
        Dong, Roth, Su (2019), Proposition 2.5 (trade-off).

    Example:
        >>> claim = ApproximateDP(1.0, 1e-5)
        >>> claim.epsilon([0.0, 1e-5])
        array([inf,  1.])
        >>> print(claim, claim.default_delta)
        ApproximateDP(epsilon=1, delta=1e-05) 1e-05
    """

    nominal_epsilon: float
    nominal_delta: float
    relation: Relation | None
    exact: bool

    def __init__(
        self, epsilon: float, delta: float, relation: str | Relation | None = None, *, exact: bool = False
    ) -> None:
        non_negative(epsilon=epsilon)
        delta_range(delta=delta)
        self._set(nominal_epsilon=float(epsilon), nominal_delta=float(delta), relation=relation, exact=exact)

    @property
    def default_delta(self) -> float:
        return self.nominal_delta

    def _parameters(self) -> Mapping[str, float]:
        return {"epsilon": self.nominal_epsilon, "delta": self.nominal_delta}

    def _delta(self, epsilon: Floats) -> Floats:
        return self.nominal_delta + (1.0 - self.nominal_delta) * response_delta(self.nominal_epsilon, epsilon)

    def _epsilon(self, delta: Floats) -> Floats:
        beyond = np.maximum(0.0, delta - self.nominal_delta) / (1.0 - self.nominal_delta)
        return np.where(delta < self.nominal_delta, np.inf, response_epsilon(self.nominal_epsilon, beyond))

    def _tradeoff(self, fpr: Floats) -> Floats:
        e, d = self.nominal_epsilon, self.nominal_delta
        return np.asarray(np.maximum(1.0 - d - np.exp(e + np.log(fpr)), np.exp(-e) * ((1.0 - fpr) - d)))
