"""DP-SGD whose clipping norm follows a quantile of the gradient norms, by a noisy count of unclipped gradients."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ...core import Dataset, LogDensity, Neighbours, OpenUnit, Outputs, ParameterError, Positive, Relation, example
from ...core.arrays import Floats
from ..base import AnyFloats, TrainingData
from ..models.passes import squared_norms
from .mechanism import DPSGD
from .observation_law import Observations, log_density
from .training import Batch, Recipe, Trainer, forget_overflow

MAX_NORM_FACTOR = 1e6
"""Largest factor by which the clipping norm moves away from its first value, in either direction."""
ALWAYS_CLIPPED = 10.0 * MAX_NORM_FACTOR
"""Norm of the gradient of the worst-case pair, in first clipping norms: clipped in every step."""


class AdaptiveTrainer(Trainer):
    """Trainer with a clipping norm for each run.

    Args:
        sum_noise: standard deviation of the noise on the sum / clipping norm of the step.
        count_noise, quantile, clip_rate: as for `AdaptiveClippingDPSGD`.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: TrainingData,
        *,
        sum_noise: float,
        count_noise: float,
        quantile: float,
        clip_rate: float,
    ) -> None:
        super().__init__(recipe, data)
        self.sum_noise, self.count_noise = sum_noise, count_noise
        self.quantile, self.clip_rate = quantile, clip_rate
        self.next_norms = np.array([recipe.clip_norm])
        if self.gradients is not None:
            self.gradient_norms = np.linalg.norm(self.gradients.astype(np.float64), axis=1)

    def initial(self, n_runs: int, rng: np.random.Generator) -> AnyFloats:
        """Return the initial parameters, with all clipping norms set to the first one."""
        self.next_norms = np.full(n_runs, self.recipe.clip_norm, dtype=np.float64)
        return super().initial(n_runs, rng)

    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Write the sum of the clipped gradients into `out`, and set the count of unclipped minus clipped ones / 2."""
        self.norms = self.next_norms
        self.count: AnyFloats = np.zeros(1)
        if batch.gradients is None or self.gradients is None:
            super().clipped_sum(parameters, batch, out)
            return
        bounds = self.norms[:, None]
        scales = bounds / np.maximum(bounds, self.gradient_norms)
        clipped = Batch(batch.inputs, batch.inputs_squared, batch.targets, batch.included, batch.gradients * scales)
        super().clipped_sum(parameters, clipped, out)
        counted = self.gradient_norms > 0.0 if self.recipe.ignore_blank else np.ones(len(self.gradients), dtype=bool)
        signs = np.where(self.gradient_norms <= bounds, 0.5, -0.5) * counted
        self.count = self.count + (batch.gradients * signs).sum(axis=1)

    def clip(self, activations: list[AnyFloats], deltas: list[AnyFloats], batch: Batch) -> None:
        """Scale the gradient of each example to the clipping norm of its run, and count."""
        squared = squared_norms(self.model, batch.inputs_squared, activations, deltas)
        forget_overflow(squared, activations, deltas)
        lengths = np.sqrt(squared[0] if len(squared) == 1 else np.sum(squared, axis=0))
        bounds = self.norms[:, None]
        included = np.ones(lengths.shape) if batch.included is None else np.broadcast_to(batch.included, lengths.shape)
        self.count = self.count + (np.where(lengths <= bounds, 0.5, -0.5) * included).sum(axis=1)
        scales = (bounds / np.maximum(bounds, lengths) * included).astype(self.dtype)
        for delta in deltas:
            delta *= scales[:, None, :]

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise to the sum and to the count, and move the clipping norm by the noisy count."""
        if self.recipe.noise_multiplier:
            noise = rng.standard_normal(total.shape, dtype=np.float64)
            total += (self.sum_noise * self.norms[:, None] * noise).astype(self.dtype)
            self.count = self.count + self.count_noise * rng.standard_normal(len(total))
        divisor = self.recipe.sampling.divisor or len(self.data)
        unclipped = 0.5 + self.count / divisor
        first = self.recipe.clip_norm
        moved = self.norms * np.exp(np.clip(self.clip_rate * (self.quantile - unclipped), -700.0, 700.0))
        self.next_norms = np.clip(moved, first / MAX_NORM_FACTOR, first * MAX_NORM_FACTOR)

    def _clipped_gradient_records(self) -> AnyFloats | None:
        """Return the gradient records without clipping; those without a finite norm as zeros."""
        if not self.data.n_gradients:
            return None
        assert self.data.gradients is not None
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(np.einsum("np,np->n", self.data.gradients, self.data.gradients))
        return np.where(finite[:, None], self.data.gradients, 0.0).astype(self.dtype)


