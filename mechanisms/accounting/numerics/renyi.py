"""Conversion from Renyi divergences to (epsilon, delta), one order at a time.

If both directions obey D_order <= divergence, then for every epsilon the mechanism is (epsilon, delta)-DP with

    textbook   log delta = (order - 1) (divergence - epsilon)                                  Mironov (2017), Prop. 3
    tight      log delta = (order - 1) (divergence - epsilon + log(1 - 1/order)) - log(order)  Canonne, Kamath, Steinke
                                                                                               (2020), Prop. 12

and, for every epsilon, with delta = the largest total variation at the Kullback-Leibler divergence (order 1).
The optimal conversion of one order is implicit (Asoodeh, Liao, Calmon, Kosut, Sankar 2021); "tight" is a closed bound
on it.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats


def tight_log_delta(excess: Floats, divergence: Floats, epsilon: Floats) -> Floats:
    """Return log delta at each epsilon, from the divergence of order 1 + excess, excess > 0; arguments broadcast."""
    log_order = np.log1p(excess)
    return excess * (divergence - epsilon + np.log(excess) - log_order) - log_order


def tight_epsilon(excess: Floats, divergence: Floats, log_delta: Floats) -> Floats:
    """Return the inverse of `tight_log_delta`; may be negative."""
    log_order = np.log1p(excess)
    return divergence + np.log(excess) - log_order - (log_delta + log_order) / excess


def textbook_epsilon(excess: Floats, divergence: Floats, log_delta: Floats) -> Floats:
    """Return divergence + log(1/delta) / excess, excess > 0; arguments broadcast."""
    return divergence - log_delta / excess


def largest_total_variation(divergence: float) -> float:
    """Return the largest total variation distance at a Kullback-Leibler divergence.

    The smaller of Pinsker's sqrt(divergence / 2) and sqrt(1 - e^-divergence) of Bretagnolle and Huber (1979).
    Divergences grow with the order, so that a divergence of any order >= 1 gives a valid bound.
    """
    return float(min(np.sqrt(0.5 * divergence), np.sqrt(-np.expm1(-divergence))))
