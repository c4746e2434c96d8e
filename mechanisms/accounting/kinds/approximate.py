"""Approximate differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Floats
from ...core.relation import Relation
from ...core.validation import delta_range, non_negative
from .profile import ProfileGuarantee
from .pure import response_delta, response_epsilon


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
