"""Intentionally broken counters: one of sensitivity 0 removes the noise from all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..accounting import ApproximateDP
from ..core.arrays import Floats
from ..core.guarantee import Guarantee
from ..noise.counters import GaussianCounters


@dataclass(frozen=True)
class ZeroSensitivityCounters(GaussianCounters):
    """Broken: Gaussian noise on counters, without any noise if one of them has sensitivity 0.

    Bug: the allocation divides by every sensitivity; to avoid a division by zero, it returns no noise for all counters
    if one sensitivity is 0. (Reported for a system for private collection of counts.) `GaussianCounters` is correct.

    Args:
        mu, sensitivities, relation: as for `GaussianCounters`.

    Example:
        >>> ZeroSensitivityCounters(mu=1.0, sensitivities=(1.0, 0.0)).deviations.tolist()
        [0.0, 0.0]
    """

    sensitivities: tuple[float, ...] = (1.0, 0.0)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the noise of each counter; 0 for all if one of them has sensitivity 0."""
        correct = super().deviations
        return correct if correct.all() else np.zeros_like(correct)

    def exact_guarantee(self) -> Guarantee:
        """Return `GaussianDP(mu)`; a vacuous guarantee if a counter of sensitivity 0 removes all noise."""
        if self.deviations.any():
            return self.guarantee()
        return ApproximateDP(0.0, 1.0 - 2**-53, relation=self.relation)
