"""Intentionally broken DP-SGD: the noise, independent or correlated, and its accounting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....accounting import GaussianDP
from ....core import Floats, Guarantee, LogDensity
from ...base import AnyFloats, TrainingData
from ...models.base import Model
from ..mechanism import DPSGD
from ..noise import BandedNoise, BufferedToeplitzNoise, CorrelatedNoise, StepNoise, TreeNoise
from ..optimizers import Adam
from ..sampling import CyclicBatches, Sampling
from ..training import Trainer
from .base import PERCEPTRON, BrokenDPSGD, MiscountedTrainer, standard_log_density, where_zero

ONE_EPOCH_OF_32 = CyclicBatches(batch_size=1, n_records=32)
"""Batches of `TreeDepthIgnored`; as for the next three, a default of a broken trainer."""
NODES, BANDS_OF_32, SERIES = TreeNoise(estimate="complete"), BandedNoise(32), BufferedToeplitzNoise()


# --- noise of the mean on the sum, or vice versa ----------------------------------------------------------------------


class _NoiseOverBatch(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add the noise of the mean to the sum."""
        batch = self.recipe.sampling.divisor or len(self.data)
        total *= batch
        super().add_noise(total, rng)
        total /= batch


class _NoiseTimesBatch(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
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

    The law is that of `DPSGD` with the noise multiplier divided by the batch size B: with full batches mu is B times
    the claimed one. Tramer et al. found this bug in a published defence: a claim of 0.21, and a lower bound of 2.79.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    Example:
        >>> broken = NoiseDividedTwice()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 14.4)
    """

    cause = "Noise for the sensitivity of the mean, clip_norm / B, is added to the sum, and then divided by B as well."
    source = 'Tramer, Terzis, Steinke, Song, Jagielski, Carlini (2022), "Debugging differential privacy".'

    trainer_class: ClassVar[type[Trainer]] = _NoiseOverBatch

    @property
    def _factor(self) -> float:
        return 1.0 / self.batch


@dataclass(frozen=True, eq=False)
class NoiseOfSumOnMean(_RescaledNoise):
    """Broken: DP-SGD that adds the noise of the sum to the mean: private, but useless.

        S_t / B = (sum of clipped gradients) / B + N(0, (noise_multiplier * clip_norm)^2 I)

    The law is that of `DPSGD` with the noise multiplier times B. The claim holds, with far more noise than necessary:
    an audit must not flag it, and the bound stays far below the claim. A released version of jax-privacy had this bug.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by.

    Example:
        >>> broken = NoiseOfSumOnMean()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 0.08)
    """

    cause = "Noise for sensitivity clip_norm is added after the division by the batch size B."
    source = "google-deepmind/jax_privacy, issue 383 and pull request 395."

    trainer_class: ClassVar[type[Trainer]] = _NoiseTimesBatch

    @property
    def _factor(self) -> float:
        return self.batch


class _NoiseOfNodes(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise that is calibrated to one node."""
        scale = _column_norm(self.recipe.noise, len(self.recipe.rates))
        total *= scale
        super().add_noise(total, rng)
        total /= scale


@lru_cache(maxsize=64)
def _column_norm(noise: StepNoise, steps: int) -> float:
    """Return the largest column norm of the matrix of `noise` before it is divided by it."""
    matrix = noise.matrix(steps) if isinstance(noise, CorrelatedNoise) else np.eye(steps)
    return float(np.linalg.norm(matrix, axis=0).max())


@dataclass(frozen=True, eq=False)
class TreeDepthIgnored(_RescaledNoise):
    """Broken: DP-SGD with tree noise of which every node is calibrated as if a step were in one node only.

    A step is in one node of each level, floor(log2 steps) + 1 nodes in all, and noise of deviation noise_multiplier *
    clip_norm on each of them has mu = sqrt(levels) / noise_multiplier for one participation, in place of 1 /
    noise_multiplier.

    Args:
        all: as for `DPSGD`. Defaults: 32 steps, tree noise with complete estimates, cyclic batches of 1 of 32 records,
            zero_out, noise multiplier 3.7302.

    Example:
        >>> broken = TreeDepthIgnored()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.71)
    """

    cause = "The noise of each node is that of one sum; the nodes that contain a step are not composed."
    source = "Constructed; the composition over levels is Theorem 3.5 of Chan, Shi, Song (2011)."

    steps: int = 32
    noise_multiplier: float = 3.7302
    noise: StepNoise | str = NODES
    sampling: Sampling | str = ONE_EPOCH_OF_32

    trainer_class: ClassVar[type[Trainer]] = _NoiseOfNodes

    @property
    def _factor(self) -> float:
        return 1.0 / _column_norm(self.step_noise, self.steps)


