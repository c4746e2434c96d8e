"""Wrong on purpose: the scale of the noise on votes is upside down."""

from __future__ import annotations

from dataclasses import dataclass

from ...ensembles.teacher_votes import TeacherVotes


@dataclass(frozen=True)
class VoteScaleInverse(TeacherVotes):
    """Broken: noisy votes with Laplace noise of scale `rate`, where 1 / rate was meant.

    The slip: a function that takes a scale is given the privacy parameter. It claims `rate` a round and is 1 / rate-DP:
    too little noise for rates below 1, right at 1. (Reported of an implementation of PATE-GAN.) Right: `TeacherVotes`.

    Args:
        rate, n_teachers, rounds: as for `TeacherVotes`.

    Example:
        >>> broken = VoteScaleInverse(rate=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 10.0)
    """

    @property
    def scale(self) -> float:
        """Scale of the noise; should be 1 / rate."""
        return self.rate
