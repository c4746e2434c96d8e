"""Schemes whose batches have a fixed size: their base class, and a fresh subset each step, without replacement."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ....accounting.dp_sgd.correlated_noise import MinSeparation
from ....accounting.dp_sgd.fixed_size import fixed_size_gaussian, fixed_size_losses
from ....core import AccountingError, Guarantee, ParameterError, PositiveInt, Relation, plural
from ...base import AnyFloats
from .base import BatchDraw, Draws, Mask, Rows, Sampling, gaussian_exponent


@dataclass(frozen=True)
class BatchSampling(Sampling):
    """Sampling scheme whose batches have a fixed size.

    Args:
        batch_size: >= 1; all updates are divided by it, including those of a smaller last batch.
        n_records: the public number of records; None leaves it unspecified, and the guarantee unavailable.
    """

    relation: ClassVar[Relation] = Relation.ZERO_OUT

    _: KW_ONLY
    batch_size: PositiveInt
    n_records: PositiveInt | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_records is not None:
            self._check_size(self.n_records)

    @property
    def divisor(self) -> float:
        return float(self.batch_size)

    def width(self, n_records: int) -> int:
        return min(self.batch_size, n_records)

    def check(self, n_records: int) -> None:
        if self.n_records is not None and n_records != self.n_records:
            raise ParameterError(
                f"the data hold {plural(n_records, 'record')}, but n_records = {self.n_records} is a public constant "
                "of the sampling. Give that many records, or another n_records."
            )
        self._check_size(n_records)

    def _check_size(self, available: int) -> None:
        if available < self.batch_size:
            raise ParameterError(
                f"batch_size is {self.batch_size}, but it is drawn from {plural(available, 'record')} only. "
                f"Choose a batch_size of at most {available}, or more records.",
                argument="batch_size",
            )

    @property
    def inclusion_probability(self) -> float:
        return self.batch_size / self.n_records if self.n_records else 1.0

    @property
    def worst_case_records(self) -> int:
        if self.n_records is None:
            raise ParameterError(
                f"the worst case of {type(self).__name__} needs the number of records. Give n_records with "
                "batch_size, or a pair of neighbours."
            )
        return self.n_records

    def known_records(self) -> int:
        """Return `n_records`; raise `AccountingError` if it is not set."""
        if self.n_records is None:
            raise AccountingError(
                f"the guarantee of {type(self).__name__} depends on the number of records, which is not read from the "
                "data. Give n_records, a public constant, with batch_size."
            )
        return self.n_records


@dataclass(frozen=True, eq=False)
class Members:
    """Records of each run.

    Args:
        counts: number of records, `(n_runs,)`.
        table: record numbers, `(n_runs, n_records)`; those of run r are the first counts[r] entries of the row. None if
            all runs have all records.
    """

    counts: Rows
    table: Rows | None

    @classmethod
    def of(cls, n_records: int, n_runs: int, inclusion: Mask | None) -> Members:
        """Return all records, or those of `inclusion`, `(n_runs, n_records)`."""
        if inclusion is None:
            return cls(np.full(n_runs, n_records, dtype=np.intp), None)
        return cls(inclusion.sum(axis=1, dtype=np.intp), np.argsort(~inclusion, axis=1, kind="stable"))

    def rows(self, positions: Rows) -> Rows:
        """Return the record numbers of the `positions`-th members, `(n_runs, width)`."""
        return positions if self.table is None else np.take_along_axis(self.table, positions, axis=1)


def common_and_differing(shifts: AnyFloats) -> tuple[AnyFloats, AnyFloats | None]:
    """Return the shift of all records except at most one, and the shift of that one, or None."""
    distinct, counts = np.unique(shifts, axis=0, return_counts=True)
    if len(distinct) > 2 or (len(distinct) == 2 and counts.min() > 1):
        raise ParameterError(
            "the density of these batches is known only if all records except one contribute equally to the "
            "observations. Use such records, or another attack."
        )
    common = int(counts.argmax())  # with two records either may be the differing one: the mixture is equal
    return distinct[common], distinct[1 - common] if len(distinct) == 2 else None


MAX_KEYED_RATIO = 8
"""Largest ratio of records to subset size for which a subset is drawn by sorting one key for each record.

Above it, records are drawn one by one until enough are distinct.
"""


@dataclass(frozen=True)
class FixedSizeSampling(BatchSampling):
    """Uniformly random subset of `batch_size` records, without replacement, fresh in each step."""

    accountants: ClassVar[tuple[str, ...]] = ("renyi",)
    rates: ClassVar[tuple[str, ...]] = ("sampling_probability",)

    @classmethod
    def accountants_under(cls, relation: Relation) -> tuple[str, ...]:
        return ("privacy-loss", "renyi") if relation is Relation.REPLACE_ONE else cls.accountants

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        members = Members.of(n_records, n_runs, inclusion)
        self._check_size(int(members.counts.min()))
        use_keys = members.counts.max() <= MAX_KEYED_RATIO * self.batch_size
        subset = _subset_by_keys if use_keys else _subset_by_rejection
        while True:
            yield BatchDraw(members.rows(subset(members.counts, self.batch_size, rng)), None)

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> Guarantee:
        """Return a bound for samples of fixed size, which is not the bound for Poisson sampling."""
        bound = fixed_size_losses if accounting == "privacy-loss" else fixed_size_gaussian
        return bound(noise_multiplier, steps=steps, relation=relation, **rates)

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> MinSeparation:
        """Return any steps: no amplification by sampling is claimed with correlated noise."""
        cls.account(1.0, steps=1, relation=relation, accounting="renyi", **rates)  # refuses the same relations
        return MinSeparation(1)

    def own_rates(self) -> dict[str, float]:
        return {"sampling_probability": self.batch_size / self.known_records()}

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: each step is a mixture of two, with and without the differing record."""
        size, n = self.batch_size, len(shifts)
        common, differing = common_and_differing(shifts)
        without = gaussian_exponent(values, size * common)
        if differing is None:
            return np.asarray(without.sum(axis=1))
        sampled = math.log(size / n) + gaussian_exponent(values, size * common + differing - common)
        log_rest = math.log1p(-size / n) if size < n else -math.inf
        return np.asarray(np.logaddexp(log_rest + without, sampled).sum(axis=1))


def _subset_by_keys(counts: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Return the positions of the `size` smallest of independent uniform keys: a uniform subset of range(counts[r])."""
    keys = rng.random((len(counts), counts.max()))
    if counts.min() < counts.max():
        keys[np.arange(keys.shape[1]) >= counts[:, None]] = np.inf
    if size == keys.shape[1]:
        return np.broadcast_to(np.arange(size), keys.shape)
    return np.argpartition(keys, size - 1, axis=1)[:, :size]


def _subset_by_rejection(counts: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Return the first `size` distinct values of uniform positions: a uniform subset of range(counts[r])."""
    spare = int(size * size / counts.min()) + 8
    drawn = rng.integers(0, counts[:, None], size=(len(counts), size + spare))
    while True:
        order = np.argsort(drawn, axis=1, kind="stable")
        ordered = np.take_along_axis(drawn, order, axis=1)
        repeated = np.zeros(drawn.shape, dtype=np.bool_)
        np.put_along_axis(repeated[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        distinct = np.cumsum(~repeated, axis=1)
        if distinct[:, -1].min() >= size:
            return drawn[~repeated & (distinct <= size)].reshape(len(counts), size)
        drawn = np.concatenate([drawn, rng.integers(0, counts[:, None], size=(len(counts), spare))], axis=1)
