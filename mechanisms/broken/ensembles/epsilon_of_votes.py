"""Intentionally broken report: the data-dependent epsilon is released without noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ...accounting import ExactDP
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, known_law
from ...core.constraints import OpenUnit
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...learning.pate.aggregator import Aggregator
from ...learning.pate.data_dependent import data_dependent
from ...learning.pate.vote_counts import as_neighbours, moved_vote

_ROUNDING = 1e-12


@dataclass(frozen=True)
class EpsilonOfVotes(Mechanism):
    """Broken: noisy labels, released with their data-dependent epsilon on the actual votes.

    Bug: the data-dependent epsilon is reported like any other, "epsilon = 1.97". But that number is a function of the
    votes, without noise, and a moved vote changes it: the number distinguishes two tables of votes, and epsilon is
    infinite. The claim is that of the labels. `PrivateEpsilon` is correct: it releases the number with noise, and
    accounts for it; the data-independent claim can be released exactly.

    Args:
        aggregator: mechanism that releases the labels.
        delta: delta of the released epsilon, in (0, 1).

    Example:
        >>> from dpassay.mechanisms.learning.pate import GNMax
        >>> broken = EpsilonOfVotes(GNMax(40.0, n_classes=2, n_queries=200))
        >>> pair, rng = broken.worst_case(), np.random.default_rng(0)
        >>> [round(float(broken.release(d, 1, rng).values[0, -1]), 3) for d in (pair.d0, pair.d1)]
        [2.513, 2.414]
        >>> round(broken.guarantee().epsilon(1e-5), 3), broken.exact_guarantee().epsilon(1e-5)
        (1.993, inf)
    """

    aggregator: Aggregator
    _: KW_ONLY
    delta: OpenUnit = 1e-5
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregator, Aggregator):
            raise ParameterError(
                f"aggregator must be an aggregator of votes, such as GNMax(40.0), but is {self.aggregator!r}.",
                argument="aggregator",
            )

    def epsilon(self, dataset: Dataset) -> float:
        """Return the data-dependent epsilon of these votes."""
        return data_dependent(self.aggregator, dataset).epsilon(self.delta)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return labels, and in the last column epsilon, shape `(size, n_queries + 1)`."""
        labels = self.aggregator.release(dataset, size, rng).values
        return Outputs(np.column_stack([labels, np.full(size, self.epsilon(dataset))]))

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, `(size,)`; -inf where epsilon is not that of these votes."""
        values = outputs.values
        law = known_law(self.aggregator)
        labels = law.log_density(Outputs(values[:, :-1]), dataset)
        return np.where(np.abs(values[:, -1] - self.epsilon(dataset)) < _ROUNDING, labels, -np.inf)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the labels."""
        return self.aggregator.guarantee()

    def worst_case(self) -> Neighbours:
        """Return identical queries, with votes for two labels, where a moved vote changes epsilon most."""
        base = self.aggregator
        pairs = [
            moved_vote(base.n_queries, base.n_classes, base.n_teachers, lead) for lead in range(0, base.n_teachers, 2)
        ]
        jumps = [abs(self.epsilon(votes0) - self.epsilon(votes1)) for votes0, votes1 in pairs]
        return as_neighbours(pairs[int(np.argmax(jumps))], self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak: the two epsilons of the worst case differ."""
        return ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        self.aggregator.bind(neighbours)
        return self
