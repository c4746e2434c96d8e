"""Exact curve of a released random choice, then a number with Laplace noise whose scale depends on the choice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ...accounting.kinds.profile import ProfileGuarantee
from ...core import Bools, Floats, ParameterError, Relation

MAX_EPSILON = 1e300
"""Largest epsilon, used in place of infinity: no finite privacy loss reaches it."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ChoiceDP(ProfileGuarantee):
    """A released random choice, followed by a number with noise whose scale depends on the choice.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0, between the centres of the two sides, in units of the scale; 0 if no number is
            released.
        relation: the neighbouring relation; None takes the relation of the pair.
        exact: False if this curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: the weights are not probabilities, or their number differs from that of the distances.
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
        first, second, centre_distances = (
            np.asarray(values, dtype=np.float64) for values in (weights0, weights1, distances)
        )
        for name, weights in (("weights0", first), ("weights1", second)):
            if weights.shape != centre_distances.shape or (weights < 0.0).any() or not abs(weights.sum() - 1.0) < 1e-6:
                raise ParameterError(
                    f"{name} must be probabilities, one for each of the {centre_distances.size} distances, but is "
                    f"{weights!r}.",
                    argument=name,
                )
        with np.errstate(divide="ignore"):
            logs = np.log(first), np.log(second)
        self._set(
            weights0=first, weights1=second, distances=centre_distances, relation=relation, exact=exact, logs=logs
        )

    @classmethod
    def of_logs(
        cls, log_weights0: Floats, log_weights1: Floats, distances: ArrayLike, relation: str | Relation | None = None
    ) -> Self:
        """Return the curve for the logarithms of the weights; -inf for a choice that is never made."""
        curve = cls(np.exp(log_weights0), np.exp(log_weights1), distances, relation)
        curve._set(logs=(log_weights0, log_weights1))
        return curve

    def _parameters(self) -> Mapping[str, object]:
        return {"n_choices": len(self.distances)}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.maximum(self._one_way(*self.logs[::-1], epsilon), self._one_way(*self.logs, epsilon))

    def _one_way(self, log_upper: Floats, log_lower: Floats, epsilon: Floats) -> Floats:
        """Return the mean over the choices of `_excess` at epsilon minus the log ratio of the weights."""
        possible = log_upper > -np.inf
        loss = log_upper[possible] - log_lower[possible]
        excess = self._excess(np.minimum(epsilon, MAX_EPSILON)[:, None] - loss, self.distances[possible])
        return np.asarray(excess @ np.exp(log_upper[possible]))

    @abstractmethod
    def _excess(self, threshold: Floats, distances: Floats) -> Floats:
        """Return the integral of (p - e^threshold q)+, with p and q the noise of both sides; `threshold` >= -inf."""

    @property
    def _possible(self) -> tuple[Bools, Bools]:
        return self.logs[0] > -np.inf, self.logs[1] > -np.inf

    @property
    def _log_ratios(self) -> Floats:
        """|log ratio| of the weights, for the choices that both sides can make."""
        both = np.logical_and(*self._possible)
        return np.asarray(np.abs(self.logs[1][both] - self.logs[0][both]))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LaplaceChoiceDP(ChoiceDP):
    """A released random choice, followed by a number with Laplace noise.

    Choice i has probability weights0[i] on side 0 and weights1[i] on side 1; the centres of its noise lie distances[i]
    scales apart.

    Given the choice, the excess of one Laplace law over e^t times the other, for any real t, is

        0                        t >= d
        1 - e^((t - d) / 2)      -d <= t < d
        1 - e^t                  t < -d

    and delta(epsilon) is its mean over the choices, with t = epsilon minus the log ratio of the weights.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0; 0 if no number is released.
        relation: the neighbouring relation; None takes the relation of the pair.
        exact: False if this curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: the weights are not probabilities, or their number differs from that of the distances.

    Example:
        >>> refused_or_not = LaplaceChoiceDP([0.5, 0.5], [0.25, 0.75], [0.0, 1.0])
        >>> round(refused_or_not.epsilon(0.0), 6)  # 1 + ln(0.75 / 0.5)
        1.405465
    """

    @property
    def default_delta(self) -> float | None:
        return 0.0 if np.array_equal(*self._possible) else None

    def _excess(self, threshold: Floats, distances: Floats) -> Floats:
        middle = -np.expm1(0.5 * np.minimum(0.0, threshold - distances))
        return np.where(threshold < -distances, -np.expm1(np.minimum(threshold, 0.0)), middle)

    def _epsilon(self, delta: Floats) -> Floats:
        losses = self._log_ratios + self.distances[np.logical_and(*self._possible)]
        largest = losses.max(initial=0.0) if self.default_delta == 0.0 else np.inf
        return np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta)))
