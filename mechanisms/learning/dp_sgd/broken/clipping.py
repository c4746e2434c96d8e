"""Intentionally broken clipping in DP-SGD."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ....accounting import GaussianDP
from ....accounting.broken import Broken
from ....core import Floats, Guarantee, Neighbours, NeighboursError, PositiveInt, Relation
from ...base import AnyFloats, TrainingData, check_in_place
from ...models import MultiLayerPerceptron
from ...models.base import Model
from ...models.passes import accumulate, backward, forward, squared_norms
from .. import DPSGD, AdaptiveClippingDPSGD
from ..sampling import FullBatch, Sampling
from ..training import Batch, Recipe, Trainer
from .base import ALL_BY_FIVE, PERCEPTRON, REGRESSION, UNBOUNDED_NORM, BrokenDPSGD, Unclipped
from .noise import PartWithoutNoise

# --- averages are clipped, not the gradient of each example -----------------------------------------------------------

N_MICROBATCHES = 4
"""Number of microbatches of the worst-case pair under add_remove, in which epsilon is unbounded."""


class _ClippedMean(Unclipped):
    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Write to `out` the sum, scaled so that the mean has at most norm clip_norm."""
        super().clipped_sum(parameters, batch, out)
        _clip_rows_to(self.recipe.clip_norm * self.divisor(batch), out)


@dataclass(frozen=True, eq=False)
class MeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the mean gradient of the batch, not the gradient of each example.

        S_t / B = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm / B)^2 I)

    One gradient that is large enough reverses the clipped mean: it moves by 2 clip_norm, where clip_norm / B is
    declared. With full batches mu is 2 B times the claimed one under add_remove and zero_out, and B times under
    replace_one.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by, here 5. Gradient records are not
            clipped either.

    Example:
        >>> broken = MeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    cause = (
        "`clip_grad_norm` of ordinary training, which clips the gradient of the batch, is used in place of per- "
        "example clipping."
    )
    source = (
        'Ponomareva et al. (2023), "How to dp-fy ML", Section 5, on clipping per example; Nasr et al. (2023) audit '
        "for bugs of this kind."
    )

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

    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
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
                accumulate(self.model, inputs, layers, [d[:, :, rows] for d in deltas], part, self.work)
                self._add_clipped(part, out)
        if batch.gradients is not None and self.gradients is not None:
            for start in range(0, len(self.gradients), size):
                rows = slice(start, start + size)
                part[:] = batch.gradients[:, rows] @ self.gradients[rows]
                self._add_clipped(part, out)

    def divisor(self, batch: Batch) -> float:
        """Return the number of microbatches."""
        return super().divisor(batch) / self.recipe.microbatch_size

    def _add_clipped(self, part: AnyFloats, out: AnyFloats) -> None:
        part /= self.recipe.microbatch_size
        _clip_rows_to(self.recipe.clip_norm, part)
        out += part


