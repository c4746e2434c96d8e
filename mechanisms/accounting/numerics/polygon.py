"""Trade-off curves with finitely many corners."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats


def tradeoff_points(p0: Floats, p1: Floats) -> tuple[Floats, Floats]:
    """Return (fpr, fnr) of the likelihood-ratio tests of p1 against p0 (Neyman, Pearson 1933), fpr from 0 to 1.

    Outputs are rejected in order of falling p1 / p0. The false negative rate is summed from its smallest values, which
    keep their relative accuracy.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p1 > 0.0, p1 / p0, np.where(p0 > 0.0, 0.0, 1.0))
    order = np.argsort(-ratio, kind="stable")
    fpr = np.concatenate([[0.0], np.cumsum(p0[order])])
    fnr = np.concatenate([np.cumsum(p1[order][::-1])[::-1], [0.0]])
    return fpr / fpr[-1], fnr / fnr[0]


def lower_hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the lower convex hull of points in the unit square, x increasing.

    The points include (0, 1) and (1, 0). Andrew's monotone chain (1979). At x = 0 the lowest point is the corner.
    """
    corners: list[tuple[float, float]] = []
    for at in np.lexsort((y, x)):
        point = (float(x[at]), float(y[at]))
        if corners and point[0] == corners[-1][0]:
            continue
        while len(corners) > 1 and _turns_up(corners[-2], point, corners[-1]):
            corners.pop()
        corners.append(point)
    hull = np.array(corners)
    return hull[:, 0], hull[:, 1]


def _turns_up(start: tuple[float, float], end: tuple[float, float], middle: tuple[float, float]) -> bool:
    """Return True if `middle` lies on or above the line from `start` to `end`."""
    rise = (end[0] - start[0]) * (middle[1] - start[1]) - (end[1] - start[1]) * (middle[0] - start[0])
    return rise >= 0.0
