"""Models of disjoint parts of the records, whose votes are aggregated: from records to votes to labels.

VotesOfParts          base class of the mechanisms that count one vote for each part, and of `PATE`
SampleAndAggregate    the vote of a part is a statistic of its records
TeacherVotes          the vote of a part is the label of its nearest record
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Mechanism, Neighbours, Outputs, example
from ...core.constraints import Positive, PositiveInt
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import one_of
from .aggregator import Aggregator
from .noisy_max import ONE_DRAW, LNMax
from .vote_counts import Counts, count_votes, short_text


class VotesOfParts(Mechanism):
    """Aggregated votes of one model for each part; record i belongs to part i mod n_teachers.

    A replaced record changes one part, and so the votes of one model: the guarantee of the aggregator holds for the
    records.

    Attributes:
        aggregator: the mechanism from votes to labels; its n_teachers is the number of parts.
    """

    if TYPE_CHECKING:  # at run time a field or a property of the subclass

        @property
        def aggregator(self) -> Aggregator: ...

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

    def labels(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Ints:
        """Return the aggregated labels of `size` runs, `(size, n_queries)`; -1 for no answer."""
        return np.asarray(self.aggregator.release(self.votes(dataset), size, rng).values)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the labels of `size` runs, `(size, n_queries)`."""
        return Outputs(self.labels(dataset, size, rng))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each vector of labels, `(size,)`."""
        return self.aggregator.log_density(outputs, self.votes(dataset))

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the aggregator."""
        return self.aggregator.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact guarantee of the aggregator, whose worst case has the same votes as this mechanism's."""
        return self.aggregator.exact_guarantee()

    def labels_at_worst(self) -> tuple[Ints, Ints]:
        """Return one label for each part on both sides, with the votes of the worst case of the aggregator."""
        pair = self.aggregator.worst_case()
        (losing,) = np.flatnonzero(pair.d1[0] < pair.d0[0])
        (gaining,) = np.flatnonzero(pair.d1[0] > pair.d0[0])
        before = np.repeat(np.arange(self.aggregator.n_classes), pair.d0[0])
        after = before.copy()
        after[np.flatnonzero(before == losing)[0]] = gaining
        return before, after


def part_of(n_records: int, n_parts: int) -> list[Ints]:
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


def _check_one_record(records0: NDArray[Any], records1: NDArray[Any]) -> None:
    """Raise `NeighboursError` unless the sides differ in one record, in place."""
    if records0.shape != records1.shape or (records0 != records1).reshape(len(records0), -1).any(axis=1).sum() != 1:
        raise NeighboursError(
            "d0 and d1 must differ in one record, in place: the order of the records determines the parts.",
            argument=("d0", "d1"),
        )


def _mode(labels: Ints) -> int:
    """Return the most frequent label, the smallest in a tie."""
    return int(np.bincount(labels).argmax())


def _median(labels: Ints) -> int:
    """Return the lower median."""
    return int(np.sort(labels)[(len(labels) - 1) // 2])


PART_STATISTICS: dict[str, Callable[[Ints], int]] = {"mode": _mode, "median": _median}


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
        >>> from dpassay.mechanisms.literature.pate import LNMax
        >>> mechanism = SampleAndAggregate(LNMax(0.5, n_teachers=5, n_classes=3))
        >>> mechanism.votes([0, 0, 1, 2, 1] * 3).tolist()
        [[2, 2, 1]]
    """

    _example = example(aggregator=LNMax(0.4, n_teachers=6, n_classes=3))

    aggregator: Aggregator
    _: KW_ONLY
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)
    statistic: str | Callable[[NDArray[Any]], int] = "mode"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.statistic, str):
            one_of(PART_STATISTICS, statistic=self.statistic)
        elif not callable(self.statistic):
            raise ParameterError(
                f"statistic must be one of {', '.join(PART_STATISTICS)}, or a function, but is {self.statistic!r}.",
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
        statistic = PART_STATISTICS[self.statistic] if isinstance(self.statistic, str) else self.statistic
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

    def _check_pair(self, neighbours: Neighbours) -> None:
        _check_one_record(self.records(neighbours.d0), self.records(neighbours.d1))


@dataclass(frozen=True)
class TeacherVotes(VotesOfParts):
    """Noisy majority of nearest-neighbour teachers, one for each of `n_teachers` disjoint parts of the records.

    (Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017, for two labels.) The query is one public point. The votes
    depend only on the labels of the records in the order of the distance from that point, nearest first: these labels
    are the dataset. A teacher votes for the label of the nearest record of its part, and `LNMax` with one draw answers
    the query `rounds` times.

    Args:
        rate: epsilon of a round, > 0; Laplace noise of scale 1 / rate is added to the votes for label 1.
        n_teachers: number of parts, >= 1; the number of records is a multiple of it.
        rounds: number of answers to the query, >= 1; the claim is rate * rounds.

    Example:
        >>> votes = TeacherVotes(rate=0.1, rounds=5)
        >>> votes.guarantee().epsilon(0.0), round(votes.exact_guarantee().epsilon(0.0), 9)
        (0.5, 0.5)
    """

    _loss_powers: ClassVar[Mapping[str, float]] = {"rate": 1.0}

    rate: Positive
    _: KW_ONLY
    n_teachers: PositiveInt = 10
    rounds: PositiveInt = 1
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @cached_property
    def aggregator(self) -> LNMax:
        """Noisy majority of the votes, once in each round."""
        return LNMax(self.rate, draws=ONE_DRAW, n_teachers=self.n_teachers, n_classes=2, n_queries=self.rounds)

    def records(self, dataset: Dataset) -> Ints:
        """Return the checked labels, 0 or 1, nearest record first, `(n_records,)`."""
        labels = np.asarray(dataset)
        if labels.ndim != 1 or labels.dtype.kind not in "biuf" or not np.isin(labels, (0, 1)).all():
            raise ParameterError(
                f"a dataset must be a vector of labels 0 and 1, nearest record first, but is {short_text(dataset)}.",
                argument="dataset",
            )
        if not labels.size or labels.size % self.n_teachers:
            raise ParameterError(
                f"the number of records must be a multiple of n_teachers = {self.n_teachers}, but is {labels.size}.",
                argument="dataset",
            )
        return labels.astype(np.int64)

    def teachers(self, labels: Ints) -> Ints:
        """Return the vote of each teacher, `(n_teachers,)`; the nearest record of part j is record j."""
        return labels[: self.n_teachers]

    def votes(self, dataset: Dataset) -> Counts:
        """Return the votes for each label, equal in all rounds, `(rounds, 2)`."""
        votes = count_votes(self.teachers(self.records(dataset))[:, None], 2)
        return np.repeat(votes, self.rounds, axis=0)

    def worst_case(self) -> Neighbours:
        """Return a pair with half of the votes for label 1, and one more, where the rarer answer has ratio e^rate."""
        return Neighbours(*self.labels_at_worst(), self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        _check_one_record(self.records(neighbours.d0), self.records(neighbours.d1))