@dataclass(frozen=True, eq=False)
class MicrobatchMeanClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the means of microbatches, with a declared sensitivity of clip_norm.

        S_t = sum over microbatches of clip(mean gradient of the microbatch) + N(0, (noise_multiplier * clip_norm)^2 I)

    With full batches mu is twice the claimed one, as if the noise multiplier were halved. (Under replace_one, 2
    clip_norm is the declared sensitivity, and the claim holds.)

    This holds where records keep their positions: under zero_out, the default, and replace_one. Under add_remove a
    record that is inserted first shifts every other record by one position, which regroups the microbatches and can
    reverse the mean of each: epsilon grows with the number of records without limit, and the exact curve is that of the
    worst-case pair of 4 microbatches.

    Args:
        microbatch_size: number of examples that are averaged, >= 1; 1 is correct.
        all others: as for `DPSGD`. Microbatches are successive records; gradient records and examples are not mixed.

    Example:
        >>> broken = MicrobatchMeanClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 4.39)
    """

    cause = "One record can reverse the clipped mean of its microbatch, which moves by 2 clip_norm."
    source = "tensorflow/privacy, issues 81 and 620; Ponomareva et al. (2023), Section 5.6."

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
        for sum_before in range(2 * N_MICROBATCHES - 1, 0, -2):
            others += [-2.0 * k * sum_before, *[0.0] * (k - 2), 2.0 * k * (sum_before - 1)]
        return self._pair(4.0 * k * N_MICROBATCHES, *others[:-1])

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
        return self._gaussian(2.0 * N_MICROBATCHES if self.regroups else 2.0)


@dataclass(frozen=True, eq=False)
class NoiseOnAverage(MicrobatchMeanClipped):
    """Broken: DP-SGD with one microbatch per batch on bounded gradients, accounted as noise on the sum.

        S_t = clip(mean gradient of the batch) + N(0, (noise_multiplier * clip_norm)^2 I)

    Where the gradient of every example is known to have at most norm clip_norm, the mean moves by clip_norm / B,
    and the effective noise multiplier is B times the one in the accounting. The claim holds, but epsilon is far too
    large: an audit must not flag it, and a comparison of methods by it is misleading. Without such a bound on the
    data this is `MicrobatchMeanClipped`, and the claim is false: pairs of longer gradient records are refused. (No
    gradient is clipped then, so that the grouping into microbatches does not matter.)

    Args:
        microbatch_size: B, number of examples of the batch.

    Example:
        >>> broken = NoiseOnAverage()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 0.16)
    """

    cause = "The accounting uses the sensitivity of the sum."
    source = "tensorflow/privacy, issue 153."

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


def _clip_rows_to(bound: float, rows: AnyFloats) -> None:
    """Scale rows, in place, to at most norm `bound`."""
    norms = np.sqrt(np.einsum("rp,rp->r", rows, rows))
    rows *= (bound / np.maximum(norms, bound))[:, None]


# --- per-layer clipping -----------------------------------------------------------------------------------------------

DEEP = MultiLayerPerceptron(4, hidden=(3, 3, 3), n_outputs=2)


class _LayerByLayer(Trainer):
    @abstractmethod
    def factors(self, squared: Sequence[AnyFloats]) -> list[AnyFloats]:
        """Return the factor of the part of each layer, from its squared norms."""

    def clip(self, found: list[AnyFloats], deltas: list[AnyFloats], batch: Batch) -> None:
        """Scale the part of each layer by its factor."""
        norms = squared_norms(self.model, batch.inputs_squared, found, deltas)
        for delta, factor in zip(deltas, self.factors(norms), strict=True):
            delta *= (factor if batch.included is None else factor * batch.included)[:, None, :]

    def _clipped_gradient_records(self) -> AnyFloats | None:
        if self.data.gradients is None:
            return None
        parts = [self.data.gradients[:, layer.span] for layer in self.model.layers]
        factors = self.factors([np.einsum("np,np->n", part, part) for part in parts])
        clipped = np.concatenate([part * f[:, None] for part, f in zip(parts, factors, strict=True)], axis=1)
        return clipped.astype(self.dtype)

    def _to_clip_norm(self, squared: AnyFloats) -> AnyFloats:
        return np.asarray(self.recipe.clip_norm / np.maximum(np.sqrt(squared), self.recipe.clip_norm))


class _EachToTheWhole(_LayerByLayer):
    def factors(self, squared: Sequence[AnyFloats]) -> list[AnyFloats]:
        """Return factors that clip every layer to clip_norm; should be clip_norm / sqrt(L)."""
        return [self._to_clip_norm(part) for part in squared]


class _LastNotClipped(_LayerByLayer):
    def factors(self, squared: Sequence[AnyFloats]) -> list[AnyFloats]:
        """Return factors that clip all layers except the last together to clip_norm, and 1 for the last."""
        others = self._to_clip_norm(np.sum([np.zeros_like(squared[-1]), *squared[:-1]], axis=0))
        return [others] * (len(squared) - 1) + [np.ones_like(squared[-1])]


class _BaseNotFrozen(_LayerByLayer):
    def factors(self, squared: Sequence[AnyFloats]) -> list[AnyFloats]:
        """Return 1 for the first layer, and factors that clip all other layers together to clip_norm."""
        others = self._to_clip_norm(np.sum([np.zeros_like(squared[0]), *squared[1:]], axis=0))
        return [np.ones_like(squared[0]), *[others] * (len(squared) - 1)]

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise to all layers except the first one."""
        base = self.model.layers[0].span
        clean = total[:, base].copy()
        super().add_noise(total, rng)
        total[:, base] = clean


