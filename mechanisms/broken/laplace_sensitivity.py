"""Intentionally broken Laplace noise: its scale ignores the sensitivity."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ..accounting import LaplaceDP, PureDP
from ..core.guarantee import Guarantee
from ..noise.laplace import Laplace


@dataclass(frozen=True)
class LaplaceForgottenSensitivity(Laplace):
    """Broken: Laplace noise of scale 1 / epsilon for every sensitivity.

    Bug: noise for a count is added to a sum or to a vector, or a histogram whose records can be replaced (sensitivity
    2) gets the noise of one whose records can only be added (1). The claim is epsilon, but the release is (sensitivity
    * epsilon)-DP, by the proof of Dwork, McSherry, Nissim and Smith 2006, proposition 1, which is tight.

    Args:
        epsilon: the claim, > 0.
        sensitivity: the true sensitivity, > 0; the claim is false above 1.
        n_queries, query, relation: as for `Laplace`.

    Example:
        >>> broken = LaplaceForgottenSensitivity(epsilon=0.5, sensitivity=4.0)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.5, 2.0)
    """

    _: KW_ONLY
    sensitivity: float = 2.0

    @property
    def scale(self) -> float:
        """Scale of the noise; should be sensitivity / epsilon."""
        return 1.0 / self.epsilon

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve, of epsilon sensitivity / scale = sensitivity * epsilon."""
        return LaplaceDP(self.sensitivity / self.scale, relation=self.relation)
