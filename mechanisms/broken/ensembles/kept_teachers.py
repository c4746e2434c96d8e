"""Wrong on purpose: new parts in every round, the same teachers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...base import Neighbours
from ...ensembles.votes import NoisyVotes
from ...errors import ParameterError
from ...guarantees import ExactDP
from ...guarantees.base import Guarantee

MOST_ROUNDS = 14
"""Whose 2^rounds outputs are enumerated."""


@dataclass(frozen=True)
class TeachersKept(NoisyVotes):
    """Broken: noisy votes of teachers that get new random parts in every round, and remember the old ones.

    The slip: the records are dealt out anew in every round, and teacher j goes on learning from the j-th part. After
    some rounds most teachers have seen every record, so that one record moves most of the votes, where it should move
    one. (Reported of an implementation of PATE-GAN.) With `refit` the teachers forget: then every round has disjoint
    parts, one record moves one vote, and the claim holds; so it does for the fixed parts of `TeacherVotes`.

    Args:
        rate, n_teachers: as for `TeacherVotes`.
        rounds: >= 1; with one round nothing is wrong.
        refit: True for the right twin, whose teachers start again in every round.

    Example:
        >>> broken = TeachersKept(rate=0.5)
        >>> pair, rng = broken.worst_case(), np.random.default_rng(0)
        >>> broken.guarantee().epsilon(0.0), broken.votes(pair.d1, 1, rng).tolist()
        (5.0, [[1, 2, 3, 4, 4, 4, 5, 5, 5, 5]])
        >>> round(broken.exact_guarantee().epsilon(0.0), 2)
        20.93
    """

    rate: float
    _: KW_ONLY
    n_teachers: int = 10
    rounds: int = 10
    refit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.refit, bool):
            raise ParameterError(f"refit must be True or False, but is {self.refit!r}.", argument="refit")

    def votes(self, labels: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Votes for label 1 in each round: shape `(size, rounds)`."""
        nearest = np.full((size, self.n_teachers), labels.size)
        found = np.empty((size, self.rounds), dtype=np.int64)
        for at in range(self.rounds):
            dealt = rng.permuted(np.broadcast_to(np.arange(labels.size), (size, labels.size)), axis=1)
            part = dealt.reshape(size, self.n_teachers, labels.size // self.n_teachers).min(axis=2)
            nearest = part if self.refit else np.minimum(nearest, part)
            found[:, at] = labels[nearest].sum(axis=1)
        return found

    def worst_case(self) -> Neighbours:
        """All labels are 0, but for that of the nearest record on side 1: every teacher that has seen it votes 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[0] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """From the probability of every vector of bits on the worst case; None beyond 14 rounds.

        The number of teachers that have seen the nearest record is a walk: of `v` it goes on to v + 1 with probability
        1 - v / n_teachers.
        """
        if self.rounds > MOST_ROUNDS:
            return None
        seen = np.arange(self.n_teachers + 1)
        ones = np.array([self.majority(int(votes)) for votes in seen])
        again = np.where(seen == 1, 1.0, 0.0) if self.refit else seen / self.n_teachers
        law = np.zeros((1, self.n_teachers + 1))
        law[0, 0] = 1.0
        for _ in range(self.rounds):
            law = law * again + np.pad(law * (1.0 - again), ((0, 0), (1, 0)))[:, :-1]
            law = np.concatenate([law * (1.0 - ones), law * ones])
        bit = ones[:1]
        none = np.ones(1)
        for _ in range(self.rounds):
            none = np.concatenate([none * (1.0 - bit), none * bit])
        return ExactDP(none, law.sum(axis=1), relation=self.relation)
