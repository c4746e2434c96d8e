"""Sample and aggregate: a noisy vote over the values of a statistic on disjoint parts of the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.base import Dataset, Mechanism, Neighbours
from ...core.errors import NeighboursError, ParameterError
from ...core.validation import one_of
from .disjoint_parts import VotesOfParts, part_of
from .vote_counts import Counts, count_votes


def _mode(labels: NDArray[np.int64]) -> int:
    """Return the most frequent label, the smallest in a tie."""
    return int(np.bincount(labels).argmax())


def _median(labels: NDArray[np.int64]) -> int:
    """Return the lower median."""
    return int(np.sort(labels)[(len(labels) - 1) // 2])


STATISTICS: dict[str, Callable[[NDArray[np.int64]], int]] = {"mode": _mode, "median": _median}


@dataclass(frozen=True)
class SampleAndAggregate(VotesOfParts):
    """Noisy vote over the values of a statistic on disjoint parts of the records.

    (Nissim, Raskhodnikova and Smith 2007, section 4, with a vote as the aggregation.) The statistic is arbitrary: its
    sensitivity is not needed. A value that the statistic takes on most parts is likely to be released.

    Args:
        aggregator: for example LNMax or GNMax, with one query; n_teachers is the number of parts, n_classes the number
            of values.
        statistic: "mode" or "median" of records that are labels; or a function from the records of a part, any array,
            to a whole number from 0 to n_classes - 1.

    Raises:
        ParameterError: an unknown statistic, or an aggregator with several queries.

    Guarantees:
        * The guarantee of the aggregator: a record changes one vote.

    Example:
        >>> from dpassay.mechanisms.learning.pate import LNMax
        >>> mechanism = SampleAndAggregate(LNMax(0.5, n_teachers=5, n_classes=3))
        >>> mechanism.votes([0, 0, 1, 2, 1] * 3).tolist()
        [[2, 2, 1]]
    """

    _: KW_ONLY
    statistic: str | Callable[[NDArray[Any]], int] = "mode"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.statistic, str):
            one_of(STATISTICS, statistic=self.statistic)
        elif not callable(self.statistic):
            raise ParameterError(
                f"statistic must be one of {', '.join(STATISTICS)}, or a function, but is {self.statistic!r}.",
                argument="statistic",
            )
        if self.aggregator.n_queries != 1:
            raise ParameterError(
                f"a statistic is one query, but aggregator has n_queries = {self.aggregator.n_queries}. Set it to 1.",
                argument="aggregator",
            )

    def records(self, dataset: Dataset) -> NDArray[Any]:
        """Return the records; for a built-in statistic, check that they are labels."""
        records = np.asarray(dataset)
        n = self.aggregator.n_classes
        fits = records.ndim >= 1 and records.dtype.kind in "biuf"
        if fits and isinstance(self.statistic, str):
            fits = records.ndim == 1 and bool(np.isin(records, np.arange(n)).all())
        if not fits:
            raise ParameterError(
                f"records must be whole numbers from 0 to {n - 1}, or for a user-defined statistic an array with one "
                f"row for each record, but have shape {records.shape} and dtype {records.dtype}.",
                argument="dataset",
            )
        return records.astype(np.int64) if isinstance(self.statistic, str) else records

    def votes(self, dataset: Dataset) -> Counts:
        """Return the number of parts with each value, `(1, n_classes)`."""
        records = self.records(dataset)
        statistic = STATISTICS[self.statistic] if isinstance(self.statistic, str) else self.statistic
        values = [[int(statistic(records[part]))] for part in part_of(len(records), self.aggregator.n_teachers)]
        return count_votes(values, self.aggregator.n_classes)

    def worst_case(self) -> Neighbours:
        """Return one record for each part, with the votes of the worst case of the aggregator."""
        if not isinstance(self.statistic, str):
            raise ParameterError(
                "the worst case of a user-defined statistic is not known. Give a pair of neighbours.",
                argument="statistic",
            )
        return Neighbours(*self.labels_at_worst(), self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        records0, records1 = (self.records(neighbours.side(side)) for side in (0, 1))
        if records0.shape != records1.shape or (records0 != records1).reshape(len(records0), -1).any(axis=1).sum() != 1:
            raise NeighboursError(
                "d0 and d1 must differ in one record, in place: the order of the records determines the parts.",
                argument=("d0", "d1"),
            )
        return self
