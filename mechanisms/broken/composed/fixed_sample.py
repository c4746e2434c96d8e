"""Intentionally broken amplification: the sample is not random."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...accounting import LaplaceDP
from ...combinators.subsampled import Subsampled
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, at_least
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.laplace import Laplace
from ...noise.queries.counts import Count


@dataclass(frozen=True)
class FixedSample(Mechanism):
    """Broken: a noisy count of the first tenth of the records, with the claim for a random tenth.

    Bug: batches are taken in the order of the data, and the accountant amplifies by their share. A record of the first
    batch is in it with probability 1: the true epsilon is that of the count, not ln(1 + 0.1 (e^epsilon - 1)).

    Args:
        epsilon: epsilon of the count without amplification, > 0; the claim is smaller.
        n_records: a multiple of 10; a dataset is an array of n_records numbers, of which those above 1/2 are counted.
        correct: True for the correct twin, `Subsampled` with samples of a fixed size.

    Example:
        >>> broken = FixedSample(epsilon=1.0)
        >>> round(broken.guarantee().epsilon(0.0), 4), broken.exact_guarantee().epsilon(0.0)
        (0.1586, 1.0)
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    n_records: Annotated[int, at_least(10)] = 10
    correct: bool = False
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_records % 10:
            raise ParameterError(f"n_records must be a multiple of 10, but is {self.n_records}.", argument="n_records")
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> FixedSample:
        """Return the correct twin, with the same options."""
        return replace(self, correct=True)

    @property
    def base(self) -> Laplace:
        """Noisy count without sampling."""
        return Laplace(self.epsilon, query=Count(above=0.5), relation=self.relation)

    @property
    def sampled(self) -> Subsampled:
        """Noisy count of a random tenth."""
        return Subsampled(self.base, rate=0.1, sampling="fixed-size", n_records=self.n_records)

    def _first(self, dataset: Dataset) -> NDArray[np.float64]:
        """Return the first tenth of the records."""
        values = np.asarray(dataset, dtype=np.float64)
        return values[: len(values) // 10]

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy counts, shape `(size,)`."""
        if self.correct:
            return self.sampled.release(dataset, size, rng)
        return self.base.release(self._first(dataset), size, rng)

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        if self.correct:
            return self.sampled.log_density(outputs, dataset)
        return self.base.log_density(outputs, self._first(dataset))

    def guarantee(self) -> Guarantee:
        """Return the claim: the amplified curve of the count."""
        return self.sampled.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of the count, without amplification for the broken mechanism."""
        return self.sampled.exact_guarantee() if self.correct else LaplaceDP(self.epsilon, self.relation)

    def worst_case(self) -> Neighbours:
        """Return records that are all 0, except for the first on side 1."""
        d0 = np.zeros(self.n_records)
        return Neighbours(d0, np.append(1.0, d0[1:]), self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_records(neighbours)
        return self