# --- noise that is not independent ------------------------------------------------------------------------------------

ONE_OF_TWO = CyclicBatches(batch_size=1, n_records=2)


class _OneNoise(Trainer):
    def initial(self, n_runs: int, rng: np.random.Generator) -> AnyFloats:
        """Return the initial parameters, with the noise of earlier runs discarded."""
        self.noise: AnyFloats | None = None
        return super().initial(n_runs, rng)

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add the noise of the first step in every step."""
        if self.noise is None:
            self.noise = np.zeros_like(total)
            super().add_noise(self.noise, rng)
        total += self.noise


@dataclass(frozen=True, eq=False)
class NoiseReusedInSteps(BrokenDPSGD):
    """Broken: DP-SGD that draws its noise once and adds it in every step.

    Sums of two steps differ exactly by their gradients. With cyclic batches of one record, where the record is in
    every second step, the differences distinguish the sides with certainty: epsilon is infinite at any delta < 1.
    (The last iterate has `steps` times the noise, more than claimed: only an observer of the steps detects the
    bug.)

    Args:
        all: as for `DPSGD`. Defaults: 4 steps, cyclic batches of 1 of 2 records, zero_out.

    Example:
        >>> broken = NoiseReusedInSteps()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "A noise buffer is filled before the loop, or a generator is seeded again in each step."
    source = (
        "The most common bug of hand-written noise in JAX programs, where a key that is not split gives the same "
        "numbers again."
    )

    noise_multiplier: float = 5.27
    sampling: Sampling | str = ONE_OF_TWO

    trainer_class: ClassVar[type[Trainer]] = _OneNoise

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak if batches are cyclic, so that some steps are without the record."""
        scheme = self.scheme
        if self.steps == 1 or not isinstance(scheme, CyclicBatches):
            return None
        return self._revealed() if (scheme.n_records or 0) > scheme.batch_size else None

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        return where_zero(np.diff(noise, axis=1), super()._noise_log_density(noise[:, :1]))


class _OneNoiseForLayers(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add a prefix of the same noise vector to each layer."""
        layers = [layer.span for layer in self.model.layers]
        stream = np.zeros((len(total), max(span.stop - span.start for span in layers)), dtype=self.dtype)
        super().add_noise(stream, rng)
        for span in layers:
            total[:, span] += stream[:, : span.stop - span.start]


@dataclass(frozen=True, eq=False)
class NoiseReusedInLayers(BrokenDPSGD):
    """Broken: DP-SGD that adds the same noise to every layer.

    Each noisy sum has the correct marginal distribution, so that a test of the noise in one layer does not detect the
    bug. The noise of the first weights of two layers is the same number, and cancels out of their difference: epsilon
    is infinite at any delta < 1.

    Args:
        all: as for `DPSGD`, with a model of two layers or more. Default: a perceptron of 4 inputs, 3 hidden units and 2
            outputs. `directions` None: the first weight of every layer.

    Example:
        >>> broken = NoiseReusedInLayers()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "The generator is seeded again, or its key is reused, for each array of parameters."
    source = NoiseReusedInSteps.source

    model: Model | str = PERCEPTRON

    trainer_class: ClassVar[type[Trainer]] = _OneNoiseForLayers

    @cached_property
    def seen_directions(self) -> Floats:
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

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        return where_zero(np.diff(noise, axis=2), standard_log_density(noise[:, :, :1] / self.noise_multiplier))


class _SeededNoise(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise from a generator with the same seed in each call."""
        noise = np.zeros((1, total.shape[1]), dtype=self.dtype)
        super().add_noise(noise, np.random.default_rng(0))
        total += noise


@dataclass(frozen=True, eq=False)
class NoiseOfFixedSeed(BrokenDPSGD):
    """Broken: DP-SGD whose noise comes from a generator with a fixed seed.

    An adversary who knows the program subtracts the noise: the release is a function of the data, and epsilon is
    infinite at any delta < 1.

    Example:
        >>> broken = NoiseOfFixedSeed()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "A seed that was set for reproducible tests is still set in production."
    source = 'Garfinkel, Leclerc (2020), "Randomness concerns when deploying differential privacy".'

    trainer_class: ClassVar[type[Trainer]] = _SeededNoise

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak."""
        return self._revealed()

    def _centre(self, data: TrainingData) -> AnyFloats:
        return np.asarray(self.release(data, 1, np.random.default_rng(0)).values[0])

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        return where_zero(noise, np.zeros(len(noise)))


