"""Logistic regression by objective perturbation: add a random linear term to the objective, then fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...accounting import LaplaceDP
from ...core import Dataset, Floats, Guarantee, Outputs
from .regularised_logistic import (
    MAX_CURVATURE,
    PerturbedRegression,
    SignedExamples,
    minimise,
    spherical_log_density,
    spherical_noise,
)


@dataclass(frozen=True)
class ObjectivePerturbation(PerturbedRegression):
    """Minimiser of regularised logistic regression plus b f / n, with a random b of density ~ exp(-rate |b|).

    With c = 1/4 and t = n regularisation, epsilon is split into 2 log(1 + c / t), which accounts for the curvature of
    one example, and the remainder epsilon' for the noise; rate = epsilon' / 2. If epsilon' is not positive, the
    regularisation is raised to c / (n (e^(epsilon / 4) - 1)), and epsilon' = epsilon / 2.

    Args:
        epsilon: the claim, > 0.
        regularisation: Lambda of the paper, > 0.
        relation: replace_one, the only one for which the theorem is stated.

    Raises:
        ParameterError: a value out of range; on release, labels other than 0 and 1, or rows longer than 1.

    Guarantees:
        * epsilon-DP under replace_one, for exact minimisers. The objective has a gradient of at most
          1e-12 (1 + |b| / n) at the released coefficients: they are the exact minimiser for a linear term within that
          distance of b, and no theorem covers the difference.
        * No pair attains it: on the worst case the privacy loss is epsilon' / 2, as for output perturbation.
        * Every run is a separate fit; all runs are iterated together.

    References:
        Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 2, Theorem 9 and Corollary 13.

    Example:
        >>> mechanism = ObjectivePerturbation(epsilon=1.0, regularisation=0.1)
        >>> X, y = np.array([[0.6, 0.8], [-1.0, 0.0], [0.0, 0.5]]), np.array([1, 0, 1])
        >>> mechanism.release((X, y), 5, np.random.default_rng(0)).values.shape
        (5, 2)
        >>> strength, rate = mechanism.strength_and_rate(1000)
        >>> strength, round(rate, 4)
        (0.1, 0.4975)
    """

    def strength_and_rate(self, n_records: int) -> tuple[float, float]:
        """Return the regularisation that is used for `n_records` records, and the rate of the noise."""
        noise_epsilon = self.epsilon - 2.0 * math.log1p(MAX_CURVATURE / (n_records * self.regularisation))
        if noise_epsilon > 0.0:
            return self.regularisation, 0.5 * noise_epsilon
        return MAX_CURVATURE / (n_records * math.expm1(0.25 * self.epsilon)), 0.25 * self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the coefficients of `size` runs, shape `(size, n_features)`."""
        examples = SignedExamples.of(dataset)
        strength, rate = self.strength_and_rate(examples.n_examples)
        return Outputs(minimise(examples, strength, spherical_noise(size, examples.n_features, rate, rng)))

    def linear_terms(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the b of which each output is the minimiser, `(size, n_features)`.

        The gradient of the objective with this b is 0 at the output.
        """
        examples = SignedExamples.of(dataset)
        strength, _ = self.strength_and_rate(examples.n_examples)
        points = np.asarray(outputs.values, dtype=np.float64)
        return np.asarray(-examples.gradient_sums(points) - examples.n_examples * strength * points)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`.

        The density is that of b, times the determinant of n times the second derivative of the objective, which is the
        Jacobian of the map from coefficients to b.
        """
        examples = SignedExamples.of(dataset)
        strength, rate = self.strength_and_rate(examples.n_examples)
        points = np.asarray(outputs.values, dtype=np.float64)
        ridge = examples.n_examples * strength * np.eye(examples.n_features)
        volumes = [np.linalg.slogdet(examples.hessian_sums(points[b]) + ridge)[1] for b in examples.blocks(len(points))]
        density = spherical_log_density(self.linear_terms(outputs, dataset), rate)
        density += np.concatenate([np.empty(0), *volumes])
        return density

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`.

        For any coefficients, the linear terms of the two sides differ by exactly 1, and their second derivatives agree.
        """
        return LaplaceDP(self.strength_and_rate(self.n_worst)[1], relation=self.relation)
