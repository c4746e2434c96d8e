"""Intentionally broken statistics: sums, means, medians and second moments.

Each has the option `correct`: True for the same release on the same pair without the bug, so that an audit of both
shows the effect of the bug. Where the bug is in the arithmetic, the noise is calibrated correctly for the claim.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import multigammaln

from ..accounting import ExactDP, LaplaceDP
from ..accounting.kinds.two_laws import log_laplace, two_laplaces
from ..core.arrays import Floats
from ..core.base import Dataset, LogDensity, Neighbours, Outputs
from ..core.constraints import Finite, Flag, Positive, PositiveInt, check_fields, one_of_names
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..noise.laplace import draw_laplace, laplace_log_density
from ..noise.queries.base import numbers_of
from ..noise.statistics.median_sensitivity import BoundedMedian
from .base import BrokenPureDP, certain_leak


@dataclass(frozen=True)
class BrokenStatistic(BrokenPureDP, RecordsMechanism):
    """Broken: base class of the broken statistics, itself correct.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    correct: Flag = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    @abstractmethod
    def statistic(self, dataset: Dataset) -> float | Floats:
        """Return the released value without the noise: a number, or a vector."""

    @property
    def sensitivity(self) -> float:
        """Declared sensitivity."""
        return 1.0

    def noise_scale(self, dataset: Dataset) -> float:
        """Return the scale of the Laplace noise, >= 0: sensitivity / epsilon, on every dataset in a correct release."""
        return self.sensitivity / self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy numbers, shape `(size,)`."""
        values = draw_laplace(self.noise_scale(dataset), (size,), rng)
        values += self.statistic(dataset)
        return Outputs(values)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        values = outputs.values.astype(np.float64, copy=False)
        return log_laplace(values, float(self.statistic(dataset)), self.noise_scale(dataset))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`."""
        pair = self.worst_case()
        laws = ((float(self.statistic(d)), self.noise_scale(d)) for d in (pair.d0, pair.d1))
        (centre0, scale0), (centre1, scale1) = laws
        return two_laplaces(centre0, scale0, centre1, scale1, self.relation)


def numbers(dataset: Dataset) -> Floats:
    """Return one number per record, shape `(n_records,)`; raise `ParameterError` for anything else."""
    try:
        return numbers_of(dataset, None)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"the dataset must be numbers of shape (n_records,), but {error}. Give one number per record.",
            argument="dataset",
        ) from error


# --- bounds taken from the data, or ignored ---------------------------------------------------------------------------


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
        """Declared sensitivity."""
        return max(abs(self.lower), abs(self.upper if self.correct else self.lower)) ** 2

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of squares of clipped values."""
        return float(np.square(np.clip(numbers(dataset), self.lower, self.upper)).sum())

    def worst_case(self) -> Neighbours:
        """Return one record at the lower bound, and on side 1 one more at the bound of larger absolute value."""
        outlier = max(self.lower, self.upper, key=abs)
        return Neighbours(np.array([self.lower]), np.array([self.lower, outlier]), self.relation)


# --- clipping: the clipped copy is unused, or NaN is not clipped ------------------------------------------------------


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
        """Declared sensitivity."""
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

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; log probability of the event."""
        events = np.zeros(len(outputs), dtype=np.bool_) if outputs.events is None else outputs.events != ""
        if np.isnan(self.statistic(dataset)):
            return np.where(events, 0.0, -np.inf)
        return np.where(events, -np.inf, super().log_density(outputs, dataset))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak; for the twin, that of a sum that moves by half of its sensitivity."""
        return super().exact_guarantee() if self.correct else certain_leak(self.relation)

    def worst_case(self) -> Neighbours:
        """Return records (1, bound), whose second value is NaN on side 1."""
        return Neighbours(np.array([1.0, self.bound]), np.array([1.0, np.nan]), self.relation)


# --- means ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DivisorOfData(BrokenStatistic):
    """Broken: a noisy sum divided by the number of records, which is private.

    mean = (clipped sum + Laplace(bound / epsilon)) / n. The noise in the output has scale bound / (epsilon n): its
    tails leak the number of records, and the true epsilon is infinite at delta 0. The correct twin divides by a public
    constant.

    Args:
        epsilon: the claim, > 0.
        bound: values are clipped to [0, bound], > 0.
        records: number of records on side 0, >= 1; side 1 has one more. The fewer, the easier to detect.
        correct: True for the correct twin, which divides by `records`.

    Example:
        >>> broken = DivisorOfData(epsilon=1.0)
        >>> [round(broken.noise_scale(broken.worst_case().side(side)), 4) for side in (0, 1)]
        [0.5, 0.3333]
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

    cause = "The noisy sum is divided by the number of records n, which differs between neighbours."
    source = "ObliviousAI/dp-recorder, from vanderschaarlab/synthcity."

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