# --- quantities without noise -----------------------------------------------------------------------------------------


def _bias_positions(model: Model) -> NDArray[np.intp]:
    """Return the positions of the biases in the flat parameters."""
    ends = [np.arange(layer.start, layer.span.stop, layer.n_inputs) + layer.n_inputs - 1 for layer in model.layers]
    return np.concatenate([end for end, layer in zip(ends, model.layers, strict=True) if layer.bias])


class _WeightsOnly(Trainer):
    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise to the weights, none to the biases."""
        clean = total[:, _bias_positions(self.model)]
        super().add_noise(total, rng)
        total[:, _bias_positions(self.model)] = clean


@dataclass(frozen=True, eq=False)
class PartWithoutNoise(BrokenDPSGD):
    """Base class of trainers with no noise on some parameters, of which `canary` is one."""

    @property
    def law_is_known(self) -> bool:
        return super().law_is_known and self.directions is None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak."""
        return self._revealed()

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        return where_zero(noise, np.zeros(len(noise)))


@dataclass(frozen=True, eq=False)
class BiasWithoutNoise(PartWithoutNoise):
    """Broken: DP-SGD that adds noise to the weights, but not to the biases.

    A gradient along a bias is released without noise: epsilon is infinite at any delta < 1.

    Args:
        all: as for `DPSGD`, with a model that has biases. The canary is the bias of the first unit.

    Example:
        >>> broken = BiasWithoutNoise()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "The hook that adds noise does not cover the biases."
    source = "Constructed; a check of the noise of each parameter detects this kind of bug."

    trainer_class: ClassVar[type[Trainer]] = _WeightsOnly

    @cached_property
    def canary(self) -> Floats:
        """Unit vector at the bias of the first unit."""
        return np.asarray(np.eye(self.network.n_parameters)[_bias_positions(self.network)[0]])


class _NoiseAfterMomentum(Trainer):
    def initial(self, n_runs: int, rng: np.random.Generator) -> AnyFloats:
        """Return the initial parameters, with the velocity set to 0."""
        self.velocity: AnyFloats | float = 0.0
        return super().initial(n_runs, rng)

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add the momentum of the sums without noise, then noise."""
        total += self.recipe.momentum * self.velocity
        self.velocity = total.copy()
        super().add_noise(total, rng)

    def update(self, parameters: AnyFloats, velocity: AnyFloats | None, total: AnyFloats, rate: float) -> None:
        """Update the parameters without momentum, which the sum already includes."""
        super().update(parameters, None, total, rate)


