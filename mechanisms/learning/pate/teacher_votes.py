"""Noisy majority of teachers of disjoint parts of the data, as in PATE."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from .noisy_votes import FixedVotes


@dataclass(frozen=True)
class TeacherVotes(FixedVotes):
    """Noisy majority of nearest-neighbour teachers, one for each of `n_teachers` disjoint parts of the records.

    (Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017, for two labels.) Record i belongs to part i mod
    n_teachers, so that one record changes one vote, and a round is rate-DP.

    Args:
        rate: epsilon of a round, > 0; Laplace noise of scale 1 / rate is added to the votes.
        n_teachers: number of parts, >= 1.
        rounds: number of answers to the query, >= 1.

    Example:
        >>> votes = TeacherVotes(rate=0.1, rounds=5)
        >>> votes.guarantee().epsilon(0.0), round(votes.exact_guarantee().epsilon(0.0), 9)
        (0.5, 0.5)
    """

    rate: float
    _: KW_ONLY
    n_teachers: int = 10
    rounds: int = 1

    def count(self, labels: NDArray[np.int64]) -> int:
        """Return the number of votes for label 1; the nearest record of part j is record j."""
        return int(labels[: self.n_teachers].sum())

    def worst_case(self) -> Neighbours:
        """Return a pair with half of the votes for label 1, and one more, where the rarer answer has ratio e^rate."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d0[: self.n_teachers // 2] = 1
        d1 = d0.copy()
        d1[self.n_teachers // 2] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact guarantee of a binomial number of ones."""
        half = self.n_teachers // 2
        return self.between(half, half + 1)
