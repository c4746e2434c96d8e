"""Cells and spherical shells of the normal law, and laws on the edges of cells that are larger in convex order."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr

from ...core import Floats

SHELLS = 2_000
"""Number of shells in each half of each Gaussian; the curve is then too low by less than 0.01."""


def normal_between(low: Floats, high: Floats) -> Floats:
    """Return the standard normal probability of [low, high], with its relative accuracy in both tails."""
    return np.asarray(np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def normal_cells(edges: Floats) -> Floats:
    """Return the standard normal probability between consecutive edges."""
    return normal_between(edges[:-1], edges[1:])


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


def radius_laws(divisors0: dict[float, float], divisors1: dict[float, float], dimension: int) -> tuple[Floats, Floats]:
    """Return the probabilities of thin shells under two mixtures of N(0, I / divisor^2) in `dimension` dimensions.

    The distance from 0, whose scaled square is chi-squared, is a sufficient statistic.
    """
    tails = np.geomspace(1e-40, 0.5, SHELLS)
    squares = 2.0 * np.concatenate([gammaincinv(dimension / 2, tails), gammainccinv(dimension / 2, tails)])
    edges = np.unique([squares / divisor**2 for divisor in {**divisors0, **divisors1}])
    return _shells(divisors0, dimension, edges), _shells(divisors1, dimension, edges)


def _shells(divisors: dict[float, float], dimension: int, edges: Floats) -> Floats:
    masses = np.zeros(len(edges) + 1)
    for divisor, weight in divisors.items():
        half = 0.5 * edges * divisor**2
        below = np.concatenate([[0.0], gammainc(dimension / 2, half), [1.0]])
        above = np.concatenate([[1.0], gammaincc(dimension / 2, half), [0.0]])
        masses += weight * np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    return np.asarray(masses / masses.sum())
