"""Intentionally broken median: noise for its local sensitivity."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....core import Dataset, Neighbours, Relation
from ....noise.broken_statistic import BrokenStatistic
from ..median_sensitivity import BoundedMedian


@dataclass(frozen=True)
class LocalSensitivityMedian(BrokenStatistic):
    """Broken: a median with Laplace noise for its local sensitivity.

    The local sensitivity of a median is the distance to the adjacent values, and can differ much between
    neighbours: the scale of the noise leaks it. The true epsilon is infinite at delta 0; where all values near the
    median are equal there is no noise. The correct twin has noise for the global sensitivity, the width of the
    bounds; `SmoothSensitivityMedian` needs less.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.

    Example:
        >>> broken = LocalSensitivityMedian(epsilon=1.0)
        >>> [round(broken.noise_scale(broken.worst_case().side(side)), 6) for side in (0, 1)]
        [0.1, 0.5]
        >>> broken.exact_guarantee().epsilon(0.0)
        inf
    """

    cause = "The noise is scaled to the sensitivity at this dataset only."
    source = "Nissim, Raskhodnikova, Smith (2007), section 1.1."

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
