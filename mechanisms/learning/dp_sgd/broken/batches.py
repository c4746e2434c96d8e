"""Intentionally broken batches in DP-SGD: normalised, logged, skipped or weighted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....accounting import ExactDP, GaussianDP, PrivacyLossDP
from ....core import Dataset, Guarantee, LogDensity, Neighbours, Outputs, ParameterError, PositiveInt, Relation
from ....core.arrays import Bools, Floats
from ...base import AnyFloats, TrainingData
from ...models import LogisticRegression
from ...models.base import Model
from ...models.passes import forward, squared_norms
from .. import DPSGD
from ..observation_law import Observations
from ..sampling import FullBatch, PoissonSampling, Sampling
from ..sampling.base import BatchDraw, Draws, Mask, gaussian_exponent
from ..sampling.poisson import sampled_sums_log_likelihood
from ..training import Batch, Trainer
from .base import ALL_BY_FIVE, OBSERVATION_TOLERANCE, UNBOUNDED_NORM, BrokenDPSGD, where_zero
from .divisors import batch_sizes

# --- layers across examples -------------------------------------------------------------------------------------------

WITHOUT_BIAS = LogisticRegression(4, bias=False)
VARIANCE_OFFSET = 1e-5
"""Number that batch normalisation adds to a variance."""


class _BatchNormalised(Trainer):
    def batch(self, draw: BatchDraw) -> Batch:
        """Return the batch with each feature scaled to mean 0 and variance 1 over its examples."""
        batch = super().batch(draw)
        if not batch.inputs.shape[-2]:
            return batch
        features = batch.inputs[..., : self.model.n_features]
        counts = np.ones(features.shape[:-1]) if batch.included is None else batch.included.astype(self.dtype)
        size = np.maximum(1.0, counts.sum(axis=-1))[..., None, None]
        centred = features - (counts[..., None] * features).sum(axis=-2, keepdims=True) / size
        variance = (counts[..., None] * centred**2).sum(axis=-2, keepdims=True) / size
        scaled = centred / np.sqrt(variance + VARIANCE_OFFSET)
        inputs = np.ones((*scaled.shape[:-1], batch.inputs.shape[-1]), dtype=self.dtype)
        inputs[..., : self.model.n_features] = scaled
        return replace(batch, inputs=inputs, inputs_squared=np.einsum("...i,...i->...", inputs, inputs))


@dataclass(frozen=True, eq=False)
class BatchNormalised(BrokenDPSGD):
    """Broken: DP-SGD with batch normalisation of the features.

        x_i -> (x_i - mean of the batch) / sqrt(variance of the batch + 1e-5)

    Each gradient is clipped, but depends on all records of the batch: one record that is far from the others changes
    the gradients of all of them. In the worst case, records that are equal have the gradient 0, and with one more
    record the gradients of all n + 1 are clipped gradients of the same direction, where clip_norm <= 1 / (2 sqrt(n)):
    mu is n + 1 times the claimed one. Correct: normalisation of each example separately, or with public constants.

    Args:
        records: n of the smaller side of the worst-case pair, >= 1.
        all others: as for `DPSGD`. Defaults: logistic regression of 4 features without bias, one full batch, noise
            multiplier 3.73, clip_norm 0.1; the parameters before and after the step are observed.

    Example:
        >>> broken = BatchNormalised()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 6.17)
    """

    cause = "The gradient of an example depends on the other examples of its batch, which clipping does not limit."
    source = (
        "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md; Ponomareva et al. (2023), on layers "
        "that mix the examples of a batch. Opacus refuses models with batch normalisation."
    )

    model: Model | str = WITHOUT_BIAS
    steps: int = 1
    noise_multiplier: float = 3.73
    clip_norm: float = 0.1
    sampling: Sampling | str = ALL_BY_FIVE
    view: str = "trajectory"
    records: PositiveInt = 4

    trainer_class: ClassVar[type[Trainer]] = _BatchNormalised

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires(Relation.ADD_REMOVE, "but the worst-case pair is known for an added record only")

    def worst_case(self) -> Neighbours:
        """Return `records` equal examples of label 1, and one example of label 0 more on side 1."""
        X, y = np.zeros((self.records + 1, self.network.n_features)), np.append(np.ones(self.records), 0.0)
        X[-1, 0] = 1.0
        return Neighbours(TrainingData(X[:-1], y[:-1]), TrainingData(X, y), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of Gaussian noise at the distance of the two sums, for one observed full batch."""
        one_batch = self.steps == 1 and isinstance(self.scheme, FullBatch) and self.recipe.initial is not None
        if not one_batch or self.view == "noisy_gradients" or not self.noise_multiplier:
            return None
        silent, pair = replace(self, noise_multiplier=0.0, view="final", projection=None), self.worst_case()
        after = [silent.release(pair.side(side), 1, np.random.default_rng(0)).values[0] for side in (0, 1)]
        scale = self.noise_multiplier * self.clip_norm * float(self.recipe.rates[0]) / self.batch
        return GaussianDP(float(np.linalg.norm(after[1] - after[0])) / scale, relation=self.relation)


