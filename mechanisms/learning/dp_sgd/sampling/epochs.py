"""Schemes that use all records in each epoch, in batches of consecutive records of an order.

CyclicBatches     the records in their given order
ShuffledEpochs    a fresh random order each epoch, as the data loaders of most frameworks draw it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from ....accounting import GaussianDP
from ....accounting.dp_sgd.correlated_noise import AnyOrder, FixedOrder, Participation
from ....accounting.dp_sgd.deterministic_batches import deterministic_batches
from ....core import Floats, Relation, whole
from ...base import AnyFloats
from .base import BatchDraw, Draws, Mask, Rows, gaussian_exponent
from .fixed_size import BatchSampling, Members, common_and_differing


@dataclass(frozen=True)
class EpochSampling(BatchSampling):
    """Sampling scheme in which each record takes part once in an epoch; no amplification is claimed."""

    accountants: ClassVar[tuple[str, ...]] = ("gaussian",)
    rates: ClassVar[tuple[str, ...]] = ("batches_per_epoch",)
    order: ClassVar[str]
    """The argument `order` of `deterministic_batches`."""

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> GaussianDP:
        """Return `GaussianDP(sqrt(epochs) / noise_multiplier)`, which is exact if the order is known."""
        whole(1, batches_per_epoch=rates["batches_per_epoch"])
        epochs = -(-steps // int(rates["batches_per_epoch"]))
        return deterministic_batches(noise_multiplier, epochs=epochs, order=cls.order, relation=relation)

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> Participation:
        cls.account(1.0, steps=1, relation=relation, accounting="gaussian", **rates)  # refuses the same relations
        batches = int(rates["batches_per_epoch"])
        return FixedOrder(batches) if cls.same_batches else AnyOrder(batches)

    def own_rates(self) -> dict[str, float]:
        return {"batches_per_epoch": -(-self.known_records() // self.batch_size)}

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        members = Members.of(n_records, n_runs, inclusion)
        return epochs(members, self.batch_size, rng if self.order == "shuffled" else None)


def epochs(members: Members, size: int, rng: np.random.Generator | None) -> Draws:
    """Yield batches of consecutive members, with `rng` in a fresh random order each epoch.

    Runs may have epochs of different lengths.
    """
    n_runs = len(members.counts)
    n_batches = np.maximum(1, -(-members.counts // size))
    order = np.broadcast_to(np.arange(members.counts.max(initial=0)), (n_runs, members.counts.max(initial=0))).copy()
    width = min(size, order.shape[1])
    step = 0
    while True:
        batch = step % n_batches
        if rng is not None and (starting := np.flatnonzero(batch == 0)).size:
            order[starting] = _permutations(members.counts[starting], order.shape[1], rng)
        columns = (batch * size)[:, None] + np.arange(width)
        included = columns < members.counts[:, None]
        rows = members.rows(np.take_along_axis(order, np.minimum(columns, order.shape[1] - 1), axis=1))
        yield BatchDraw(rows, None if included.all() else included)
        step += 1


def _permutations(counts: Rows, width: int, rng: np.random.Generator) -> Rows:
    """Return a random order of range(counts[r]) in each row, followed by the rest of range(width)."""
    keys = rng.random((len(counts), width))
    keys[np.arange(width) >= counts[:, None]] = np.inf
    return np.argsort(keys, axis=1)


@dataclass(frozen=True)
class CyclicBatches(EpochSampling):
    """Records in their given order, cut into batches, repeatedly; the last batch of a round may be smaller."""

    order: ClassVar[str] = "cyclic"
    ordered: ClassVar[bool] = True
    same_batches: ClassVar[bool] = True

    def worst_case_place(self, strategy: Floats) -> int:
        batches = self.own_rates()["batches_per_epoch"]
        return FixedOrder(int(batches)).first_step(strategy) * self.batch_size

    def centres(self, shifts: AnyFloats, steps: int) -> AnyFloats:
        sums = np.add.reduceat(shifts, np.arange(0, len(shifts), self.batch_size), axis=0)
        return np.asarray(sums[np.arange(steps) % len(sums)])

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density of noisy sums, `(n_runs,)`, where every batch is known."""
        return np.asarray(gaussian_exponent(values, self.centres(shifts, values.shape[1])).sum(axis=1))


@dataclass(frozen=True)
class ShuffledEpochs(EpochSampling):
    """Fresh random order of the records each epoch, cut into batches; the last batch of an epoch may be smaller."""

    order: ClassVar[str] = "shuffled"

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        """Return the log density: each epoch is a mixture over the batch that holds the differing record."""
        size, n = self.batch_size, len(shifts)
        common, differing = common_and_differing(shifts)
        sizes = np.array([min(size, n - start) for start in range(0, n, size)])
        steps = np.arange(values.shape[1]) % len(sizes)
        centres = sizes[steps][:, None] * common
        without = gaussian_exponent(values, centres)
        if differing is None:
            return np.asarray(without.sum(axis=1))
        gain = gaussian_exponent(values, centres + differing - common) - without + np.log(sizes / n)[steps]
        total = without.sum(axis=1)
        for start in range(0, values.shape[1], len(sizes)):
            epoch = gain[:, start : start + len(sizes)]
            later_probability = 1.0 - sizes[: epoch.shape[1]].sum() / n
            missing = np.full((len(values), 1), math.log(later_probability) if later_probability > 0.0 else -math.inf)
            total += logsumexp(np.concatenate([epoch, missing], axis=1), axis=1)
        return np.asarray(total)
