"""Cyclic Poisson sampling: fixed blocks of the records, visited in turn, with a Poisson sample of the block."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ....accounting.dp_sgd.correlated_noise import FixedOrder, Participation, amplified_banded, count_bands
from ....core import AccountingError, Floats, Guarantee, PositiveInt, Relation
from ...base import AnyFloats
from .base import BatchDraw, Draws, Mask, Sampling, gaussian_exponent, single_contribution
from .poisson import POISSON_ACCOUNTANTS, PoissonSampling


@dataclass(frozen=True)
class CyclicPoisson(PoissonSampling):
    """Poisson samples of one block of the records after another; record i is in block i modulo `batches_per_epoch`.

    The guarantee is that of Poisson sampling in the steps that visit the block of the record, one in
    `batches_per_epoch`. It does not hold under add_remove: another record moves those behind it to other blocks.

    With correlated noise of at most `batches_per_epoch` bands the visits stay apart, and the sampling amplifies as with
    independent noise (`amplified_banded`). With more bands the claim is that of a record in all visits of its block.

    Args:
        sampling_probability: inclusion probability of a record when its block is visited, in (0, 1].
        expected_batch_size: the public number by which updates are divided, > 0.
        batches_per_epoch: number of blocks, >= 1.

    References:
        Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu (2023), "(Amplified) banded matrix factorization",
        Algorithm 2 and Theorem 4.

    Example:
        >>> scheme = CyclicPoisson(sampling_probability=1.0, expected_batch_size=2, batches_per_epoch=2)
        >>> draws = scheme.draws(4, 1, None, np.random.default_rng(0))
        >>> [next(draws).rows.tolist() for _ in range(3)]
        [[[0, 2]], [[1, 3]], [[0, 2]]]
    """

    relation: ClassVar[Relation] = Relation.ZERO_OUT
    rates: ClassVar[tuple[str, ...]] = ("sampling_probability", "batches_per_epoch")
    ordered: ClassVar[bool] = True
    tight: ClassVar[bool] = False  # a record of a later block may be visited once less

    _: KW_ONLY
    batches_per_epoch: PositiveInt

    def width(self, n_records: int) -> int:
        return -(-n_records // self.batches_per_epoch)

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        while True:
            for block in range(self.batches_per_epoch):
                members = np.arange(block, n_records, self.batches_per_epoch)
                rows = np.broadcast_to(members, (n_runs, len(members)))
                taken = rng.random(rows.shape) < self.sampling_probability
                yield BatchDraw(rows, taken if inclusion is None else taken & inclusion[:, members])

    @property
    def inclusion_probability(self) -> float:
        return self.sampling_probability / self.batches_per_epoch

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> Guarantee:
        """Return the guarantee of Poisson sampling in the steps that visit one block."""
        _check(relation)
        visits = -(-steps // int(rates["batches_per_epoch"]))
        probability = rates["sampling_probability"]
        return POISSON_ACCOUNTANTS[accounting](
            noise_multiplier, steps=visits, relation=relation, sampling_probability=probability
        )

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> Participation:
        """Return all visits of one block, for strategies with more bands than blocks: no amplification is claimed."""
        _check(relation)
        return FixedOrder(int(rates["batches_per_epoch"]))

    @classmethod
    def account_correlated(
        cls, strategy: Floats, noise_multiplier: float, *, relation: Relation, **rates: float
    ) -> Guarantee:
        """Return the guarantee of `amplified_banded`, or without amplification for more bands than blocks."""
        _check(relation)
        blocks = int(rates["batches_per_epoch"])
        if count_bands(strategy) > blocks:
            return super().account_correlated(strategy, noise_multiplier, relation=relation, **rates)
        return amplified_banded(
            strategy,
            noise_multiplier,
            groups=blocks,
            sampling_probability=rates["sampling_probability"],
            relation=relation,
        )

    def own_rates(self) -> dict[str, float]:
        return {"sampling_probability": self.sampling_probability, "batches_per_epoch": self.batches_per_epoch}

    def guarantee(self, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        """Return the guarantee by the first accountant; at rate 1 that of cyclic batches, which is exact."""
        if self.sampling_probability == 1.0 and relation is Relation.ZERO_OUT:
            return super().guarantee(noise_multiplier, steps=-(-steps // self.batches_per_epoch), relation=relation)
        return Sampling.guarantee(self, noise_multiplier, steps=steps, relation=relation)

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: the steps of each block are a Poisson sample of its records."""
        blocks = range(min(self.batches_per_epoch, values.shape[1]))
        parts = (slice(block, None, self.batches_per_epoch) for block in blocks)
        return np.asarray(
            sum(super(CyclicPoisson, self).log_likelihood(values[:, part], shifts[part]) for part in parts)
        )

    def knows_correlated(self, strategy: Floats) -> bool:
        return count_bands(strategy) <= self.batches_per_epoch

    def correlated_log_likelihood(self, values: AnyFloats, shifts: AnyFloats, strategy: Floats) -> AnyFloats:
        """Return the log density for one record that contributes: each visit of its block is a mixture of two.

        A visit in step t shifts C times the sums by column t of C; the columns of two visits have no row in common.
        """
        total = np.asarray(gaussian_exponent(values, np.zeros(values.shape[2])).sum(axis=1))
        record = single_contribution(shifts, "cyclic Poisson samples under correlated noise")
        if record is None:
            return total
        block = int(np.flatnonzero(np.any(shifts != 0.0, axis=1))[0]) % self.batches_per_epoch
        columns = strategy[:, block :: self.batches_per_epoch]
        gain = (values @ record) @ columns - 0.5 * (record @ record) * np.sum(columns**2, axis=0)
        rate = float(self.sampling_probability)
        sampled, missing = math.log(rate) + gain, math.log1p(-rate) if rate < 1.0 else -math.inf
        return np.asarray(total + np.logaddexp(missing, sampled).sum(axis=1))


def _check(relation: Relation) -> None:
    """Raise `AccountingError` for a relation without a guarantee."""
    if relation is not Relation.ZERO_OUT:
        raise AccountingError(
            f"cyclic Poisson samples have no guarantee under {relation.value!r}: another record moves those behind it "
            "to other blocks, and samples of replaced records have no known dominating pair. Use 'zero_out'.",
            argument="relation",
        )
