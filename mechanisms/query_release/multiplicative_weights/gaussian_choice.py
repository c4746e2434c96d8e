"""Exact curve of an observed random choice and a number with Gaussian noise whose centre depends on the choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ...core.arrays import Floats
from ...noise.statistics.laplace_choice import ChoiceDP

_LEAST = 1e-12
"""Distance below which two centres are equal."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GaussianChoiceDP(ChoiceDP):
    """Exact curve of an observed choice, and a number with Gaussian noise whose centre depends on it.

    Choice i has probability weights0[i] on side 0 and weights1[i] on side 1; then a number is released, with Gaussian
    noise around centres at a distance of distances[i] standard deviations.

    Given the choice, the excess of one law over e^t times the other is, for any real t and d = distances[i],

        Phi(d/2 - t/d) - e^t Phi(-d/2 - t/d),   and (1 - e^t)+ for d = 0   (Balle and Wang 2018, theorem 8)

    and delta(epsilon) is its mean over the choices, with t = epsilon minus the log ratio of the weights.

    Args:
        weights0, weights1: `(n_choices,)`, probabilities, each summing to 1 within 1e-6.
        distances: `(n_choices,)`, >= 0; 0 for a choice after which no number is released.
        relation: the neighbouring relation; None for that of the pair on which it is compared.

    Raises:
        ParameterError: weights that are not probabilities, or not as many as distances.

    Example:
        >>> both_ways = GaussianChoiceDP([0.5, 0.5], [0.25, 0.75], [1.0, 1.0])
        >>> both_ways.epsilon(0.0), round(both_ways.delta(1.0), 6)
        (inf, 0.179151)
    """

    def _excess(self, threshold: Floats, distances: Floats) -> Floats:
        t, d = threshold, np.maximum(distances, _LEAST)
        with np.errstate(invalid="ignore", over="ignore"):
            different = ndtr(0.5 * d - t / d) - np.exp(t + log_ndtr(-0.5 * d - t / d))
        equal = -np.expm1(np.minimum(t, 0.0))
        return np.where((distances < _LEAST) | ~np.isfinite(t), equal, np.maximum(different, 0.0))

    def _epsilon(self, delta: Floats) -> Floats:
        bounded = np.array_equal(*self._possible) and not self.distances.any()
        largest = self._log_ratios.max(initial=0.0) if bounded else np.inf
        return np.asarray(np.where(delta == 0.0, largest, np.minimum(largest, super()._epsilon(delta))))
