"""Intentionally broken DP-SGD: base class, noise and accounting.

Clipping and divisors are in `dp_sgd_clipping`, sampling is in `dp_sgd_sampling`, what is done with a batch in
`dp_sgd_batches`.

A broken trainer is `DPSGD` with one small method of its `Trainer` replaced, or with another claim. All options are
those of `DPSGD`, and all have defaults under which the bug shows: a claim of about epsilon = 1 at delta = 1e-5. Its
correct twin is `twin()`, the same options without the bug.

    worst_case        gradient records along one direction, `canary`, orthogonal to all other records
    view              the noisy sum of every step along it, in units of clip_norm (view "noisy_gradients")
    output_law        observations of a run without noise, plus noise: exact, so that "auto" uses the likelihood ratio
    exact_guarantee   the exact curve of the pair

An audit with 1,000 runs a side takes less than a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..accounting import GaussianDP
from ..core.base import Dataset, LogDensity, Neighbours, Outputs
from ..core.constraints import PositiveInt
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..learning.base import UNSEEN, Floats, TrainingData
from ..learning.dp_sgd.mechanism import DPSGD
from ..learning.dp_sgd.noise import BandedNoise, BufferedToeplitzNoise, CorrelatedNoise, StepNoise, TreeNoise
from ..learning.dp_sgd.optimizers import Adam
from ..learning.dp_sgd.sampling import CyclicBatches, FullBatch, Sampling
from ..learning.dp_sgd.training import Batch, Trainer
from ..learning.models import LogisticRegression, MultiLayerPerceptron
from ..learning.models.base import Model
from .base import Broken, certain_leak

REGRESSION = LogisticRegression(4)
PERCEPTRON = MultiLayerPerceptron(4, hidden=(3,), n_outputs=2)
ALL_BY_TEN = FullBatch(expected_batch_size=10)
"""Defaults of the broken trainers."""
ONE_EPOCH_OF_32 = CyclicBatches(batch_size=1, n_records=32)
"""Batches of `TreeDepthIgnored`; as for the next three, a default of a broken trainer."""
NODES, BANDS_OF_32, SERIES = TreeNoise(estimate="complete"), BandedNoise(32), BufferedToeplitzNoise()
LARGE = 20.0
"""Norm of a gradient record, in clip norms, where it is not bounded: epsilon grows with it without limit."""
ROUNDING = 1e-4
"""Tolerance below which two observations are equal."""


@dataclass(frozen=True, eq=False)
class BrokenDPSGD(Broken, DPSGD):
    """Broken: base class of the broken trainers, itself correct.

    Args:
        all: as for `DPSGD`, with other defaults: logistic regression of 4 features, 4 full batches, noise multiplier
            7.46, so that the claim is epsilon = 1 at delta = 1e-5, and all noisy sums are observed.
    """

    correct_class = DPSGD

    model: Model | str = REGRESSION
    _: KW_ONLY
    steps: int = 4
    noise_multiplier: float = 7.46
    sampling: Sampling | str = ALL_BY_TEN
    view: str = "noisy_gradients"

    def twin(self) -> DPSGD:
        """Return the correct trainer with these options."""
        correct: DPSGD = super().twin()
        return correct

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None where it is not known."""
        return None

    @property
    def law_is_known(self) -> bool:
        """True if the law of the observations is known: the same batches in every run, and independent noise."""
        fixed = self.scheme.same_batches and self.step_noise.independent
        return self.view == "noisy_gradients" and fixed and self.noise_multiplier > 0.0

    def output_law(self) -> LogDensity | None:
        """Return the law of the noise around the observations of a run without noise, where `law_is_known`."""
        return _NoiseAroundCentre(self) if self.law_is_known else None

    @property
    def batch(self) -> float:
        """Public divisor of the sum of a batch; `ParameterError` if there is none."""
        if self.scheme.divisor is None:
            raise ParameterError("a broken trainer needs a public number to divide updates by. Give batch_size.")
        return self.scheme.divisor

    @property
    def reach(self) -> float:
        """Distance between the sums of a correct trainer on `worst_case()`, in clip norms."""
        return 2.0 if self.relation is Relation.REPLACE_ONE else 1.0

    def _requires(self, relation: Relation, why: str) -> None:
        """Raise `ParameterError` for another relation, and say why."""
        if self.relation is not relation:
            raise ParameterError(
                f"relation is {self.relation.value!r}, {why}. Choose {relation.value!r}.", argument="relation"
            )

    def _requires_independent_noise(self) -> None:
        """Raise `ParameterError` for noise that is correlated between steps."""
        if not self.step_noise.independent:
            raise ParameterError(
                f"noise must be 'independent', but is {self.noise!r}: the bug is in the batches, and its curve is "
                "known for independent noise. Use the default, or DPSGD.",
                argument="noise",
            )

    # --- for the trainers ---------------------------------------------------------------------------------------------

    def _pair(self, record: float, *others: float) -> Neighbours:
        """Return gradients along `canary`, in clip norms: `others` on both sides, and `record` on side 1.

        Side 0 has no record in its place (add_remove), or 0 (zero_out), or the opposite (replace_one).
        """
        absent = {Relation.ADD_REMOVE: [], Relation.ZERO_OUT: [0.0], Relation.REPLACE_ONE: [-record]}[self.relation]
        return Neighbours(self._along([*absent, *others]), self._along([record, *others]), self.relation)

    def _along(self, norms: Sequence[float]) -> TrainingData:
        return self._only_gradients(self.clip_norm * np.outer(norms, self.canary))

    def _gaussian(self, distance: float) -> Guarantee | None:
        """Return the curve of full batches whose sums differ by `distance` clip norms in every step, if observed."""
        if not (self.law_is_known and isinstance(self.scheme, FullBatch) and self.directions is None):
            return None
        return GaussianDP(distance * math.sqrt(self.steps) / self.noise_multiplier, relation=self.relation)

    def _revealed(self) -> Guarantee | None:
        """Return the curve of outputs that distinguish the sides with certainty.

        None if the law of the observations is unknown, or if all observed directions are orthogonal to the canary.
        """
        observed = bool(np.abs(self.seen_directions @ self.canary).max() > UNSEEN)
        return certain_leak(self.relation) if self.law_is_known and observed else None

    def _centre(self, data: TrainingData) -> Floats:
        """Return the observations without noise, `(steps, m)`."""
        noiseless = replace(self, noise_multiplier=0.0)
        return np.asarray(noiseless.release(data, 1, np.random.default_rng(0)).values[0])

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        """Return the log density of the noise `(size, steps, m)` in the observations, up to a constant.

        The noise is independent Gaussian; directions that are not orthogonal are whitened.
        """
        whitened = noise @ np.linalg.inv(np.linalg.cholesky(self.seen_directions @ self.seen_directions.T)).T
        density: NDArray[np.float64] = standard_log_density(whitened / self.noise_multiplier)
        return density


