"""Intentionally broken bounds and domains: taken from the data, or ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, LaplaceDP
from ...core.arrays import Floats
from ...core.base import Dataset, Neighbours, Outputs
from ...core.constraints import Finite, Positive, at_least, check_fields
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...noise.laplace import draw_laplace, laplace_log_density
from .base import BrokenStatistic, numbers


@dataclass(frozen=True)
class BoundsFromData(BrokenStatistic):
    """Broken: a sum clipped to the smallest and the largest value in the data.

    Bug: without given bounds, they are computed from the private data, and noise of scale largest |value| / epsilon is
    added. No value is clipped, and the scale of the noise depends on an outlier: the tails of the noise leak it, and
    the true epsilon is infinite at delta 0. The correct twin has public bounds.

    Args:
        epsilon: the claim, > 0.
        bound: public bound of |value| of the correct twin, > 0, and the value of the differing record.
        correct: True for the correct twin.

    References:
        vanderschaarlab/synthcity #278; alan-turing-institute/reprosyn #38; dpmm and diffprivlib in Cebere et al.
        (arXiv:2602.17454).

    Example:
        >>> broken = BoundsFromData(epsilon=1.0)
        >>> [broken.noise_scale(broken.worst_case().side(side)) for side in (0, 1)]
        [1.0, 10.0]
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

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
class DomainFromData(BrokenStatistic):
    """Broken: a histogram over the categories that are present in the data.

    Bug: the categories are computed from the private data; each gets its count plus Laplace(1 / epsilon), and the
    others are missing from the answer (here: exactly 0). A category of a single record is listed if and only if the
    record is present: epsilon is infinite, at every delta below 1. The correct twin lists all categories of the public
    domain.

    Args:
        epsilon: the claim, > 0.
        n_categories: size of the public domain 0, 1, ..., >= 3.
        correct: True for the correct twin.

    References:
        vanderschaarlab/synthcity #278 (three classes become two); alan-turing-institute/reprosyn #38.

    Example:
        >>> broken = DomainFromData(epsilon=1.0)
        >>> broken.release(broken.worst_case().d0, 1, np.random.default_rng(0)).values.round(1)
        array([[2.7, 1.5, 0. ]])
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

    n_categories: Annotated[int, at_least(3)] = 3

    def counts(self, dataset: Dataset) -> Floats:
        """Return the number of records of each category, shape `(n_categories,)`."""
        values = numbers(dataset)
        if not np.all((values >= 0) & (values < self.n_categories) & (values == np.floor(values))):
            raise ParameterError(
                f"the dataset must be whole numbers from 0 to {self.n_categories - 1}, but is {dataset!r}.",
                argument="dataset",
            )
        return np.bincount(values.astype(np.int64), minlength=self.n_categories).astype(np.float64)

    def listed(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Return a mask of the categories in the answer, shape `(n_categories,)`."""
        return np.ones(self.n_categories, dtype=np.bool_) if self.correct else self.counts(dataset) > 0

    def statistic(self, dataset: Dataset) -> Floats:
        """Return the counts of the categories that are listed."""
        return self.counts(dataset)[self.listed(dataset)]

    def noise_scale(self, dataset: Dataset) -> float:
        """Return 1 / epsilon."""
        return 1.0 / self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` histograms, shape `(size, n_categories)`; 0 for categories that are not listed."""
        values = draw_laplace(self.noise_scale(dataset), (size, self.n_categories), rng)
        values += self.counts(dataset)
        values[:, ~self.listed(dataset)] = 0.0
        return Outputs(values)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where another set is listed."""
        listed = self.listed(dataset)
        noise = outputs.values.astype(np.float64) - self.counts(dataset)
        density = np.where(listed, laplace_log_density(noise, self.noise_scale(dataset)), 0.0).sum(axis=1)
        return np.where(((outputs.values != 0.0) == listed).all(axis=1), density, -np.inf)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak; for the twin, the curve of one count that changes by 1."""
        if self.correct:
            return LaplaceDP(self.epsilon, self.relation)
        return ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)

    def worst_case(self) -> Neighbours:
        """Return records (0, 1, 0), and on side 1 the only record of category 2."""
        return Neighbours(np.array([0, 1, 0]), np.array([0, 1, 0, 2]), self.relation)


@dataclass(frozen=True)
class UpperBoundIgnored(BrokenStatistic):
    """Broken: the coefficient of a squared feature in a regression, with a sensitivity that ignores the upper bound.

    The functional mechanism adds noise to the coefficients of the loss, sums over the records; the coefficient of the
    squared parameter is the sum of x^2, which one record changes by up to max(|lower|, |upper|)^2. Bug: both arguments
    of max are the lower bound. The true epsilon is max(|lower|, |upper|)^2 / lower^2 times the claim. With lower = 0
    the declared sensitivity is 0, and the coefficient is released without noise; with symmetric bounds the claim holds.

    Args:
        epsilon: the claim, > 0: the share of the budget of this coefficient.
        lower, upper: public bounds of the feature, lower < upper, not both 0.
        correct: True for the correct twin.

    References:
        Zhang, Zhang, Xiao, Yang, Winslett (2012) (the functional mechanism); IBM/differential-privacy-library, issues
        105 and 110.

    Example:
        >>> UpperBoundIgnored(epsilon=1.0, lower=-2.0, upper=4.0).exact_guarantee().epsilon(0.0)
        4.0
        >>> UpperBoundIgnored(epsilon=1.0, lower=0.0).exact_guarantee().epsilon(0.0)
        inf
        >>> UpperBoundIgnored(epsilon=1.0, correct=True).exact_guarantee().epsilon(0.0)
        1.0
    """

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
        """Declared sensitivity."""
        return max(abs(self.lower), abs(self.upper if self.correct else self.lower)) ** 2

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of squares of clipped values."""
        return float(np.square(np.clip(numbers(dataset), self.lower, self.upper)).sum())

    def noise_scale(self, dataset: Dataset) -> float:
        """Return sensitivity / epsilon."""
        return self.sensitivity / self.epsilon

    def worst_case(self) -> Neighbours:
        """Return one record at the lower bound, and on side 1 one more at the bound of larger absolute value."""
        outlier = max(self.lower, self.upper, key=abs)
        return Neighbours(np.array([self.lower]), np.array([self.lower, outlier]), self.relation)
