"""Advanced composition: epsilons add like standard deviations, at the cost of a larger delta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ...core import Floats, ParameterError, Relation, delta_range, non_negative, one_of_names
from ..kinds.approximate import ApproximateDP
from ..kinds.profile import ProfileGuarantee, supremum_over_lines

FORMS = ("concentrated", "drv10", "kov")
"""Bounds on the mean of the privacy loss: see `AdvancedComposition`."""


@dataclass(frozen=True, repr=False)
class AdvancedComposition(ProfileGuarantee):
    """The composition, adaptive or not, of mechanisms that are (epsilon_j, delta_j)-DP.

    For every slack d > 0 the composition is (mean + sqrt(2 log(1/d) sum epsilon_j^2), sum delta_j + d)-DP, where

        form            mean
        concentrated    1/2 sum epsilon_j^2                     zCDP, textbook conversion
        drv10           sum epsilon_j (e^epsilon_j - 1)         Dwork, Rothblum, Vadhan (2010)
        kov             sum epsilon_j tanh(epsilon_j / 2)       Kairouz, Oh, Viswanath (2015), Theorem 3.5; the least

    Basic composition holds too: every result is the better of the two, so that no slack is used where adding the
    epsilons is better (few mechanisms, or large epsilons).

    Args:
        epsilons, deltas: one of each per mechanism; all finite and >= 0, deltas with a sum < 1.
        form: "concentrated", "drv10" or "kov".
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: a value out of range, or an unknown form.

    Guarantees:
        * An upper bound (`exact` is False) in closed form, never below `optimal` and `privacy-loss` accounting.

    References:
        Dwork, Rothblum, Vadhan (2010), Theorem III.3; Bun, Steinke (2016), Lemma 3.5; Kairouz, Oh, Viswanath (2015).

    Example:
        >>> claim = AdvancedComposition(epsilons=(0.1,) * 100, deltas=(0.0,) * 100)
        >>> round(claim.epsilon(1e-6), 5), round(claim.epsilon(0.0), 5)
        (5.75652, 10.0)
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    form: Annotated[str, one_of_names(*FORMS)] = "concentrated"
    relation: Relation | None = None
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for epsilon in self.epsilons:
            non_negative(epsilons=epsilon)
        for delta in self.deltas:
            non_negative(deltas=delta)
        epsilons, deltas = tuple(map(float, self.epsilons)), tuple(map(float, self.deltas))
        if not epsilons or len(epsilons) != len(deltas):
            raise ParameterError(
                f"epsilons and deltas must come in pairs, at least one, but there are {len(epsilons)} epsilons and "
                f"{len(deltas)} deltas.",
                argument="epsilons",
            )
        delta_range(sum_of_deltas=math.fsum(deltas))
        self._set(epsilons=epsilons, deltas=deltas)

    @cached_property
    def basic(self) -> ApproximateDP:
        """Guarantee by basic composition of the same mechanisms."""
        return ApproximateDP(math.fsum(self.epsilons), math.fsum(self.deltas), self.relation)

    @cached_property
    def mean(self) -> float:
        """Bound on the mean of the privacy loss."""
        e = np.array(self.epsilons)
        with np.errstate(over="ignore"):  # the mean of "drv10" overflows from epsilon 709 on
            means = {"concentrated": 0.5 * e * e, "drv10": e * np.expm1(e), "kov": e * np.tanh(0.5 * e)}
        return min(math.fsum(means[self.form]), 1e300)

    @cached_property
    def sum_of_squares(self) -> float:
        return math.fsum(e * e for e in self.epsilons)

    def _parameters(self) -> Mapping[str, Any]:
        if len(set(zip(self.epsilons, self.deltas, strict=True))) == 1:
            parameters = {"epsilon": self.epsilons[0], "delta": self.deltas[0], "count": len(self.epsilons)}
        else:
            parameters = {"sum_of_epsilons": math.fsum(self.epsilons), "sum_of_deltas": math.fsum(self.deltas)}
        return {**parameters, "form": self.form}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.minimum(self.basic._delta(epsilon), self._with_slack(epsilon))

    def _with_slack(self, epsilon: Floats) -> Floats:
        above = np.maximum(0.0, epsilon - self.mean)
        slack = np.exp(-0.5 * above * above / max(self.sum_of_squares, 1e-300))
        return np.asarray(self.basic.nominal_delta + slack)

    def _tradeoff(self, fpr: Floats) -> Floats:
        with_slack = supremum_over_lines(self._with_slack, self._epsilon, fpr)
        return np.asarray(np.maximum(self.basic._tradeoff(fpr), np.where(fpr == 0.0, 0.0, with_slack)))

    def _epsilon(self, delta: Floats) -> Floats:
        slack = delta - self.basic.nominal_delta
        advanced = self.mean + np.sqrt(-2.0 * np.log(np.maximum(slack, 5e-324)) * self.sum_of_squares)
        return np.minimum(self.basic._epsilon(delta), np.where(slack > 0.0, advanced, np.inf))
