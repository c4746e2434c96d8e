"""The claimed curves, sampled for drawing: few points, where the curve bends.

A point is added where the straight line between its neighbours misses the curve by most, until nobody can see the
difference: on even axes, where the middle of a trade-off curve bends, and on logarithmic ones, where its ends do. The
errors are those of Ramer (1972), measured across the line, so that steep and flat parts are treated alike.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.guarantees.base import Guarantee
from ..evidence.scores import Floats
from .audit_result import ClaimCurve

MOST = 160
"""Points of a trade-off curve."""
SEEN = 1e-4
"""Distance from a straight line, as a share of the axis, below which no point is added."""
LEAST = 1e-6
"""The least error rate that a logarithmic axis shows."""
REACH = 10.0
"""Epsilon up to which a profile is drawn whose claim is infinite."""


def claim_curve(claim: Guarantee, epsilon: float) -> ClaimCurve:
    """The trade-off curve in at most 160 points, and the privacy profile in 130 up to 1.5 times the claimed epsilon.

    Some points of the profile approach `epsilon` from below, where the profile of a pure claim falls to 0.
    """
    try:
        return _remembered(claim, epsilon)
    except TypeError:  # a claim of somebody's own that has no hash
        return _drawn(claim, epsilon)


@lru_cache(maxsize=64)
def _remembered(claim: Guarantee, epsilon: float) -> ClaimCurve:
    return _drawn(claim, epsilon)


def _drawn(claim: Guarantee, epsilon: float) -> ClaimCurve:
    ends = np.geomspace(LEAST, 0.5, 600)
    fine = np.unique(np.concatenate([np.linspace(0.0, 1.0, 1001), ends, 1.0 - ends]))
    fnr = np.asarray(claim.tradeoff(fine))
    everywhere = np.searchsorted(fine, np.concatenate([np.linspace(0.0, 1.0, 21), ends[::60]]))
    kept = bends(fine, fnr, start=everywhere)
    top = epsilon if math.isfinite(epsilon) else REACH
    near = top * (1.0 - np.geomspace(1e-6, 0.05, 29))
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.5 * top or 0.5, 100), [top], near]))
    curves = (fine[kept], fnr[kept], grid, np.asarray(claim.delta(grid)))
    return ClaimCurve(*(tuple(map(float, curve)) for curve in curves))


def bends(x: Floats, y: Floats, *, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places of the points of a falling curve that a drawing needs, in their order.

    Args:
        x, y: `(n,)` in [0, 1], x increasing.
        start: places that are kept in any case, fewer than `MOST`; the first and the last belong to them.
    """
    kept = np.unique(np.concatenate([[0], start, [len(x) - 1]]))
    while len(kept) < MOST:
        missed = _missed(x, y, kept)
        after = np.unique(np.searchsorted(kept, np.flatnonzero(missed > SEEN)))
        worst = [int(low + np.argmax(missed[low:high])) for low, high in zip(kept[after - 1], kept[after], strict=True)]
        if not worst:
            break
        worst.sort(key=lambda place: -missed[place])
        kept = np.union1d(kept, worst[: MOST - len(kept)])
    return kept


def _missed(x: Floats, y: Floats, kept: NDArray[np.intp]) -> Floats:
    """How far straight lines between the kept points pass by the others, as shares of an even or a logarithmic axis."""
    line = np.interp(x, x[kept], y[kept])
    even = np.abs(line - y) / np.hypot(1.0, np.gradient(line, x))
    decades = -np.log10(LEAST)
    across, curve, drawn = (np.log10(np.maximum(v, LEAST)) / decades for v in (np.maximum(x, 0.5 * LEAST), y, line))
    across[0] -= 1e-3  # a false positive rate of 0 lies beyond a logarithmic axis
    missed: Floats = np.maximum(even, np.abs(drawn - curve) / np.hypot(1.0, np.gradient(drawn, across)))
    missed[kept] = 0.0
    return missed


__all__ = ["bends", "claim_curve"]
