"""Intentionally broken mean: its divisor is the private number of records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.base import Dataset, Neighbours
from ...core.constraints import Positive, PositiveInt
from .base import BrokenStatistic, numbers


@dataclass(frozen=True)
class DivisorOfData(BrokenStatistic):
    """Broken: a noisy sum divided by the number of records, which is private.

    Bug: mean = (clipped sum + Laplace(bound / epsilon)) / n, where n differs between neighbours. The noise in the
    output has scale bound / (epsilon n): its tails leak the number of records, and the true epsilon is infinite at
    delta 0. The correct twin divides by a public constant.

    Args:
        epsilon: the claim, > 0.
        bound: values are clipped to [0, bound], > 0.
        records: number of records on side 0, >= 1; side 1 has one more. The fewer, the easier to detect.
        correct: True for the correct twin, which divides by `records`.

    References:
        ObliviousAI/dp-recorder, from vanderschaarlab/synthcity.

    Example:
        >>> broken = DivisorOfData(epsilon=1.0)
        >>> [round(broken.noise_scale(broken.worst_case().side(side)), 4) for side in (0, 1)]
        [0.5, 0.3333]
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

    bound: Positive = 1.0
    records: PositiveInt = 2

    def divisor(self, dataset: Dataset) -> int:
        """Return the divisor of the noisy sum."""
        return self.records if self.correct else max(1, len(numbers(dataset)))

    def statistic(self, dataset: Dataset) -> float:
        """Return clipped sum / divisor."""
        return float(np.clip(numbers(dataset), 0.0, self.bound).sum() / self.divisor(dataset))

    def noise_scale(self, dataset: Dataset) -> float:
        """Return bound / (epsilon divisor)."""
        return self.bound / (self.epsilon * self.divisor(dataset))

    def worst_case(self) -> Neighbours:
        """Return `records` zeros, and one more record at the bound on side 1."""
        d0 = np.zeros(self.records)
        return Neighbours(d0, np.append(d0, self.bound), self.relation)
