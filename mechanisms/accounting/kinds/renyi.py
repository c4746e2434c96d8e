"""Renyi differential privacy at finitely many orders, and the moments accountant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ...core import parameter_text
from ...core.arrays import Floats
from ...core.errors import AccountingError, ParameterError
from ...core.relation import Relation
from ...core.validation import non_negative, open_unit, positive, unit_interval, whole
from ..numerics.renyi import (
    largest_total_variation,
    sampled_divergence,
    textbook_epsilon,
    tight_epsilon,
    tight_log_delta,
)
from .approximate import PureDP, response_delta, response_epsilon
from .profile import ProfileGuarantee

INTEGER_ORDERS = tuple(map(float, (*range(2, 257), *range(272, 513, 16), *range(544, 1025, 32))))
"""Whole orders up to 1024, all of them up to 256."""

TENTHS = tuple(1.0 + i / 10.0 for i in range(1, 100))
"""1.1, 1.2, ..., 10.9: the range of the best order when there is little noise."""

ORDERS = tuple(sorted({*(round(1.0 + 0.01 * 1.04**i, 6) for i in range(230)), *TENTHS, *INTEGER_ORDERS}))
"""Orders between 1.01 and 1024; neighbours differ by at most 4 percent (of order - 1) below 80."""


@dataclass(frozen=True, repr=False)
class RenyiDP(ProfileGuarantee):
    """Bounds on the Renyi divergence, in both directions, at finitely many orders.

    Divergences add under composition, order by order. The conversion to epsilon and delta takes the best of the orders,
    with the tight form for one order (see `dpassay.mechanisms.accounting.numerics.renyi`).

    Args:
        orders: strictly increasing, each > 1; inf allowed, where the divergence is the epsilon of pure DP.
        divergences: one for each order, finite, >= 0.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: orders and divergences of different length, unsorted or out of range; an unknown relation.

    Guarantees:
        * An upper bound (`exact` is False): orders that are not listed are not used.

    References:
        Mironov (2017); Canonne, Kamath, Steinke (2020), Proposition 12.

    Example:
        >>> claim = RenyiDP(orders=(2.0, 8.0, 32.0), divergences=(0.1, 0.4, 1.6))
        >>> round(claim.epsilon(1e-5), 3), round(claim.textbook_epsilon(1e-5), 3)
        (1.614, 1.971)
    """

    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    relation: Relation | None = None
    exact = False

    gaussian_orders: ClassVar[tuple[float, ...]] = ORDERS
    """Default orders of `gaussian`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for divergence in self.divergences:
            if not (isinstance(divergence, float) and 0.0 <= divergence < math.inf):  # hundreds of calls take 4 ms
                non_negative(divergences=divergence)
        orders, divergences = tuple(map(float, self.orders)), tuple(map(float, self.divergences))
        if not orders or len(orders) != len(divergences):
            raise ParameterError(
                f"orders and divergences must come in pairs, at least one, but there are {len(orders)} orders and "
                f"{len(divergences)} divergences.",
                argument="orders",
            )
        if not all(low < high for low, high in zip((1.0, *orders), orders, strict=False)):
            raise ParameterError(f"orders must be > 1 and strictly increasing, but are {orders}.", argument="orders")
        self._set(orders=orders, divergences=divergences)

    @classmethod
    def gaussian(
        cls,
        noise_multiplier: float,
        *,
        sampling_probability: float = 1.0,
        steps: int = 1,
        orders: Sequence[float] | None = None,
        relation: str | Relation = Relation.ADD_REMOVE,
    ) -> Self:
        """Return the guarantee of the Gaussian mechanism on Poisson samples of the records, composed with itself.

        Args:
            noise_multiplier: standard deviation / L2 sensitivity, > 0.
            sampling_probability: inclusion probability of each record in each step, in (0, 1].
            steps: number of compositions, >= 1.
            orders: finite; None uses `gaussian_orders`, from 1.01 to 1024. With little noise the best order is small,
                and restricting the search to whole orders can increase epsilon by a fifth.
            relation: add_remove or zero_out if records are sampled; any relation otherwise.

        Raises:
            ParameterError: a value out of range.
            AccountingError: sampled records under replace_one.

        References:
            Mironov, Talwar, Zhang (2019), Theorem 5 (the direction that matters); see
            `dpassay.mechanisms.accounting.numerics.renyi`.

        Example:
            >>> claim = RenyiDP.gaussian(0.5713, sampling_probability=0.01, steps=10)
            >>> round(claim.epsilon(1e-5), 3), claim.best_order(1e-5)
            (4.064, 3.6)
        """
        check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
        relation = poisson_relation(relation, sampling_probability)
        order_array = np.array(cls.gaussian_orders if orders is None else orders, dtype=np.float64)
        if not np.all((order_array > 1.0) & np.isfinite(order_array)):
            raise ParameterError(
                f"orders must be finite and > 1, but are {order_array.tolist()}. Gaussian noise has no bound at the "
                "order inf.",
                argument="orders",
            )
        if sampling_probability < 1.0:
            q = sampling_probability
            divergences = np.array([sampled_divergence(a, q, noise_multiplier) for a in order_array])
        else:
            divergences = order_array / (2.0 * noise_multiplier**2)
        return cls(tuple(order_array), tuple(steps * divergences), relation)

    def textbook_epsilon(self, delta: float) -> float:
        """Return the min over orders of divergence + log(1/delta) / (order - 1), for comparison; 0 < delta < 1."""
        open_unit(delta=delta)
        excess, divergences, pure = self._split()
        by_order = textbook_epsilon(excess, divergences, np.array(math.log(delta)))
        return float(min(by_order.min(initial=math.inf), math.inf if pure is None else pure))

    def best_order(self, delta: float) -> float:
        """Return the finite order with the least epsilon; if it is the last one, a longer list may give less."""
        open_unit(delta=delta)
        excess, divergences, _ = self._split()
        return float(1.0 + excess[np.argmin(tight_epsilon(excess, divergences, np.array(math.log(delta))))])

    @property
    def default_delta(self) -> float | None:
        """Zero if inf is the only order, which is pure DP; else `calibrated_delta`."""
        return 0.0 if self.orders == (math.inf,) else super().default_delta

    def _parameters(self) -> Mapping[str, object]:
        if len(self.orders) > 6:
            return {
                "orders": f"{parameter_text(self.orders[0])}..{parameter_text(self.orders[-1])}",
                "n_orders": len(self.orders),
            }
        return {"orders": self.orders, "divergences": self.divergences}

    def _delta(self, epsilon: Floats) -> Floats:
        excess, divergences, pure = self._split()
        log_delta = tight_log_delta(excess, divergences, np.minimum(epsilon, 1e300)[:, np.newaxis])
        best = np.exp(log_delta.min(axis=1, initial=0.0))
        best = np.minimum(best, largest_total_variation(min(self.divergences)))
        return np.asarray(best if pure is None else np.minimum(best, response_delta(pure, epsilon)))

    def _epsilon(self, delta: Floats) -> Floats:
        excess, divergences, pure = self._split()
        log_delta = np.log(np.maximum(delta, 5e-324))[:, np.newaxis]
        best = tight_epsilon(excess, divergences, log_delta).min(axis=1, initial=np.inf)
        best = np.where(delta == 0.0, np.inf, best)
        if pure is not None:
            best = np.minimum(best, response_epsilon(pure, delta))
        return np.where(delta >= largest_total_variation(min(self.divergences)), 0.0, best)

    def _tradeoff(self, fpr: Floats) -> Floats:
        """Return the supremum over lines in closed form: an order a has delta = c e^((1 - a) epsilon)."""
        excess, divergences, pure = self._split()
        log_c = tight_log_delta(excess, divergences, np.zeros(1))
        x = np.maximum(fpr, 5e-324)[:, np.newaxis]
        steep = np.maximum(0.0, (log_c + np.log(excess) - np.log(x)) / (excess + 1.0))
        flat = np.maximum(0.0, (log_c + np.log1p(excess) - np.log(1.0 - x)) / excess)
        by_steep = 1.0 - np.exp(log_c - excess * steep) - np.exp(steep + np.log(x))
        by_flat = np.exp(-flat) * (1.0 - x) - np.exp(log_c - (excess + 1.0) * flat)
        best = np.maximum(by_steep, by_flat).max(axis=1, initial=0.0)
        best = np.maximum(best, 1.0 - largest_total_variation(min(self.divergences)) - fpr)
        if pure is not None:
            best = np.maximum(best, PureDP(pure)._tradeoff(fpr))
        return np.where(fpr == 0.0, 1.0, best)

    def _split(self) -> tuple[Floats, Floats, float | None]:
        """Return the finite orders minus 1, their divergences, and the divergence of order inf, or None."""
        orders, divergences = np.array(self.orders), np.array(self.divergences)
        finite = np.isfinite(orders)
        return orders[finite] - 1.0, divergences[finite], None if finite.all() else float(divergences[-1])


def check_steps(sampling_probability: float, steps: int, **scale: float) -> None:
    """Check the arguments of composed noise on samples: scale > 0, probability in (0, 1], whole steps >= 1."""
    positive(**scale, sampling_probability=sampling_probability)
    unit_interval(sampling_probability=sampling_probability)
    whole(1, steps=steps)


def poisson_relation(relation: str | Relation, sampling_probability: float) -> Relation:
    """Return the relation; raise `AccountingError` if Poisson samples have no known dominating pair under it."""
    relation = Relation.of(relation)
    if relation is Relation.REPLACE_ONE and sampling_probability < 1.0:
        raise AccountingError(
            "relation 'replace_one' is not known for Poisson-sampled records: which pair is worst depends on the "
            "replacement record. Use 'add_remove' or 'zero_out', or provide a custom privacy-loss distribution with "
            "PrivacyLossDP.from_pld(pld, relation='replace_one').",
            argument="relation",
        )
    return relation


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
