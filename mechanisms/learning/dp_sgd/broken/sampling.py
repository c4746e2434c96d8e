"""Intentionally broken DP-SGD: samplers whose claim is that of another sampler.

Each step is correct; only the claim is that of other batches. See `dp_sgd` for the base class. Random allocation that
is counted as Poisson sampling is missing: at a small delta its epsilon is smaller than that of Poisson sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ....accounting import PrivacyLossDP, random_allocation
from ....core import Guarantee, LogDensity, ParameterError
from ...base import AnyFloats
from ..mechanism import DPSGD
from ..sampling import CyclicPoisson, RandomAllocation, Sampling, ShuffledEpochs, TruncatedPoisson
from ..sampling.base import Draws, Mask
from .base import MiscountedTrainer

HUNDRED_BATCHES = ShuffledEpochs(batch_size=1, n_records=100)
CUT_AT_45 = TruncatedPoisson(sampling_probability=0.8, largest_batch=45, expected_batch_size=48, n_records=60)
TWENTY_BLOCKS = CyclicPoisson(sampling_probability=0.5, batches_per_epoch=20, expected_batch_size=1)


@dataclass(frozen=True, eq=False)
class CountedAsPoisson(MiscountedTrainer):
    """Base class of trainers whose claim would be correct if the batches were Poisson samples."""

    scheme_class: ClassVar[type[Sampling]]
    """Scheme whose accounting is wrong."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires_independent_noise()
        if not isinstance(self.scheme, self.scheme_class) or getattr(self.scheme, "n_records", 1) is None:
            name = self.scheme_class.__name__
            wanted = f"{name} with n_records" if hasattr(self.scheme_class, "n_records") else name
            raise ParameterError(
                f"sampling must be {wanted}, but is {self.scheme!r}: the bug is in the accounting of such batches. Use "
                "DPSGD for other schemes.",
                argument="sampling",
            )

    @property
    def counted_rate(self) -> float:
        """Sampling probability of the claim."""
        raise NotImplementedError

    @cached_property
    def _claim(self) -> Guarantee:
        return PrivacyLossDP.gaussian(
            self.noise_multiplier, sampling_probability=self.counted_rate, steps=self.steps, relation=self.relation
        )


@dataclass(frozen=True, eq=False)
class ShuffledCountedAsPoisson(CountedAsPoisson):
    """Broken: DP-SGD on shuffled batches, with the claim of Poisson sampling.

    A record is in exactly one batch of an epoch, and the largest batch sum reveals it: for one epoch of 100 steps
    at noise multiplier 1 the claim is 0.72 and epsilon at least 4.06, for 1,000 steps 0.15 and at least 2.88
    (delta = 1e-5). The correct claim is that of deterministic batches, 4.38.

    Args:
        all: as for `DPSGD`, with shuffled batches of a given number of records. Defaults: 100 records, batches of 1,
            100 steps, noise multiplier 1, zero_out. An audit needs about 40,000 runs per side.

    Raises:
        ParameterError: another sampling, or correlated noise.
        AccountingError: on `guarantee`, replace_one, for which there is no accounting of Poisson sampling.

    Example:
        >>> from dpassay.mechanisms.accounting.dp_sgd.deterministic_batches import shuffled_epsilon_at_least
        >>> broken = ShuffledCountedAsPoisson()
        >>> at_least = shuffled_epsilon_at_least(1.0, batches=100, delta=1e-5)
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(at_least, 2)
        (0.72, 4.06)
    """

    cause = (
        "Batches come from the data loader of the framework, which shuffles; the accountant assumes Poisson sampling."
    )
    source = (
        "Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), Theorem 4.2; Annamalai, Balle, De Cristofaro, "
        "Hayes (2024); meta-pytorch/opacus issue 80; lxuechen/private-transformers issue 7."
    )

    steps: int = 100
    noise_multiplier: float = 1.0
    sampling: Sampling | str = HUNDRED_BATCHES

    scheme_class: ClassVar[type[Sampling]] = ShuffledEpochs
    """Scheme whose accounting is wrong."""

    @property
    def counted_rate(self) -> float:
        """Share of the records in a batch."""
        return self.scheme.inclusion_probability


@dataclass(frozen=True, eq=False)
class TruncatedCountedAsPoisson(CountedAsPoisson):
    """Broken: DP-SGD on Poisson samples that are cut at a largest size, with the claim of uncut samples.

    In a full batch a record takes the place of another: the sum changes by up to 2 clip norms. With 60 records sampled
    at rate 0.8 and cut at 45, the claim is 1.63, epsilon at least 2.43, and the correct claim 3.30 (delta = 1e-5, four
    steps).

    Args:
        all: as for `DPSGD`, with truncated Poisson samples. Defaults: rate 0.8 of 60 records, cut at 45, 4 steps,
            noise multiplier 4.

    Raises:
        ParameterError: another sampling, or correlated noise.

    Example:
        >>> broken = TruncatedCountedAsPoisson()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.twin().guarantee().epsilon(1e-5), 2)
        (1.63, 3.3)
    """

    cause = "Batches are cut to the shape that a program was compiled for; the accountant assumes Poisson sampling."
    source = 'Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), "Scalable DP-SGD", section 3.'

    noise_multiplier: float = 4.0
    sampling: Sampling | str = CUT_AT_45

    scheme_class: ClassVar[type[Sampling]] = TruncatedPoisson

    @property
    def counted_rate(self) -> float:
        """Sampling probability before the cut."""
        assert isinstance(self.scheme, TruncatedPoisson)
        return self.scheme.sampling_probability


