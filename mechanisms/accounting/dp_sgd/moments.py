"""Moments accountant as published: whole orders, textbook conversion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.arrays import Floats
from ..kinds.renyi import INTEGER_ORDERS, RenyiDP
from ..numerics.renyi import textbook_epsilon


@dataclass(frozen=True, repr=False)
class MomentsDP(RenyiDP):
    """Bounds on the log moments of the privacy loss, converted as by the moments accountant.

    With T steps and the divergence D of one step, at whole orders,

        epsilon(delta) = min over orders of T D + log(1/delta) / (order - 1)
        delta(epsilon) = min over orders of e^((order - 1) (T D - epsilon))

    `RenyiDP` has the same divergences and a conversion that is never worse. This class reproduces published results.
    (The log moment of Abadi et al. at lambda is (order - 1) D at order = lambda + 1.)

    Args:
        orders: strictly increasing, each > 1; inf allowed.
        divergences: one for each order, finite, >= 0.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: as for `RenyiDP`.

    Guarantees:
        * An upper bound; never below `RenyiDP` with the same divergences.

    References:
        Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang (2016), Theorem 2; Mironov, Talwar, Zhang (2019).

    Example:
        >>> claim = MomentsDP.gaussian(4.0, sampling_probability=0.01, steps=10_000)
        >>> round(claim.epsilon(1e-5), 4), claim.best_order(1e-5)
        (1.2586, 20.0)
        >>> round(RenyiDP(claim.orders, claim.divergences).epsilon(1e-5), 4)
        1.0355
    """

    gaussian_orders: ClassVar[tuple[float, ...]] = INTEGER_ORDERS
    """Default orders of `gaussian`: whole numbers, as published."""

    def best_order(self, delta: float) -> float:
        """Return the finite order with the least epsilon; if it is the last one, a longer list may give less."""
        excess, divergences, _ = self._split()
        return float(1.0 + excess[np.argmin(textbook_epsilon(excess, divergences, np.array(math.log(delta))))])

    def _delta(self, epsilon: Floats) -> Floats:
        excess, divergences, pure = self._split()
        delta = np.exp(np.min(excess * (divergences - epsilon[:, np.newaxis]), axis=1, initial=0.0))
        return np.asarray(delta if pure is None else np.where(epsilon >= pure, 0.0, delta))

    def _epsilon(self, delta: Floats) -> Floats:
        excess, divergences, pure = self._split()
        log_delta = np.log(np.maximum(delta, 5e-324))[:, np.newaxis]
        best = textbook_epsilon(excess, divergences, log_delta).min(axis=1, initial=np.inf)
        best = np.where(delta == 0.0, np.inf, best)
        return best if pure is None else np.minimum(best, pure)
