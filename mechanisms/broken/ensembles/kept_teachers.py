"""Intentionally broken teachers: new parts of the data in every round, without retraining from scratch."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...core.base import Dataset, LogDensity, Neighbours
from ...core.constraints import PositiveInt
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...learning.pate import TeacherVotes
from ...learning.pate.vote_counts import Counts

MOST_ROUNDS = 14
"""Largest number of rounds whose 2^rounds outputs are enumerated."""


@dataclass(frozen=True)
class TeachersKept(TeacherVotes):
    """Broken: noisy votes of teachers that get new random parts in every round, and keep what they learned before.

    Bug: the records are partitioned again in every round, and teacher j continues training on the j-th part. After
    some rounds most teachers have seen every record, so that one record moves most of the votes, where it should move
    one. (Reported for an implementation of PATE-GAN.) With `refit` the teachers are retrained: then every round has
    disjoint parts, one record moves one vote, and the claim holds, as it does for the fixed parts of `TeacherVotes`.

    Args:
        rate, n_teachers: as for `TeacherVotes`.
        rounds: number of rounds, >= 1; one round is correct.
        refit: True for the correct twin, whose teachers start again in every round.

    Example:
        >>> broken = TeachersKept(rate=0.5)
        >>> pair, rng = broken.worst_case(), np.random.default_rng(0)
        >>> broken.guarantee().epsilon(0.0), broken.drawn_votes(pair.d1, 1, rng)[..., 1].tolist()
        (5.0, [[1, 2, 3, 4, 4, 4, 5, 5, 5, 5]])
        >>> round(broken.exact_guarantee().epsilon(0.0), 2)
        20.93
    """

    _: KW_ONLY
    rounds: PositiveInt = 10
    refit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.refit, bool):
            raise ParameterError(f"refit must be True or False, but is {self.refit!r}.", argument="refit")

    def output_law(self) -> LogDensity | None:
        """Return None: the law of the outputs is computed for the worst case only."""
        return None

    def labels(self, dataset: Dataset, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the labels of `size` runs, `(size, rounds)`, each from newly drawn parts."""
        return self.aggregator.answers(self.drawn_votes(dataset, size, rng), size, rng)

    def drawn_votes(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Counts:
        """Return the votes of each run for each label in each round, `(size, rounds, 2)`."""
        labels = self.records(dataset)
        nearest = np.full((size, self.n_teachers), labels.size)
        votes = np.empty((size, self.rounds), dtype=np.int64)
        for t in range(self.rounds):
            order = rng.permuted(np.broadcast_to(np.arange(labels.size), (size, labels.size)), axis=1)
            part = order.reshape(size, self.n_teachers, labels.size // self.n_teachers).min(axis=2)
            nearest = part if self.refit else np.minimum(nearest, part)
            votes[:, t] = labels[nearest].sum(axis=1)
        return np.stack([self.n_teachers - votes, votes], axis=-1)

    def worst_case(self) -> Neighbours:
        """Return labels 0, except for the nearest record on side 1: every teacher that has seen it votes 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[0] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve from the law of all bit vectors on the worst case; None beyond 14 rounds.

        The number v of teachers that have seen the nearest record is a Markov chain: it moves to v + 1 with probability
        1 - v / n_teachers.
        """
        from scipy.stats import laplace

        if self.rounds > MOST_ROUNDS:
            return None
        n_seen = np.arange(self.n_teachers + 1)
        ones = laplace.sf(self.n_teachers / 2 - n_seen, scale=1.0 / self.rate)
        stay = np.where(n_seen == 1, 1.0, 0.0) if self.refit else n_seen / self.n_teachers
        law = np.zeros((1, self.n_teachers + 1))
        law[0, 0] = 1.0
        for _ in range(self.rounds):
            law = law * stay + np.pad(law * (1.0 - stay), ((0, 0), (1, 0)))[:, :-1]
            law = np.concatenate([law * (1.0 - ones), law * ones])
        bit = ones[:1]
        law0 = np.ones(1)
        for _ in range(self.rounds):
            law0 = np.concatenate([law0 * (1.0 - bit), law0 * bit])
        return ExactDP(law0, law.sum(axis=1), relation=self.relation)