FLOOR = 1e-12
"""Smallest scale of the noise on the mean."""


@dataclass(frozen=True)
class MeanWithExactCounts(BrokenStatistic):
    """Broken: a mean of values in [0, 1] whose divisor and noise scale should come from a noisy count.

        c      = n + Laplace(1 / (b epsilon))
        mean   = clipped sum / (c or n) + Laplace(1 / (b epsilon (c or n))), the scale being at least 1e-12

    with b = 1/2 where the noisy count c is used, else 1. The bugs:

        neither                        the exact n is in the divisor and in the scale: the tails leak n
        noisy_divisor or noisy_scale   the exact n is in the other place
        noisy_divisor and noisy_scale  with probability e^(-b epsilon n) / 2 the count is negative, the scale is at its
                                       minimum, and the sum / c is released almost without noise: data of zeros give
                                       an exact 0

    The true epsilon is infinite in all four; at neither, only at delta 0. The correct twin uses max(c, 1) in both
    places. It is epsilon-DP: given the count, which takes epsilon / 2, the mean is a function of the clipped sum plus
    Laplace(2 / epsilon), and one record moves that sum by at most 1.

    Args:
        epsilon: the claim, > 0.
        noisy_divisor: True to divide the sum by c, not by n.
        noisy_scale: True for c in the scale, not n.
        correct: True for the correct twin, for any value of the other two.

    Example:
        >>> broken = MeanWithExactCounts(epsilon=1.0)
        >>> values = broken.release(broken.worst_case().d0, 100_000, np.random.default_rng(0)).values
        >>> bool(abs(np.mean(values > 3.0) - 0.0677) < 0.004), broken.exact_guarantee().epsilon(0.0)
        (True, inf)
    """

    cause = "A noisy count is used in one place, in none, or without a check of its sign."
    source = "google/differential-privacy, the mean mechanism of DP-Auditorium."

    noisy_divisor: Flag = False
    noisy_scale: Flag = False

    @property
    def all_exact(self) -> bool:
        """True if no noisy count is used."""
        return not (self.correct or self.noisy_divisor or self.noisy_scale)

    @property
    def all_noisy(self) -> bool:
        """True if the noisy count is used in both places."""
        return self.correct or (self.noisy_divisor and self.noisy_scale)

    @property
    def base_scale(self) -> float:
        """Scale of the noise of the count and of the sum, 1 / (b epsilon)."""
        return (1.0 if self.all_exact else 2.0) / self.epsilon

    def total(self, dataset: Dataset) -> float:
        """Return the clipped sum."""
        return float(np.clip(numbers(dataset), 0.0, 1.0).sum())

    def count(self, dataset: Dataset) -> int:
        """Return the number of records n, 1 for no records."""
        return max(1, len(numbers(dataset)))

    def statistic(self, dataset: Dataset) -> float:
        """Return clipped sum / n."""
        return self.total(dataset) / self.count(dataset)

    def noise_scale(self, dataset: Dataset) -> float:
        """Return 1 / (b epsilon n), the scale with the exact count."""
        return self.base_scale / self.count(dataset)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` means, shape `(size,)`."""
        n, total = self.count(dataset), self.total(dataset)
        if self.all_exact:
            return super().release(dataset, size, rng)
        noisy = n + draw_laplace(self.base_scale, (size,), rng)
        if self.correct:
            noisy = np.maximum(noisy, 1.0)
        divisor = noisy if self.noisy_divisor or self.correct else np.full(size, float(n))
        below = noisy if self.noisy_scale or self.correct else np.full(size, float(n))
        noise = draw_laplace(1.0, (size,), rng) * np.maximum(FLOOR, self.base_scale / below)
        return Outputs(total / divisor + noise)

    def output_law(self) -> LogDensity | None:
        """Return self where the count is exact or noisy in both places; None if only one of the flags is set."""
        return self if self.all_exact or self.all_noisy else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; undefined for a single flag."""
        if self.all_exact:
            return super().log_density(outputs, dataset)
        values = outputs.values.astype(np.float64, copy=False)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._density(values, float(self.count(dataset)), self.total(dataset))))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()` where the noise has the scale of the exact count, else None."""
        return None if self.correct or self.noisy_scale else super().exact_guarantee()

    def worst_case(self) -> Neighbours:
        """Return (1) and (1, 0); with a noisy divisor (0) and (0, 0), whose mean is 0; with both (0) and (0, 1)."""
        first = 0.0 if self.noisy_divisor else 1.0
        second = 1.0 if self.noisy_divisor and self.noisy_scale else 0.0
        return Neighbours(np.array([first]), np.array([first, second]), self.relation)

    def _density(self, values: Floats, n: float, total: float) -> Floats:
        """Return the density of (total + Laplace(B)) / c over the law of c, including the cases c < 1 or c < 0."""
        cut = 1.0 if self.correct else 0.0
        tail = math.exp(-(n - cut) / self.base_scale) / 2.0  # Pr[c <= cut], as n >= 1
        density = _integral(values, n, total, self.base_scale, cut)
        if self.correct:
            return density + tail * np.exp(log_laplace(values, total, self.base_scale))
        if total == 0.0:
            return density + tail * np.exp(log_laplace(values, 0.0, FLOOR))
        negative = np.minimum(values, -1e-100)
        ratio = np.exp(-np.abs(total / negative - n) / self.base_scale) / (2.0 * self.base_scale)
        return density + np.where(values < 0.0, ratio * total / np.square(negative), 0.0)


def _integral(values: Floats, n: float, total: float, scale: float, low: float) -> Floats:
    """Return the part of the density with a count c >= low, at each value.

    It is the integral over c of the density of n + Laplace(scale) at c times that of (total + Laplace(scale)) / c. The
    integrand is c exp(linear) between the kinks at n and at total / value.
    """
    end = n + 800.0 * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        kink = np.where(values == 0.0, end, total / values)
    cuts = np.sort([np.full(values.shape, low), np.full(values.shape, n), np.clip(kink, low, end)], axis=0)
    integral = np.zeros(values.shape)
    for left, right in zip(cuts, [*cuts[1:], np.full(values.shape, end)], strict=True):
        at_left, at_right = (-(np.abs(c - n) + np.abs(values * c - total)) / scale for c in (left, right))
        integral += _linear_times_exponential(left, right, at_left, at_right)
    return integral / (4.0 * scale * scale)


def _linear_times_exponential(left: Floats, right: Floats, at_left: Floats, at_right: Floats) -> Floats:
    """Return the integral of c e^u(c) over [left, right], with u linear from `at_left` to `at_right`.

    The integral is computed from the end where u is larger, so that there is no overflow.
    """
    width, fall = right - left, np.abs(at_right - at_left)
    falls = at_right <= at_left
    near = np.where(falls, left, right)
    small = fall < 1e-4
    safe = np.where(small, 1.0, fall)
    first = np.where(small, 1.0 - fall / 2.0 + fall**2 / 6.0, -np.expm1(-safe) / safe)
    second = np.where(small, 0.5 - fall / 3.0 + fall**2 / 8.0, (1.0 - np.exp(-safe) * (1.0 + safe)) / safe**2)
    moment = near * width * first + np.where(falls, 1.0, -1.0) * width**2 * second
    return np.asarray(np.exp(np.maximum(at_left, at_right)) * moment)


# --- a median ---------------------------------------------------------------------------------------------------------


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


# --- sums in machine arithmetic ---------------------------------------------------------------------------------------

LARGEST = 2**30
"""Upper bound of the values of `WrappedSum`."""
TOP = 4096.0
"""Upper bound of the values of `SinglePrecisionSum`: 4,096 of them sum to 2^24, above which a float32 is even."""
CASES = {"half-up": np.full(1365, 3.0), "up": np.full(4095, 1.0001), "order": np.full(12_288, 1.0)}
"""Small records of each case."""


@dataclass(frozen=True)
class WrappedSum(BrokenStatistic):
    """Broken: a sum of whole numbers in 32 bits, which wraps around.

    One more record can move the sum from 2^31 - 1 to -2^31, by 2^32 - 1 and not by 2^30, and the true epsilon is
    (4 - 2^-30) epsilon. The correct twin sums in 64 bits.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.

    Example:
        >>> broken = WrappedSum(epsilon=0.5)
        >>> [broken.statistic(broken.worst_case().side(side)) for side in (0, 1)]
        [2147483647.0, -2147483648.0]
        >>> round(broken.exact_guarantee().epsilon(0.0), 6), broken.twin().exact_guarantee().epsilon(0.0) <= 0.5
        (2.0, True)
    """

    cause = "Values in [0, 2^30] are summed as int32, and Laplace noise of scale 2^30 / epsilon is added."
    source = "Casacuberta, Shoemate, Vadhan, Wagaman (2022); google/differential-privacy #126."

    @property
    def sensitivity(self) -> float:
        """Declared sensitivity."""
        return float(LARGEST)

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of clipped values in the arithmetic of the mechanism."""
        values = np.clip(numbers(dataset), 0.0, LARGEST).astype(np.int64)
        total = values.sum()
        return float(total if self.correct else total.astype(np.int32))

    def worst_case(self) -> Neighbours:
        """Return records (2^30, 2^30 - 1), and on side 1 one more of 1."""
        d0 = np.array([LARGEST, LARGEST - 1])
        return Neighbours(d0, np.append(d0, 1), self.relation)


