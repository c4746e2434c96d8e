"""Logistic regression by output perturbation: fit, then add noise to the coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ...accounting import LaplaceDP
from ...core import Dataset, Floats, Guarantee, Outputs
from .regularised_logistic import PerturbedRegression, SignedExamples, minimise, spherical_log_density, spherical_noise


@dataclass(frozen=True)
class OutputPerturbation(PerturbedRegression):
    """Regularised logistic regression with noise of density ~ exp(-rate |z|) on the coefficients.

    The minimiser of (1/n) sum log(1 + exp(-w f)) + (regularisation / 2) |f|^2, w = (2 y - 1) x, |x| <= 1, changes by at
    most 2 / (n regularisation) when one example is replaced; rate = n regularisation epsilon / 2. Without intercept:
    add a constant feature, and scale the rows to norm 1 or less.

    Args:
        epsilon: the claim, > 0.
        regularisation: Lambda of the paper, > 0.
        relation: replace_one, the only one for which the sensitivity is stated.

    Raises:
        ParameterError: a value out of range; on release, labels other than 0 and 1, or rows longer than 1.

    Guarantees:
        * epsilon-DP under replace_one, for exact minimisers. The solver stops within 1e-12 / regularisation of the
          minimiser, which adds at most 1e-12 n epsilon to epsilon.
        * No pair attains it: two gradients in opposite directions, at the same coefficients, cannot both have norm 1.
          With one feature they differ by at most 1.06, and on the worst case the privacy loss is just below
          epsilon / 2.
        * One fit serves all runs.

    References:
        Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 1, Theorem 6 and Corollary 8.

    Example:
        >>> mechanism = OutputPerturbation(epsilon=1.0, regularisation=0.1)
        >>> X, y = np.array([[0.6, 0.8], [-1.0, 0.0], [0.0, 0.5]]), np.array([1, 0, 1])
        >>> mechanism.release((X, y), 5, np.random.default_rng(0)).values.shape
        (5, 2)
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        0.496
    """

    def rate(self, n_records: int) -> float:
        """Return the rate of the noise, n regularisation epsilon / 2."""
        return 0.5 * n_records * self.regularisation * self.epsilon

    def fit(self, dataset: Dataset) -> Floats:
        """Return the coefficients without noise, shape `(n_features,)`."""
        return self._fit(SignedExamples.of(dataset))

    def _fit(self, examples: SignedExamples) -> Floats:
        return np.asarray(minimise(examples, self.regularisation, np.zeros((1, examples.n_features)))[0])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the noisy coefficients of `size` runs, shape `(size, n_features)`."""
        examples = SignedExamples.of(dataset)
        noise = spherical_noise(size, examples.n_features, self.rate(examples.n_examples), rng)
        return Outputs(self._fit(examples) + noise)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        examples = SignedExamples.of(dataset)
        return spherical_log_density(outputs.values - self._fit(examples), self.rate(examples.n_examples))

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`.

        The minimisers are -s and s with n regularisation s = 1 / (1 + e^s), and with one feature the noise is Laplace.
        """
        weight = self.n_worst * self.regularisation
        s = float(brentq(lambda s: weight * s - expit(-s), 0.0, 1.0 / weight, xtol=1e-300, rtol=1e-15))
        return LaplaceDP(self.rate(self.n_worst) * 2.0 * s, relation=self.relation)
