"""Intentionally broken noise in DP-SGD: it is not independent, so that it cancels out.

Each noisy sum has the correct marginal distribution; the differences of sums have no noise. A test of the noise in one
step, one layer or one run at a time does not detect the bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.guarantee import Guarantee
from ...learning.base import Floats, TrainingData
from ...learning.dp_sgd.sampling import CyclicBatches, Sampling
from ...learning.dp_sgd.training import Trainer
from ...learning.models.base import Model
from .base import PERCEPTRON, BrokenDPSGD, standard_log_density, where_zero

ONE_OF_TWO = CyclicBatches(batch_size=1, n_records=2)


class _OneNoise(Trainer):
    def initial(self, n_runs: int, rng: np.random.Generator) -> Floats:
        """Return the initial parameters, with the noise of earlier runs discarded."""
        self.noise: Floats | None = None
        return super().initial(n_runs, rng)

    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add the noise of the first step in every step."""
        if self.noise is None:
            self.noise = np.zeros_like(total)
            super().add_noise(self.noise, rng)
        total += self.noise


@dataclass(frozen=True, eq=False)
class NoiseReusedInSteps(BrokenDPSGD):
    """Broken: DP-SGD that draws its noise once and adds it in every step.

    Bug: a noise buffer is filled before the loop, or a generator is seeded again in each step. Sums of two steps differ
    exactly by their gradients. With cyclic batches of one record, where the record is in every second step, the
    differences distinguish the sides with certainty: epsilon is infinite at any delta < 1. (The last iterate has
    `steps` times the noise, more than claimed: only an observer of the steps detects the bug.)

    Args:
        all: as for `DPSGD`. Defaults: 4 steps, cyclic batches of 1 of 2 records, zero_out.

    References:
        The most common bug of hand-written noise in JAX programs, where a key that is not split gives the same numbers
        again.

    Example:
        >>> broken = NoiseReusedInSteps()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    noise_multiplier: float = 5.27
    sampling: Sampling | str = ONE_OF_TWO

    trainer_class: ClassVar[type[Trainer]] = _OneNoise

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak if batches are cyclic, so that some steps are without the record."""
        scheme = self.scheme
        if self.steps == 1 or not isinstance(scheme, CyclicBatches):
            return None
        return self._revealed() if (scheme.n_records or 0) > scheme.batch_size else None

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        return where_zero(np.diff(noise, axis=1), super()._noise_log_density(noise[:, :1]))


class _OneNoiseForLayers(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add a prefix of the same noise vector to each layer."""
        layers = [layer.span for layer in self.model.layers]
        stream = np.zeros((len(total), max(span.stop - span.start for span in layers)), dtype=self.dtype)
        super().add_noise(stream, rng)
        for span in layers:
            total[:, span] += stream[:, : span.stop - span.start]


@dataclass(frozen=True, eq=False)
class NoiseReusedInLayers(BrokenDPSGD):
    """Broken: DP-SGD that adds the same noise to every layer.

    Bug: the generator is seeded again, or its key is reused, for each array of parameters. The noise of the first
    weights of two layers is the same number, and cancels out of their difference: epsilon is infinite at any
    delta < 1.

    Args:
        all: as for `DPSGD`, with a model of two layers or more. Default: a perceptron of 4 inputs, 3 hidden units and 2
            outputs. `directions` None: the first weight of every layer.

    References:
        As for `NoiseReusedInSteps`.

    Example:
        >>> broken = NoiseReusedInLayers()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    model: Model | str = PERCEPTRON

    trainer_class: ClassVar[type[Trainer]] = _OneNoiseForLayers

    @cached_property
    def seen_directions(self) -> NDArray[np.float64]:
        """Unit vectors at the first weight of every layer, unless `directions` is given."""
        if self.directions is not None:
            return np.asarray(self.directions)
        starts = [layer.start for layer in self.network.layers]
        return np.eye(self.network.n_parameters)[starts]

    @property
    def law_is_known(self) -> bool:
        return super().law_is_known and self.directions is None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak if another layer has the same noise without the record."""
        return self._revealed() if len(self.network.layers) > 1 and self.clipping != "per-layer" else None

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        return where_zero(np.diff(noise, axis=2), standard_log_density(noise[:, :, :1] / self.noise_multiplier))


class _SeededNoise(Trainer):
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add noise from a generator with the same seed in each call."""
        noise = np.zeros((1, total.shape[1]), dtype=self.dtype)
        super().add_noise(noise, np.random.default_rng(0))
        total += noise


@dataclass(frozen=True, eq=False)
class NoiseOfFixedSeed(BrokenDPSGD):
    """Broken: DP-SGD whose noise comes from a generator with a fixed seed.

    Bug: a seed that was set for reproducible tests is still set in production. An adversary who knows the program
    subtracts the noise: the release is a function of the data, and epsilon is infinite at any delta < 1.

    Args:
        all: as for `DPSGD`.

    References:
        Garfinkel, Leclerc (2020), "Randomness concerns when deploying differential privacy".

    Example:
        >>> broken = NoiseOfFixedSeed()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    trainer_class: ClassVar[type[Trainer]] = _SeededNoise

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak."""
        return self._revealed()

    def _centre(self, data: TrainingData) -> Floats:
        return np.asarray(self.release(data, 1, np.random.default_rng(0)).values[0])

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        return where_zero(noise, np.zeros(len(noise)))