@dataclass(frozen=True)
class SinglePrecisionSum(BrokenStatistic):
    """Broken: a sum of real numbers, accumulated sequentially in single precision.

    From 2^24 on every partial sum is rounded to an even number, and one record in front decides whether the others
    are rounded:

        "half-up"   1,365 records of 3 after the 4,096th of 4,096: 3 counts as 4, and the sum moves by 5,461:
                    true epsilon 1.33 epsilon
        "up"        4,095 records of 1.0001: each counts as 2, and the sum moves by 8,191: 2 epsilon
        "order"     12,288 records of 1 are first, or last, where they count as 0; with the added record the sum moves
                    by 16,384: 4 epsilon, unbounded in the number of records. Where datasets are sets without an
                    order, this is a valid pair of neighbours.

    The correct twin adds exactly (Shewchuk 1997, as in `math.fsum`).

    Args:
        epsilon: the claim, > 0.
        case: name of the worst-case pair, one of the three above.
        correct: True for the correct twin.

    Example:
        >>> sums = [SinglePrecisionSum(case=case) for case in ("half-up", "up", "order")]
        >>> [round(broken.exact_guarantee().epsilon(0.0), 4) for broken in sums]
        [1.3333, 1.9998, 4.0]
        >>> [round(broken.twin().exact_guarantee().epsilon(0.0), 4) for broken in sums]
        [1.0, 1.0, 1.0]
    """

    cause = "Values in [0, 4096] are summed as float32, and Laplace noise of scale 4096 / epsilon is added."
    source = "Casacuberta, Shoemate, Vadhan, Wagaman (2022)."

    case: Annotated[str, one_of_names(*CASES)] = "up"

    @property
    def sensitivity(self) -> float:
        """Declared sensitivity."""
        return TOP

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of clipped values in the arithmetic of the mechanism."""
        values = np.clip(numbers(dataset), 0.0, TOP)
        return math.fsum(values) if self.correct else _sequential_sum(values)

    def worst_case(self) -> Neighbours:
        """Return the pair of the case; the record of side 1 is one of 4096."""
        large, small = np.full(4096, TOP), CASES[self.case]
        d0 = np.concatenate([large[:-1] if self.case != "order" else large, small])
        d1 = np.concatenate([large, small] if self.case != "order" else [small, large, [TOP]])
        return Neighbours(d0, d1, self.relation)


def _sequential_sum(values: NDArray[np.float64]) -> float:
    """Return the sum in float32, from the first to the last."""
    return float(np.cumsum(values, dtype=np.float32)[-1]) if len(values) else 0.0


# --- second moments ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WishartNoise(BrokenPureDP, RecordsMechanism):
    """Broken: a second-moment matrix plus a Wishart matrix.

    release = sum of x x^T + G G^T, with G of shape (d, d + 1) and independent normal entries of standard deviation
    norm_bound / (2 epsilon). An output that is not above the matrix with the record is possible only without the
    record, so that epsilon is infinite. A Wishart density with d + 1 degrees of freedom is proportional to
    exp(-tr(W) / (2 s^2)) on its support, so that elsewhere the likelihood ratio is constant, and the event has
    probability 1 - e^(-2 epsilon^2) on one side and 0 on the other, for every d.

    The correct twin adds Laplace noise of scale (d + 1) norm_bound^2 / (2 epsilon) to each entry on and above the
    diagonal, whose L1 sensitivity is ((sum |x_i|)^2 + sum x_i^2) / 2 <= (d + 1) norm_bound^2 / 2.

    Args:
        epsilon: the claim, > 0, at delta 0.
        n_features: number of features d, >= 1.
        norm_bound: largest L2 norm of a record, > 0; longer ones are scaled down.
        correct: True for the correct twin.

    Example:
        >>> broken = WishartNoise(epsilon=1.0)
        >>> curve = broken.exact_guarantee()
        >>> curve.epsilon(0.0), round(curve.delta(50.0), 4)
        (inf, 0.8647)
        >>> broken.twin().exact_guarantee().epsilon(0.0)
        1.0
    """

    cause = "The noise is one-sided."
    source = (
        "Imtiaz, Sarwate (2016) (the mechanism); IBM/differential-privacy-library, issues 23, 25 and 42 (where it was "
        "removed)."
    )

    epsilon: Positive = 1.0
    _: KW_ONLY
    n_features: PositiveInt = 1
    norm_bound: Positive = 1.0
    correct: Flag = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the entries of G."""
        return self.norm_bound / (2.0 * self.epsilon)

    @property
    def laplace_scale(self) -> float:
        """Scale of the noise of the correct twin."""
        return 0.5 * (self.n_features + 1) * self.norm_bound**2 / self.epsilon

    def statistic(self, dataset: Dataset) -> Floats:
        """Return the sum of x x^T, shape `(d, d)`, of records of shape `(n_records, d)`."""
        records = np.asarray(dataset, dtype=np.float64)
        if records.ndim != 2 or records.shape[1] != self.n_features:
            raise ParameterError(
                f"the dataset must have shape (n_records, {self.n_features}), but has {records.shape}.",
                argument="dataset",
            )
        norms = np.linalg.norm(records, axis=1, keepdims=True)
        clipped = records / np.maximum(1.0, norms / self.norm_bound)
        return np.asarray(clipped.T @ clipped)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy matrices, shape `(size, d, d)`."""
        d = self.n_features
        if self.correct:
            noise = np.triu(draw_laplace(self.laplace_scale, (size, d, d), rng))
            noise += np.triu(noise, 1).swapaxes(1, 2)
        else:
            factors = self.standard_deviation * rng.standard_normal((size, d, d + 1))
            noise = factors @ factors.swapaxes(1, 2)
        return Outputs(noise + self.statistic(dataset))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        noise = outputs.values.astype(np.float64) - self.statistic(dataset)
        d = self.n_features
        if self.correct:
            entries = laplace_log_density(noise, self.laplace_scale)[(slice(None), *np.triu_indices(d))]
            return np.asarray(entries.sum(axis=1))
        variance = self.standard_deviation**2
        density = -0.5 * np.trace(noise, axis1=1, axis2=2) / variance
        density -= 0.5 * d * (d + 1) * math.log(2.0 * variance) + float(multigammaln(0.5 * (d + 1), d))
        return np.where(np.linalg.eigvalsh(noise)[:, 0] > 0.0, density, -np.inf)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of two outcomes: above the matrix with the record, or not."""
        if self.correct:
            return LaplaceDP(self.norm_bound**2 / self.laplace_scale, self.relation)
        above = math.exp(-2.0 * self.epsilon**2)
        return ExactDP([1.0 - above, above], [0.0, 1.0], self.relation)

    def worst_case(self) -> Neighbours:
        """Return no record, and one record of norm norm_bound along the first feature."""
        d1 = np.zeros((1, self.n_features))
        d1[0, 0] = self.norm_bound
        return Neighbours(np.zeros((0, self.n_features)), d1, self.relation)