# --- statistics of a batch without noise ------------------------------------------------------------------------------


class _StatisticLogged(Trainer):
    statistic: AnyFloats
    """Statistic of the last batch, one number for each run; its noise is 0."""


class _LossLogged(_StatisticLogged):
    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Log the mean loss of the examples of the batch, 0 for none, and write the sum of clipped gradients."""
        self.statistic = np.zeros(len(parameters))
        if batch.inputs.shape[-2]:
            outputs = forward(self.model, parameters, batch.inputs, self.work)[-1]
            losses = self.model.loss.values(outputs, batch.targets)
            counts = np.ones(losses.shape) if batch.included is None else np.broadcast_to(batch.included, losses.shape)
            self.statistic = (losses * counts).sum(axis=1) / np.maximum(1, counts.sum(axis=1))
        super().clipped_sum(parameters, batch, out)


class _ClippedCounted(_StatisticLogged):
    def clip(self, found: list[AnyFloats], deltas: list[AnyFloats], batch: Batch) -> None:
        """Add the examples that are longer than clip_norm to the count, and clip."""
        norms = np.sqrt(np.sum(squared_norms(self.model, batch.inputs_squared, found, deltas), axis=0))
        longer = norms > self.recipe.clip_norm
        self.statistic = (longer if batch.included is None else longer & batch.included).sum(axis=1).astype(np.float64)
        super().clip(found, deltas, batch)

    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Log the number of clipped gradients of the batch, and write their sum."""
        self.statistic = np.zeros(len(parameters))
        super().clipped_sum(parameters, batch, out)
        if batch.gradients is not None and self.data.gradients is not None:
            longer = np.linalg.norm(self.data.gradients, axis=1) > self.recipe.clip_norm
            self.statistic = self.statistic + batch.gradients @ longer


