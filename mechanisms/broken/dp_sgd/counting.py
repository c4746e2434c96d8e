"""Intentionally broken accounting of correctly trained DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ...accounting import PrivacyLossDP
from ...core.base import LogDensity
from ...core.constraints import PositiveInt
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...learning.dp_sgd.sampling import Sampling, ShuffledEpochs
from .base import BrokenDPSGD

HUNDRED_BATCHES = ShuffledEpochs(batch_size=1, n_records=100)


@dataclass(frozen=True, eq=False)
class _Miscounted(BrokenDPSGD):
    """Base class of trainers with the law of the correct trainer and another claim."""

    def output_law(self) -> LogDensity | None:
        """Return the output law of the correct trainer."""
        return self.twin().output_law()


@dataclass(frozen=True, eq=False)
class ShuffledCountedAsPoisson(_Miscounted):
    """Broken: DP-SGD on shuffled batches, with the claim of Poisson sampling.

    Bug: batches come from the data loader of the framework, which shuffles; the accountant assumes Poisson sampling. A
    record is in exactly one batch of an epoch, and the largest batch sum reveals it: for one epoch of 100 steps at
    noise multiplier 1 the claim is 0.72 and epsilon at least 4.06, for 1,000 steps 0.15 and at least 2.88 (delta =
    1e-5). The correct claim is that of deterministic batches, 4.38.

    Args:
        all: as for `DPSGD`, with shuffled batches of a given number of records. Defaults: 100 records, batches of 1,
            100 steps, noise multiplier 1, zero_out. An audit needs about 40,000 runs per side.

    Raises:
        ParameterError: another sampling.
        AccountingError: on `guarantee`, replace_one, for which there is no accounting of Poisson sampling.

    References:
        Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), Theorem 4.2; Annamalai, Balle, De Cristofaro,
        Hayes (2024); meta-pytorch/opacus issue 80; lxuechen/private-transformers issue 7.

    Example:
        >>> from dpassay.mechanisms.accounting.dp_sgd.deterministic_batches import shuffled_epsilon_at_least
        >>> broken = ShuffledCountedAsPoisson()
        >>> at_least = shuffled_epsilon_at_least(1.0, batches=100, delta=1e-5)
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(at_least, 2)
        (0.72, 4.06)
    """

    steps: int = 100
    noise_multiplier: float = 1.0
    sampling: Sampling | str = HUNDRED_BATCHES

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.scheme, ShuffledEpochs) or self.scheme.n_records is None:
            raise ParameterError(
                f"sampling must be ShuffledEpochs with n_records, but is {self.scheme!r}: the bug is in the accounting "
                "of shuffled batches. Use DPSGD for other schemes.",
                argument="sampling",
            )

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if the batches were Poisson samples."""
        assert isinstance(self.scheme, ShuffledEpochs)
        assert self.scheme.n_records is not None
        return PrivacyLossDP.gaussian(
            self.noise_multiplier,
            sampling_probability=self.scheme.batch_size / self.scheme.n_records,
            steps=self.steps,
            relation=self.relation,
        )


@dataclass(frozen=True, eq=False)
class MicroStepsCounted(_Miscounted):
    """Broken: DP-SGD with gradient accumulation in which every micro-step is counted as a step.

    Bug: a batch is processed in G parts that fit the memory, noise is added once for the whole batch, and the budget
    is composed over all parts. The claim holds, and is that of G times the steps: noise calibrated to it is too large
    (see `noise_counting_micro_steps`). An audit must not flag it, and the bound stays far below the claim.

    Args:
        micro_batches: G, number of parts of a batch, >= 1; 1 is correct.
        all others: as for `DPSGD`. Default: noise multiplier 29.84.

    References:
        google-deepmind/jax_privacy, issues 234, 267 and 288.

    Example:
        >>> broken = MicroStepsCounted()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 0.22)
    """

    noise_multiplier: float = 29.84
    micro_batches: PositiveInt = 16

    @cached_property
    def _claim(self) -> Guarantee:
        """Claim that would be correct if each part were a step."""
        return replace(self.twin(), steps=self.steps * self.micro_batches).guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the correct trainer."""
        return self.twin().exact_guarantee()
