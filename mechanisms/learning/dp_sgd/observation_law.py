"""Law of the observed noisy sums of gradient records, for the likelihood-ratio attack, and the curves of a view.

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

from ...accounting import GaussianDP
from ...core import Dataset, Floats, Guarantee, Neighbours, Outputs, ParameterError
from ..base import MAX_ROUNDING, AnyFloats, TrainingData
from .directions import gradient_direction, sides_of
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
    shifts: AnyFloats
    whiten: AnyFloats
    noise: StepNoise = field(default_factory=IndependentNoise)

    @classmethod
    def of(cls, recipe: Recipe, directions: AnyFloats, data: TrainingData) -> Observations:
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
    def along(
        cls, directions: AnyFloats, noise_multiplier: float, sampling: Sampling, shifts: AnyFloats
    ) -> Observations:
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


def log_density(values: AnyFloats, law: Observations) -> Floats:
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
    directions: AnyFloats

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of observations, `(size,)`; exact if examples contribute nothing along them."""
        return log_density(outputs.values, Observations.of(self.recipe, self.directions, TrainingData.of(dataset)))


def view_curve(recipe: Recipe, neighbours: Neighbours, directions: AnyFloats, *, view: str) -> Guarantee | None:
    """Return the trade-off curve between the outputs on the two sides of a pair, if it has a closed form.

    The pair must differ in gradient records, which change every sum by the same vector. Along it, with shift d in units
    of the noise, the law of the output is that of Gaussian observations:

        noisy_gradients, full batches    GaussianDP(sqrt(steps) |d|), if the examples contribute nothing along d
        trajectory, full batches         the same for any examples: the parameters determine their contribution
        final, full batches              GaussianDP(|sum of w_t| / |w| |d|), if the examples contribute nothing along d,
                                         with w_t the weight of step t in the last iterate
        noisy_gradients, Poisson         the subsampled Gaussian, on the grid of its accountant, if no other record
                                         contributes along d

    Examples contribute nothing along weights of features that are 0 in all records of both sides.

    Returns:
        The curve; None for other pairs, schemes and views, for noise that is correlated between steps, and where
        projection, a random start or Adam disturbs the law.
    """
    sides = sides_of(recipe, neighbours)
    direction = gradient_direction(recipe, neighbours)
    if direction is None or not recipe.noise_multiplier or not recipe.noise.independent:
        return None
    quiet = _contribute_nothing(recipe, sides, direction)
    seen = np.atleast_2d(directions) if view == "noisy_gradients" else direction[None, :]
    shifts = [Observations.of(recipe, seen, data).shifts for data in sides]
    distance = float(np.linalg.norm(shifts[1].sum(axis=0) - shifts[0].sum(axis=0)))
    steps = len(recipe.rates)
    if recipe.sampling.inclusion_probability < 1.0:
        present = [shift[np.abs(shift).sum(axis=1) > MAX_ROUNDING] for shift in shifts]
        alone = sorted(map(len, present)) == [0, 1]
        if not (recipe.sampling.tight and quiet and alone and view == "noisy_gradients"):
            return None
        return recipe.sampling.guarantee(1.0 / distance, steps=steps, relation=neighbours.relation)
    if not recipe.sampling.tight:
        return None
    if recipe.adam is not None and view != "noisy_gradients":
        return None
    if view == "trajectory":
        shown = recipe.projection is None and bool(recipe.rates.all())
        return GaussianDP(math.sqrt(steps) * distance, neighbours.relation) if shown else None
    if not quiet or not _along(seen, direction):
        return None
    if view == "noisy_gradients":
        return GaussianDP(math.sqrt(steps) * distance, neighbours.relation)
    if recipe.projection is not None or recipe.initial is None or recipe.averaging != "last":
        return None
    weights = _weights_of_steps(recipe)
    return GaussianDP(abs(float(weights.sum())) / float(np.linalg.norm(weights)) * distance, neighbours.relation)


def _contribute_nothing(recipe: Recipe, sides: list[TrainingData], direction: AnyFloats) -> bool:
    """Return whether no example has a gradient along the direction, at any parameters."""
    if not any(data.n_examples for data in sides):
        return True
    layer = recipe.model.layers[0]
    dead = np.flatnonzero(~np.any(np.concatenate([data.X for data in sides]) != 0.0, axis=0))
    quiet = layer.start + np.arange(layer.n_units)[:, None] * layer.n_inputs + dead
    return bool(np.isin(np.flatnonzero(direction), quiet).all())


def _along(seen: AnyFloats, direction: AnyFloats) -> bool:
    """Return whether the observed directions are that of the difference, and no other direction is observed."""
    return len(seen) == 1 and abs(float(seen[0] @ direction)) > 1.0 - MAX_ROUNDING


def _weights_of_steps(recipe: Recipe) -> AnyFloats:
    """Return the weight of each noisy sum in the last iterate, up to a common factor, `(steps,)`."""
    weights, following = np.zeros(len(recipe.rates)), 0.0
    for step in range(len(weights) - 1, -1, -1):
        following = float(recipe.rates[step]) + recipe.momentum * following
        weights[step] = following
    return weights
