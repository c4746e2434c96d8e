"""Wrong on purpose: values that are clipped in a copy, or by a clip that lets some through."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, Neighbours, Outputs
from ...guarantees import ExactDP
from ...guarantees.base import Guarantee
from ...relation import Relation
from ...validation import positive
from .base import BrokenStatistic, numbers


@dataclass(frozen=True)
class ClippedCopyUnused(BrokenStatistic):
    """Broken: values are clipped into a copy, and the sum is taken of the raw ones.

    The slip: the clipped data get a name of their own, which no one reads. Noise of scale bound / epsilon is added to
    the sum of the raw values, which one outlier moves as far as it likes: no epsilon holds for all pairs, and on the
    worst case here it is outlier / bound times the claim. (In the library it was a covariance.)

    Args:
        epsilon: the claim, > 0.
        bound: values are to be clipped to [-bound, bound], > 0.
        outlier: the record in question, > 0; the slip shows above `bound`.
        correct: True for the correct twin.

    References:
        opendp/smartnoise-sdk, issues 622 and 624.

    Example:
        >>> broken = ClippedCopyUnused(epsilon=0.5)
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (10.0, 0.5)
    """

    bound: float = 5.0
    outlier: float = 100.0

    def __post_init__(self) -> None:
        positive(bound=self.bound, outlier=self.outlier)
        super().__post_init__()

    def statistic(self, dataset: Dataset) -> float:
        """The sum that is released."""
        values = numbers(dataset)
        clipped = np.clip(values, -self.bound, self.bound)
        return float(clipped.sum() if self.correct else values.sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """bound / epsilon."""
        return self.bound / self.epsilon

    def worst_case(self) -> Neighbours:
        """(1, -2), and the outlier."""
        return Neighbours(np.array([1.0, -2.0]), np.array([1.0, -2.0, self.outlier]), self.relation)


@dataclass(frozen=True)
class NaNSurvivesClipping(BrokenStatistic):
    """Broken: values are clipped, and one that is not a number stays what it is.

    The slip: NaN is neither below nor above a bound, so that clipping leaves it, the sum is NaN and so is the release.
    One record decides whether there is an answer: epsilon is infinite, at every delta below 1. The correct twin counts
    NaN as the point of the interval nearest to 0.

    Args:
        epsilon: the claim, > 0.
        bound: values are clipped to [-bound, bound], > 0.
        correct: True for the correct twin.

    References:
        Clipping of pandas and numpy; found in several synthesisers and trainers by ObliviousAI/dp-recorder.

    Example:
        >>> broken = NaNSurvivesClipping(epsilon=1.0)
        >>> broken.release(broken.worst_case().d1, 2, np.random.default_rng(0)).events.tolist()
        ['nan', 'nan']
        >>> broken.exact_guarantee().epsilon(0.5), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 0.5)
    """

    bound: float = 5.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        positive(bound=self.bound)
        super().__post_init__()

    def statistic(self, dataset: Dataset) -> float:
        """The clipped sum; NaN where a record is, unless `correct`."""
        values = numbers(dataset)
        if self.correct:
            values = np.where(np.isnan(values), 0.0, values)
        return float(np.clip(values, -self.bound, self.bound).sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """2 bound / epsilon, since a record can be replaced."""
        return 2.0 * self.bound / self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` noisy sums, shape `(size,)`; the event "nan" where the sum is none."""
        outputs = super().release(dataset, size, rng)
        if not np.isnan(self.statistic(dataset)):
            return outputs
        return Outputs(np.zeros(size), np.full(size, "nan"))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each output under `dataset`, shape `(size,)`; log probability of the event."""
        events = np.zeros(len(outputs), dtype=np.bool_) if outputs.events is None else outputs.events != ""
        if np.isnan(self.statistic(dataset)):
            return np.where(events, 0.0, -np.inf)
        return np.where(events, -np.inf, super().log_density(outputs, dataset))

    def exact_guarantee(self) -> Guarantee | None:
        """Revealed for certain; of the twin, the curve of a sum that moves by half of what it may."""
        return super().exact_guarantee() if self.correct else ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)

    def worst_case(self) -> Neighbours:
        """(1, bound), whose second value becomes NaN."""
        return Neighbours(np.array([1.0, self.bound]), np.array([1.0, np.nan]), self.relation)
