"""Cyclic batches: the records in their given order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...base import Floats
from .base import BatchDraw, Mask, gaussian_exponent
from .batches import Members
from .epochs import EpochSampling, epochs


@dataclass(frozen=True)
class CyclicBatches(EpochSampling):
    """Records in their given order, cut into batches, repeatedly; the last batch of a round may be smaller."""

    order: ClassVar[str] = "cyclic"
    ordered: ClassVar[bool] = True
    same_batches: ClassVar[bool] = True

    def draws(
        self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator
    ) -> Iterator[BatchDraw]:
        return epochs(Members.of(n_records, n_runs, inclusion), self.batch_size, None)

    def log_likelihood(self, values: Floats, shifts: Floats) -> Floats:
        """Return the log density of noisy sums, `(n_runs,)`, where every batch is known."""
        sums = np.add.reduceat(shifts, np.arange(0, len(shifts), self.batch_size), axis=0)
        return np.asarray(gaussian_exponent(values, sums[np.arange(values.shape[1]) % len(sums)]).sum(axis=1))