@dataclass(frozen=True, eq=False)
class CyclicCountedAsPoisson(CountedAsPoisson):
    """Broken: DP-SGD on cyclic Poisson samples, with the claim of Poisson sampling at the average rate.

    A record can take part in the visits of its block only, with a `batches_per_epoch` times larger probability: for 20
    blocks at rate 0.5, noise multiplier 1 and one round the claim is 1.10, and epsilon 3.53 (delta = 1e-5).

    Args:
        all: as for `DPSGD`, with cyclic Poisson samples. Defaults: 20 blocks, rate 0.5, 20 steps, noise multiplier 1.

    Raises:
        ParameterError: another sampling, or correlated noise.

    Example:
        >>> broken = CyclicCountedAsPoisson()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.1, 3.53)
    """

    cause = "The rate of the accountant is batch size / number of records, although only one block is sampled."
    source = "Choquette-Choo et al. (2023), Algorithm 2: the rate of cyclic sampling is that within a block."

    steps: int = 20
    noise_multiplier: float = 1.0
    sampling: Sampling | str = TWENTY_BLOCKS

    scheme_class: ClassVar[type[Sampling]] = CyclicPoisson

    @property
    def counted_rate(self) -> float:
        """Share of all records in a batch."""
        return self.scheme.inclusion_probability

    def exact_guarantee(self) -> Guarantee | None:
        """Return the claim of the twin, which is exact up to its grid if all steps are observed; else None."""
        return self.twin().guarantee() if self.shows_all else None


@dataclass(frozen=True)
class OneAllocation(RandomAllocation):
    """Broken: random allocation that is drawn once and repeated in every epoch."""

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        first = super().draws(n_records, n_runs, inclusion, rng)
        epoch = [next(first) for _ in range(self.batches_per_epoch)]
        while True:
            yield from epoch

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density of whole epochs: that of their mean, with less noise; the rest does not matter."""
        n_epochs, t = values.shape[1] // self.batches_per_epoch, self.batches_per_epoch
        epochs = values[:, : n_epochs * t].reshape(len(values), n_epochs, t, -1)
        root = n_epochs**0.5
        mean, rest = root * epochs.mean(axis=1), values[:, n_epochs * t :]
        squares = np.einsum("retm,retm->r", epochs, epochs) - np.einsum("rtm,rtm->r", mean, mean)
        squares += np.einsum("rtm,rtm->r", rest, rest)
        return np.asarray(super().log_likelihood(mean, root * shifts) - 0.5 * squares)


TEN_BATCHES = OneAllocation(batches_per_epoch=10, expected_batch_size=1)


@dataclass(frozen=True, eq=False)
class AllocationReused(MiscountedTrainer):
    """Broken: DP-SGD with one random allocation for all epochs, with the claim of a new one in each epoch.

    The steps of a record have the same places in every epoch, so that E epochs are one epoch with the noise divided by
    sqrt(E): for 30 epochs of 10 steps at noise multiplier 3 the claim is 2.41, and epsilon 6.64 (delta = 1e-5).

    Args:
        all: as for `DPSGD`, with `OneAllocation`. Defaults: 30 epochs of 10 batches, noise multiplier 3.

    Raises:
        ParameterError: another sampling, correlated noise, or an incomplete last epoch.

    Example:
        >>> broken = AllocationReused()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.41, 6.64)
    """

    cause = "The records are divided into batches before the loop over epochs, and not again in each epoch."
    source = 'Chua et al. (2024), "How private are DP-SGD implementations?": batches shuffled once or in every epoch.'

    steps: int = 300
    noise_multiplier: float = 3.0
    sampling: Sampling | str = TEN_BATCHES

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requires_independent_noise()
        if not isinstance(self.scheme, OneAllocation) or self.steps % self.scheme.batches_per_epoch:
            raise ParameterError(
                f"sampling must be OneAllocation in whole epochs, but is {self.scheme!r} for {self.steps} steps. Use "
                "DPSGD for other schemes.",
                argument="sampling",
            )

    @property
    def allocation(self) -> RandomAllocation:
        """Correct scheme with the same options."""
        assert isinstance(self.scheme, OneAllocation)
        return RandomAllocation(
            batches_per_epoch=self.scheme.batches_per_epoch,
            participations=self.scheme.participations,
            expected_batch_size=self.scheme.expected_batch_size,
        )

    def twin(self) -> DPSGD:
        """Return the correct trainer, which draws the steps of each record again in every epoch."""
        return replace(super().twin(), sampling=self.allocation)

    def output_law(self) -> LogDensity | None:
        """Return the law of the observations with the allocation that is repeated."""
        return DPSGD.output_law(self)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of one epoch with less noise, exact up to its grid; None for several participations."""
        if self.allocation.participations > 1 or not self.shows_all:
            return None
        batches = self.allocation.batches_per_epoch
        noise_multiplier = self.noise_multiplier / (self.steps / batches) ** 0.5
        return random_allocation(noise_multiplier, batches_per_epoch=batches, relation=self.relation)
