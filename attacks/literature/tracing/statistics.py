"""Statistics of tracing: the normalised inner product, differences, and likelihood ratios.

A new statistic is one class and one line in the catalogue; `dpassay list tracing` shows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import NonNegative, Positive, PositiveInt, one_of_names
from ....mechanisms.core.errors import ParameterError, plural
from ....mechanisms.core.registry import Catalogue
from ....mechanisms.core.validation import open_unit, whole
from ....mechanisms.literature.studies.column_means import ColumnMeans
from ....mechanisms.literature.studies.populations import Study
from .base import Linear, TracingStatistic

WEIGHTS = ("uniform", "best", "fingerprinting")


@dataclass(frozen=True, kw_only=True)
class InnerProduct(TracingStatistic):
    """Inner product of the deviations of a person and of the means from the frequencies, in standard deviations.

        T = sum_j w_j (y_j - p_j) (q_j - p_j) / sqrt(sum_j w_j^2 v_j (q_j - p_j)^2),       v = p (1 - p)

    Args:
        weights: "uniform", w = 1; "best", w = 1 / (v / n + s^2); "fingerprinting", w = 1 / sqrt(v).
        n_records: n, number of people in the study, >= 1; for the best weights.
        standard_deviation: s, standard deviation of the noise of each mean, in units of the means, >= 0; for the best
            weights.

    Guarantees:
        * Given q, non-members with independent columns have mean 0 and variance 1, and are normal in the limit of many
          columns, none of which has most of the weight: `nulls` has this limit, and bounds that hold without it.
        * Members have a mean of sum w v / n / sqrt(sum w^2 v (v / n + s^2)) nearly; the best weights maximise it:
          its square is then sum v / (n^2 (v / n + s^2)), which is d / n without noise, for any p.

    Raises:
        ParameterError: the best weights without n_records; a value out of range.

    References:
        Dwork, Smith, Steinke, Ullman and Vadhan (2015), "Robust traceability from trace amounts" (the product); Tardos
        (2003) (weights of fingerprinting codes).

    Example:
        >>> InnerProduct().score([0.75, 0.5], [[1, 0], [0, 1]], [0.5, 0.5]).tolist()
        [1.0, -1.0]
    """

    weights: Annotated[str, one_of_names(*WEIGHTS)] = "uniform"
    n_records: PositiveInt | None = None
    standard_deviation: NonNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_records is None and self.weights == "best":
            raise ParameterError(
                "weights are 'best', which need the number of people in the study: give n_records.",
                argument="n_records",
            )

    def linear(self, released: ArrayLike, frequencies: ArrayLike) -> Linear:
        """Return the normalised score; see `TracingStatistic.linear`."""
        return super().linear(released, frequencies).standardised(np.asarray(frequencies, dtype=np.float64))

    def weights_of(self, frequencies: Floats) -> Floats:
        """Return the weight w of each column, for frequencies strictly between 0 and 1."""
        v = frequencies * (1.0 - frequencies)
        if self.weights == "uniform":
            return np.ones_like(v)
        if self.weights == "fingerprinting":
            return np.asarray(1.0 / np.sqrt(v))
        assert self.n_records is not None
        return np.asarray(1.0 / (v / self.n_records + self.standard_deviation**2))

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        slopes = self.weights_of(frequencies) * (released - frequencies)
        return slopes, -slopes * frequencies


@dataclass(frozen=True)
class Homer(TracingStatistic):
    """Distance of a person to the population minus the distance to the means: sum_j |y_j - p_j| - |y_j - q_j|.

    For zeros and ones this is sum_j (2 y_j - 1) (q_j - p_j). Means outside [0, 1] are clipped.

    References:
        Homer et al. (2008), "Resolving individuals contributing trace amounts of DNA to highly complex mixtures".

    Example:
        >>> Homer().score([0.75, 0.5], [[1, 0], [0, 1]], [0.5, 0.5]).tolist()
        [0.25, -0.25]
    """

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        difference = np.clip(released, 0.0, 1.0) - frequencies
        return 2.0 * difference, -difference


@dataclass(frozen=True)
class TruncatedProduct(TracingStatistic):
    """Dwork et al.'s attack: sum_j (y_j - p_j) [q_j - p_j], second factor clipped to [-eta, eta], eta = 2 accuracy.

    Everything is in units of data of -1 and 1, as in the paper: twice our differences. Clipping makes the attack
    robust: it requires only that the means are near the true means on average. The paper uses one person of reference
    for the first p, and the mean of others for the second; with public frequencies both are p.

    Args:
        accuracy: alpha, mean distance of a published mean from the true one, in units of -1 and 1, > 0.

    References:
        Dwork, Smith, Steinke, Ullman and Vadhan (2015), "Robust traceability from trace amounts", section 2.

    Example:
        >>> attack = TruncatedProduct(accuracy=0.1)
        >>> attack.score([0.75, 0.55], [[1, 0], [0, 1]], [0.5, 0.5]).round(3).tolist()  # cut to 0.2, and 0.1
        [0.1, -0.1]
        >>> round(attack.threshold(1_000, fpr=0.001), 2)
        33.25
    """

    accuracy: Positive = 0.1

    def threshold(self, n_attributes: int, *, fpr: float) -> float:
        """Return 4 alpha sqrt(d ln(1 / fpr)): non-members score above it with a probability below `fpr`.

        Hoeffding's inequality would allow eta sqrt(2 d ln(1 / fpr)) for the score here; the paper's threshold, for the
        difference of two people, is larger.
        """
        whole(1, n_attributes=n_attributes)
        open_unit(fpr=fpr)
        return 4.0 * self.accuracy * math.sqrt(n_attributes * math.log(1.0 / fpr))

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        eta = 2.0 * self.accuracy
        slopes = 2.0 * np.clip(2.0 * (released - frequencies), -eta, eta)
        return slopes, -slopes * frequencies


IMPOSSIBLE_LOG_RATIO = 745.0
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
        log_ratio1, log_ratio0 = np.log(q / frequencies), np.log((1.0 - q) / (1.0 - frequencies))
        return log_ratio1 - log_ratio0, log_ratio0


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
                    np.nan_to_num(log_density1 - log_density0, nan=0.0, neginf=-IMPOSSIBLE_LOG_RATIO).reshape(
                        released.shape
                    )
                )
        return sides[1] - sides[0], sides[0]


catalogue = Catalogue(
    "tracing statistic",
    "dpassay.attacks.literature.tracing",
    {
        "inner-product": "statistics:InnerProduct",
        "homer": "statistics:Homer",
        "truncated-product": "statistics:TruncatedProduct",
        "likelihood-ratio": "statistics:TracingLikelihoodRatio",
        "exact-likelihood-ratio": "statistics:ExactLikelihoodRatio",
    },
)
