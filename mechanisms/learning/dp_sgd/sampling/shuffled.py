"""Shuffled batches, as the data loaders of most frameworks draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from ...base import Floats
from .base import BatchDraw, Mask, gaussian_exponent
from .batches import Members, common_and_differing
from .epochs import EpochSampling, epochs


@dataclass(frozen=True)
class ShuffledEpochs(EpochSampling):
    """Fresh random order of the records each epoch, cut into batches; the last batch of an epoch may be smaller."""

    order: ClassVar[str] = "shuffled"

    def draws(
        self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator
    ) -> Iterator[BatchDraw]:
        return epochs(Members.of(n_records, n_runs, inclusion), self.batch_size, rng)

    def log_likelihood(self, values: Floats, shifts: Floats) -> Floats:
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
