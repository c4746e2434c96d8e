"""The exact curve of a random choice that is seen, and a number with Laplace noise whose scale goes with the choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParameterError
from ..guarantees.base import Floats
from ..guarantees.profile import ProfileGuarantee
from ..relation import Relation


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LaplaceChoiceDP(ProfileGuarantee):
    """Choice i has probability weights0[i] on side 0 and weights1[i] on side 1; then a number is released, with Laplace
    noise around centres that lie distances[i] scales apart.

    Given the choice, the excess of one Laplace law over e^t times the other, for any real t, is

        0                        t >= d
        1 - e^((t - d) / 2)      -d <= t < d
        1 - e^t                  t < -d

    and delta(epsilon) is its mean over the choices, with t = epsilon minus the log ratio of the weights.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0; 0 where nothing more is released.
        relation: the neighbouring relation; None takes that of the pair it is compared on.
        exact: False when the mechanism is only known to be no worse than this.

    Raises:
        ParameterError: weights that are no probabilities of as many choices as there are distances.

    Example:
        >>> refused_or_not = LaplaceChoiceDP([0.5, 0.5], [0.25, 0.75], [0.0, 1.0])
        >>> round(refused_or_not.epsilon(0.0), 6)  # 1 + ln(0.75 / 0.5)
        1.405465
    """

    weights0: Floats
    weights1: Floats
    distances: Floats
    relation: Relation | None
    exact: bool

    def __init__(
        self,
        weights0: ArrayLike,
        weights1: ArrayLike,
        distances: ArrayLike,
        relation: str | Relation | None = None,
        *,
        exact: bool = True,
    ) -> None:
        first, second, apart = (np.asarray(values, dtype=np.float64) for values in (weights0, weights1, distances))
        for name, weights in (("weights0", first), ("weights1", second)):
            if weights.shape != apart.shape or (weights < 0.0).any() or not abs(weights.sum() - 1.0) < 1e-6:
                raise ParameterError(
                    f"{name} must be probabilities, one for each of the {apart.size} distances, but is {weights!r}.",
                    argument=name,
                )
        self._set(weights0=first, weights1=second, distances=apart, relation=relation, exact=exact)

    @property
    def default_delta(self) -> float | None:
        return 0.0 if np.array_equal(self.weights0 > 0.0, self.weights1 > 0.0) else None

    def _parameters(self) -> Mapping[str, object]:
        return {"n_choices": len(self.distances)}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.maximum(
            self._one_way(self.weights1, self.weights0, epsilon), self._one_way(self.weights0, self.weights1, epsilon)
        )

    def _one_way(self, upper: Floats, lower: Floats, epsilon: Floats) -> Floats:
        possible = upper > 0.0
        upper, lower, apart = upper[possible], lower[possible], self.distances[possible]
        with np.errstate(divide="ignore"):
            threshold = epsilon[:, None] - (np.log(upper) - np.log(lower))
        middle = -np.expm1(0.5 * np.minimum(0.0, threshold - apart))
        excess = np.where(threshold < -apart, -np.expm1(np.minimum(threshold, 0.0)), middle)
        return np.asarray(excess @ upper)

    def _epsilon(self, delta: Floats) -> Floats:
        both = (self.weights0 > 0.0) & (self.weights1 > 0.0)
        losses = np.abs(np.log(self.weights1[both]) - np.log(self.weights0[both])) + self.distances[both]
        largest = losses.max(initial=0.0) if self.default_delta == 0.0 else np.inf
        return np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta)))
