"""Wrong on purpose: counters of which one that never moves takes the noise from all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..guarantees import ApproximateDP
from ..guarantees.base import Guarantee
from ..noise.counters import Floats, GaussianCounters


@dataclass(frozen=True)
class ZeroSensitivityCounters(GaussianCounters):
    """Broken: Gaussian noise on counters, with no noise at all where one of them has sensitivity 0.

    The slip: the allocation divides by every sensitivity; to be safe, it returns no noise for all counters when one
    sensitivity is 0. (Reported of a system that collects counts in private.) `GaussianCounters` is right.

    Args:
        mu, sensitivities, relation: as for `GaussianCounters`.

    Example:
        >>> ZeroSensitivityCounters(mu=1.0, sensitivities=(1.0, 0.0)).deviations.tolist()
        [0.0, 0.0]
    """

    sensitivities: tuple[float, ...] = (1.0, 0.0)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the noise of each counter; 0 for all where one of them never moves."""
        right = super().deviations
        return right if right.all() else np.zeros_like(right)

    def exact_guarantee(self) -> Guarantee:
        """Nothing hides the counters where one of them never moves."""
        if self.deviations.any():
            return self.guarantee()
        return ApproximateDP(0.0, 1.0 - 2**-53, relation=self.relation)
