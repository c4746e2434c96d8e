"""What aggregators share: a table of votes goes in, and one label a query comes out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...guarantees.base import Guarantee
from ...relation import Relation
from ...validation import whole
from .repeats import repeated_law
from .votes import Counts, as_neighbours, check_one_teacher, check_votes, moved_vote

Floats = NDArray[np.float64]

ABSTAINED = -1
"""The label that is given where there is no answer."""
_BLOCK = 1_000_000
"""Noises that are held at once."""


@dataclass(frozen=True)
class Aggregator(Mechanism):
    """Answers queries by the votes of teachers, of which one record moves one.

    Each teacher learned from a part of the records that no other teacher has seen. The dataset is the table of votes,
    `(n_queries, n_classes)`: how many teachers give each label to each query; `count_votes` makes it. Neighbours
    differ in the votes of one teacher, who may change them on all of the queries.

    A release is `(size, n_queries)` labels from 0 to n_classes - 1, or -1 where there is no answer.

    Args:
        n_teachers: votes on each query, >= 1.
        n_classes: labels, >= 2.
        n_queries: >= 1.
    """

    _: KW_ONLY
    n_teachers: int = 250
    n_classes: int = 10
    n_queries: int = 1
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        whole(1, n_teachers=self.n_teachers, n_queries=self.n_queries)
        whole(2, n_classes=self.n_classes)

    @abstractmethod
    def answers(self, counts: Counts, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Labels of `size` runs, `(size, n_queries)`, from checked votes."""

    @abstractmethod
    def log_labels(self, counts: Counts) -> Floats:
        """Log probability of each label, and of none, for each query: `(n_queries, n_classes + 1)`."""

    @abstractmethod
    def divergences(self, counts: Counts, answered: NDArray[np.bool_], orders: Floats) -> Floats:
        """What each query costs on these very votes, `(n_queries, n_orders)` Renyi divergences: see `data_dependent`.

        `answered` says, query by query, whether the teachers gave an answer, `(n_queries,)`.
        """

    @property
    def most_answers(self) -> int | None:
        """After so many answers no query is asked any more; None for no limit."""
        return None

    @property
    def worst_lead(self) -> int:
        """Votes by which label 1 leads on the worst case, before one vote more is moved to it."""
        return 0

    def counts(self, dataset: Dataset) -> Counts:
        """The votes, checked, `(n_queries, n_classes)`."""
        return check_votes(dataset, self.n_queries, self.n_classes, self.n_teachers)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Labels, `(size, n_queries)`."""
        counts = self.counts(dataset)
        found = np.empty((size, self.n_queries), dtype=np.int64)
        runs = max(1, _BLOCK // counts.size)
        for start in range(0, size, runs):
            some = found[start : start + runs]
            some[:] = self.answers(counts, len(some), rng)
        return Outputs(found)

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Log probability of each output, `(size,)`; -inf for what is no vector of labels."""
        table = self.log_labels(self.counts(dataset))
        values = outputs.values.reshape(len(outputs), -1)
        if values.shape[1] != self.n_queries:
            return np.full(len(outputs), -np.inf)
        possible = (values >= ABSTAINED) & (values < self.n_classes) & (values == np.floor(values))
        labels = np.where(possible, values, ABSTAINED).astype(np.int64)
        each = np.where(possible, table[np.arange(self.n_queries), labels], -np.inf)  # -1 is the last column
        return self._joint(each, labels)

    def _joint(self, each: Floats, labels: NDArray[np.int64]) -> Floats:
        """Of the log probabilities of the single labels, `(size, n_queries)`: queries are independent."""
        return np.asarray(each.sum(axis=1))

    def worst_case(self) -> Neighbours:
        """All queries alike: label 1 leads label 0 by `worst_lead` votes, and by two more on side 1."""
        pair = moved_vote(self.n_queries, self.n_classes, self.n_teachers, self.worst_lead)
        return as_neighbours(pair, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """From the counts of the labels on `worst_case()`; None where its queries have different laws, or there are too
        many counts."""
        pair = self.worst_case()
        log0, log1 = (self.log_labels(self.counts(side)) for side in (pair.d0, pair.d1))
        if (log0 != log0[0]).any() or (log1 != log1[0]).any():
            return None
        return repeated_law(log0[0], log1[0], self.n_queries, self.relation, most_answers=self.most_answers)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_one_teacher(self.counts(neighbours.d0), self.counts(neighbours.d1))
        return self


def never_abstains(log_winner: Floats) -> Floats:
    """With a last column for no answer, which never happens."""
    return np.column_stack([log_winner, np.full(len(log_winner), -np.inf)])


def log_total(*logs: Floats) -> Floats:
    """log of the sum of the exponentials."""
    return np.asarray(logsumexp(np.stack(logs), axis=0))