@dataclass(frozen=True, eq=False)
class _StatisticReleased(BrokenDPSGD):
    """Base class of trainers that release a number of each batch without noise.

    Output of a run with view "noisy_gradients": `(steps, m + 1)`, the last number of a step is the statistic. The other
    views are those of `DPSGD`, without the statistic.
    """

    trainer_class: ClassVar[type[_StatisticLogged]]

    def _release(self, data: TrainingData, size: int, rng: np.random.Generator, inclusion: Bools | None) -> Outputs:
        if self.view != "noisy_gradients":
            return super()._release(data, size, rng, inclusion)
        trainer = self.trainer_class(self.recipe, data)
        values = np.empty((size, self.steps, len(self.seen_directions) + 1))
        for runs, included in trainer.blocks(size, inclusion):
            for step, (total, _) in enumerate(trainer.train(runs.stop - runs.start, rng, included)):
                values[runs, step, :-1] = total @ self.seen_directions.T / self.clip_norm
                values[runs, step, -1] = trainer.statistic
        return Outputs(values)

    def _noise_log_density(self, noise: AnyFloats) -> Floats:
        return where_zero(noise[:, :, -1], super()._noise_log_density(noise[:, :, :-1]))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak if the statistic differs on `worst_case()`."""
        if not self.law_is_known:
            return None
        pair = self.worst_case()
        statistics = [self._centre(TrainingData.of(pair.side(side)))[:, -1] for side in (0, 1)]
        return self._revealed() if np.abs(statistics[1] - statistics[0]).max() > OBSERVATION_TOLERANCE else None

    @abstractmethod
    def worst_case(self) -> Neighbours:
        """Return a pair whose statistics differ."""


@dataclass(frozen=True, eq=False)
class LossReleased(_StatisticReleased):
    """Broken: DP-SGD that releases the mean loss of each batch without noise.

    The adversary knows the parameters and all other records, and computes the loss with the record and without it:
    epsilon is infinite at any delta < 1.

    Args:
        all: as for `DPSGD`. Defaults: one full batch, noise multiplier 3.73, and a first weight of 1, so that losses
            differ. View "noisy_gradients" has one number more for each step, the loss.

    Example:
        >>> broken = LossReleased()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "Progress of the training is logged, and the log is published, or followed by whoever chooses the options."
    source = "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md, on auxiliary information."

    steps: int = 1
    noise_multiplier: float = 3.73
    initial: str | ArrayLike | None = (1.0, 0.0, 0.0, 0.0, 0.0)

    trainer_class: ClassVar[type[_StatisticLogged]] = _LossLogged

    def twin(self) -> DPSGD:
        """Return the correct trainer; its view "trajectory" shows a pair that differs in an example."""
        view = "trajectory" if self.view == "noisy_gradients" else self.view
        return replace(super().twin(), view=view, directions=None)

    @property
    def law_is_known(self) -> bool:
        """True for one step from a fixed model, where examples have fixed gradients."""
        return super().law_is_known and self.steps == 1 and self.recipe.initial is not None

    def check_seen(self, neighbours: Neighbours) -> None:
        """Accept any pair: the loss depends on every example."""

    def worst_case(self) -> Neighbours:
        """Return an example of features 0, and one with the first feature 4 more on side 1."""
        X, y = np.zeros((2, self.network.n_features)), np.zeros(2)
        X[1, 0] = 4.0
        absent = {Relation.ADD_REMOVE: X[:1], Relation.ZERO_OUT: 0.0 * X, Relation.REPLACE_ONE: X * [[1.0], [-1.0]]}
        side0 = absent[self.relation]
        return Neighbours(TrainingData(side0, y[: len(side0)]), TrainingData(X, y), self.relation)


@dataclass(frozen=True, eq=False)
class ClippedCountReleased(_StatisticReleased):
    """Broken: DP-SGD that releases the number of clipped gradients of each batch without noise.

    The number is one more if the record is in the batch and its gradient is longer than clip_norm: epsilon is infinite
    at any delta < 1. (Adaptive clipping that adds noise to this number must account for it too.)

    Args:
        all: as for `DPSGD`. View "noisy_gradients" has one number more for each step, the count.

    Example:
        >>> broken = ClippedCountReleased()
        >>> round(broken.guarantee().epsilon(1e-5), 2), broken.exact_guarantee().epsilon(1e-5)
        (1.0, inf)
    """

    cause = "The share of clipped gradients is used to choose clip_norm, and is not counted as a release."
    source = (
        "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md, on auxiliary information; Andrew, "
        "Thakkar, McMahan, Ramaswamy (2021) add noise to this number."
    )

    trainer_class: ClassVar[type[_StatisticLogged]] = _ClippedCounted

    def worst_case(self) -> Neighbours:
        """Return a gradient of 20 clip norms, or on side 0 one of 0 or -1/2 clip norms, or none."""
        if self.relation is Relation.REPLACE_ONE:
            return Neighbours(self._along([-0.5]), self._along([UNBOUNDED_NORM]), self.relation)
        return self._pair(UNBOUNDED_NORM)


# --- empty batches ----------------------------------------------------------------------------------------------------

TENTH = PoissonSampling(sampling_probability=0.1, expected_batch_size=1)


class _EmptySkipped(Trainer):
    def clipped_sum(self, parameters: AnyFloats, batch: Batch, out: AnyFloats) -> None:
        """Write the sum of clipped gradients, and note which batches have a record."""
        self.taken = batch_sizes(batch, self.dtype) > 0
        super().clipped_sum(parameters, batch, out)

    def add_noise(self, total: AnyFloats, rng: np.random.Generator) -> None:
        """Add noise to the sums of the batches that have a record."""
        noise = np.zeros_like(total)
        super().add_noise(noise, rng)
        total += noise * self.taken[:, None]


