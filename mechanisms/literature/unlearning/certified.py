"""Unlearning with a certificate: noise that covers the distance to the retrained model."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ...accounting import GaussianDP
from ...core import Dataset, Floats, Guarantee, OpenUnit, Outputs, Positive, PositiveInt, example, one_of_names
from ..convex.regularised_logistic import GRADIENT_TOLERANCE, minimise
from .base import ForgettingMechanism, counted

CURVATURE, CURVATURE_CHANGE = 0.25, 1.0 / (6.0 * math.sqrt(3.0))
"""Largest second and third derivative of log(1 + exp(-t)); the third is largest where p = 1/2 +- 1/sqrt(12)."""


@dataclass(frozen=True)
class CertifiedUnlearning(ForgettingMechanism):
    """Exact logistic regression that forgets by an update, and adds Gaussian noise to what is released.

    Both sides add noise of the same standard deviation, distance / mu: mu is the largest for (epsilon, delta), and
    `distance` bounds how far the updated model lies from the retrained one. The model without noise is kept for the
    update, and is never released. Let k of n records be forgotten, L = regularisation, J' the objective of the others,
    w the model of all and w' the minimiser of J'. At the minimiser of all, L w = -(mean gradient of all losses), thus

        |grad J'(w)| = (k / n) |mean gradient of the others - mean gradient of the forgotten| <= g = 2 k / n,

    since the gradients of losses have norm 1 or less; and |w - w'| <= |grad J'(w)| / L, since J' is L-strongly convex.

        method     update of w                               distance
        nothing    none                                      g / L
        newton     one Newton step on J'                     (gamma / 2) (g / L)^2 / L, gamma = 1 / (6 sqrt 3)
        descent    `descent_steps` steps of size             (g / L) / (1 + 8 L)^descent_steps
                   2 / (2 L + 1/4) down grad J'

    Newton: the second derivative changes by at most gamma |step| along a step of length g / L or less, so that the
    gradient that is left is at most (gamma / 2) |step|^2. Descent: J' is L-strongly convex and (L + 1/4)-smooth, and
    each step divides the distance to w' by 1 + 8 L.

    Args:
        epsilon, delta: the claim: unlearned and retrained models are (epsilon, delta)-indistinguishable.
        method: "newton", "descent" or "nothing": how much noise it takes to hide a record that is never removed.
        descent_steps: steps of "descent", >= 1.

    Guarantees:
        * mu-Gaussian DP between unlearned and retrained models, thus (epsilon, delta), for one request. Several
          requests one after another, chosen with knowledge of earlier models, are not covered.
        * The tolerance of the solver, 1e-12 / L on each side, is added to the distance.

    References:
        The residual of a Newton step: Guo, Goldstein, Hannun and van der Maaten (2020), "Certified data removal from
        machine learning models", who perturb the objective. Noise on the output of a Newton step: Sekhari, Acharya,
        Kamath and Suresh (2021). Descent: Neel, Roth and Sharifi-Malvajerdi (2021), "Descent-to-Delete". The constants
        are derived here, and are not those of these papers.

    Example:
        >>> mechanism = CertifiedUnlearning(epsilon=1.0, n_records=1000, n_forget=10, method="newton")
        >>> round(mechanism.distance, 4), round(mechanism.guarantee().epsilon(1e-5), 6)
        (0.0192, 1.0)
    """

    _example = example(n_records=40, n_forget=2)

    epsilon: Positive = 1.0
    _: KW_ONLY
    delta: OpenUnit = 1e-5
    method: Annotated[str, one_of_names("newton", "descent", "nothing")] = "newton"
    descent_steps: PositiveInt = 1

    @property
    def distance(self) -> float:
        """Largest distance between the updated and the retrained model, before noise."""
        return self._distance(self.n_forget) + 2.0 * GRADIENT_TOLERANCE / self.regularisation

    def _distance(self, n_forget: int) -> float:
        strength = self.regularisation
        before = 2.0 * n_forget / self.n_records / strength
        if self.method == "newton":
            return 0.5 * CURVATURE_CHANGE * before * before / strength
        steps = self.descent_steps if self.method == "descent" else 0
        return before / (1.0 + 2.0 * strength / CURVATURE) ** steps

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in each parameter."""
        return self.distance / self.guarantee().mu

    def guarantee(self) -> GaussianDP:
        return GaussianDP.for_budget(epsilon=self.epsilon, delta=self.delta, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`, from the distance of its two models."""
        pair = self.worst_case()
        out, in_ = (self._centre(self._rows(pair.side(side))) for side in (0, 1))
        apart = float(np.linalg.norm(in_ - out)) / self.standard_deviation
        return GaussianDP(max(apart, np.finfo(float).tiny), self.relation)

    def _models(self, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
        noise = self.standard_deviation * rng.standard_normal((size, rows.shape[1]))
        return np.asarray(self._centre(rows) + noise)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        scaled = (np.asarray(outputs.values, dtype=np.float64) - self._centre(self._rows(dataset))) / (
            self.standard_deviation
        )
        normaliser = scaled.shape[1] * (math.log(self.standard_deviation) + 0.5 * math.log(2.0 * math.pi))
        return np.asarray(-0.5 * np.einsum("rd,rd->r", scaled, scaled) - normaliser)

    def _centre(self, rows: Floats) -> Floats:
        """Return the model before noise: retrained on the records that remain, or updated, `(n_features,)`."""
        strength, rest = self.regularisation, counted(rows[: self.n_rest])
        point = minimise(counted(rows), strength, np.zeros((1, rows.shape[1])))
        if len(rows) == self.n_rest or self.method == "nothing":
            return np.asarray(point[0])

        def gradient(point: Floats) -> Floats:
            return np.asarray(rest.gradient_sums(point) / self.n_rest + strength * point)

        if self.method == "newton":
            curvature = rest.hessian_sums(point)[0] / self.n_rest + strength * np.eye(rows.shape[1])
            return np.asarray(point[0] - np.linalg.solve(curvature, gradient(point)[0]))
        for _ in range(self.descent_steps):
            point = point - 2.0 / (2.0 * strength + CURVATURE) * gradient(point)
        return np.asarray(point[0])