@dataclass(frozen=True, eq=False)
class NoiseAfterMomentum(BrokenDPSGD):
    """Broken: DP-SGD with momentum of noise-free sums, to which the noise is added afterwards.

        v_t = momentum v_(t-1) + sum of clipped gradients,    update by v_t + N(0, (noise_multiplier clip_norm)^2 I)

    A record is in v_t with the weight (1 - momentum^t) / (1 - momentum), 1.0, 1.9, 2.71, 3.44 ... at momentum 0.9,
    and the noise is calibrated to a weight of 1. With full batches mu is the root of the sum of squared weights /
    noise_multiplier, in place of sqrt(steps) / noise_multiplier. Momentum of noisy sums is post-processing and does
    not change the guarantee.

    Args:
        all: as for `DPSGD`. Defaults: 16 steps, noise multiplier 14.92, momentum 0.9.

    Example:
        >>> broken = NoiseAfterMomentum()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 7.4)
    """

    cause = "The optimiser, with its momentum, is called before the noise is added."
    source = (
        "Sensitivity of a linear filter of the gradients: Denisov, McMahan, Rush, Smith, Thakurta (2022), Section 2."
    )

    steps: int = 16
    noise_multiplier: float = 14.92
    momentum: float = 0.9

    trainer_class: ClassVar[type[Trainer]] = _NoiseAfterMomentum

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(sum over t of ((1 - momentum^t) / (1 - momentum))^2) / noise_multiplier)`."""
        weights = (1.0 - self.momentum ** np.arange(1, self.steps + 1)) / (1.0 - self.momentum)
        return self._gaussian(self.reach * float(np.linalg.norm(weights)) / math.sqrt(self.steps))


class _NoiseAfterAdam(Trainer):
    def initial(self, n_runs: int, rng: np.random.Generator) -> AnyFloats:
        """Return the initial parameters, with the means of Adam set to 0."""
        self.adam = Adam().start()
        return super().initial(n_runs, rng)

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Replace the sum by clip_norm times the direction of Adam, and add noise."""
        total[:] = self.recipe.clip_norm * self.adam.direction(total)
        super().add_noise(total, rng)


@dataclass(frozen=True, eq=False)
class NoiseAfterAdam(BrokenDPSGD):
    """Broken: DP-Adam that adds the noise to the direction of Adam of noise-free sums.

        update by clip_norm * direction_t + N(0, (noise_multiplier clip_norm)^2 I)

    Adam scales every coordinate to about 1: a record, however small its gradient, moves all d parameters, and the norm
    of the direction by sqrt(d). With full batches mu is sqrt(d) times the claimed one on a record with equal
    coordinates. Adam of noisy sums is post-processing and does not change the guarantee.

    Args:
        all: as for `DPSGD`. The canary has equal coordinates.

    Example:
        >>> broken = NoiseAfterAdam()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.44)
    """

    cause = "The noise is added to the update that the optimiser returns, not to the gradient that it receives."
    source = "Constructed; Li, Tramer, Liang, Hashimoto (2022) describe the correct order for DP-Adam."

    trainer_class: ClassVar[type[Trainer]] = _NoiseAfterAdam

    @cached_property
    def canary(self) -> Floats:
        """Unit vector with equal coordinates."""
        return np.full(self.network.n_parameters, self.network.n_parameters**-0.5)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(steps d) / noise_multiplier)`, less the effect of the stability constant of Adam."""
        root = math.sqrt(self.network.n_parameters)
        coordinate = self.clip_norm / root
        return self._gaussian(self.reach * root * coordinate / (coordinate + Adam().stability))


# --- accounting of correlated noise -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ParticipationMiscounted(MiscountedTrainer):
    """Base class of trainers with correlated noise, accounted for as if participations did not overlap."""

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct for orthogonal columns of the strategy."""
        self.twin().guarantee()  # refuses the same options
        participation = self.scheme.participation(relation=self.relation, **self.scheme.own_rates())
        uses = int(participation.patterns(self.steps).sum(axis=1).max())
        return GaussianDP(math.sqrt(self._counted(uses)) * self.reach / self.noise_multiplier, self.relation)

    def _counted(self, uses: int) -> int:
        """Return the number of participations that are accounted for, of `uses`."""
        raise NotImplementedError

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()


@dataclass(frozen=True, eq=False)
class BandedOverlapIgnored(_ParticipationMiscounted):
    """Broken: DP-SGD with banded noise, with the claim of records that take part at least `bands` steps apart.

    The claim is mu = sqrt(k) / noise_multiplier for k participations. It holds if the columns of the strategy are
    orthogonal, but a record of cyclic batches returns after fewer steps than the strategy has bands: the shifts of its
    participations add up.

    Args:
        all: as for `DPSGD`. Defaults: 32 steps, 32 bands, cyclic batches of 1 of 2 records, zero_out, noise multiplier
            14.921.

    Example:
        >>> broken = BandedOverlapIgnored()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.4)
    """

    cause = "The bands are chosen for a separation of the participations that the data loader does not keep."
    source = (
        "Constructed; the separation is a condition of Theorem 2 of Choquette-Choo, Ganesh, McKenna, McMahan, Rush, "
        "Thakurta, Xu (2023)."
    )

    steps: int = 32
    noise_multiplier: float = 14.921
    noise: StepNoise | str = BANDS_OF_32
    sampling: Sampling | str = ONE_OF_TWO

    def _counted(self, uses: int) -> int:
        return uses


@dataclass(frozen=True, eq=False)
class ToeplitzUsedOnce(_ParticipationMiscounted):
    """Broken: DP-SGD with buffered Toeplitz noise, with the claim of a single participation for several epochs.

    The claim is mu = 1 / noise_multiplier, that of one column of the strategy. A record takes part once in each epoch,
    and the shift is the norm of the sum of these columns.

    Args:
        all: as for `DPSGD`. Defaults: 16 steps, optimised buffered Toeplitz noise, cyclic batches of 1 of 2 records,
            zero_out, noise multiplier 3.7302.

    Example:
        >>> broken = ToeplitzUsedOnce()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 5.6)
    """

    cause = "The sensitivity is that of streaming data, where each record arrives once; training has several epochs."
    source = "Constructed; sensitivity of several participations: McMahan, Xu, Zhang (2024), Section 3."

    steps: int = 16
    noise_multiplier: float = 3.7302
    noise: StepNoise | str = SERIES
    sampling: Sampling | str = ONE_OF_TWO

    def _counted(self, uses: int) -> int:
        return 1