@dataclass(frozen=True, eq=False)
class EmptyBatchSkipped(BrokenDPSGD):
    """Broken: DP-SGD with Poisson sampling that skips the step if the sample is empty.

    A skipped step adds no noise, and leaves the parameters as they are. Without records every step is skipped; a step
    that is not skipped is the evidence of a record. For no record against one,

        delta = 1 - (1 - sampling_probability)^steps      for every epsilon,

    and among n records the skipped steps still leak n. Correct: an empty batch is a step with noise only.

    Args:
        all: as for `DPSGD`. Defaults: 10 Poisson steps of rate 0.1, noise multiplier 1.74.

    Example:
        >>> broken = EmptyBatchSkipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(float(broken.exact_guarantee().delta(50.0)), 4)
        (1.0, 0.6513)
    """

    cause = "The data loader drops an empty batch, or the training loop skips it because its mean is undefined."
    source = "google-deepmind/jax_privacy, docs/sharp_edges_dp_training_pitfalls.md, on batches of size zero."

    steps: int = 10
    noise_multiplier: float = 1.74
    sampling: Sampling | str = TENTH

    trainer_class: ClassVar[type[Trainer]] = _EmptySkipped

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires_independent_noise()
        self._requires(
            Relation.ADD_REMOVE, "under which a blank record is sampled like any other, and no batch differs"
        )

    @property
    def law_is_known(self) -> bool:
        """True if the noisy sums of Poisson samples are observed."""
        poisson = type(self.scheme) is PoissonSampling and self.scheme.sampling_probability < 1.0
        return poisson and self.view == "noisy_gradients" and self.noise_multiplier > 0.0

    def output_law(self) -> LogDensity | None:
        """Return the law of noisy sums, some of which are exactly 0, where `law_is_known`."""
        return _LawWithGaps(self) if self.law_is_known else None

    def worst_case(self) -> Neighbours:
        """Return one gradient of norm clip_norm, and no record on side 0."""
        return self._pair(1.0)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of the event that a step is not skipped, which is impossible without records."""
        if not self.law_is_known or self.directions is not None:
            return None
        all_empty = (1.0 - self.scheme.inclusion_probability) ** self.steps
        return ExactDP([1.0, 0.0], [all_empty, 1.0 - all_empty], self.relation)


@dataclass(frozen=True, eq=False)
class _LawWithGaps:
    """Law of noisy sums that are 0 where the batch is empty, up to a constant."""

    broken: EmptyBatchSkipped

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of observations `(size, steps, m)`, `(size,)`; the part of empty batches is known."""
        broken, data = self.broken, TrainingData.of(dataset)
        law = Observations.of(broken.recipe, broken.seen_directions, data)
        values = np.asarray(outputs.values, dtype=np.float64) @ law.whiten.T
        rate = broken.scheme.inclusion_probability
        log_empty = len(data) * np.log1p(-rate)
        log_any = sampled_sums_log_likelihood(values, law.shifts, np.full(len(law.shifts), rate))
        log_noise = log_empty + gaussian_exponent(values, np.zeros(values.shape[2]))
        with np.errstate(divide="ignore"):  # without records nothing is left: -inf
            log_taken = log_any + np.log(-np.expm1(np.minimum(0.0, log_noise - log_any)))
        return np.asarray(np.where((values == 0.0).all(axis=2), log_empty, log_taken).sum(axis=1))


