"""Intentionally broken clipping: bounds are taken from the data, ignored, or passed by NaN.

Each has the option `correct`: True for the same release on the same pair without the bug, so that an audit of both
shows the effect of the bug.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....accounting.broken import certain_leak
from ....core import Dataset, Finite, Guarantee, Neighbours, Outputs, ParameterError, Positive, Relation, check_fields
from ....core.arrays import Floats
from ....noise.broken_statistic import BrokenStatistic, numbers


@dataclass(frozen=True)
class BoundsFromData(BrokenStatistic):
    """Broken: a sum clipped to the smallest and the largest value in the data.

    No value is clipped, and the scale of the noise depends on an outlier: the tails of the noise leak it, and the
    true epsilon is infinite at delta 0. The correct twin has public bounds.

    Args:
        epsilon: the claim, > 0.
        bound: public bound of |value| of the correct twin, > 0, and the value of the differing record.
        correct: True for the correct twin.

    Example:
        >>> broken = BoundsFromData(epsilon=1.0)
        >>> [broken.noise_scale(broken.worst_case().side(side)) for side in (0, 1)]
        [1.0, 10.0]
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

    cause = "The bounds are computed from the private data, and noise of scale largest |value| / epsilon is added."
    source = (
        "vanderschaarlab/synthcity #278; alan-turing-institute/reprosyn #38; dpmm and diffprivlib in Cebere et al. "
        "(arXiv:2602.17454)."
    )

    bound: Positive = 10.0

    def bounds(self, dataset: Dataset) -> tuple[float, float]:
        """Return the bounds to which values are clipped."""
        if self.correct:
            return -self.bound, self.bound
        values = numbers(dataset)
        return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)

    def statistic(self, dataset: Dataset) -> float:
        """Return the clipped sum."""
        return float(np.clip(numbers(dataset), *self.bounds(dataset)).sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """Return max(|lower|, |upper|) / epsilon."""
        lower, upper = self.bounds(dataset)
        return max(abs(lower), abs(upper)) / self.epsilon

    def worst_case(self) -> Neighbours:
        """Return three records of 1, and one more at the bound on side 1."""
        return Neighbours(np.ones(3), np.array([1.0, 1.0, 1.0, self.bound]), self.relation)


@dataclass(frozen=True)
class UpperBoundIgnored(BrokenStatistic):
    """Broken: the coefficient of a squared feature in a regression, with a sensitivity that ignores the upper bound.

    The functional mechanism adds noise to the coefficients of the loss, sums over the records; the coefficient of
    the squared parameter is the sum of x^2, which one record changes by up to max(|lower|, |upper|)^2. The true
    epsilon is max(|lower|, |upper|)^2 / lower^2 times the claim. With lower = 0 the declared sensitivity is 0, and
    the coefficient is released without noise; with symmetric bounds the claim holds.

    Args:
        epsilon: the claim, > 0: the share of the budget of this coefficient.
        lower, upper: public bounds of the feature, lower < upper, not both 0.
        correct: True for the correct twin.

    Example:
        >>> UpperBoundIgnored(epsilon=1.0, lower=-2.0, upper=4.0).exact_guarantee().epsilon(0.0)
        4.0
        >>> UpperBoundIgnored(epsilon=1.0, lower=0.0).exact_guarantee().epsilon(0.0)
        inf
        >>> UpperBoundIgnored(epsilon=1.0, correct=True).exact_guarantee().epsilon(0.0)
        1.0
    """

    cause = "Both arguments of max are the lower bound."
    source = (
        "Zhang, Zhang, Xiao, Yang, Winslett (2012) (the functional mechanism); IBM/differential-privacy-library, "
        "issues 105 and 110."
    )

    lower: Finite = -1.0
    upper: Finite = 100.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.lower < self.upper:
            raise ParameterError(
                f"lower must be below upper, but they are {self.lower!r} and {self.upper!r}.", argument="lower"
            )
        super().__post_init__()

    @property
    def sensitivity(self) -> float:
        return max(abs(self.lower), abs(self.upper if self.correct else self.lower)) ** 2

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of squares of clipped values."""
        return float(np.square(np.clip(numbers(dataset), self.lower, self.upper)).sum())

    def worst_case(self) -> Neighbours:
        """Return one record at the lower bound, and on side 1 one more at the bound of larger absolute value."""
        outlier = max(self.lower, self.upper, key=abs)
        return Neighbours(np.array([self.lower]), np.array([self.lower, outlier]), self.relation)


@dataclass(frozen=True)
class ClippedCopyUnused(BrokenStatistic):
    """Broken: a sum of the raw values, whose clipped copy is unused.

    Noise of scale bound / epsilon is added to the sum of the raw values, whose sensitivity is infinite: no epsilon
    holds for all pairs, and on the worst case here the true epsilon is outlier / bound times the claim. (In the
    library it was a covariance.)

    Args:
        epsilon: the claim, > 0.
        bound: values are to be clipped to [-bound, bound], > 0.
        outlier: value of the differing record, > 0; the bug shows above `bound`.
        correct: True for the correct twin.

    Example:
        >>> broken = ClippedCopyUnused(epsilon=0.5)
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (10.0, 0.5)
    """

    cause = "The clipped data are stored in a variable that is never read."
    source = "opendp/smartnoise-sdk, issues 622 and 624."

    bound: Positive = 5.0
    outlier: Positive = 100.0

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum that is released, without noise."""
        values = numbers(dataset)
        clipped = np.clip(values, -self.bound, self.bound)
        return float(clipped.sum() if self.correct else values.sum())

    @property
    def sensitivity(self) -> float:
        return self.bound

    def worst_case(self) -> Neighbours:
        """Return records (1, -2), and the outlier on side 1."""
        return Neighbours(np.array([1.0, -2.0]), np.array([1.0, -2.0, self.outlier]), self.relation)


@dataclass(frozen=True)
class NaNSurvivesClipping(BrokenStatistic):
    """Broken: a sum of clipped values, in which NaN is not clipped.

    The sum and the release are NaN, so that one record decides whether there is an answer: epsilon is infinite, at
    every delta below 1. The correct twin replaces NaN by the point of the interval nearest to 0.

    Args:
        epsilon: the claim, > 0.
        bound: values are clipped to [-bound, bound], > 0.
        correct: True for the correct twin.

    Example:
        >>> broken = NaNSurvivesClipping(epsilon=1.0)
        >>> broken.release(broken.worst_case().d1, 2, np.random.default_rng(0)).events.tolist()
        ['nan', 'nan']
        >>> broken.exact_guarantee().epsilon(0.5), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 0.5)
    """

    cause = "NaN is neither below nor above a bound, so that clipping does not change it."
    source = "Clipping in pandas and numpy; found in several synthesisers and trainers by ObliviousAI/dp-recorder."

    bound: Positive = 5.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def statistic(self, dataset: Dataset) -> float:
        """Return the clipped sum; NaN if a record is NaN, unless `correct`."""
        values = numbers(dataset)
        if self.correct:
            values = np.where(np.isnan(values), 0.0, values)
        return float(np.clip(values, -self.bound, self.bound).sum())

    @property
    def sensitivity(self) -> float:
        """Sensitivity of a record that can be replaced."""
        return 2.0 * self.bound

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy sums, shape `(size,)`; the event "nan" where the sum is NaN."""
        outputs = super().release(dataset, size, rng)
        if not np.isnan(self.statistic(dataset)):
            return outputs
        return Outputs(np.zeros(size), np.full(size, "nan"))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; log probability of the event."""
        events = outputs.labels != ""
        if np.isnan(self.statistic(dataset)):
            return np.where(events, 0.0, -np.inf)
        return np.where(events, -np.inf, super().log_density(outputs, dataset))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak; for the twin, that of a sum that moves by half of its sensitivity."""
        return super().exact_guarantee() if self.correct else certain_leak(self.relation)

    def worst_case(self) -> Neighbours:
        """Return records (1, bound), whose second value is NaN on side 1."""
        return Neighbours(np.array([1.0, self.bound]), np.array([1.0, np.nan]), self.relation)
