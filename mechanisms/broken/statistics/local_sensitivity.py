"""Intentionally broken noise scaled to the local sensitivity, and a threshold compared with >= instead of >."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from ...core.base import Dataset, Neighbours
from ...core.errors import ParameterError
from ...core.relation import Relation
from ...noise.statistics.median_sensitivity import BoundedMedian
from ...noise.statistics.stability_histogram import StabilityHistogram
from .base import BrokenStatistic


@dataclass(frozen=True)
class LocalSensitivityMedian(BrokenStatistic):
    """Broken: a median with Laplace noise for its local sensitivity.

    Bug: the noise is scaled to the sensitivity at this dataset only. The local sensitivity of a median is the distance
    to the adjacent values, and can differ much between neighbours: the scale of the noise leaks it. The true epsilon is
    infinite at delta 0; where all values near the median are equal there is no noise. The correct twin has noise for
    the global sensitivity, the width of the bounds; `SmoothSensitivityMedian` needs less.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.

    References:
        Nissim, Raskhodnikova, Smith (2007), section 1.1.

    Example:
        >>> broken = LocalSensitivityMedian(epsilon=1.0)
        >>> [round(broken.noise_scale(broken.worst_case().side(side)), 6) for side in (0, 1)]
        [0.1, 0.5]
        >>> broken.exact_guarantee().epsilon(0.0)
        inf
    """

    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def statistic(self, dataset: Dataset) -> float:
        """Return the median of values clipped to [0, 1]."""
        return BoundedMedian()(dataset)

    def noise_scale(self, dataset: Dataset) -> float:
        """Return local sensitivity / epsilon."""
        return (1.0 if self.correct else BoundedMedian().local(dataset)) / self.epsilon

    def worst_case(self) -> Neighbours:
        """Return records (0.4, 0.5, 0.6), of which the last is 1 on side 1."""
        return Neighbours(np.array([0.4, 0.5, 0.6]), np.array([0.4, 0.5, 1.0]), self.relation)


@dataclass(frozen=True)
class HistogramAtThreshold(StabilityHistogram):
    """Broken: a stability-based histogram that lists counts equal to the threshold.

    Bug: >= in place of >. A category of a single record is listed with probability a^(T-1) / (1 + a), e^(epsilon / s)
    times the probability that the threshold was chosen for. At epsilon 1 and delta 0.05 that is 0.0989, or 0.0511 for
    replace_one; at delta 1e-6 and replace_one it is 8.5e-7 and the claim holds, since the threshold is rounded up.

    Args:
        epsilon, delta, n_categories, case, relation: as for `StabilityHistogram`.
        correct: True for the correct twin.

    Example:
        >>> broken = HistogramAtThreshold(epsilon=1.0, delta=0.05, relation="replace_one")
        >>> round(broken.unique_probability, 7), round(broken.twin().unique_probability, 7)
        (0.0510946, 0.0309904)
    """

    delta: float = 0.05
    _: KW_ONLY
    case: str = "unique"
    relation: Relation = Relation.ADD_REMOVE
    correct: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> HistogramAtThreshold:
        """Return the correct twin, with the same options."""
        return replace(self, correct=True)

    @property
    def _least_listed(self) -> int:
        return self.threshold + (1 if self.correct else 0)
