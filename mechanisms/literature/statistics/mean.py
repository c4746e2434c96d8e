"""A mean from a noisy sum and a noisy count."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...accounting.numerics.laplace import laplace_log_density
from ...core import Data, Dataset, Floats, Neighbours, Outputs, Positive, RecordsMechanism, Relation
from ...noise.laplace import LaplaceQuery, draw_laplace
from ...noise.queries.base import column_of
from ...noise.queries.sums import Sum


@dataclass(frozen=True)
class SumAndCount(LaplaceQuery, RecordsMechanism):
    """Sum of clipped values and number of records, each with Laplace noise for half of epsilon.

    `mean` computes the mean from the two. Both must be noisy: dividing by the exact number of records, or scaling the
    noise by it, would leak this number. If the number of records is public, no noisy count is needed: use Laplace noise
    on the query `Mean`.

    Args:
        epsilon: the claim, > 0.
        lower, upper: public bounds of the values, lower < upper. NaN counts as the point of the range nearest to 0.

    Guarantees:
        * epsilon-DP under add_remove (Dwork, McSherry, Nissim and Smith 2006, proposition 1), attained by a record
          at the bound with the larger absolute value.

    Example:
        >>> mechanism = SumAndCount(epsilon=1.0, lower=0.0, upper=10.0)
        >>> mechanism.scales.tolist()
        [20.0, 2.0]
        >>> mechanism.mean([[70.0, 20.0], [3.0, -1.5]]).tolist()
        [3.5, 3.0]
    """

    _dataset = Data.REALS

    epsilon: Positive = 1.0
    _: KW_ONLY
    lower: float = 0.0
    upper: float = 1.0
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._sum

    @property
    def _sum(self) -> Sum:
        return Sum(lower=self.lower, upper=self.upper)

    @property
    def n_moved(self) -> int:
        """Number of answers that one record moves, each by at most its sensitivity: 2."""
        return 2

    @property
    def scales(self) -> Floats:
        """Noise scales of sum and count: 2 max(|lower|, |upper|) / epsilon and 2 / epsilon."""
        return np.array([self._sum.sensitivity(self.relation), 1.0]) * 2.0 / self.epsilon

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact sum and count, shape `(2,)`."""
        return np.array([self._sum(dataset), float(len(column_of(dataset, None)))])

    def mean(self, outputs: ArrayLike) -> Floats:
        """Return the mean for each noisy sum and count `(size, 2)`, shape `(size,)`.

        It is their ratio, with a count of at least 1, clipped to the bounds.
        """
        sums, counts = np.asarray(outputs, dtype=np.float64).T
        return np.asarray(np.clip(sums / np.maximum(1.0, counts), self.lower, self.upper))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy sums and counts, shape `(size, 2)`."""
        return Outputs(draw_laplace(1.0, (size, 2), rng) * self.scales + self.answers(dataset))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        noise = np.subtract(outputs.values, self.answers(dataset), dtype=np.float64) / self.scales
        return np.asarray(laplace_log_density(noise, 1.0).sum(axis=1) - np.log(self.scales).sum())

    def worst_case(self) -> Neighbours:
        """Return a pair of no record and one record at the bound with the larger absolute value."""
        return Neighbours(np.zeros(0), np.array([max(self.lower, self.upper, key=abs)]), self.relation)
