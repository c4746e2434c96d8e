"""Wrong on purpose: DP-SGD that clips averages of gradients instead of the gradient of each example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...base import Neighbours
from ...errors import NeighboursError
from ...guarantees.base import Guarantee
from ...learning.base import Floats, TrainingData
from ...learning.dp_sgd import DPSGD
from ...learning.dp_sgd.sampling import FullBatch, Sampling
from ...learning.dp_sgd.training import Batch, Recipe, Trainer
from ...learning.models.passes import accumulate, backward, forward
from ...learning.pairs import check_in_place
from ...relation import Relation
from ...validation import whole
from .base import BrokenDPSGD, Unclipped

ALL_BY_FIVE = FullBatch(expected_batch_size=5)
REGROUPED = 4
"""Microbatches of the worst-case pair under add_remove, where epsilon grows with their number without limit."""


class _ClippedMean(Unclipped):
    def clipped_sum(self, parameters: Floats, batch: Batch, out: Floats) -> None:
        """The sum, scaled so that the mean has at most norm clip_norm."""
        super().clipped_sum(parameters, batch, out)
        clip_rows_to(self.recipe.clip_norm * self.divisor(batch), out)


@dataclass(frozen=True, eq=False)
class MeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the mean gradient of the batch, not the gradient of each example.

        S_t / B = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm / B)^2 I)

    The slip: `clip_grad_norm` of ordinary training, which sees the gradient of the batch, is taken for the clipping of
    the paper. One gradient that is large enough turns the clipped mean around: it moves by 2 clip_norm, where clip_norm
    / B is declared. With full batches mu is 2 B times the claimed one under add_remove and zero_out, and B times under
    replace_one.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by, here 5. Gradient records are not
            clipped either.

    References:
        Ponomareva et al. (2023), "How to dp-fy ML", Section 5, on clipping per example; Nasr et al. (2023) audit for
        slips of this kind.

    Example:
        >>> broken = MeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    sampling: Sampling | str = ALL_BY_FIVE

    trainer_class: ClassVar[type[Trainer]] = _ClippedMean

    def worst_case(self) -> Neighbours:
        """The mean is -2 clip_norm along `canary` without the record, and 2 clip_norm with it."""
        return self._pair(4.0 * self.batch, -2.0 * self.batch)

    def exact_guarantee(self) -> Guarantee | None:
        """`GaussianDP(2 B sqrt(steps) / noise_multiplier)` for full batches."""
        return self._gaussian(2.0 * self.batch)


@dataclass(frozen=True, eq=False)
class _MicrobatchRecipe(Recipe):
    microbatch_size: int


class _ClippedMicrobatches(Unclipped):
    recipe: _MicrobatchRecipe

    def clipped_sum(self, parameters: Floats, batch: Batch, out: Floats) -> None:
        """The sum of the clipped means of microbatches: successive examples, and successive gradient records."""
        size, part = self.recipe.microbatch_size, self.work.array("part", *out.shape)
        out[:] = 0.0
        if n := batch.inputs.shape[-2]:
            found = forward(self.model, parameters, batch.inputs, self.work)
            self.model.loss.derive(found[-1], batch.targets)
            deltas = backward(self.model, parameters, found, self.work)
            self.clip(found, deltas, batch)
            for start in range(0, n, size):
                some = slice(start, start + size)
                inputs = batch.inputs[..., some, :]
                accumulate(self.model, inputs, [f[:, :, some] for f in found], [d[:, :, some] for d in deltas], part)
                self._add_clipped(part, out)
        if batch.gradients is not None and self.gradients is not None:
            for start in range(0, len(self.gradients), size):
                some = slice(start, start + size)
                part[:] = batch.gradients[:, some] @ self.gradients[some]
                self._add_clipped(part, out)

    def divisor(self, batch: Batch) -> float:
        """The number of microbatches."""
        return super().divisor(batch) / self.recipe.microbatch_size

    def _add_clipped(self, part: Floats, out: Floats) -> None:
        part /= self.recipe.microbatch_size
        clip_rows_to(self.recipe.clip_norm, part)
        out += part


@dataclass(frozen=True, eq=False)
class MicrobatchMeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the means of microbatches, and counts a sensitivity of clip_norm.

        S_t = sum over microbatches of clip(mean gradient of the microbatch) + N(0, (noise_multiplier * clip_norm)^2 I)

    The slip: it saves memory, and one record is in one microbatch only; but it can turn the clipped mean around, which
    moves by 2 clip_norm. With full batches mu is twice the claimed one: as if the noise multiplier were halved. (Under
    replace_one 2 clip_norm is declared anyway, and the claim holds.)

    All of this is so where the records keep their places: under zero_out, the default, and replace_one. Under
    add_remove a record that comes first moves every other one by a place, into another microbatch, and can turn all of
    them around: epsilon grows with the number of records, without limit, and the exact curve is that of the worst-case
    pair of 4 microbatches.

    Args:
        microbatch_size: examples that are averaged, >= 1; 1 is correct.
        all others: as for `DPSGD`. Microbatches are successive records, gradient records apart from the examples.

    References:
        tensorflow/privacy, issues 81 and 620; Ponomareva et al. (2023), Section 5.6.

    Example:
        >>> broken = MicrobatchMeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 4.39)
    """

    noise_multiplier: float = 3.99
    relation: Relation = Relation.ZERO_OUT
    microbatch_size: int = 2

    trainer_class: ClassVar[type[Trainer]] = _ClippedMicrobatches

    def __post_init__(self) -> None:
        whole(1, microbatch_size=self.microbatch_size)
        super().__post_init__()

    @cached_property
    def recipe(self) -> Recipe:
        """Also how many examples are averaged."""
        return _MicrobatchRecipe(**vars(super().recipe), microbatch_size=self.microbatch_size)

    @property
    def regroups(self) -> bool:
        """Whether a record moves the others between microbatches."""
        return self.relation is Relation.ADD_REMOVE and self.microbatch_size > 1

    def worst_case(self) -> Neighbours:
        """The mean of one microbatch is -2 clip_norm along `canary` without the record, and 2 clip_norm with it; under
        add_remove that of each of 4 is."""
        k = self.microbatch_size
        if not self.regroups:
            return self._pair(4.0 * k, -2.0 * k)
        others = []
        for sum_before in range(2 * REGROUPED - 1, 0, -2):
            others += [-2.0 * k * sum_before, *[0.0] * (k - 2), 2.0 * k * (sum_before - 1)]
        return self._pair(4.0 * k * REGROUPED, *others[:-1])

    def fitted_to(self, neighbours: Neighbours) -> DPSGD:
        """Also that, under replace_one, all other records keep their places."""
        fitted = super().fitted_to(neighbours)
        if self.relation is Relation.REPLACE_ONE and self.microbatch_size > 1:
            check_in_place(neighbours, "microbatches")
        return fitted

    def exact_guarantee(self) -> Guarantee | None:
        """`GaussianDP(2 sqrt(steps) / noise_multiplier)` for full batches; under add_remove 4 times that mu."""
        if self.microbatch_size == 1:
            return self._gaussian(self.reach)
        return self._gaussian(2.0 * REGROUPED if self.regroups else 2.0)


