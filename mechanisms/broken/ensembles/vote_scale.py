"""Intentionally broken noise on votes: its scale is inverted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...accounting import PureDP
from ...core.guarantee import Guarantee
from ...learning.pate import LNMax, TeacherVotes


@dataclass(frozen=True)
class VoteScaleInverse(TeacherVotes):
    """Broken: noisy votes with Laplace noise of scale `rate`, which should be 1 / rate.

    Bug: the privacy parameter is passed to a function that expects a scale. The claim is `rate` per round, but the
    votes are 1 / rate-DP: too little noise for rates below 1, correct at 1. (Reported for an implementation of
    PATE-GAN.) `TeacherVotes` is correct.

    Args:
        rate, n_teachers, rounds: as for `TeacherVotes`.

    Example:
        >>> broken = VoteScaleInverse(rate=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 10.0)
    """

    @cached_property
    def aggregator(self) -> LNMax:
        """Noisy majority with noise of scale `rate`; should be 1 / rate."""
        return LNMax(1.0 / self.rate, draws="one", n_teachers=self.n_teachers, n_classes=2, n_queries=self.rounds)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(rate * rounds)`, the claim of `TeacherVotes`."""
        return PureDP(self.rate * self.rounds, relation=self.relation)
