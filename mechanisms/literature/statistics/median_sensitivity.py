"""Sensitivity of the median of bounded values: on neighbours of a dataset, and within k replacements of it."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from ...core import Dataset, Finite, Floats, ParameterError, check_fields
from ...noise.queries.base import numbers_of


@dataclass(frozen=True)
class BoundedMedian:
    """The median of values clipped to [lower, upper], with its local sensitivities when records are replaced.

    With n values sorted, x_1 <= ... <= x_n, the median is x_m, m = ceil(n / 2); x_i is `lower` for i < 1 and `upper`
    for i > n. Within k replacements its local sensitivity is at most, and for some dataset equal to,

        A_k = max over t in 0..k+1 of x_(m+t) - x_(m+t-k-1)

    (Nissim, Raskhodnikova and Smith 2007, section 3.1). Missing values (NaN) count as `lower`.

    Args:
        lower, upper: public bounds of the values, lower < upper.

    Example:
        >>> median = BoundedMedian(0.0, 1.0)
        >>> median([0.2, 0.5, 0.6]), median.within([0.2, 0.5, 0.6]).round(6).tolist()
        (0.5, [0.3, 0.5, 0.8, 1.0])
    """

    lower: Finite = 0.0
    upper: Finite = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 < float(self.upper) - float(self.lower) < math.inf:
            raise ParameterError(
                f"lower must be below upper, by a finite number, but they are {self.lower!r} and {self.upper!r}.",
                argument="lower",
            )

    def sorted(self, dataset: Dataset) -> Floats:
        """Return the clipped values in order, shape `(n,)`, n >= 1."""
        values = numbers_of(dataset, None)
        if len(values) == 0:
            raise ParameterError("the dataset must hold at least one record, but is empty.", argument="dataset")
        return np.sort(np.clip(np.where(np.isnan(values), self.lower, values), self.lower, self.upper))

    def __call__(self, dataset: Dataset) -> float:
        """Return the median."""
        values = self.sorted(dataset)
        return float(values[(len(values) + 1) // 2 - 1])

    def local(self, dataset: Dataset) -> float:
        """Return A_0, the local sensitivity."""
        return _largest_move(*self._sides(dataset), 0)

    def within(self, dataset: Dataset) -> Floats:
        """Return A_0, ..., A_n, shape `(n + 1,)`: the largest local sensitivity within 0, ..., n replacements."""
        below, above = self._sides(dataset)
        return np.array([_largest_move(below, above, k) for k in range(len(below) - 1)])

    def smooth(self, dataset: Dataset, decay: float) -> float:
        """Return the smooth sensitivity, the largest e^(-decay k) A_k.

        A_k grows with k, so for k from a to b the value is at most e^(-decay a) A_b. Ranges are halved, the one with
        the largest such limit first, until no limit exceeds the largest value.
        """
        below, above = self._sides(dataset)
        last = len(below) - 2
        largest = _largest_move(below, above, last)
        smooth_sensitivity = max(math.exp(-decay * last) * largest, _largest_move(below, above, 0))
        ranges = [(-largest, 0, last, largest)]
        while ranges and -ranges[0][0] > smooth_sensitivity:
            _, first, last, largest = heapq.heappop(ranges)
            if last - first < 2:
                continue
            k = (first + last) // 2
            middle = _largest_move(below, above, k)
            smooth_sensitivity = max(smooth_sensitivity, math.exp(-decay * k) * middle)
            heapq.heappush(ranges, (-math.exp(-decay * first) * middle, first, k, middle))
            heapq.heappush(ranges, (-math.exp(-decay * k) * largest, k, last, largest))
        return smooth_sensitivity

    def distance(self, dataset: Dataset, bound: float) -> int:
        """Return the fewest replacements after which the local sensitivity can exceed `bound`; n + 1 if none."""
        below, above = self._sides(dataset)
        return bisect_right(range(len(below) - 1), bound, key=lambda k: _largest_move(below, above, k))

    def _sides(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Return x_m followed by the values below it, descending, and by those above it, ascending: `(n + 2,)` each."""
        values = self.sorted(dataset)
        n = len(values)
        m = (n + 1) // 2
        below = np.concatenate([values[:m][::-1], np.full(n + 2 - m, self.lower)])
        above = np.concatenate([values[m - 1 :], np.full(m + 1, self.upper)])
        return below, above


def _largest_move(below: Floats, above: Floats, k: int) -> float:
    """Return A_k: the largest difference between t above and k + 1 - t below the median."""
    return float((above[: k + 2] - below[: k + 2][::-1]).max())
