"""Base class of the schemes that use all records in each epoch, in batches of consecutive records of an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....accounting import GaussianDP
from ....accounting.dp_sgd.deterministic_batches import deterministic_batches
from ....core.relation import Relation
from ....core.validation import whole
from .base import BatchDraw, Rows
from .batches import BatchSampling, Members


@dataclass(frozen=True)
class EpochSampling(BatchSampling):
    """Sampling scheme in which each record takes part once in an epoch; no amplification is claimed."""

    accountants: ClassVar[tuple[str, ...]] = ("gaussian",)
    rates: ClassVar[Mapping[str, float | None]] = {"batches_per_epoch": None}
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

    def own_rates(self) -> dict[str, float]:
        return {"batches_per_epoch": -(-self.known_records() // self.batch_size)}


def epochs(members: Members, size: int, rng: np.random.Generator | None) -> Iterator[BatchDraw]:
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
