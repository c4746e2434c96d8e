"""How much Gaussian noise: from a wanted (epsilon, delta) to a noise multiplier (standard deviation / sensitivity).

    name             noise multiplier                         source
    analytic         the least that is enough                 Balle and Wang 2018, theorem 8 and algorithm 1
    classic          sqrt(2 ln(1.25 / delta)) / epsilon       Dwork and Roth 2014, theorem 3.22 (stated for epsilon < 1)
    classic-log-2    sqrt(2 ln(2 / delta)) / epsilon          lecture notes; a little more noise than classic
    classic-log-1    sqrt(2 ln(1 / delta)) / epsilon          lecture notes; a little less

The classic forms give away 20 to 30 % at epsilon around 1, and promise too much from an epsilon of 6 to 10 on.
"""

from __future__ import annotations

import math
from types import MappingProxyType

from ..errors import ParameterError
from ..guarantees import GaussianDP

CLASSIC_CONSTANTS = MappingProxyType({"classic": 1.25, "classic-log-1": 1.0, "classic-log-2": 2.0})
"""Calibration -> c in sqrt(2 ln(c / delta)) / epsilon."""
CALIBRATIONS = ("analytic", *CLASSIC_CONSTANTS)


def noise_multiplier(epsilon: float, delta: float, calibration: str) -> float:
    """The noise multiplier that `calibration` prescribes for (epsilon, delta)-DP.

    Raises:
        ParameterError: a classic calibration whose noise is not (epsilon, delta)-DP.

    Example:
        >>> round(noise_multiplier(1.0, 1e-5, "analytic"), 4), round(noise_multiplier(1.0, 1e-5, "classic"), 4)
        (3.7306, 4.8448)
    """
    if calibration == "analytic":
        return analytic_noise_multiplier(epsilon, delta)
    multiplier = classic_noise_multiplier(epsilon, delta, CLASSIC_CONSTANTS[calibration])
    exact = GaussianDP(1.0 / multiplier)
    if exact.delta(epsilon) > delta:
        raise ParameterError(
            f"calibration={calibration!r} promises (epsilon, delta) = ({epsilon:g}, {delta:g}) from a noise multiplier "
            f"of {multiplier:.6g}, but that noise is only ({exact.epsilon(delta):.6g}, {delta:g})-DP: the formula is a "
            "theorem for epsilon < 1 only. Use calibration='analytic' (noise multiplier "
            f"{analytic_noise_multiplier(epsilon, delta):.6g})."
        )
    return multiplier


def classic_noise_multiplier(epsilon: float, delta: float, constant: float) -> float:
    """sqrt(2 ln(constant / delta)) / epsilon, whether or not it is private."""
    return math.sqrt(2.0 * math.log(constant / delta)) / epsilon


def analytic_noise_multiplier(epsilon: float, delta: float) -> float:
    """The least noise multiplier that is (epsilon, delta)-DP, rounded up (Balle and Wang 2018, algorithm 1)."""
    return 1.0 / GaussianDP.for_budget(epsilon=epsilon, delta=delta).mu
