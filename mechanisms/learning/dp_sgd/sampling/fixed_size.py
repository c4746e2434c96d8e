"""Samples of fixed size: a fresh subset each step, without replacement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....accounting import RenyiDP
from ....accounting.dp_sgd.fixed_size import fixed_size_gaussian
from ....core.relation import Relation
from ...base import Floats
from .base import BatchDraw, Mask, Rows, gaussian_exponent
from .batches import BatchSampling, Members, common_and_differing

KEYED = 8
"""Largest ratio of records to subset size for which a subset is drawn by sorting one key for each record.

Above it, records are drawn one by one until enough are distinct.
"""


@dataclass(frozen=True)
class FixedSizeSampling(BatchSampling):
    """Uniformly random subset of `batch_size` records, without replacement, fresh in each step."""

    accountants: ClassVar[tuple[str, ...]] = ("renyi",)
    rates: ClassVar[Mapping[str, float | None]] = {"sampling_probability": 1.0}

    def draws(
        self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator
    ) -> Iterator[BatchDraw]:
        members = Members.of(n_records, n_runs, inclusion)
        self._check_size(int(members.counts.min()))
        use_keys = members.counts.max() <= KEYED * self.batch_size
        subset = _subset_by_keys if use_keys else _subset_by_rejection
        while True:
            yield BatchDraw(members.rows(subset(members.counts, self.batch_size, rng)), None)

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> RenyiDP:
        """Return the Renyi bound for samples of fixed size, which is not the bound for Poisson sampling."""
        return fixed_size_gaussian(noise_multiplier, steps=steps, relation=relation, **rates)

    def own_rates(self) -> dict[str, float]:
        return {"sampling_probability": self.batch_size / self.known_records()}

    def log_likelihood(self, values: Floats, shifts: Floats) -> Floats:
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
    """Return the first `size` distinct values of a sequence of uniform positions.

    They are a uniform subset of range(counts[r]).
    """
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
