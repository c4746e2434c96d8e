"""The exact curve of a random choice that is seen, and a number with Gaussian noise whose centre goes with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ...guarantees.base import Floats
from ...statistics.laplace_choice import ChoiceDP

_LEAST = 1e-12
"""Centres that are nearer than this are one."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GaussianChoiceDP(ChoiceDP):
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

    def _excess(self, threshold: Floats, apart: Floats) -> Floats:
        t, d = threshold, np.maximum(apart, _LEAST)
        with np.errstate(invalid="ignore", over="ignore"):
            moved = ndtr(0.5 * d - t / d) - np.exp(t + log_ndtr(-0.5 * d - t / d))
        still = -np.expm1(np.minimum(t, 0.0))
        return np.where((apart < _LEAST) | ~np.isfinite(t), still, np.maximum(moved, 0.0))

    def _epsilon(self, delta: Floats) -> Floats:
        alike = np.array_equal(*self._possible) and not self.distances.any()
        largest = self._log_ratios.max(initial=0.0) if alike else np.inf
        return np.asarray(np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta))))