# --- weights ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedPoissonSampling(PoissonSampling):
    """Independent inclusion of record i in each step with probability sampling_probability * weight i / mean weight.

    The guarantee of `PoissonSampling`, which is that of equal weights, is false for this scheme.

    Args:
        sampling_probability: mean probability, in (0, 1].
        expected_batch_size: the public number by which updates are divided, > 0.
        weights: a public number >= 0 for each record, not all of them 0.
    """

    relation: ClassVar[Relation] = Relation.ZERO_OUT

    _: KW_ONLY
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not len(weights) or not (weights >= 0.0).all() or not 0.0 < weights.sum() < np.inf:
            problem = "be numbers >= 0, one for each record, and not all of them 0"
            raise ParameterError(argument="weights", value=self.weights, allowed=problem)
        if (self.rates_of_records > 1.0).any():
            raise ParameterError(
                f"the largest of the weights is {weights.max() / weights.mean():g} times their mean, so that at "
                f"sampling_probability = {self.sampling_probability:g} the probability of its record exceeds 1. Choose "
                "a smaller weight or sampling_probability.",
                argument="weights",
            )

    @property
    def rates_of_records(self) -> AnyFloats:
        """Probability of each record."""
        weights = np.asarray(self.weights, dtype=np.float64)
        return np.asarray(self.sampling_probability * weights / weights.mean())

    def check(self, n_records: int) -> None:
        if n_records != len(self.weights):
            raise ParameterError(
                f"weights has {len(self.weights)} numbers, but there are {n_records} records. Give one for each.",
                argument="weights",
            )

    def width(self, n_records: int) -> int:
        return n_records

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        while True:
            drawn = rng.random((n_runs, n_records)) < self.rates_of_records
            yield BatchDraw(None, drawn if inclusion is None else drawn & inclusion)

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        return np.asarray(sampled_sums_log_likelihood(values, shifts, self.rates_of_records).sum(axis=1))


ONE_OF_TEN = WeightedPoissonSampling(sampling_probability=0.05, expected_batch_size=1, weights=(11.0, *[1.0] * 9))


@dataclass(frozen=True, eq=False)
class WeightedCountedAsPoisson(BrokenDPSGD):
    """Broken: DP-SGD on weighted samples, with the claim of samples in which all records are equally likely.

    A record of weight w is sampled w / (mean weight) times as often as the accountant assumes. Its guarantee is that of
    its own rate.

    Args:
        all: as for `DPSGD`, with `WeightedPoissonSampling`. Defaults: 10 records, the first with 5.5 times the mean
            weight, 10 steps at a mean rate of 0.05, noise multiplier 1.24, zero_out.

    Example:
        >>> broken = WeightedCountedAsPoisson()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (0.99, 4.55)
    """

    cause = "Rare classes are sampled more often by weights, and the accountant divides the batch size by n."
    source = (
        "Constructed from meta-pytorch/opacus, issues 600 and 813, where WeightedRandomSampler is replaced by samples "
        "of equal weights whose rate is not computed from the number of records."
    )

    steps: int = 10
    noise_multiplier: float = 1.24
    sampling: Sampling | str = ONE_OF_TEN

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires_independent_noise()
        self._requires(Relation.ZERO_OUT, "but weights have the places of the records, which must stay")
        if not isinstance(self.scheme, WeightedPoissonSampling):
            raise ParameterError(
                f"sampling must be WeightedPoissonSampling, but is {self.scheme!r}: the bug is in the accounting of "
                "weights. Use DPSGD for other schemes.",
                argument="sampling",
            )

    @property
    def weighted(self) -> WeightedPoissonSampling:
        """The scheme."""
        assert isinstance(self.scheme, WeightedPoissonSampling)
        return self.scheme

    def twin(self) -> DPSGD:
        """Return the trainer with Poisson samples of the same mean rate, in which all records are equally likely."""
        scheme = PoissonSampling(
            sampling_probability=self.weighted.sampling_probability,
            expected_batch_size=self.weighted.expected_batch_size,
        )
        return replace(super().twin(), sampling=scheme)

    def output_law(self) -> LogDensity | None:
        """Return the law of the noisy sums, in which each record has its own rate."""
        return DPSGD.output_law(self) if self.noise_multiplier else None

    def worst_case(self) -> Neighbours:
        """Return a gradient of norm clip_norm with the largest weight on side 1; all other gradients are 0."""
        place = int(np.argmax(self.weighted.weights))
        norms = [float(i == place) for i in range(len(self.weighted.weights))]
        return Neighbours(self._along([0.0] * len(norms)), self._along(norms), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of the rate of the record with the largest weight, if its noisy sums are observed."""
        if self.view != "noisy_gradients" or self.directions is not None or not self.noise_multiplier:
            return None
        return PrivacyLossDP.gaussian(
            self.noise_multiplier,
            sampling_probability=float(self.weighted.rates_of_records.max()),
            steps=self.steps,
            relation=self.relation,
        )
