"""Corrections of p-values for many people at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core.arrays import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Return adjusted p-values `(N,)`: a level names any non-member with at most that probability.

    People are named if their p-value is at or below the level. Valid for any dependence of the p-values (Holm 1979).

    Example:
        >>> holm([0.01, 0.5, 0.02]).tolist()
        [0.03, 0.5, 0.04]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    cumulative = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, cumulative)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Return adjusted p-values `(N,)`: of people named at a level, at most that share are non-members on average.

    Given the release, the p-values of non-members are independent of each other and of all others (Benjamini and
    Hochberg 1995); p-values from the same people of reference are positively dependent, which suffices (Bates, Candès,
    Lei, Romano and Sesia 2023, theorem 2).

    Example:
        >>> benjamini_hochberg([0.01, 0.5, 0.02]).tolist()
        [0.03, 0.5, 0.03]
    """
    from scipy.stats import false_discovery_control

    p = np.asarray(p_values, dtype=np.float64)
    return np.asarray(false_discovery_control(p)) if p.size else p
