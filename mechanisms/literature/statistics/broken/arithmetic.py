"""Intentionally broken sums in machine arithmetic: integers that wrap, and single precision.

The noise is calibrated correctly for the claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ....core import Dataset, Floats, Neighbours, one_of_names
from ....noise.broken_statistic import BrokenStatistic, numbers

WRAPPED_SUM_UPPER = 2**30
"""Upper bound of the values of `WrappedSum`."""


SINGLE_PRECISION_UPPER = 4096.0
"""Upper bound of the values of `SinglePrecisionSum`: 4,096 of them sum to 2^24, above which a float32 is even."""


CASE_RECORDS = {"half-up": np.full(1365, 3.0), "up": np.full(4095, 1.0001), "order": np.full(12_288, 1.0)}
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
        return float(WRAPPED_SUM_UPPER)

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of clipped values in the arithmetic of the mechanism."""
        values = np.clip(numbers(dataset), 0.0, WRAPPED_SUM_UPPER).astype(np.int64)
        total = values.sum()
        return float(total if self.correct else total.astype(np.int32))

    def worst_case(self) -> Neighbours:
        """Return records (2^30, 2^30 - 1), and on side 1 one more of 1."""
        d0 = np.array([WRAPPED_SUM_UPPER, WRAPPED_SUM_UPPER - 1])
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

    case: Annotated[str, one_of_names(*CASE_RECORDS)] = "up"

    @property
    def sensitivity(self) -> float:
        return SINGLE_PRECISION_UPPER

    def statistic(self, dataset: Dataset) -> float:
        """Return the sum of clipped values in the arithmetic of the mechanism."""
        values = np.clip(numbers(dataset), 0.0, SINGLE_PRECISION_UPPER)
        return math.fsum(values) if self.correct else _sequential_sum(values)

    def worst_case(self) -> Neighbours:
        """Return the pair of the case; the record of side 1 is one of 4096."""
        large, small = np.full(4096, SINGLE_PRECISION_UPPER), CASE_RECORDS[self.case]
        d0 = np.concatenate([large[:-1] if self.case != "order" else large, small])
        d1 = np.concatenate([large, small] if self.case != "order" else [small, large, [SINGLE_PRECISION_UPPER]])
        return Neighbours(d0, d1, self.relation)


def _sequential_sum(values: Floats) -> float:
    """Return the sum in float32, from the first to the last."""
    return float(np.cumsum(values, dtype=np.float32)[-1]) if len(values) else 0.0
