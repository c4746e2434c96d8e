"""Intentionally broken teachers: all of them get the same part of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...learning.pate import TeacherVotes


@dataclass(frozen=True)
class SamePartForAll(TeacherVotes):
    """Broken: noisy votes of teachers that are all trained on the last part of the data.

    Bug: the loop that trains the teachers indexes the parts by the variable of another loop. A record of that part
    moves all the votes, where it should move one. (Reported for an implementation of PATE-GAN.) `TeacherVotes` is
    correct.

    Args:
        rate, n_teachers, rounds: as for `TeacherVotes`.

    Example:
        >>> broken = SamePartForAll(rate=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 4)
        (0.1, 0.8318)
    """

    def teachers(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return equal votes of all teachers: the label of the nearest record of the last part."""
        return np.repeat(labels[self.n_teachers - 1], self.n_teachers)

    def worst_case(self) -> Neighbours:
        """Return labels in which the nearest record of the last part is 0 on side 0, and 1 on side 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[-1] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve between no votes for label 1 and all."""
        pair = self.worst_case()
        return self.aggregator.guarantee_between(self.votes(pair.d0), self.votes(pair.d1))
