"""The claimed curves, sampled for drawing, with few points, placed where the curve bends.

A point is added where the straight line between its neighbours misses the curve by most, until the difference is
invisible: on linear axes, where the middle of a trade-off curve bends, and on logarithmic ones, where its ends do. The
errors are those of Ramer (1972), measured across the line, so that steep and flat parts are treated equally.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Floats, Guarantee
from .audit_result import ClaimCurve

MAX_CURVE_POINTS = 160
"""Largest number of points of a trade-off curve."""
STRAIGHT_TOLERANCE = 1e-4
"""Distance from a straight line, as a share of the axis, below which no point is added."""
MIN_ERROR_RATE = 1e-6
"""The least error rate that a logarithmic axis shows."""
INFINITE_CLAIM_EPSILON = 10.0
"""Epsilon up to which the profile of an infinite claim is drawn."""


def claim_curve(claim: Guarantee, epsilon: float) -> ClaimCurve:
    """Sample the trade-off curve in at most 160 points, and the privacy profile in 130 up to 1.5 times the claim.

    Some points of the profile approach `epsilon` from below, where the profile of a pure claim falls to 0.
    """
    try:
        return _cached(claim, epsilon)
    except TypeError:  # a user-defined claim without a hash
        return _sampled(claim, epsilon)


@lru_cache(maxsize=64)
def _cached(claim: Guarantee, epsilon: float) -> ClaimCurve:
    return _sampled(claim, epsilon)


def _sampled(claim: Guarantee, epsilon: float) -> ClaimCurve:
    ends = np.geomspace(MIN_ERROR_RATE, 0.5, 600)
    fine = np.unique(np.concatenate([np.linspace(0.0, 1.0, 1001), ends, 1.0 - ends]))
    fnr = np.asarray(claim.tradeoff(fine))
    everywhere = np.searchsorted(fine, np.concatenate([np.linspace(0.0, 1.0, 21), ends[::60]]))
    chosen = _drawn_points(fine, fnr, start=everywhere)
    top = epsilon if math.isfinite(epsilon) else INFINITE_CLAIM_EPSILON
    near = top * (1.0 - np.geomspace(1e-6, 0.05, 29))
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.5 * top or 0.5, 100), [top], near]))
    curves = (fine[chosen], fnr[chosen], grid, np.asarray(claim.delta(grid)))
    return ClaimCurve(*(tuple(map(float, curve)) for curve in curves))


def _drawn_points(x: Floats, y: Floats, *, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices of the points of a decreasing curve that a drawing needs, in increasing order.

    Args:
        x, y: `(n,)` in [0, 1], x increasing.
        start: indices that are always included, fewer than `MAX_CURVE_POINTS`; the first and the last index are added.
    """
    chosen = np.unique(np.concatenate([[0], start, [len(x) - 1]]))
    while len(chosen) < MAX_CURVE_POINTS:
        error = _interpolation_error(x, y, chosen)
        after = np.unique(np.searchsorted(chosen, np.flatnonzero(error > STRAIGHT_TOLERANCE)))
        intervals = zip(chosen[after - 1], chosen[after], strict=True)
        worst = [int(low + np.argmax(error[low:high])) for low, high in intervals]
        if not worst:
            break
        worst.sort(key=lambda index: -error[index])
        chosen = np.union1d(chosen, worst[: MAX_CURVE_POINTS - len(chosen)])
    return chosen


def _interpolation_error(x: Floats, y: Floats, chosen: NDArray[np.intp]) -> Floats:
    """Return the distances from the lines between the chosen points, as shares of a linear or a logarithmic axis."""
    line = np.interp(x, x[chosen], y[chosen])
    linear = np.abs(line - y) / np.hypot(1.0, np.gradient(line, x))
    decades = -np.log10(MIN_ERROR_RATE)
    across, curve, drawn = (
        np.log10(np.maximum(v, MIN_ERROR_RATE)) / decades for v in (np.maximum(x, 0.5 * MIN_ERROR_RATE), y, line)
    )
    across[0] -= 1e-3  # a false positive rate of 0 lies beyond a logarithmic axis
    error: Floats = np.maximum(linear, np.abs(drawn - curve) / np.hypot(1.0, np.gradient(drawn, across)))
    error[chosen] = 0.0
    return error
