"""Many people at once: p-values that are corrected for all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values `(N,)`: naming everybody at or below a level names any stranger at most that often.

    However the p-values depend on each other (Holm 1979).

    Example:
        >>> holm([0.01, 0.5, 0.02]).tolist()
        [0.03, 0.5, 0.04]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(1.0, stepped)
    return found


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values `(N,)`: of those named at or below a level, that share at most are strangers, on average.

    Given the release, the p-values of strangers are independent of each other and of all others (Benjamini and
    Hochberg 1995); those from the same people of reference are positively dependent, which is as good (Bates, Candès,
    Lei, Romano and Sesia 2023, theorem 2).

    Example:
        >>> benjamini_hochberg([0.01, 0.5, 0.02]).tolist()
        [0.03, 0.5, 0.03]
    """
    from scipy.stats import false_discovery_control

    p = np.asarray(p_values, dtype=np.float64)
    return np.asarray(false_discovery_control(p)) if p.size else p
