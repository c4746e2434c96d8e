"""Cells of the normal law, and laws on the edges of cells that are larger in convex order."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ...core.arrays import Floats


def normal_cells(edges: Floats) -> Floats:
    """Return the standard normal probability between consecutive edges, with its relative accuracy in both tails."""
    low, high = edges[:-1], edges[1:]
    return np.asarray(np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def spread_to_edges(values: Floats, masses: Floats, means: Floats) -> Floats:
    """Move the law of a variable in each cell to the two edges of the cell, so that its mean is kept.

    No mean of a convex function decreases.

    Args:
        values: `(n + 1,)` values of the variable at the edges, increasing, or equal up to rounding.
        masses: `(n,)` probability of each cell.
        means: `(n,)` mean of the variable on each cell, times its probability.

    Returns:
        `(n + 1,)` probability of each edge.
    """
    widths = np.diff(values)
    share = np.divide(means - masses * values[:-1], widths, out=np.zeros(len(masses)), where=widths > 0.0)
    upper = np.clip(share, 0.0, masses)
    result = np.append(masses - upper, 0.0)
    result[1:] += upper
    return result
