"""Full batches: every record in every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ....accounting import GaussianDP
from ....accounting.dp_sgd.correlated_noise import FixedOrder
from ....core import Positive, Relation
from ...base import AnyFloats
from .base import BatchDraw, Draws, Mask, Sampling, gaussian_exponent


@dataclass(frozen=True)
class FullBatch(Sampling):
    """All records in every step.

    Args:
        expected_batch_size: the public number by which updates are divided, > 0; 1 for the sum. None divides by the
            number of records: allowed only if the relation does not change that number (zero_out, replace_one).
    """

    relation: ClassVar[Relation] = Relation.ADD_REMOVE
    accountants: ClassVar[tuple[str, ...]] = ("gaussian",)
    option_names: ClassVar[Mapping[str, str]] = {"expected_batch_size": "batch_size"}
    same_batches: ClassVar[bool] = True
    tight: ClassVar[bool] = True

    _: KW_ONLY
    expected_batch_size: Positive | None = None

    @property
    def divisor(self) -> float | None:
        return None if self.expected_batch_size is None else float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        return n_records

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Draws:
        while True:
            yield BatchDraw(None, inclusion)

    @property
    def inclusion_probability(self) -> float:
        return 1.0

    @classmethod
    def account(
        cls, noise_multiplier: float, *, steps: int, relation: Relation, accounting: str, **rates: float
    ) -> GaussianDP:
        """Return `GaussianDP(sqrt(steps) / noise_multiplier)`, which is exact."""
        return GaussianDP(math.sqrt(steps) / noise_multiplier, relation)

    @classmethod
    def participation(cls, *, relation: Relation, **rates: float) -> FixedOrder:
        return FixedOrder()

    def centres(self, shifts: AnyFloats, steps: int) -> AnyFloats:
        return np.broadcast_to(shifts.sum(axis=0), (steps, shifts.shape[1]))

    def log_likelihood(self, values: AnyFloats, shifts: AnyFloats) -> AnyFloats:
        return np.asarray(gaussian_exponent(values, self.centres(shifts, values.shape[1])).sum(axis=1))
