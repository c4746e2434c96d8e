"""The exact curve of a random choice that is seen, and a number with Gaussian noise whose centre goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from ...errors import ParameterError
from ...guarantees.base import Floats
from ...guarantees.profile import ProfileGuarantee
from ...relation import Relation

_LEAST = 1e-12
"""Centres that are nearer than this are one."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GaussianChoiceDP(ProfileGuarantee):
    """Choice i has probability weights0[i] on side 0 and weights1[i] on side 1; then a number is released, with
    Gaussian noise around centres that lie distances[i] standard deviations apart.

    Given the choice, the excess of one law over e^t times the other is, for any real t and d = distances[i],

        Phi(d/2 - t/d) - e^t Phi(-d/2 - t/d),   and (1 - e^t)+ for d = 0   (Balle and Wang 2018, theorem 8)

    and delta(epsilon) is its mean over the choices, with t = epsilon minus the log ratio of the weights.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0; 0 where nothing more is released.
        relation: the neighbouring relation; None takes that of the pair it is compared on.

    Raises:
        ParameterError: weights that are no probabilities of as many choices as there are distances.

    Example:
        >>> both_ways = GaussianChoiceDP([0.5, 0.5], [0.25, 0.75], [1.0, 1.0])
        >>> both_ways.epsilon(0.0), round(both_ways.delta(1.0), 6)
        (inf, 0.179151)
    """

    weights0: Floats
    weights1: Floats
    distances: Floats
    relation: Relation | None
    exact = True

    def __init__(
        self,
        weights0: ArrayLike,
        weights1: ArrayLike,
        distances: ArrayLike,
        relation: str | Relation | None = None,
    ) -> None:
        first, second, apart = (np.asarray(values, dtype=np.float64) for values in (weights0, weights1, distances))
        for name, weights in (("weights0", first), ("weights1", second)):
            if weights.shape != apart.shape or (weights < 0.0).any() or not abs(weights.sum() - 1.0) < 1e-6:
                raise ParameterError(
                    f"{name} must be probabilities, one for each of the {apart.size} distances, but is {weights!r}.",
                    argument=name,
                )
        self._set(weights0=first, weights1=second, distances=apart, relation=relation)

    def _parameters(self) -> Mapping[str, object]:
        return {"n_choices": len(self.distances)}

    def _delta(self, epsilon: Floats) -> Floats:
        sides = (self.weights0, self.weights1)
        return np.maximum(*(self._one_way(upper, lower, epsilon) for upper, lower in (sides, sides[::-1])))

    def _one_way(self, upper: Floats, lower: Floats, epsilon: Floats) -> Floats:
        possible = upper > 0.0
        upper, lower, apart = upper[possible], lower[possible], self.distances[possible]
        with np.errstate(divide="ignore"):
            t = epsilon[:, None] - (np.log(upper) - np.log(lower))
        d = np.maximum(apart, _LEAST)
        with np.errstate(invalid="ignore", over="ignore"):
            moved = ndtr(0.5 * d - t / d) - np.exp(t + log_ndtr(-0.5 * d - t / d))
        still = -np.expm1(np.minimum(t, 0.0))
        excess = np.where((apart < _LEAST) | ~np.isfinite(t), still, np.maximum(moved, 0.0))
        return np.asarray(excess @ upper)

    def _epsilon(self, delta: Floats) -> Floats:
        both = (self.weights0 > 0.0) & (self.weights1 > 0.0)
        if (both == ((self.weights0 > 0.0) | (self.weights1 > 0.0))).all() and not self.distances.any():
            largest = np.abs(np.log(self.weights1[both]) - np.log(self.weights0[both])).max(initial=0.0)
        else:
            largest = np.inf
        return np.asarray(np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta))))
