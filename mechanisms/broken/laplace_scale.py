"""Intentionally broken Laplace noise: its scale is inverted."""

from __future__ import annotations

from dataclasses import dataclass

from ..accounting import LaplaceDP, PureDP
from ..core.guarantee import Guarantee
from ..noise.laplace import Laplace


@dataclass(frozen=True)
class LaplaceInverseScale(Laplace):
    """Broken: Laplace noise of scale sensitivity * epsilon, which should be sensitivity / epsilon.

    Bug: epsilon is passed to a function that expects a scale. The claim is epsilon, but the release is 1/epsilon-DP:
    far too little noise for epsilon < 1, too much above, and correct at 1, where a test does not detect the bug. (Ding,
    Wang, Wang, Zhang and Kifer 2018, algorithm 10, on a histogram.)

    Args:
        epsilon: the claim, > 0; false below 1.
        sensitivity, n_queries, query, relation: as for `Laplace`.

    Example:
        >>> broken = LaplaceInverseScale(epsilon=0.1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 10.0)
    """

    @property
    def scale(self) -> float:
        """Scale of the noise; should be sensitivity / epsilon."""
        return self.sensitivity * self.epsilon

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve, of epsilon sensitivity / scale = 1 / epsilon."""
        return LaplaceDP(self.sensitivity / self.scale, relation=self.relation)
