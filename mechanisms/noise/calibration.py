"""Calibration of noise: Gaussian noise for a target (epsilon, delta), Laplace noise for many queries.

Noise multipliers (standard deviation / sensitivity) of Gaussian noise:

    name             noise multiplier                         source
    analytic         the smallest sufficient one              Balle and Wang 2018, theorem 8 and algorithm 1
    classic          sqrt(2 ln(1.25 / delta)) / epsilon       Dwork and Roth 2014, theorem 3.22 (stated for epsilon < 1)
    classic-log-2    sqrt(2 ln(2 / delta)) / epsilon          lecture notes; a little more noise than classic
    classic-log-1    sqrt(2 ln(1 / delta)) / epsilon          lecture notes; a little less

The classic formulas waste 20 to 30 % at epsilon around 1, and are not private enough from an epsilon of 6 to 10 on.
`laplace_scale` divides epsilon among many queries, by basic composition or through concentrated DP.
"""

from __future__ import annotations

import math
from types import MappingProxyType

from ..accounting import GaussianDP
from ..core import ParameterError, delta_range, one_of, open_unit, positive, whole

CLASSIC_CONSTANTS = MappingProxyType({"classic": 1.25, "classic-log-1": 1.0, "classic-log-2": 2.0})
"""Calibration name -> c in sqrt(2 ln(c / delta)) / epsilon."""
CALIBRATIONS = ("analytic", *CLASSIC_CONSTANTS)


def noise_multiplier(epsilon: float, delta: float, calibration: str) -> float:
    """Return the noise multiplier that `calibration` prescribes for (epsilon, delta)-DP.

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
    """Return sqrt(2 ln(constant / delta)) / epsilon, which need not be (epsilon, delta)-DP."""
    return math.sqrt(2.0 * math.log(constant / delta)) / epsilon


def analytic_noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest (epsilon, delta)-DP noise multiplier, rounded up (Balle and Wang 2018, algorithm 1)."""
    return 1.0 / GaussianDP.for_budget(epsilon=epsilon, delta=delta).mu


def laplace_scale(
    epsilon: float, delta: float, n_queries: int, *, sensitivity: float = 1.0, composition: str = "basic"
) -> float:
    """Return the scale of the Laplace noise on each of many queries, for (epsilon, delta)-DP in total.

        composition      scale, in sensitivities                                  epsilon of each query
        basic            n_queries / epsilon                                      epsilon / n_queries
        concentrated     sqrt(n_queries / (2 rho))                                sqrt(2 rho / n_queries)

    with rho = `concentrated_budget(epsilon, delta)`: each query is (1 / scale)^2 / 2-concentrated DP, and these values
    add up. The error grows with n_queries in the first, and with its square root in the second, which is smaller as
    soon as n_queries > 2 (ln(1 / delta) + epsilon).

    Args:
        epsilon: target epsilon of all queries together, > 0.
        delta: target delta, in [0, 1); above 0 for "concentrated". "basic" does not use it.
        n_queries: number of queries, >= 1.
        sensitivity: sensitivity of each query, > 0.
        composition: "basic" or "concentrated".

    Raises:
        ParameterError: a value out of range.

    References:
        Dwork, Rothblum and Vadhan (2010), advanced composition; Bun and Steinke (2016), concentrated DP.

    Example:
        >>> [round(laplace_scale(1.0, 1e-6, k, composition="concentrated"), 3) for k in (10, 100, 1000)]
        [17.214, 54.434, 172.137]
    """
    positive(epsilon=epsilon, sensitivity=sensitivity)
    whole(1, n_queries=n_queries)
    one_of(("basic", "concentrated"), composition=composition)
    if composition == "basic":
        delta_range(delta=delta)
        return sensitivity * n_queries / epsilon
    return sensitivity * math.sqrt(n_queries / (2.0 * concentrated_budget(epsilon, delta)))


def concentrated_budget(epsilon: float, delta: float) -> float:
    """Return rho = epsilon^2 / (4 ln(1 / delta) + 4 epsilon): rho-concentrated DP is then (epsilon, delta)-DP.

    rho + sqrt(4 rho ln(1 / delta)) = epsilon (q / 4 + sqrt(1 - q)) for q = epsilon / (ln(1 / delta) + epsilon), which
    is at most epsilon, since sqrt(1 - q) <= 1 - q / 2.
    """
    positive(epsilon=epsilon)
    open_unit(delta=delta)
    return epsilon**2 / (4.0 * math.log(1.0 / delta) + 4.0 * epsilon)
