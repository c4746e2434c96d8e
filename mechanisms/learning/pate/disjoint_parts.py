"""Base class of sample-and-aggregate and PATE: models of disjoint parts of the records, whose votes are aggregated."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Outputs
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from .aggregator import Aggregator
from .vote_counts import Counts


@dataclass(frozen=True)
class VotesOfParts(Mechanism):
    """Aggregated votes of one model for each part; record i belongs to part i mod n_teachers.

    A replaced record changes one part, and so the votes of one model: the guarantee of the aggregator holds for the
    records.

    Args:
        aggregator: the mechanism from votes to labels; its n_teachers is the number of parts.
    """

    aggregator: Aggregator
    _: KW_ONLY
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregator, Aggregator):
            raise ParameterError(
                f"aggregator must be an Aggregator, such as LNMax(0.05) or GNMax(40.0), but is {self.aggregator!r}.",
                argument="aggregator",
            )

    @abstractmethod
    def votes(self, dataset: Dataset) -> Counts:
        """Return the number of models that give each label to each query, `(n_queries, n_classes)`."""

    def labels(self, dataset: Dataset, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the aggregated labels of `size` runs, `(size, n_queries)`; -1 for no answer."""
        return np.asarray(self.aggregator.release(self.votes(dataset), size, rng).values)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the labels of `size` runs, `(size, n_queries)`."""
        return Outputs(self.labels(dataset, size, rng))

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each vector of labels, `(size,)`."""
        return self.aggregator.log_density(outputs, self.votes(dataset))

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the aggregator."""
        return self.aggregator.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact guarantee of the aggregator, whose worst case has the same votes as this mechanism's."""
        return self.aggregator.exact_guarantee()

    def labels_at_worst(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return one label for each part on both sides, with the votes of the worst case of the aggregator."""
        pair = self.aggregator.worst_case()
        (losing,) = np.flatnonzero(pair.d1[0] < pair.d0[0])
        (gaining,) = np.flatnonzero(pair.d1[0] > pair.d0[0])
        before = np.repeat(np.arange(self.aggregator.n_classes), pair.d0[0])
        after = before.copy()
        after[np.flatnonzero(before == losing)[0]] = gaining
        return before, after


def part_of(n_records: int, n_parts: int) -> list[NDArray[np.int64]]:
    """Return the indices of the records of each part; record i belongs to part i mod n_parts.

    Raises:
        ParameterError: fewer records than parts.
    """
    if n_records < n_parts:
        raise ParameterError(
            f"each of {n_parts} parts needs a record, but there are {n_records}. Use at most {n_records}.",
            argument="dataset",
        )
    return [np.arange(part, n_records, n_parts) for part in range(n_parts)]
