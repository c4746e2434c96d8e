"""Intentionally broken clipping in DP-SGD: averages of gradients are clipped, not the gradient of each example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...core.base import Neighbours
from ...core.constraints import PositiveInt
from ...core.errors import NeighboursError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...learning.base import Floats, TrainingData, check_in_place
from ...learning.dp_sgd import DPSGD
from ...learning.dp_sgd.sampling import FullBatch, Sampling
from ...learning.dp_sgd.training import Batch, Recipe, Trainer
from ...learning.models.passes import accumulate, backward, forward
from .base import BrokenDPSGD, Unclipped

ALL_BY_FIVE = FullBatch(expected_batch_size=5)
REGROUPED = 4
"""Number of microbatches of the worst-case pair under add_remove, in which epsilon is unbounded."""


class _ClippedMean(Unclipped):
    def clipped_sum(self, parameters: Floats, batch: Batch, out: Floats) -> None:
        """Write to `out` the sum, scaled so that the mean has at most norm clip_norm."""
        super().clipped_sum(parameters, batch, out)
        clip_rows_to(self.recipe.clip_norm * self.divisor(batch), out)


@dataclass(frozen=True, eq=False)
class MeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the mean gradient of the batch, not the gradient of each example.

        S_t / B = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm / B)^2 I)

    Bug: `clip_grad_norm` of ordinary training, which clips the gradient of the batch, is used for the clipping of the
    paper. One gradient that is large enough reverses the clipped mean: it moves by 2 clip_norm, where clip_norm / B is
    declared. With full batches mu is 2 B times the claimed one under add_remove and zero_out, and B times under
    replace_one.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by, here 5. Gradient records are not
            clipped either.

    References:
        Ponomareva et al. (2023), "How to dp-fy ML", Section 5, on clipping per example; Nasr et al. (2023) audit for
        bugs of this kind.

    Example:
        >>> broken = MeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    sampling: Sampling | str = ALL_BY_FIVE

    trainer_class: ClassVar[type[Trainer]] = _ClippedMean

    def worst_case(self) -> Neighbours:
        """Return records whose mean is -2 clip_norm along `canary` on side 0, and 2 clip_norm on side 1."""
        return self._pair(4.0 * self.batch, -2.0 * self.batch)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(2 B sqrt(steps) / noise_multiplier)` for full batches."""
        return self._gaussian(2.0 * self.batch)


@dataclass(frozen=True, eq=False)
class _MicrobatchRecipe(Recipe):
    microbatch_size: int


class _ClippedMicrobatches(Unclipped):
    recipe: _MicrobatchRecipe

    def clipped_sum(self, parameters: Floats, batch: Batch, out: Floats) -> None:
        """Write to `out` the sum of clipped means of microbatches: successive examples, successive gradient records."""
        size, part = self.recipe.microbatch_size, self.work.array("part", *out.shape)
        out[:] = 0.0
        if n := batch.inputs.shape[-2]:
            activations = forward(self.model, parameters, batch.inputs, self.work)
            self.model.loss.derive(activations[-1], batch.targets)
            deltas = backward(self.model, parameters, activations, self.work)
            self.clip(activations, deltas, batch)
            for start in range(0, n, size):
                rows = slice(start, start + size)
                inputs = batch.inputs[..., rows, :]
                layers = [a[:, :, rows] for a in activations]
                accumulate(self.model, inputs, layers, [d[:, :, rows] for d in deltas], part)
                self._add_clipped(part, out)
        if batch.gradients is not None and self.gradients is not None:
            for start in range(0, len(self.gradients), size):
                rows = slice(start, start + size)
                part[:] = batch.gradients[:, rows] @ self.gradients[rows]
                self._add_clipped(part, out)

    def divisor(self, batch: Batch) -> float:
        """Return the number of microbatches."""
        return super().divisor(batch) / self.recipe.microbatch_size

    def _add_clipped(self, part: Floats, out: Floats) -> None:
        part /= self.recipe.microbatch_size
        clip_rows_to(self.recipe.clip_norm, part)
        out += part


