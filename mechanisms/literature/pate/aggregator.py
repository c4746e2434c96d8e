"""Base class of the aggregators, which answer each query by a label computed from a table of votes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from ...accounting import ExactDP
from ...core import Data, Dataset, Guarantee, Mechanism, Neighbours, Outputs, PositiveInt, Relation, at_least
from ...core.arrays import Bools, Floats, Ints
from .repeated_queries import repeated_law
from .vote_counts import Counts, as_neighbours, check_one_teacher, check_votes, moved_vote

ABSTAINED = -1
"""Label of a query without an answer."""
_MAX_BLOCK_ENTRIES = 1_000_000
"""Largest number of noise values in memory at once."""


@dataclass(frozen=True)
class Aggregator(Mechanism):
    """Base class of mechanisms that answer queries by the votes of teachers; one record changes one vote.

    The teachers are trained on disjoint parts of the records. The dataset is the table of votes, `(n_queries,
    n_classes)`: the number of teachers that give each label to each query; `count_votes` computes it. Neighbours differ
    in the votes of one teacher, which may change on all queries.

    A release is `(size, n_queries)` labels from 0 to n_classes - 1, or -1 for no answer.

    Args:
        n_teachers: number of votes on each query, >= 1.
        n_classes: number of labels, >= 2.
        n_queries: >= 1.
    """

    _dataset = Data.VOTES

    _: KW_ONLY
    n_teachers: PositiveInt = 250
    n_classes: Annotated[int, at_least(2)] = 10
    n_queries: PositiveInt = 1
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @abstractmethod
    def answers(self, counts: Counts, size: int, rng: np.random.Generator) -> Ints:
        """Return the labels of `size` runs, `(size, n_queries)`, from checked votes."""

    @abstractmethod
    def log_labels(self, counts: Counts) -> Floats:
        """Return the log probability of each label, and of no answer, for each query, `(n_queries, n_classes + 1)`."""

    @abstractmethod
    def divergences(self, counts: Counts, answered: Bools, orders: Floats) -> Floats:
        """Return the Renyi divergences of each query on these votes, `(n_queries, n_orders)`; see `data_dependent`.

        `answered`, `(n_queries,)`, is true for the queries that the teachers answered.
        """

    @property
    def most_answers(self) -> int | None:
        """Number of answers after which no further query is asked; None for no limit."""
        return None

    @property
    def worst_lead(self) -> int:
        """Lead of label 1 in the worst case, in votes, before one further vote is moved to it."""
        return 0

    def counts(self, dataset: Dataset) -> Counts:
        """Return the checked votes, `(n_queries, n_classes)`."""
        return check_votes(dataset, self.n_queries, self.n_classes, self.n_teachers)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the labels of `size` runs, `(size, n_queries)`."""
        counts = self.counts(dataset)
        labels = np.empty((size, self.n_queries), dtype=np.int64)
        runs = max(1, _MAX_BLOCK_ENTRIES // counts.size)
        for start in range(0, size, runs):
            block = labels[start : start + runs]
            block[:] = self.answers(counts, len(block), rng)
        return Outputs(labels)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, `(size,)`; -inf for anything other than a vector of labels."""
        table = self.log_labels(self.counts(dataset))
        values = outputs.values.reshape(len(outputs), -1)
        if values.shape[1] != self.n_queries:
            return np.full(len(outputs), -np.inf)
        possible = (values >= ABSTAINED) & (values < self.n_classes) & (values == np.floor(values))
        labels = np.where(possible, values, ABSTAINED).astype(np.int64)
        chosen = table[np.arange(self.n_queries), labels]  # -1 is the last column
        log_probabilities = np.where(possible, chosen, -np.inf)
        return self._joint(log_probabilities, labels)

    def _joint(self, log_probabilities: Floats, labels: Ints) -> Floats:
        """Return the joint log probability of the labels from that of each label, `(size, n_queries)`."""
        return np.asarray(log_probabilities.sum(axis=1))

    def worst_case(self) -> Neighbours:
        """Return votes that are equal for all queries: label 1 leads by `worst_lead`, and by two more on side 1."""
        pair = moved_vote(self.n_queries, self.n_classes, self.n_teachers, self.worst_lead)
        return as_neighbours(pair, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, computed from the counts of the labels.

        None if the queries have different laws, or if there are too many counts.
        """
        pair = self.worst_case()
        return self.guarantee_between(self.counts(pair.d0), self.counts(pair.d1))

    def guarantee_between(self, counts0: Counts, counts1: Counts) -> ExactDP | None:
        """Return the exact curve of two tables of votes, each with equal laws of all labels; None otherwise."""
        log0, log1 = self.log_labels(counts0), self.log_labels(counts1)
        if (log0 != log0[0]).any() or (log1 != log1[0]).any():
            return None
        return repeated_law(log0[0], log1[0], self.n_queries, self.relation, most_answers=self.most_answers)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_one_teacher(self.counts(neighbours.d0), self.counts(neighbours.d1))


def never_abstains(log_winner: Floats) -> Floats:
    """Return the table with a last column for no answer, which has probability 0."""
    return np.column_stack([log_winner, np.full(len(log_winner), -np.inf)])


def log_total(*logs: Floats) -> Floats:
    """Return the logarithm of the sum of the exponentials."""
    return np.asarray(logsumexp(np.stack(logs), axis=0))