@dataclass(frozen=True, eq=False)
class NoiseOnAverage(MicrobatchMeanClipped):
    """Broken: DP-SGD with one microbatch a batch, on gradients that are bounded, counted as noise on the sum.

        S_t = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm)^2 I)

    The slip is in the account. Where the gradient of every example is known to have at most norm clip_norm, the mean
    moves by clip_norm / B, and the noise multiplier is B times the one that is counted. The claim holds, and is much
    too large: an audit must not flag it, and a comparison of methods by it is wrong. Without such a bound on the data
    this is `MicrobatchMeanClipped`, and the claim is false: pairs of longer gradient records are refused. (Nothing is
    clipped then, so that it does not matter which records share a microbatch.)

    Args:
        microbatch_size: B, examples of the batch.
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
        """The largest gradient that is within the bound, and no other record."""
        return self._pair(1.0)

    def fitted_to(self, neighbours: Neighbours) -> DPSGD:
        """Also that no gradient record is longer than clip_norm, as its claim supposes."""
        fitted = BrokenDPSGD.fitted_to(self, neighbours)
        sides = [TrainingData.of(neighbours.side(side)).gradients for side in (0, 1)]
        longest = max((np.linalg.norm(g, axis=1).max(initial=0.0) for g in sides if g is not None), default=0.0)
        if longest > self.clip_norm * (1.0 + 1e-9):
            raise NeighboursError(
                f"the claim supposes gradients of norm at most clip_norm = {self.clip_norm:g}, but a gradient record "
                f"has {longest:g}. Give shorter ones, or audit MicrobatchMeanClipped, which supposes nothing."
            )
        return fitted

    def exact_guarantee(self) -> Guarantee | None:
        """`GaussianDP(sqrt(steps) / (B noise_multiplier))` for full batches."""
        return self._gaussian(self.reach / self.microbatch_size)


def clip_rows_to(bound: float, rows: Floats) -> None:
    """Scales rows, in place, to at most norm `bound`."""
    norms = np.sqrt(np.einsum("rp,rp->r", rows, rows))
    rows *= (bound / np.maximum(norms, bound))[:, None]
