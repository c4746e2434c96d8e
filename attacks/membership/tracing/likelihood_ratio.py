"""Likelihood ratios: of a person from the study against a person from the population, and the exact ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import ParameterError, plural
from ....mechanisms.noise.studies.column_means import ColumnMeans
from ....mechanisms.noise.studies.populations import Study
from .base import TracingStatistic

IMPOSSIBLE = 745.0
"""Minus the log likelihood ratio of an impossible column: the logarithm of the smallest float."""


@dataclass(frozen=True)
class TracingLikelihoodRatio(TracingStatistic):
    """Log ratio of the probability of a row with the means as frequencies and its probability in the population.

        T = sum_j y_j ln(q_j / p_j) + (1 - y_j) ln((1 - q_j) / (1 - p_j))

    Args:
        margin: means are clipped to [margin, 1 - margin], strictly between 0 and 1/2: a mean of 0 would exclude
            every person with a 1.

    For exact means; it takes noise for signal, most of all near 0 and 1. `ExactLikelihoodRatio` models the noise.

    References:
        Sankararaman, Obozinski, Jordan and Halperin (2009), "Genomic privacy and limits of individual detection in a
        pool".

    Example:
        >>> TracingLikelihoodRatio().score([0.75], [[1], [0]], [0.5]).round(4).tolist()  # ln 1.5, ln 0.5
        [0.4055, -0.6931]
    """

    margin: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 < self.margin < 0.5:
            raise ParameterError(argument="margin", value=self.margin, allowed="lie strictly between 0 and 1/2")

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        q = np.clip(released, self.margin, 1.0 - self.margin)
        one, zero = np.log(q / frequencies), np.log((1.0 - q) / (1.0 - frequencies))
        return one - zero, zero


@dataclass(frozen=True)
class ExactLikelihoodRatio(TracingStatistic):
    """Log ratio of the density of the release if the person is one of n and its density if all n are non-members.

        T = sum_j ln [ sum_k Bin(k; n - 1, p_j) f(q_j - (k + y_j) / n) / sum_k Bin(k; n, p_j) f(q_j - k / n) ]

    with f the density of the noise, or the probability of values rounded to q_j. No test of one hypothesis against the
    other has more power at any false positive rate (Neyman and Pearson), if columns are independent.

    Args:
        means: the mechanism that published the means: n, noise, and decimals.

    Guarantees:
        * An impossible column has the value -745: never NaN or inf.

    Example:
        >>> exact = ExactLikelihoodRatio(ColumnMeans(2, 1, noise="none"))
        >>> exact.score([0.5], [[1], [0]], [0.5]).round(6).tolist()  # Pr[1 of 2] = 1/2 either way
        [0.0, 0.0]
        >>> exact.score([1.0], [[1], [0]], [0.5]).round(4).tolist()  # 1/2 against 1/4; impossible
        [0.6931, -745.0]
    """

    means: ColumnMeans

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        d = len(frequencies)
        if d != self.means.n_attributes:
            raise ParameterError(
                f"{plural(d, 'column')} are published, but the mechanism has n_attributes {self.means.n_attributes:,}.",
                argument="released",
            )
        values = np.atleast_2d(released)
        log_density0 = self.means.column_log_density(values, Study(frequencies))
        sides = []
        for y in (0, 1):
            log_density1 = self.means.column_log_density(values, Study(frequencies, np.full(d, y, dtype=np.uint8)))
            with np.errstate(invalid="ignore"):
                sides.append(
                    np.nan_to_num(log_density1 - log_density0, nan=0.0, neginf=-IMPOSSIBLE).reshape(released.shape)
                )
        return sides[1] - sides[0], sides[0]
