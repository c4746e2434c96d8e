"""Intentionally broken DP-SGD: some released quantities lack their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.guarantee import Guarantee
from ...learning.base import Floats
from ...learning.dp_sgd.training import Trainer
from ...learning.models.base import Model
from .base import BrokenDPSGD, where_zero


def biases(model: Model) -> NDArray[np.intp]:
    """Return the positions of the biases in the flat parameters."""
    ends = [np.arange(layer.start, layer.span.stop, layer.n_inputs) + layer.n_inputs - 1 for layer in model.layers]
    return np.concatenate([end for end, layer in zip(ends, model.layers, strict=True) if layer.bias])


class _WeightsOnly(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add noise to the weights, none to the biases."""
        clean = total[:, biases(self.model)]
        super().add_noise(total, rng)
        total[:, biases(self.model)] = clean


@dataclass(frozen=True, eq=False)
class BiasWithoutNoise(BrokenDPSGD):
    """Broken: DP-SGD that adds noise to the weights, but not to the biases.

    Bug: the hook that adds noise does not cover the biases. A gradient along a bias is released without noise: epsilon
    is infinite at any delta < 1.

    Args:
        all: as for `DPSGD`, with a model that has biases. The canary is the bias of the first unit.

    References:
        None; a check of the noise of each parameter detects this kind of bug.

    Example:
        >>> broken = BiasWithoutNoise()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    trainer_class: ClassVar[type[Trainer]] = _WeightsOnly

    @cached_property
    def canary(self) -> NDArray[np.float64]:
        """Unit vector at the bias of the first unit."""
        return np.asarray(np.eye(self.network.n_parameters)[biases(self.network)[0]])

    @property
    def law_is_known(self) -> bool:
        return super().law_is_known and self.directions is None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak."""
        return self._revealed()

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        return where_zero(noise, np.zeros(len(noise)))


class _NoiseAfterMomentum(Trainer):
    def initial(self, n_runs: int, rng: np.random.Generator) -> Floats:
        """Return the initial parameters, with the velocity set to 0."""
        self.velocity: Floats | float = 0.0
        return super().initial(n_runs, rng)

    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add the momentum of the sums without noise, then noise."""
        total += self.recipe.momentum * self.velocity
        self.velocity = total.copy()
        super().add_noise(total, rng)

    def update(self, parameters: Floats, velocity: Floats | None, total: Floats, rate: float) -> None:
        """Update the parameters without momentum, which the sum already includes."""
        super().update(parameters, None, total, rate)


@dataclass(frozen=True, eq=False)
class NoiseAfterMomentum(BrokenDPSGD):
    """Broken: DP-SGD with momentum of noise-free sums, to which the noise is added afterwards.

        v_t = momentum v_(t-1) + sum of clipped gradients,    update by v_t + N(0, (noise_multiplier clip_norm)^2 I)

    Bug: the optimiser, with its momentum, is called before the noise is added. A record is in v_t with the weight (1 -
    momentum^t) / (1 - momentum), 1.0, 1.9, 2.71, 3.44 ... at momentum 0.9, and the noise is calibrated to a weight of
    1. With full batches mu is the root of the sum of squared weights / noise_multiplier, in place of sqrt(steps) /
    noise_multiplier. Momentum of noisy sums is post-processing and does not change the guarantee.

    Args:
        all: as for `DPSGD`. Defaults: 16 steps, noise multiplier 14.92, momentum 0.9.

    References:
        Sensitivity of a linear filter of the gradients: Denisov, McMahan, Rush, Smith, Thakurta (2022), Section 2.

    Example:
        >>> broken = NoiseAfterMomentum()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 7.4)
    """

    steps: int = 16
    noise_multiplier: float = 14.92
    momentum: float = 0.9

    trainer_class: ClassVar[type[Trainer]] = _NoiseAfterMomentum

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(sum over t of ((1 - momentum^t) / (1 - momentum))^2) / noise_multiplier)`."""
        weights = (1.0 - self.momentum ** np.arange(1, self.steps + 1)) / (1.0 - self.momentum)
        return self._gaussian(self.reach * float(np.linalg.norm(weights)) / math.sqrt(self.steps))