@dataclass(frozen=True, eq=False)
class AdaptiveClippingDPSGD(DPSGD):
    """DP-SGD whose clipping norm follows a quantile of the norms of the gradients.

        S_t     = sum over the batch of clip(gradient, C_t) + N(0, (z_sum C_t)^2 I)
        b_t     = 1/2 + (sum over the batch of (1{norm <= C_t} - 1/2) + N(0, count_noise^2)) / divisor
        C_(t+1) = C_t exp(-clip_rate (b_t - quantile)),    C_1 = clip_norm

    The noisy share b_t of unclipped gradients is released, and accounted for: a record changes the sum by C_t and the
    centred count by 1/2, so that with

        z_sum = (noise_multiplier^-2 - (2 count_noise)^-2)^(-1/2)

    sum and count together are one Gaussian mechanism with the noise multiplier `noise_multiplier`, which is that of the
    claim. C_t stays within a factor of 10^6 of clip_norm.

    Args:
        quantile: share of the gradients that C_t leaves unclipped, strictly between 0 and 1.
        clip_rate: learning rate of log C_t, > 0.
        count_noise: standard deviation of the noise on the count, > noise_multiplier / 2.
        all others: as for `DPSGD`, with flat clipping and independent noise. The view "noisy_gradients" shows for each
            step the inner products divided by C_t, in which the noise has standard deviation z_sum, and the noisy
            centred count.

    Raises:
        ParameterError: as for `DPSGD`; clipping that is not flat; correlated noise; a count_noise that leaves nothing
            for the sum.

    Guarantees:
        * The claim is that of `DPSGD` with this noise multiplier, and as tight, except under replace_one.

    References:
        Andrew, Thakkar, McMahan, Ramaswamy (2021), Algorithm 1 and Theorem 1.

    Example:
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> learner = AdaptiveClippingDPSGD(LogisticRegression(2), steps=4, noise_multiplier=4.0, count_noise=4.0,
        ...                                 sampling="full-batch", batch_size=10)
        >>> print(learner.guarantee(), round(learner.sum_noise, 3))
        GaussianDP(mu=0.5) 4.619
    """

    _example = example(count_noise=4.0)

    _: KW_ONLY
    quantile: OpenUnit = 0.5
    clip_rate: Positive = 0.2
    count_noise: Positive

    trainer_class: ClassVar[type[Trainer]] = AdaptiveTrainer

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clipping != "flat":
            raise ParameterError(
                f"clipping must be 'flat' for an adaptive clipping norm, but is {self.clipping!r}. Use the default.",
                argument="clipping",
            )
        if not self.step_noise.independent:
            raise ParameterError(
                f"noise must be 'independent' for an adaptive clipping norm, but is {self.noise!r}: noise that is "
                "correlated between steps needs the same clipping norm in all of them. Use the default, or DPSGD.",
                argument="noise",
            )
        if self.noise_multiplier >= 2.0 * self.count_noise:
            raise ParameterError(
                f"count_noise must be above noise_multiplier / 2 = {self.noise_multiplier / 2:g}, but is "
                f"{self.count_noise:g}: the count alone would use up the budget. Give more noise to the count.",
                argument=("count_noise", "noise_multiplier"),
            )

    @property
    def sum_noise(self) -> float:
        """Standard deviation of the noise on the sum / clipping norm of the step."""
        if not self.noise_multiplier:
            return 0.0
        return 1.0 / math.sqrt(self.noise_multiplier**-2 - (2.0 * self.count_noise) ** -2)

    @property
    def shows_all(self) -> bool:
        """True if the output determines sums and counts, and the worst-case pair differs in both as far as possible."""
        return self.view == "noisy_gradients" and self.directions is None and self.relation is not Relation.REPLACE_ONE

    def worst_case(self) -> Neighbours:
        """Return the pair of `DPSGD`, with gradients that are clipped in every step."""
        pair = super().worst_case()
        sides = (TrainingData.of(pair.side(side)).gradients for side in (0, 1))
        d0, d1 = (self._only_gradients(ALWAYS_CLIPPED * side) for side in sides if side is not None)
        return Neighbours(d0, d1, pair.relation)

    def output_law(self) -> LogDensity | None:
        """Return the law of the observations; None for the other views, whose law is unknown."""
        return AdaptiveLaw(self) if self.view == "noisy_gradients" else None

    def trainer_on(self, data: TrainingData) -> Trainer:
        return AdaptiveTrainer(
            self.recipe,
            data,
            sum_noise=self.sum_noise,
            count_noise=self.count_noise,
            quantile=self.quantile,
            clip_rate=self.clip_rate,
        )

    @property
    def _n_observed(self) -> int:
        return len(self.seen_directions) + 1

    def _observed(self, trainer: Trainer, along: AnyFloats) -> AnyFloats:
        assert isinstance(trainer, AdaptiveTrainer)
        in_norms = along * (self.clip_norm / trainer.norms)[:, None]
        return np.column_stack([in_norms, trainer.count])


@dataclass(frozen=True, eq=False)
class AdaptiveLaw:
    """Law of the observed sums and counts, as a `LogDensity`.

    Exact for gradient records that are clipped in every step, or in none, and are orthogonal to examples; other records
    are taken as at the first clipping norm, which ranks the outputs by a fixed rule.
    """

    learner: AdaptiveClippingDPSGD

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of observations, `(size,)`; raise `ParameterError` without noise."""
        learner, data = self.learner, TrainingData.of(dataset)
        known = Observations.of(learner.recipe, learner.seen_directions, data)
        m = len(learner.seen_directions)
        whiten = np.zeros((m + 1, m + 1))
        whiten[:m, :m] = known.whiten * (learner.noise_multiplier / learner.sum_noise)
        whiten[m, m] = 1.0 / learner.count_noise
        shifts = np.column_stack([known.shifts @ np.linalg.inv(known.whiten).T, self._counts(data)])
        return log_density(outputs.values, Observations(known.sampling, shifts @ whiten.T, whiten))

    def _counts(self, data: TrainingData) -> AnyFloats:
        """Return what each record adds to the centred count, `(n_records,)`; 0 for examples."""
        counts = np.zeros(len(data))
        if data.gradients is not None:
            lengths = np.linalg.norm(data.gradients, axis=1)
            signs = np.where(lengths <= self.learner.clip_norm, 0.5, -0.5)
            counts[data.n_examples :] = np.where((lengths == 0.0) & self.learner.recipe.ignore_blank, 0.0, signs)
        return counts
