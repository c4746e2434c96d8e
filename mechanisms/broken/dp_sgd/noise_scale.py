"""Intentionally broken noise scale in DP-SGD: the noise of the mean is added to the sum, or vice versa."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.base import LogDensity
from ...core.guarantee import Guarantee
from ...learning.base import Floats
from ...learning.dp_sgd.mechanism import DPSGD
from ...learning.dp_sgd.training import Trainer
from .base import BrokenDPSGD


class _NoiseOverBatch(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add the noise of the mean to the sum."""
        batch = self.recipe.sampling.divisor or len(self.data)
        total *= batch
        super().add_noise(total, rng)
        total /= batch


class _NoiseTimesBatch(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add the noise of the sum to the mean."""
        batch = self.recipe.sampling.divisor or len(self.data)
        total /= batch
        super().add_noise(total, rng)
        total *= batch


@dataclass(frozen=True, eq=False)
class _RescaledNoise(BrokenDPSGD):
    """Base class of trainers with the law of a correct trainer of another noise multiplier."""

    def equivalent(self) -> DPSGD:
        """Return the correct trainer with the actual noise."""
        return replace(self.twin(), noise_multiplier=self.noise_multiplier * self._factor)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the actual noise."""
        return self.equivalent().exact_guarantee()

    def output_law(self) -> LogDensity | None:
        """Return the output law of the correct trainer with the actual noise."""
        return self.equivalent().output_law()

    @property
    def _factor(self) -> float:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NoiseDividedTwice(_RescaledNoise):
    """Broken: DP-SGD whose noise is divided by the batch size twice.

        S_t = sum of clipped gradients + N(0, (noise_multiplier * clip_norm / B)^2 I)

    Bug: the sensitivity of the mean, clip_norm / B, is used for noise that is added to the sum, which is then also
    divided by B. The law is that of `DPSGD` with the noise multiplier divided by the batch size B: with full batches mu
    is B times the claimed one. Tramer et al. found this bug in a published defence: a claim of 0.21, and a lower bound
    of 2.79.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    References:
        Tramer, Terzis, Steinke, Song, Jagielski, Carlini (2022), "Debugging differential privacy".

    Example:
        >>> broken = NoiseDividedTwice()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    trainer_class: ClassVar[type[Trainer]] = _NoiseOverBatch

    @property
    def _factor(self) -> float:
        return 1.0 / self.batch


@dataclass(frozen=True, eq=False)
class NoiseOfSumOnMean(_RescaledNoise):
    """Broken: DP-SGD that adds the noise of the sum to the mean: private, but useless.

        S_t / B = (sum of clipped gradients) / B + N(0, (noise_multiplier * clip_norm)^2 I)

    Bug: noise for sensitivity clip_norm is added after the division by the batch size B. The law is that of `DPSGD`
    with the noise multiplier times B. The claim holds, with far more noise than necessary: an audit must not flag it,
    and the bound stays far below the claim. A released version of jax-privacy had this bug.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    References:
        google-deepmind/jax_privacy, issue 383 and pull request 395.

    Example:
        >>> broken = NoiseOfSumOnMean()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 0.08)
    """

    trainer_class: ClassVar[type[Trainer]] = _NoiseTimesBatch

    @property
    def _factor(self) -> float:
        return self.batch
