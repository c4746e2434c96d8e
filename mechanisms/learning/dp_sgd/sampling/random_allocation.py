"""Random allocation: each record takes part in exactly k random steps of every epoch; k = 1 is balls in bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from ....accounting import PrivacyLossDP
from ....accounting.dp_sgd.correlated_noise import AnyOrder, Participation
from ....accounting.dp_sgd.random_allocation import check_allocation, random_allocation
from ....accounting.numerics.binomial import log_choose
from ....core import Positive, PositiveInt, Relation
from ...base import AnyFloats
from .base import Draws, Mask, Sampling, gaussian_exponent, sampled_rows, single_contribution


@dataclass(frozen=True)
class RandomAllocation(Sampling):
    """Random allocation: each record takes part in `participations` uniform steps of every epoch; 1 is balls in bins.

    The records draw their steps independently of each other, so that the sizes of the batches vary.

    Args:
        batches_per_epoch: number of steps of an epoch, >= 1.
        participations: number of steps of an epoch in which a record takes part, from 1 to `batches_per_epoch`.
        expected_batch_size: the public number by which updates are divided, > 0.

    References:
        Chua et al. (2024), "Balls-and-bins sampling for DP-SGD"; Feldman, Shenfeld (2025).

    Example:
        >>> scheme = RandomAllocation(batches_per_epoch=3, participations=2, expected_batch_size=1)
        >>> draws = scheme.draws(1, 1, None, np.random.default_rng(0))
        >>> sum(int(next(draws).included.sum()) for _ in range(3))
        2
    """

    relation: ClassVar[Relation] = Relation.ADD_REMOVE
    accountants: ClassVar[tuple[str, ...]] = ("privacy-loss",)
    rates: ClassVar[tuple[str, ...]] = ("batches_per_epoch", "participations")
    option_names: ClassVar[Mapping[str, str]] = {"expected_batch_size": "batch_size"}

    _: KW_ONLY
    batches_per_epoch: PositiveInt
    participations: PositiveInt = 1
    expected_batch_size: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        check_allocation(self.batches_per_epoch, self.participations)

    @property
    def divisor(self) -> float:
        return float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        expected = self.inclusion_probability * n_records
        return min(n_records, int(expected + 2.5 * expected**0.5) + 1)

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        """Yield the records of each step: one with r uses left in u steps takes part with probability r / u.

        Fan, Muller, Rezucha (1962): the steps of a record are then a uniform subset.
        """
        while True:
            left = np.full((n_runs, n_records), self.participations)
            for unseen in range(self.batches_per_epoch, 0, -1):
                taken = rng.random(left.shape) * unseen < left
                left -= taken
                yield sampled_rows(taken if inclusion is None else taken & inclusion)

    @property
    def inclusion_probability(self) -> float:
        return self.participations / self.batches_per_epoch

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> PrivacyLossDP:
        """Return the composition over epochs, which is tight up to its grid for one participation."""
        batches, participations = int(rates["batches_per_epoch"]), int(rates["participations"])
        return random_allocation(
            noise_multiplier,
            batches_per_epoch=batches,
            participations=participations,
            epochs=-(-steps // batches),
            relation=relation,
        )

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> Participation:
        """Return one step of each epoch, in any order: no amplification is claimed with correlated noise.

        Raises:
            AccountingError: several participations in an epoch, or a relation without a guarantee.
        """
        batches = int(rates["batches_per_epoch"])
        cls.account(1.0, steps=1, relation=relation, accounting="privacy-loss", **rates)  # refuses the same relations
        return AnyOrder(batches) if rates["participations"] == 1 else super().participation(relation=relation, **rates)

    def own_rates(self) -> dict[str, float]:
        return {"batches_per_epoch": self.batches_per_epoch, "participations": self.participations}

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: each epoch is a mixture over the steps of the one record that contributes."""
        without = gaussian_exponent(values, np.zeros(values.shape[2]))
        record = single_contribution(shifts, "random allocation")
        total = np.asarray(without.sum(axis=1))
        if record is None:
            return total
        gain = gaussian_exponent(values, record) - without
        for start in range(0, gain.shape[1], self.batches_per_epoch):
            total += self._log_ratio(gain[:, start : start + self.batches_per_epoch])
        return total

    def _log_ratio(self, gain: AnyFloats) -> AnyFloats:
        """Return the log of the mean, over the steps of the record, of exp(the sum of `gain` over them), `(n_runs,)`.

        The sum over all sets of j seen steps is the elementary symmetric polynomial, built up step by step; the other
        k - j steps are among the unseen ones of an incomplete epoch.
        """
        t, k, seen = self.batches_per_epoch, self.participations, gain.shape[1]
        sums = np.full((k + 1, len(gain)), -np.inf)
        sums[0] = 0.0
        for step in range(seen):
            sums[1:] = np.logaddexp(sums[1:], sums[:-1] + gain[:, step])
        j = np.arange(max(0, k - (t - seen)), k + 1)
        ways = log_choose(float(t - seen), (k - j).astype(np.float64)) - log_choose(float(t), np.array([float(k)]))
        return np.asarray(logsumexp(sums[j] + ways[:, None], axis=0))
