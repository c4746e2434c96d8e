"""The exact curve of several independent releases with the same exact curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Floats
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ..kinds.gaussian import GaussianDP
from ..kinds.profile import ProfileGuarantee
from .compose import compose


def self_composed(curve: Guarantee, times: int) -> Guarantee:
    """Return the exact curve of `times` independent releases on a pair, each of which has the exact curve `curve`.

    Args:
        curve: exact on the pair, with the sides in this order.
        times: number of releases, >= 1.

    Returns:
        Exact for one release and for Gaussian noise; else exact up to the grid of the privacy-loss distribution (1e-4 in
        epsilon a release), and 0 from the largest possible loss, `times` epsilon(0), on.
    """
    if times == 1 or isinstance(curve, GaussianDP):
        return compose([curve] * times)
    composed = compose([curve] * times, accounting="privacy-loss", fixed_sides=True)
    return _Capped(composed, largest=times * curve.epsilon(0.0), relation=curve.relation)


@dataclass(frozen=True, eq=False, repr=False)
class _Capped(ProfileGuarantee):
    """A curve with the exact largest loss, which the grid of a privacy-loss distribution only approximates."""

    curve: Guarantee
    largest: float
    relation: Relation | None = None
    exact = True

    def _delta(self, epsilon: Floats) -> Floats:
        return np.where(epsilon < self.largest, self.curve.delta(epsilon), 0.0)

    def _epsilon(self, delta: Floats) -> Floats:
        return np.minimum(self.curve.epsilon(delta), self.largest)

    def _parameters(self) -> dict[str, object]:
        return {"curve": str(self.curve), "largest": self.largest}