@dataclass(frozen=True, eq=False)
class MicrobatchMeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the means of microbatches, with a declared sensitivity of clip_norm.

        S_t = sum over microbatches of clip(mean gradient of the microbatch) + N(0, (noise_multiplier * clip_norm)^2 I)

    Bug: one record is in one microbatch only, but can reverse its clipped mean, which moves by 2 clip_norm. With full
    batches mu is twice the claimed one, as if the noise multiplier were halved. (Under replace_one, 2 clip_norm is the
    declared sensitivity, and the claim holds.)

    This holds where records keep their positions: under zero_out, the default, and replace_one. Under add_remove a
    record that is inserted first shifts every other record by one position, which regroups the microbatches and can
    reverse the mean of each: epsilon grows with the number of records without limit, and the exact curve is that of the
    worst-case pair of 4 microbatches.

    Args:
        microbatch_size: number of examples that are averaged, >= 1; 1 is correct.
        all others: as for `DPSGD`. Microbatches are successive records; gradient records and examples are not mixed.

    References:
        tensorflow/privacy, issues 81 and 620; Ponomareva et al. (2023), Section 5.6.

    Example:
        >>> broken = MicrobatchMeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 4.39)
    """

    noise_multiplier: float = 3.99
    relation: Relation = Relation.ZERO_OUT
    microbatch_size: PositiveInt = 2

    trainer_class: ClassVar[type[Trainer]] = _ClippedMicrobatches

    @cached_property
    def recipe(self) -> Recipe:
        """Recipe of the trainer, with the microbatch size."""
        return _MicrobatchRecipe(**vars(super().recipe), microbatch_size=self.microbatch_size)

    @property
    def regroups(self) -> bool:
        """True if a record moves the others between microbatches."""
        return self.relation is Relation.ADD_REMOVE and self.microbatch_size > 1

    def worst_case(self) -> Neighbours:
        """Return records with one microbatch mean of -2 clip_norm along `canary` on side 0, and 2 clip_norm on side 1.

        Under add_remove the means of 4 microbatches are reversed in this way.
        """
        k = self.microbatch_size
        if not self.regroups:
            return self._pair(4.0 * k, -2.0 * k)
        others = []
        for sum_before in range(2 * REGROUPED - 1, 0, -2):
            others += [-2.0 * k * sum_before, *[0.0] * (k - 2), 2.0 * k * (sum_before - 1)]
        return self._pair(4.0 * k * REGROUPED, *others[:-1])

    def bind(self, neighbours: Neighbours) -> DPSGD:
        """Return self for these neighbours; under replace_one all other records must keep their positions."""
        fitted = super().bind(neighbours)
        if self.relation is Relation.REPLACE_ONE and self.microbatch_size > 1:
            check_in_place(neighbours, "microbatches")
        return fitted

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(2 sqrt(steps) / noise_multiplier)` for full batches; under add_remove 4 times that mu."""
        if self.microbatch_size == 1:
            return self._gaussian(self.reach)
        return self._gaussian(2.0 * REGROUPED if self.regroups else 2.0)


@dataclass(frozen=True, eq=False)
class NoiseOnAverage(MicrobatchMeanClipped):
    """Broken: DP-SGD with one microbatch per batch on bounded gradients, accounted as noise on the sum.

        S_t = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm)^2 I)

    Bug: the accounting uses the sensitivity of the sum. Where the gradient of every example is known to have at most
    norm clip_norm, the mean moves by clip_norm / B, and the effective noise multiplier is B times the one in the
    accounting. The claim holds, but epsilon is far too large: an audit must not flag it, and a comparison of methods by
    it is misleading. Without such a bound on the data this is `MicrobatchMeanClipped`, and the claim is false: pairs of
    longer gradient records are refused. (No gradient is clipped then, so that the grouping into microbatches does not
    matter.)

    Args:
        microbatch_size: B, number of examples of the batch.
        all others: as for `DPSGD`.

    References:
        tensorflow/privacy, issue 153.

    Example:
        >>> broken = NoiseOnAverage()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 0.16)
    """

    microbatch_size: int = 10

    def worst_case(self) -> Neighbours:
        """Return one gradient of norm clip_norm, the bound, and no other record."""
        return self._pair(1.0)

    def bind(self, neighbours: Neighbours) -> DPSGD:
        """Return self for these neighbours; no gradient record may be longer than clip_norm, as the claim assumes."""
        fitted = BrokenDPSGD.bind(self, neighbours)
        sides = [TrainingData.of(neighbours.side(side)).gradients for side in (0, 1)]
        longest = max((np.linalg.norm(g, axis=1).max(initial=0.0) for g in sides if g is not None), default=0.0)
        if longest > self.clip_norm * (1.0 + 1e-9):
            raise NeighboursError(
                f"the claim assumes gradients of norm at most clip_norm = {self.clip_norm:g}, but a gradient record "
                f"has {longest:g}. Give shorter ones, or audit MicrobatchMeanClipped, which does not assume a bound."
            )
        return fitted

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(steps) / (B noise_multiplier))` for full batches."""
        return self._gaussian(self.reach / self.microbatch_size)


def clip_rows_to(bound: float, rows: Floats) -> None:
    """Scale rows, in place, to at most norm `bound`."""
    norms = np.sqrt(np.einsum("rp,rp->r", rows, rows))
    rows *= (bound / np.maximum(norms, bound))[:, None]
