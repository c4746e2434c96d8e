"""Statistics of differences between a person, the means and the population."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import Positive, check_fields
from ....mechanisms.core.validation import open_unit, whole
from .base import TracingStatistic


@dataclass(frozen=True)
class Homer(TracingStatistic):
    """Distance of a person to the population minus the distance to the means: sum_j |y_j - p_j| - |y_j - q_j|.

    For zeros and ones this is sum_j (2 y_j - 1) (q_j - p_j). Means outside [0, 1] are clipped.

    References:
        Homer et al. (2008), "Resolving individuals contributing trace amounts of DNA to highly complex mixtures".

    Example:
        >>> Homer().score([0.75, 0.5], [[1, 0], [0, 1]], [0.5, 0.5]).tolist()
        [0.25, -0.25]
    """

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        difference = np.clip(released, 0.0, 1.0) - frequencies
        return 2.0 * difference, -difference


@dataclass(frozen=True)
class TruncatedProduct(TracingStatistic):
    """Dwork et al.'s attack: sum_j (y_j - p_j) [q_j - p_j], second factor clipped to [-eta, eta], eta = 2 accuracy.

    Everything is in units of data of -1 and 1, as in the paper: twice our differences. Clipping makes the attack
    robust: it requires only that the means are near the true means on average. The paper uses one person of reference
    for the first p, and the mean of others for the second; with public frequencies both are p.

    Args:
        accuracy: alpha, mean distance of a published mean from the true one, in units of -1 and 1, > 0.

    References:
        Dwork, Smith, Steinke, Ullman and Vadhan (2015), "Robust traceability from trace amounts", section 2.

    Example:
        >>> attack = TruncatedProduct(accuracy=0.1)
        >>> attack.score([0.75, 0.55], [[1, 0], [0, 1]], [0.5, 0.5]).round(3).tolist()  # cut to 0.2, and 0.1
        [0.1, -0.1]
        >>> round(attack.threshold(1_000, fpr=0.001), 2)
        33.25
    """

    accuracy: Positive = 0.1

    def __post_init__(self) -> None:
        check_fields(self)

    def threshold(self, n_attributes: int, *, fpr: float) -> float:
        """Return 4 alpha sqrt(d ln(1 / fpr)): non-members score above it with a probability below `fpr`.

        Hoeffding's inequality would allow eta sqrt(2 d ln(1 / fpr)) for the score here; the paper's threshold, for the
        difference of two people, is larger.
        """
        whole(1, n_attributes=n_attributes)
        open_unit(fpr=fpr)
        return 4.0 * self.accuracy * math.sqrt(n_attributes * math.log(1.0 / fpr))

    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        eta = 2.0 * self.accuracy
        slopes = 2.0 * np.clip(2.0 * (released - frequencies), -eta, eta)
        return slopes, -slopes * frequencies