@dataclass(frozen=True, eq=False)
class _NoiseAroundCentre:
    """Law of the observations of `broken`, up to a constant."""

    broken: BrokenDPSGD

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of observations, `(size,)`."""
        centre = self.broken._centre(TrainingData.of(dataset))
        return self.broken._noise_log_density(outputs.values - centre)


class Unclipped(Trainer):
    """Trainer without clipping of the gradients, the base of trainers that clip another quantity."""

    def clip(self, found: list[Floats], deltas: list[Floats], batch: Batch) -> None:
        """Mask the records that are not in the batch, without clipping."""
        if batch.included is not None:
            for delta in deltas:
                delta *= batch.included[:, None, :]

    def _clipped_gradient_records(self) -> Floats | None:
        return None if self.data.gradients is None else self.data.gradients.astype(self.dtype)


def standard_log_density(values: Floats) -> NDArray[np.float64]:
    """Return the log density of independent standard normals `(size, ...)`, one number per row, up to a constant."""
    rows = values.reshape(len(values), -1).astype(np.float64, copy=False)
    return np.asarray(-0.5 * np.einsum("ij,ij->i", rows, rows))


def where_zero(differences: Floats, log_density: Floats) -> NDArray[np.float64]:
    """Return `log_density` `(size,)` where all `differences` of a row are 0, and -inf elsewhere."""
    rows = np.abs(differences).reshape(len(differences), -1)
    return np.where(rows.max(axis=1, initial=0.0) < ROUNDING, log_density, -np.inf)


# --- noise of the mean on the sum, or vice versa ----------------------------------------------------------------------


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
    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
        """Add noise that is calibrated to one node."""
        scale = _column_norm(self.recipe.noise, len(self.recipe.rates))
        total *= scale
        super().add_noise(total, rng)
        total /= scale


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

    An adversary who knows the program subtracts the noise: the release is a function of the data, and epsilon is
    infinite at any delta < 1.

    Args:
        all: as for `DPSGD`.

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

    def _centre(self, data: TrainingData) -> Floats:
        return np.asarray(self.release(data, 1, np.random.default_rng(0)).values[0])

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
        return where_zero(noise, np.zeros(len(noise)))


# --- quantities without noise -----------------------------------------------------------------------------------------


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
class PartWithoutNoise(BrokenDPSGD):
    """Base class of trainers with no noise on some parameters, of which `canary` is one."""

    @property
    def law_is_known(self) -> bool:
        return super().law_is_known and self.directions is None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak."""
        return self._revealed()

    def _noise_log_density(self, noise: Floats) -> NDArray[np.float64]:
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
    def canary(self) -> NDArray[np.float64]:
        """Unit vector at the bias of the first unit."""
        return np.asarray(np.eye(self.network.n_parameters)[biases(self.network)[0]])


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
    def initial(self, n_runs: int, rng: np.random.Generator) -> Floats:
        """Return the initial parameters, with the means of Adam set to 0."""
        self.adam = Adam().start()
        return super().initial(n_runs, rng)

    def add_noise(self, total: Floats, rng: np.random.Generator) -> None:
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
    def canary(self) -> NDArray[np.float64]:
        """Unit vector with equal coordinates."""
        return np.full(self.network.n_parameters, self.network.n_parameters**-0.5)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(steps d) / noise_multiplier)`, less the effect of the stability constant of Adam."""
        root = math.sqrt(self.network.n_parameters)
        coordinate = self.clip_norm / root
        return self._gaussian(self.reach * root * coordinate / (coordinate + Adam().stability))


# --- accounting of correctly trained models ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Miscounted(BrokenDPSGD):
    """Base class of trainers with the law of the correct trainer and another claim."""

    def output_law(self) -> LogDensity | None:
        """Return the output law of the correct trainer."""
        return self.twin().output_law()


@dataclass(frozen=True, eq=False)
class ReplacedCountedAsAdded(Miscounted):
    """Broken: DP-SGD on neighbours with one record replaced, with the claim for one record added.

    A replaced record moves the sum by 2 clip_norm, from one clipped gradient to its opposite. The claim is that of
    noise_multiplier, but half of it is correct: with full batches mu is twice the claimed one.

    Args:
        all: as for `DPSGD`, with the relation replace_one.

    Example:
        >>> broken = ReplacedCountedAsAdded()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 2.16)
    """

    cause = "The accountant takes the sensitivity of an added record, clip_norm, and the report the other relation."
    source = (
        "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md, on the neighbouring relation; "
        'Ponomareva et al. (2023), "How to dp-fy ML", on the factor 2.'
    )

    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires(Relation.REPLACE_ONE, "for which the claim is correct")

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if a replaced record moved the sum by clip_norm."""
        return replace(self.twin(), noise_multiplier=2.0 * self.noise_multiplier).guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()


@dataclass(frozen=True, eq=False)
class _ParticipationMiscounted(Miscounted):
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


@dataclass(frozen=True, eq=False)
class MicroStepsCounted(Miscounted):
    """Broken: DP-SGD with gradient accumulation in which every micro-step is counted as a step.

    A batch is processed in G parts that fit the memory. The claim holds, and is that of G times the steps: noise
    calibrated to it is too large (see `noise_counting_micro_steps`). An audit must not flag it, and the bound stays far
    below the claim.

    Args:
        micro_batches: G, number of parts of a batch, >= 1; 1 is correct.
        all others: as for `DPSGD`. Default: noise multiplier 29.84.

    Example:
        >>> broken = MicroStepsCounted()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 0.22)
    """

    cause = "The budget is composed over all micro-steps, but noise is added once for the whole batch."
    source = "google-deepmind/jax_privacy, issues 234, 267 and 288."

    noise_multiplier: float = 29.84
    micro_batches: PositiveInt = 16

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if each part were a step."""
        return replace(self.twin(), steps=self.steps * self.micro_batches).guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()
