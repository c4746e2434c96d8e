"""Intentionally broken means: the divisor depends on the data, or the counts of a mean are released without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....accounting.numerics.laplace import log_laplace
from ....core import Dataset, Flag, Floats, Guarantee, LogDensity, Neighbours, Outputs, Positive, PositiveInt
from ....noise.broken_statistic import BrokenStatistic, numbers
from ....noise.laplace import draw_laplace


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


MIN_NOISE_SCALE = 1e-12
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
        noise = draw_laplace(1.0, (size,), rng) * np.maximum(MIN_NOISE_SCALE, self.base_scale / below)
        return Outputs(total / divisor + noise)

    def output_law(self) -> LogDensity | None:
        """Return self where the count is exact or noisy in both places; None if only one of the flags is set."""
        return self if self.all_exact or self.all_noisy else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
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
            return density + tail * np.exp(log_laplace(values, 0.0, MIN_NOISE_SCALE))
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
