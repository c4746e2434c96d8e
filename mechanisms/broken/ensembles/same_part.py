"""Intentionally broken teachers: all of them get the same part of the data."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...learning.pate.noisy_votes import FixedVotes


@dataclass(frozen=True)
class SamePartForAll(FixedVotes):
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

    rate: float
    _: KW_ONLY
    n_teachers: int = 10
    rounds: int = 1

    def count(self, labels: NDArray[np.int64]) -> int:
        """Return the votes for label 1: all or none, by the label of the nearest record of the last part."""
        return self.n_teachers * int(labels[self.n_teachers - 1])

    def worst_case(self) -> Neighbours:
        """Return labels in which the nearest record of the last part is 0 on side 0, and 1 on side 1."""
        d0 = np.zeros(self.n_teachers, dtype=np.int64)
        d1 = d0.copy()
        d1[-1] = 1
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve between no votes for label 1 and all."""
        return self.between(0, self.n_teachers)
