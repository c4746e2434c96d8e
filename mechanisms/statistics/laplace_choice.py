"""The exact curve of a random choice that is seen, and a number with Laplace noise whose scale goes with the choice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from ..guarantees.base import Floats
from ..guarantees.profile import ProfileGuarantee
from ..relation import Relation

LARGEST = 1e300
"""Of an epsilon, in place of infinity: no finite loss reaches it."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ChoiceDP(ProfileGuarantee):
    """A random choice that is seen, and then a number with noise whose scale goes with the choice.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0, between the centres of the two sides in scales; 0 where no number is released.
        relation: the neighbouring relation; None takes that of the pair it is compared on.
        exact: False when the mechanism is only known to be no worse than this.

    Raises:
        ParameterError: weights that are no probabilities of as many choices as there are distances.
    """

    weights0: Floats
    weights1: Floats
    distances: Floats
    relation: Relation | None
    exact: bool
    logs: tuple[Floats, Floats]

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
        with np.errstate(divide="ignore"):
            logs = np.log(first), np.log(second)
        self._set(weights0=first, weights1=second, distances=apart, relation=relation, exact=exact, logs=logs)

    @classmethod
    def of_logs(
        cls, log_weights0: Floats, log_weights1: Floats, distances: ArrayLike, relation: str | Relation | None = None
    ) -> Self:
        """From the logarithms of the weights, which may be too small for floats; -inf for what is never chosen."""
        found = cls(np.exp(log_weights0), np.exp(log_weights1), distances, relation)
        found._set(logs=(log_weights0, log_weights1))
        return found

    def _parameters(self) -> Mapping[str, object]:
        return {"n_choices": len(self.distances)}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.maximum(self._one_way(*self.logs[::-1], epsilon), self._one_way(*self.logs, epsilon))

    def _one_way(self, log_upper: Floats, log_lower: Floats, epsilon: Floats) -> Floats:
        """Mean excess over the choices of the first side: `_excess` at epsilon less the log ratio of the weights."""
        possible = log_upper > -np.inf
        loss = log_upper[possible] - log_lower[possible]
        excess = self._excess(np.minimum(epsilon, LARGEST)[:, None] - loss, self.distances[possible])
        return np.asarray(excess @ np.exp(log_upper[possible]))

    @abstractmethod
    def _excess(self, threshold: Floats, apart: Floats) -> Floats:
        """Integral of (p - e^threshold q)+ for the noise p and q of both sides, any real threshold or -inf."""

    @property
    def _possible(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.logs[0] > -np.inf, self.logs[1] > -np.inf

    @property
    def _log_ratios(self) -> Floats:
        """|log ratio| of the weights of the choices that both sides can make."""
        both = np.logical_and(*self._possible)
        return np.asarray(np.abs(self.logs[1][both] - self.logs[0][both]))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LaplaceChoiceDP(ChoiceDP):
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

    @property
    def default_delta(self) -> float | None:
        return 0.0 if np.array_equal(*self._possible) else None

    def _excess(self, threshold: Floats, apart: Floats) -> Floats:
        middle = -np.expm1(0.5 * np.minimum(0.0, threshold - apart))
        return np.where(threshold < -apart, -np.expm1(np.minimum(threshold, 0.0)), middle)

    def _epsilon(self, delta: Floats) -> Floats:
        losses = self._log_ratios + self.distances[np.logical_and(*self._possible)]
        largest = losses.max(initial=0.0) if self.default_delta == 0.0 else np.inf
        return np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta)))
