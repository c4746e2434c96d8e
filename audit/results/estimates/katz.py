"""The normal interval for the logarithm of a ratio of rates (Katz et al. 1978; for privacy Lu et al. 2022)."""

from __future__ import annotations

import math

from scipy import special

from ....mechanisms.core import ParameterError
from ...evidence.scores import Scores
from .base import Estimate, check_arguments


def katz_log(scores: Scores, *, threshold: float, delta: float = 0.0, level: float = 0.95) -> Estimate:
    """Estimate epsilon by ln((p - delta) / q), with p and q the observed rates of one event, and a normal interval.

        variance of the logarithm = p (1 - p) / (n1 (p - delta)^2) + (1 - q) / (n0 q)          (delta method)

    The event is {score >= threshold}, more likely on side 1, or its complement, more likely on side 0: whichever has
    the larger ratio.

    Args:
        scores: of both sides.
        threshold: fixed beforehand.
        delta: in [0, 1).
        level: in (0, 1); the interval is value -+ z standard deviations, z the (1 + level) / 2 quantile.

    Raises:
        ParameterError: q = 0 where p > delta, in either direction: the logarithm is undefined then; or delta exceeds
            both rates.

    Guarantees:
        * None at any number of trials. Valid in the limit for one event that was fixed beforehand; invalid at few hits,
          and even more so for the best of many thresholds.

    Example:
        >>> import numpy as np
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> counts = PairCounts(Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000))
        >>> estimate = katz_log(counts, threshold=1.0, level=0.9)
        >>> round(estimate.value, 6), round(estimate.interval[0], 6)
        (0.999672, 0.878412)

    References:
        Katz, Baptista, Azen and Pike (1978), Biometrics 34. Lu et al. (2022), arXiv:2210.08643.
    """
    check_arguments(scores, delta=delta, confidence=level)
    k0, k1 = scores.hits(threshold)
    n0, n1 = scores.n_out, scores.n_in
    directions = ((k1, n1, k0, n0), (n0 - k0, n0, n1 - k1, n1))
    usable = [counts for counts in directions if counts[0] / counts[1] > delta]
    if any(other == 0 for _, _, other, _ in usable) or not usable:
        raise ParameterError(
            f"the rates {k1} of {n1} and {k0} of {n0} (or their complements) have no ratio at delta = {delta:g}: with "
            "a 0 the logarithm is undefined. Use another threshold, or a lower bound such as ClopperPearson, which is "
            "valid at 0 too.",
            argument=("k0", "n0", "k1", "n1"),
        )
    value, deviation = max(_ratio(*counts, delta) for counts in usable)
    reach = float(special.ndtri(0.5 * (1.0 + level))) * deviation
    return Estimate(
        value=max(0.0, value),
        interval=(max(0.0, value - reach), max(0.0, value + reach)),
        level=level,
        delta=delta,
        method="katz-log",
        n_trials=n0 + n1,
        label="no coverage: a normal approximation for one event that was fixed beforehand",
    )


def _ratio(k: int, n: int, k_other: int, n_other: int, delta: float) -> tuple[float, float]:
    """Return ln((p - delta) / q) and its standard deviation."""
    p, q = k / n, k_other / n_other
    variance = p * (1.0 - p) / (n * (p - delta) ** 2) + (1.0 - q) / (n_other * q)
    return math.log((p - delta) / q), math.sqrt(variance)
