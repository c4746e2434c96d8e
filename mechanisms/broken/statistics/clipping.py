"""Intentionally broken clipping: the clipped copy is unused, or NaN is not clipped."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...core.base import Dataset, Neighbours, Outputs
from ...core.constraints import Positive
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from .base import BrokenStatistic, numbers


@dataclass(frozen=True)
class ClippedCopyUnused(BrokenStatistic):
    """Broken: a sum of the raw values, whose clipped copy is unused.

    Bug: the clipped data are stored in a variable that is never read. Noise of scale bound / epsilon is added to the
    sum of the raw values, whose sensitivity is infinite: no epsilon holds for all pairs, and on the worst case here the
    true epsilon is outlier / bound times the claim. (In the library it was a covariance.)

    Args:
        epsilon: the claim, > 0.
        bound: values are to be clipped to [-bound, bound], > 0.
        outlier: value of the differing record, > 0; the bug shows above `bound`.
        correct: True for the correct twin.

    References:
        opendp/smartnoise-sdk, issues 622 and 624.

    Example:
        >>> broken = ClippedCopyUnused(epsilon=0.5)
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (10.0, 0.5)
    """

    bound: Positive = 5.0
    outlier: Positive = 100.0

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum that is released, without noise."""
        values = numbers(dataset)
        clipped = np.clip(values, -self.bound, self.bound)
        return float(clipped.sum() if self.correct else values.sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """Return bound / epsilon."""
        return self.bound / self.epsilon

    def worst_case(self) -> Neighbours:
        """Return records (1, -2), and the outlier on side 1."""
        return Neighbours(np.array([1.0, -2.0]), np.array([1.0, -2.0, self.outlier]), self.relation)


@dataclass(frozen=True)
class NaNSurvivesClipping(BrokenStatistic):
    """Broken: a sum of clipped values, in which NaN is not clipped.

    Bug: NaN is neither below nor above a bound, so that clipping does not change it, and the sum and the release are
    NaN. One record decides whether there is an answer: epsilon is infinite, at every delta below 1. The correct twin
    replaces NaN by the point of the interval nearest to 0.

    Args:
        epsilon: the claim, > 0.
        bound: values are clipped to [-bound, bound], > 0.
        correct: True for the correct twin.

    References:
        Clipping in pandas and numpy; found in several synthesisers and trainers by ObliviousAI/dp-recorder.

    Example:
        >>> broken = NaNSurvivesClipping(epsilon=1.0)
        >>> broken.release(broken.worst_case().d1, 2, np.random.default_rng(0)).events.tolist()
        ['nan', 'nan']
        >>> broken.exact_guarantee().epsilon(0.5), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 0.5)
    """

    bound: Positive = 5.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def statistic(self, dataset: Dataset) -> float:
        """Return the clipped sum; NaN if a record is NaN, unless `correct`."""
        values = numbers(dataset)
        if self.correct:
            values = np.where(np.isnan(values), 0.0, values)
        return float(np.clip(values, -self.bound, self.bound).sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """Return 2 bound / epsilon, since a record can be replaced."""
        return 2.0 * self.bound / self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy sums, shape `(size,)`; the event "nan" where the sum is NaN."""
        outputs = super().release(dataset, size, rng)
        if not np.isnan(self.statistic(dataset)):
            return outputs
        return Outputs(np.zeros(size), np.full(size, "nan"))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; log probability of the event."""
        events = np.zeros(len(outputs), dtype=np.bool_) if outputs.events is None else outputs.events != ""
        if np.isnan(self.statistic(dataset)):
            return np.where(events, 0.0, -np.inf)
        return np.where(events, -np.inf, super().log_density(outputs, dataset))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak; for the twin, that of a sum that moves by half of its sensitivity."""
        return super().exact_guarantee() if self.correct else ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)

    def worst_case(self) -> Neighbours:
        """Return records (1, bound), whose second value is NaN on side 1."""
        return Neighbours(np.array([1.0, self.bound]), np.array([1.0, np.nan]), self.relation)
