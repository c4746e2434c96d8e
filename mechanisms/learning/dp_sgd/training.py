"""DP-SGD, many independent runs at once.

    theta_0 fixed or drawn
    S_t     = sum over the records of the batch of clip(gradient at theta_(t-1)) + N(0, (noise_multiplier clip_norm)^2)
              (the noise may be correlated between steps: see `noise`)
    v_t     = momentum v_(t-1) + S_t / divisor
    theta_t = project(theta_(t-1) - rate_t v_t),   or with the direction of Adam in place of v_t

A run is one row of every array. Runs are trained in blocks that fit the cache; a step is a few numpy calls for a whole
block, and no gradient of a single example is ever materialised. An intentionally broken variant overrides one of the
small methods.

All noisy sums are released; a record of the batch contributes at most clip_norm to each. In units of the sensitivity
(clip_norm, or under replace_one 2 clip_norm), the noise is noise_multiplier or noise_multiplier / 2. The sampling
scheme derives the guarantee, `claim_of`, from this number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import GaussianDP
from ...core import AccountingError, Floats, Guarantee, ParameterError, Relation
from ..base import AnyFloats, TrainingData
from ..models.base import Model
from ..models.passes import Workspace, accumulate, backward, forward, squared_norms
from .noise.base import StepNoise
from .optimizers import Adam
from .sampling.base import BatchDraw, Mask, Sampling
from .steps import clip_rows, factors, standard_normal

BLOCK_BYTES = 9 * 2**19
"""Memory of one step of a block of runs, about the size that stays in the cache between products."""
SMALLEST_BLOCK, LARGEST_BLOCK = 4, 256
"""Limits of the number of runs of a block: enough to share the cost of a numpy call."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """Options and fixed inputs of training, none of which depends on the data.

    Args:
        model, sampling, noise_multiplier, noise, clip_norm, clipping, momentum, projection, averaging: as for `DPSGD`.
        rates: learning rate of each step, `(steps,)`.
        initial: flat parameters before the first step; None draws them for every run.
        adam: the optimiser; None for gradient descent.
        ignore_blank: whether an example that is all zeros contributes nothing, as under zero_out.
        dtype: data type of all arithmetic.
    """

    model: Model
    sampling: Sampling
    rates: Floats
    noise_multiplier: float
    noise: StepNoise
    clip_norm: float
    clipping: str
    momentum: float
    adam: Adam | None
    projection: float | None
    averaging: str
    initial: AnyFloats | None
    ignore_blank: bool
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """Data of one step, for each run of a block.

    Args:
        inputs: `(n_runs, width, n_inputs)`, or `(n_examples, n_inputs)` if all runs use all examples.
        inputs_squared: squared norm of each row of `inputs`.
        targets: target of each row of `inputs`.
        included: which rows contribute, `(n_runs, width)`; None for all.
        gradients: multiplicity of each gradient record, `(n_runs, n_gradients)`; None if there are none.
    """

    inputs: AnyFloats
    inputs_squared: AnyFloats
    targets: NDArray[Any]
    included: Mask | None
    gradients: AnyFloats | None


class Trainer:
    """Trainer on one dataset by one recipe.

    Args:
        recipe: options of the training.
        data: the dataset, checked against the model and the sampling when training starts.
    """

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        recipe.model.check(data)
        self.recipe, self.data = recipe, data
        self.model, self.dtype = recipe.model, recipe.dtype
        with np.errstate(over="ignore"):
            self.inputs = self.model.inputs(data.X, self.dtype)
            self.inputs_squared = np.einsum("ni,ni->n", self.inputs, self.inputs)
            self.targets = self.model.loss.targets(data.y, self.dtype)
        self.gradients = self._clipped_gradient_records()
        self.counted = self._counted()
        self.work = Workspace(self.dtype)

    # --- the loop -----------------------------------------------------------------------------------------------------

    def blocks(self, size: int, inclusion: Mask | None = None) -> Iterator[tuple[slice, Mask | None]]:
        """Yield the runs that are trained together, and their part of `inclusion`."""
        length = self.block_length()
        for start in range(0, size, length):
            runs = slice(start, min(start + length, size))
            yield runs, None if inclusion is None else inclusion[runs]

    def train(
        self, n_runs: int, rng: np.random.Generator, inclusion: Mask | None = None
    ) -> Iterator[tuple[AnyFloats, AnyFloats]]:
        """Yield the noisy clipped sum and the parameters after each step, both `(n_runs, n_parameters)`.

        The next step overwrites both arrays. The parameters before the first step are stored in `first`.
        """
        recipe = self.recipe
        if inclusion is None:
            recipe.sampling.check(len(self.data))
        parameters = self.initial(n_runs, rng)
        self.first = parameters.copy()
        velocity = np.zeros_like(parameters) if recipe.momentum else None
        adam = None if recipe.adam is None else recipe.adam.start()
        total = np.empty_like(parameters)
        self.correlate = recipe.noise.correlate(len(recipe.rates))
        draws = recipe.sampling.draws(len(self.data), n_runs, inclusion, rng)
        for rate, draw in zip(recipe.rates, islice(draws, len(recipe.rates)), strict=True):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                batch = self.batch(draw)
                self.clipped_sum(parameters, batch, total)
                self.add_noise(total, rng)
                divisor = self.divisor(batch)
                direction = total if adam is None else divisor * adam.direction(total / divisor)
                self.update(parameters, velocity, direction, float(rate) / divisor)
            yield total, parameters

    def final(self, n_runs: int, rng: np.random.Generator, inclusion: Mask | None = None) -> AnyFloats:
        """Return the parameters after the last step, or their average over steps, `(n_runs, n_parameters)`."""
        steps = len(self.recipe.rates)
        first = {"last": steps - 1, "mean": 0, "second-half": steps // 2}[self.recipe.averaging]
        average: AnyFloats | None = None
        for step, (_, parameters) in enumerate(self.train(n_runs, rng, inclusion)):
            if step >= first:
                average = parameters / (steps - first) if average is None else average + parameters / (steps - first)
        assert average is not None
        return average

    # --- one step -----------------------------------------------------------------------------------------------------

    def initial(self, n_runs: int, rng: np.random.Generator) -> AnyFloats:
        """Return the parameters before the first step, `(n_runs, n_parameters)`."""
        initial = self.recipe.initial
        if initial is None:
            return self.model.random_parameters(n_runs, rng).astype(self.dtype, copy=False)
        return np.tile(np.asarray(initial, dtype=self.dtype), (n_runs, 1))

    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Write the sum of the clipped gradients of the batch into `out`."""
        if batch.inputs.shape[-2]:
            activations = forward(self.model, parameters, batch.inputs, self.work)
            self.model.loss.derive(activations[-1], batch.targets)
            deltas = backward(self.model, parameters, activations, self.work)
            self.clip(activations, deltas, batch)
            accumulate(self.model, batch.inputs, activations, deltas, out, self.work)
        else:
            out[:] = 0.0
        if batch.gradients is not None and self.gradients is not None:
            out += batch.gradients @ self.gradients

    def clip(self, activations: list[AnyFloats], deltas: list[AnyFloats], batch: Batch) -> None:
        """Scale the derivatives, and so the gradient of each example; to 0 for examples that are not included."""
        norms = squared_norms(self.model, batch.inputs_squared, activations, deltas)
        if self.recipe.clipping != "none":
            forget_overflow(norms, activations, deltas)
        scales = factors(self.recipe.clipping, norms, self.recipe.clip_norm)
        for index, (delta, scale) in enumerate(zip(deltas, scales, strict=True)):
            if scale is None:
                if batch.included is not None:
                    delta *= batch.included[:, None, :]
            else:
                if batch.included is not None and (index == 0 or scale is not scales[0]):
                    scale *= batch.included
                delta *= scale[:, None, :]

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add the noise of the step to the clipped sum of each run."""
        if not self.recipe.noise_multiplier:
            return
        noise = self.work.array("noise", *total.shape)
        standard_normal(noise, rng)
        self.correlate(noise)
        noise *= self.recipe.noise_multiplier * self.recipe.clip_norm
        total += noise

    def divisor(self, batch: Batch) -> float:
        """Return the public constant by which the noisy sum is divided."""
        divisor = self.recipe.sampling.divisor
        return float(len(self.data)) if divisor is None else divisor

    def update(self, parameters: AnyFloats, velocity: AnyFloats | None, total: AnyFloats, rate: float) -> None:
        """Apply one step of gradient descent, in place."""
        direction = total
        if velocity is not None:
            velocity *= self.recipe.momentum
            velocity += total
            direction = velocity
        scaled = self.work.array("update", *total.shape)
        np.multiply(direction, rate, out=scaled, casting="same_kind")
        parameters -= scaled
        if self.recipe.projection is not None:
            norms = np.sqrt(np.einsum("rp,rp->r", parameters, parameters))
            parameters *= (self.recipe.projection / np.maximum(norms, self.recipe.projection))[:, None]

    # --- the data -----------------------------------------------------------------------------------------------------

    def batch(self, draw: BatchDraw) -> Batch:
        """Return the rows of the data that a draw selects."""
        n = self.data.n_examples
        if draw.rows is None:
            return self._whole(draw.included)
        rows, included, gradients = draw.rows, draw.included, None
        if self.gradients is not None:
            rows, included, gradients = self._without_gradient_records(rows, included)
        if n == 0:
            rows = rows[:, :0]
        if self.counted is not None:
            included = self.counted[rows] if included is None else included & self.counted[rows]
        inputs = self.work.array("inputs", *rows.shape, self.inputs.shape[1])
        np.take(self.inputs, rows, axis=0, out=inputs, mode="clip")
        return Batch(inputs, self.inputs_squared[rows], self.targets[rows], included, gradients)

    def block_length(self) -> int:
        """Return the number of runs that are trained together."""
        n = len(self.data)
        units = sum(layer.n_units for layer in self.model.layers)
        width = self.recipe.sampling.width(n)
        numbers_per_run = width * units * 2 + 3 * self.model.n_parameters
        if width < n:
            numbers_per_run += width * self.inputs.shape[1]
        return int(np.clip(BLOCK_BYTES // (numbers_per_run * self.dtype.itemsize), SMALLEST_BLOCK, LARGEST_BLOCK))

    def _whole(self, included: Mask | None) -> Batch:
        n = self.data.n_examples
        gradients: AnyFloats | None = None
        if self.gradients is not None:
            counts = np.ones((1, len(self.gradients))) if included is None else included[:, n:]
            gradients = counts.astype(self.dtype)
        if self.counted is not None:
            included = self.counted[None, :] if included is None else included[:, :n] & self.counted
        elif included is not None:
            included = included[:, :n]
        return Batch(self.inputs, self.inputs_squared, self.targets, included, gradients)

    def _without_gradient_records(
        self, rows: NDArray[np.intp], included: Mask | None
    ) -> tuple[NDArray[np.intp], Mask, AnyFloats]:
        """Return a draw without gradient records, and the multiplicity of each gradient record."""
        n = self.data.n_examples
        is_gradient = rows >= n
        drawn = is_gradient if included is None else is_gradient & included
        runs, columns = np.nonzero(drawn)
        gradients = np.zeros((len(rows), self.data.n_gradients), dtype=self.dtype)
        gradients[runs, rows[runs, columns] - n] = 1.0
        return np.where(is_gradient, 0, rows), ~is_gradient if included is None else included & ~is_gradient, gradients

    def _clipped_gradient_records(self) -> AnyFloats | None:
        if not self.data.n_gradients:
            return None
        assert self.data.gradients is not None
        recipe = self.recipe
        return clip_rows(recipe.clipping, self.data.gradients, recipe.clip_norm, self.model).astype(self.dtype)

    def _counted(self) -> Mask | None:
        """Return the mask of the examples that contribute; None for all.

        Examples whose squared norm overflows do not contribute: they have no gradient to clip, and 0 times infinity
        would leak them in every parameter. Blank examples do not contribute if they represent a missing record.
        """
        finite = np.isfinite(self.inputs_squared)
        if not finite.all():
            self.inputs = np.where(finite[:, None], self.inputs, self.dtype.type(0.0))
            self.inputs_squared = np.where(finite, self.inputs_squared, self.dtype.type(0.0))
        counted = finite
        if self.recipe.ignore_blank:
            counted = finite & (np.any(self.data.X != 0.0, axis=1) | (self.data.y != 0))
        return None if counted.all() else counted


def forget_overflow(norms: list[AnyFloats], activations: list[AnyFloats], deltas: list[AnyFloats]) -> None:
    """Set the derivatives and norms of examples whose gradient norm overflows to 0, because it cannot be clipped."""
    total = norms[0] if len(norms) == 1 else np.sum(norms, axis=0)
    overflowed = ~np.isfinite(total)
    if not overflowed.any():
        return
    for values in (*activations[:-1], *deltas):
        np.copyto(values, 0.0, where=overflowed[:, None, :])
    for norm in norms:
        np.copyto(norm, 0.0, where=overflowed)


def checked_inclusion(inclusion: Any, n_records: int) -> Mask:
    """Return `inclusion` as a boolean `(n_runs, n_records)` array; raise `ParameterError` for anything else."""
    mask = np.asarray(inclusion)
    if mask.dtype != np.bool_ or mask.ndim != 2 or mask.shape[1] != n_records:
        raise ParameterError(
            f"inclusion must be a boolean array of shape (n_runs, {n_records}), one column for each record, but is "
            f"{mask.dtype} of shape {mask.shape}.",
            argument="inclusion",
        )
    return mask


def claim_of(recipe: Recipe, relation: Relation, *, all_seen: bool) -> Guarantee:
    """Return the guarantee of training by `recipe`.

    Args:
        recipe: the training.
        relation: the neighbouring relation.
        all_seen: whether the output determines the noisy sums along the canary: an exact claim is then attained.

    Raises:
        AccountingError: no noise, no clipping, or a sampling that has no bound under the relation.
    """
    if not recipe.noise_multiplier:
        raise AccountingError(
            "noise_multiplier is 0: training without noise has no finite epsilon. Give a noise_multiplier > 0, or a "
            "claim to audit against.",
            argument="noise_multiplier",
        )
    if recipe.clipping == "none":
        raise AccountingError(
            "clipping is 'none': one record can change the sum without limit, and no noise hides that. Use 'flat' or "
            "'per-layer', or give a claim to audit against.",
            argument="clipping",
        )
    relative = recipe.noise_multiplier / (2.0 if relation is Relation.REPLACE_ONE else 1.0)
    claim = recipe.noise.guarantee(recipe.sampling, relative, steps=len(recipe.rates), relation=relation)
    if isinstance(claim, GaussianDP) and claim.exact and not all_seen:
        return replace(claim, exact=False)
    return claim
