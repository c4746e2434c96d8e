"""Wrong on purpose: DP-SGD whose noise has the scale of another quantity, the mean or the sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.base import Dataset, Outputs
from mechanisms.broken.dp_sgd.base import BrokenDPSGD
from mechanisms.guarantees.base import Guarantee
from mechanisms.learning.base import Floats
from mechanisms.learning.dp_sgd.mechanism import DPSGD
from mechanisms.learning.dp_sgd.training import Trainer


class _NoiseOverBatch(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Noise of the mean, on the sum."""
        batch = self.recipe.sampling.divisor or len(self.data)
        total *= batch
        super().add_noise(total, rng)
        total /= batch


class _NoiseTimesBatch(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Noise of the sum, on the mean."""
        batch = self.recipe.sampling.divisor or len(self.data)
        total /= batch
        super().add_noise(total, rng)
        total *= batch


@dataclass(frozen=True, eq=False)
class _RescaledNoise(BrokenDPSGD):
    """In law a correct trainer with another noise multiplier."""

    def equivalent(self) -> DPSGD:
        """The correct trainer with the noise that there really is."""
        return replace(self.twin(), noise_multiplier=self.noise_multiplier * self._factor)

    def truth(self) -> Guarantee | None:
        """What is right for the noise that there really is."""
        return self.equivalent().truth()

    @property
    def law_is_known(self) -> bool:
        return self.view == "noisy_gradients"

    @property
    def _factor(self) -> float:
        raise NotImplementedError

    def _log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        return self.equivalent()._log_density(outputs, dataset)


@dataclass(frozen=True, eq=False)
class NoiseDividedTwice(_RescaledNoise):
    """Broken: DP-SGD whose noise is divided by the batch size once too often.

        S_t = sum of clipped gradients + N(0, (noise_multiplier * clip_norm / B)^2 I)

    The slip: the sensitivity of the mean, clip_norm / B, is used for noise that is added to the sum, which is then
    divided by B as well. In law it is `DPSGD` with the noise multiplier divided by the batch size B: with full batches
    mu is B times the claimed one. Tramer et al. found a published defence to be this: 0.21 claimed, more than 2.79
    found.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    References:
        Tramer, Terzis, Steinke, Song, Jagielski, Carlini (2022), "Debugging differential privacy".

    Example:
        >>> broken = NoiseDividedTwice()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.truth().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    trainer_class: ClassVar[type[Trainer]] = _NoiseOverBatch

    @property
    def _factor(self) -> float:
        return 1.0 / self.batch


@dataclass(frozen=True, eq=False)
class NoiseOfSumOnMean(_RescaledNoise):
    """Broken: DP-SGD that adds the noise of the sum to the mean: private, and useless.

        S_t / B = (sum of clipped gradients) / B + N(0, (noise_multiplier * clip_norm)^2 I)

    The slip: noise for sensitivity clip_norm is added after the division by the batch size B. In law it is `DPSGD` with
    the noise multiplier times B. The claim holds, with far more noise than it needs: an audit must not flag it, and
    the bound stays far below the claim. It was in a released version of jax-privacy.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    References:
        google-deepmind/jax_privacy, issue 383 and pull request 395.

    Example:
        >>> broken = NoiseOfSumOnMean()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.truth().epsilon(1e-5), 2)
        (1.0, 0.08)
    """

    trainer_class: ClassVar[type[Trainer]] = _NoiseTimesBatch

    @property
    def _factor(self) -> float:
        return self.batch