@dataclass(frozen=True, eq=False)
class PerLayerFullClip(BrokenDPSGD):
    """Broken: DP-SGD that clips the gradient of each layer to clip_norm, with sensitivity clip_norm for all of them.

    With L layers the whole gradient has norm up to sqrt(L) clip_norm, and with full batches mu is sqrt(L) times the
    claimed one. Correct: clip_norm / sqrt(L) for each.

    Args:
        all: as for `DPSGD`. Default: a perceptron with three hidden layers of 3 units, L = 4.

    Example:
        >>> broken = PerLayerFullClip()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 4.39)
    """

    cause = (
        "The clipping function of the framework is called for each array of parameters, with the bound of the whole "
        "gradient."
    )
    source = "McMahan, Ramage, Talwar, Zhang (2018), Section 2.3, for the correct per-layer clipping."

    model: Model | str = DEEP
    noise_multiplier: float = 3.99
    clipping: str = "per-layer"

    trainer_class: ClassVar[type[Trainer]] = _EachToTheWhole

    @cached_property
    def canary(self) -> Floats:
        """Unit vector with equal entries at the first weight of every layer."""
        starts = [layer.start for layer in self.network.layers]
        return np.asarray(np.eye(self.network.n_parameters)[starts].sum(axis=0) / math.sqrt(len(starts)))

    def worst_case(self) -> Neighbours:
        """Return one gradient record that is large in every layer, and no other record."""
        return self._pair(UNBOUNDED_NORM)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(L steps) / noise_multiplier)` for full batches."""
        return self._gaussian(self.reach * math.sqrt(len(self.network.layers)))


@dataclass(frozen=True, eq=False)
class LayerNotClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the gradients of all layers except the last one.

    The gradient of that layer, and therefore epsilon, is unbounded; `exact_guarantee` is the curve of the worst-case
    pair, a gradient of 20 clip norms.

    Args:
        all: as for `DPSGD`. Default: a perceptron of 4 inputs, 3 hidden units and 2 outputs.

    Example:
        >>> broken = LayerNotClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 36.5)
    """

    cause = "A layer that was added later is not in the list of clipped layers."
    source = "Constructed; a check of the sensitivity of every parameter detects this kind of bug."

    model: Model | str = PERCEPTRON

    trainer_class: ClassVar[type[Trainer]] = _LastNotClipped

    @cached_property
    def canary(self) -> Floats:
        """Unit vector at the first weight of the last layer."""
        return np.asarray(np.eye(self.network.n_parameters)[self.network.layers[-1].start])

    def worst_case(self) -> Neighbours:
        """Return one gradient of 20 clip norms in the last layer, and no other record."""
        return self._pair(UNBOUNDED_NORM)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(20 sqrt(steps) / noise_multiplier)` for full batches; 40 under replace_one."""
        return self._gaussian(self.reach * UNBOUNDED_NORM)


@dataclass(frozen=True, eq=False)
class BaseNotFrozen(PartWithoutNoise):
    """Broken: fine-tuning with DP-SGD on the added layers only, although the base model is trained too.

    The base, here the first layer, gets the plain sum of its gradients, without clipping and without noise: epsilon is
    infinite at any delta < 1. Correct: frozen base parameters, or DP-SGD on all that are trained.

    Args:
        all: as for `DPSGD`. Default: a perceptron of 4 inputs, 3 hidden units and 2 outputs.

    Example:
        >>> broken = BaseNotFrozen()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = (
        "Parameters of the base model still require gradients after adapters (LoRA) were added, and hooks for clipping "
        "and noise cover the adapters only."
    )
    source = (
        "Constructed from huggingface/peft, issue 761, on base weights that stay trainable; meta-pytorch/opacus, issue "
        "820, on LoRA whose updates are not those of the private optimiser."
    )

    model: Model | str = PERCEPTRON

    trainer_class: ClassVar[type[Trainer]] = _BaseNotFrozen

    def worst_case(self) -> Neighbours:
        """Return one gradient of 20 clip norms in the first layer, and no other record."""
        return self._pair(UNBOUNDED_NORM)


