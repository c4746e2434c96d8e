"""Sample and aggregate: a statistic of every part of the records, and the noisy vote of the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, Mechanism, Neighbours
from ..errors import NeighboursError, ParameterError
from ..validation import one_of
from .aggregators.votes import Counts, count_votes
from .parts import VotesOfParts, part_of


def _mode(labels: NDArray[np.int64]) -> int:
    """The commonest label; of several the first."""
    return int(np.bincount(labels).argmax())


def _median(labels: NDArray[np.int64]) -> int:
    """The lower median."""
    return int(np.sort(labels)[(len(labels) - 1) // 2])


STATISTICS: dict[str, Callable[[NDArray[np.int64]], int]] = {"mode": _mode, "median": _median}


@dataclass(frozen=True)
class SampleAndAggregate(VotesOfParts):
    """The records are dealt to disjoint parts; each votes for the value of a statistic, and the noisy vote is released.

    (Nissim, Raskhodnikova and Smith 2007, section 4, with a vote as the aggregation.) The statistic may be anything: it
    is never asked how far it moves. Where it takes the same value on most parts, that value is found.

    Args:
        aggregator: LNMax or GNMax with one query, say; n_teachers is the number of parts, n_classes the number of
            values.
        statistic: "mode" or "median" of records that are labels; or a function from the records of a part, any array,
            to a whole number from 0 to n_classes - 1.

    Raises:
        ParameterError: an unknown statistic, or an aggregator with several queries.

    Guarantees:
        * That of the aggregator: a record alters one vote.

    Example:
        >>> from dpassay.mechanisms.ensembles import LNMax
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
        """The records, checked where the statistic is that of labels."""
        records = np.asarray(dataset)
        n = self.aggregator.n_classes
        fits = records.ndim >= 1 and records.dtype.kind in "biuf"
        if fits and isinstance(self.statistic, str):
            fits = records.ndim == 1 and bool(np.isin(records, np.arange(n)).all())
        if not fits:
            raise ParameterError(
                f"records must be whole numbers from 0 to {n - 1}, or an array with a record a row for a statistic of "
                f"your own, but have shape {records.shape} and dtype {records.dtype}.",
                argument="dataset",
            )
        return records.astype(np.int64) if isinstance(self.statistic, str) else records

    def votes(self, dataset: Dataset) -> Counts:
        """How many parts have each value, `(1, n_classes)`."""
        records = self.records(dataset)
        statistic = STATISTICS[self.statistic] if isinstance(self.statistic, str) else self.statistic
        values = [[int(statistic(records[part]))] for part in part_of(len(records), self.aggregator.n_teachers)]
        return count_votes(values, self.aggregator.n_classes)

    def worst_case(self) -> Neighbours:
        """One record a part, whose votes are those of the worst case of the aggregator."""
        if not isinstance(self.statistic, str):
            raise ParameterError(
                "the worst case of a statistic of your own is not known. Give a pair of neighbours.",
                argument="statistic",
            )
        return Neighbours(*self.labels_at_worst(), self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        first, second = (self.records(neighbours.side(side)) for side in (0, 1))
        if first.shape != second.shape or (first != second).reshape(len(first), -1).any(axis=1).sum() != 1:
            raise NeighboursError(
                "d0 and d1 must differ in one record, in its place: parts are dealt by the order of the records.",
                argument=("d0", "d1"),
            )
        return self
