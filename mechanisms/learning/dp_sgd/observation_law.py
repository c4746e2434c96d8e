"""Law of the observed noisy sums of gradient records, for the likelihood-ratio attack.

An observation is U S_t / clip_norm, with the m observed directions as rows of U and S_t the noisy clipped sum. A
gradient record g adds U g / clip_norm to every step that samples it, and the noise is N(0, noise_multiplier^2 U U^T).
Noise that is correlated between steps is C^-1 Z: the rows of C times the observations have independent noise.
The contribution of the examples is left out: the density is exact if their gradients are orthogonal to the observed
directions, for example if there are no examples, or if the directions are weights of a feature that is 0 in all of
them. Otherwise the density still ranks outputs by a fixed rule, so that an audit with it is valid, but not the most
powerful.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...core.base import Dataset, Outputs
from ...core.errors import ParameterError
from ..base import Floats, TrainingData
from .noise.base import IndependentNoise, StepNoise
from .sampling.base import Sampling
from .steps import clip_rows
from .training import Recipe


@dataclass(frozen=True, eq=False)
class Observations:
    """Parameters of the law of the observations.

    Args:
        sampling: the scheme.
        shifts: contribution of each record, examples first (0), in whitened units, in which the noise has unit
            covariance, `(n_records, m)`.
        whiten: `(m, m)`, observation -> whitened units.
        noise: noise of the steps.
    """

    sampling: Sampling
    shifts: Floats
    whiten: Floats
    noise: StepNoise = field(default_factory=IndependentNoise)

    @classmethod
    def of(cls, recipe: Recipe, directions: Floats, data: TrainingData) -> Observations:
        """Return the parameters for `data`; raise `ParameterError` without noise or with dependent directions."""
        if not recipe.noise_multiplier:
            raise ParameterError(
                "noise_multiplier is 0: noise-free observations have no density. Choose an attack.",
                argument="noise_multiplier",
            )
        recipe.model.check(data)
        shifts = np.zeros((len(data), len(directions)))
        if data.gradients is not None:
            clipped = clip_rows(recipe.clipping, data.gradients, recipe.clip_norm, recipe.model)
            shifts[data.n_examples :] = clipped @ directions.T / recipe.clip_norm
        along = cls.along(directions, recipe.noise_multiplier, recipe.sampling, shifts)
        return replace(along, noise=recipe.noise)

    @classmethod
    def along(cls, directions: Floats, noise_multiplier: float, sampling: Sampling, shifts: Floats) -> Observations:
        """Return the parameters for contributions `shifts` along the directions, over clip_norm, `(n_records, m)`.

        Raises:
            ParameterError: linearly dependent directions.
        """
        covariance = noise_multiplier**2 * directions @ directions.T
        if np.linalg.matrix_rank(covariance, hermitian=True) < len(covariance):
            raise ParameterError(
                f"the {len(directions)} observed directions are linearly dependent: their observations have no "
                "density. Observe independent ones."
            )
        whiten = np.linalg.inv(np.linalg.cholesky(covariance))
        return cls(sampling, shifts @ whiten.T, whiten)


def log_density(values: Floats, law: Observations) -> NDArray[np.float64]:
    """Return the log density, `(size,)`, of observations `(size, steps, m)`."""
    whitened = np.asarray(values, dtype=np.float64) @ law.whiten.T
    constant = np.linalg.slogdet(law.whiten)[1] - 0.5 * whitened.shape[2] * math.log(2.0 * math.pi)
    steps = whitened.shape[1]
    if law.noise.independent:
        return np.asarray(law.sampling.log_likelihood(whitened, law.shifts) + steps * constant)
    strategy = law.noise.strategy(steps)
    likelihood = law.sampling.correlated_log_likelihood(strategy @ whitened, law.shifts, strategy)
    return np.asarray(likelihood + steps * constant + whitened.shape[2] * np.log(np.diag(strategy)).sum())


@dataclass(frozen=True, eq=False)
class ObservationLaw:
    """Law of the noisy sums of a `recipe` along unit `directions`, as a `LogDensity`."""

    recipe: Recipe
    directions: Floats

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of observations, `(size,)`; exact if examples contribute nothing along them."""
        return log_density(outputs.values, Observations.of(self.recipe, self.directions, TrainingData.of(dataset)))