# --- the unclipped mean -----------------------------------------------------------------------------------------------

ALL_BY_FOUR = FullBatch(expected_batch_size=4)


class _RawMeanMixedIn(Trainer):
    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        super().__init__(recipe, data)
        self.backward_pass = Unclipped(recipe, data)

    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Write to `out` the sum of clipped gradients plus the mean of the raw ones."""
        raw = np.empty_like(out)
        self.backward_pass.clipped_sum(parameters, batch, raw)
        super().clipped_sum(parameters, batch, out)
        out += raw / self.divisor(batch)


@dataclass(frozen=True, eq=False)
class RawMeanMixedIn(BrokenDPSGD):
    """Broken: DP-SGD that adds the clipped gradients to the mean gradient of the ordinary backward pass.

        S_t = raw mean gradient + sum of clipped gradients + N(0, (noise_multiplier * clip_norm)^2 I)

    A gradient of norm G moves the sum by clip_norm + G / B, without limit; the exact curve is that of the
    worst-case pair, G = 20 clip norms.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by. Default: B = 4.

    Example:
        >>> broken = RawMeanMixedIn()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 7.67)
    """

    cause = (
        "Clipped gradients are accumulated in the buffer that the backward pass has filled, and that is never cleared."
    )
    source = "dayu11/Differentially-Private-Deep-Learning, issue 7 (reported; not confirmed by its authors)."

    sampling: Sampling | str = ALL_BY_FOUR

    trainer_class: ClassVar[type[Trainer]] = _RawMeanMixedIn

    def worst_case(self) -> Neighbours:
        """Return one gradient of 20 clip norms, and no other record."""
        return self._pair(UNBOUNDED_NORM)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP((1 + 20 / B) sqrt(steps) / noise_multiplier)` for full batches; twice if replace_one."""
        return self._gaussian(self.reach * (1.0 + UNBOUNDED_NORM / self.batch))


# --- the count of adaptive clipping -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountNotAccounted(Broken, AdaptiveClippingDPSGD):
    """Broken: DP-SGD with adaptive clipping that does not account for the noisy count of unclipped gradients.

        S_t = sum of clipped gradients + N(0, (noise_multiplier C_t)^2 I),   with the claim of S_t alone

    Sum and count together have the noise multiplier (noise_multiplier^-2 + (2 count_noise)^-2)^(-1/2).

    Args:
        all: as for `AdaptiveClippingDPSGD`. Defaults: logistic regression of 4 features, 4 full batches, noise
            multiplier 4, count noise 2.2, all noisy sums are observed.

    Example:
        >>> broken = CountNotAccounted()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.99, 2.8)
    """

    cause = "The noise of the sum is calibrated to the whole budget, and the count is released in addition."
    source = "meta-pytorch/opacus issue 807; Andrew, Thakkar, McMahan, Ramaswamy (2021), Theorem 1."

    correct_class = AdaptiveClippingDPSGD

    model: Model | str = REGRESSION
    _: KW_ONLY
    steps: int = 4
    noise_multiplier: float = 4.0
    count_noise: float = 2.2
    sampling: Sampling | str = ALL_BY_FIVE
    view: str = "noisy_gradients"

    @property
    def sum_noise(self) -> float:
        """Standard deviation of the noise on the sum / clipping norm; that of the claim, which is the bug."""
        return self.noise_multiplier

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of sum and count together for full batches, if both are observed; else None."""
        if not (self.shows_all and isinstance(self.scheme, FullBatch) and self.noise_multiplier):
            return None
        ratio = math.hypot(1.0 / self.noise_multiplier, 0.5 / self.count_noise)
        return GaussianDP(math.sqrt(self.steps) * ratio, relation=self.relation)
