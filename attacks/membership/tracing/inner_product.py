"""The normalised inner product: a statistic with a known null distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import NonNegative, check_fields, one_of_names
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.validation import whole
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
    n_records: int | None = None
    standard_deviation: NonNegative = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.n_records is not None:
            whole(1, n_records=self.n_records)
        elif self.weights == "best":
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
