"""Probabilities of comparisons with a noisy threshold, with different queries in each run.

The integral is that of `dpassay.mechanisms.selection.sparse_vector.threshold_integral`,

    integral of f((t - threshold) / r) / r  *  product of F((t - q_i) / s) over the queries below
                                            *  product of 1 - F((t - q_i) / s) over those above     dt

but the numbers that are compared with the threshold differ from run to run, and so do the corners of the integrand.
Between two corners Gauss-Legendre panels widen away from both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...core.arrays import Floats
from ...selection.sparse_vector.threshold_integral import log_cdf

NODES, GROWTH, REACH = 8, 3.0, 60.0
"""Nodes per panel, growth factor of the panels away from a corner, and range beyond the last corner in scales."""
MOST = 2_000_000
"""Largest number of entries in an array of one block of rows."""


def log_segment(
    queries: Floats,
    below: NDArray[np.bool_],
    above: NDArray[np.bool_],
    *,
    threshold: float,
    scales: tuple[float, float],
) -> Floats:
    """Return the log probability that the queries `below` are below one noisy threshold, and those `above` above it.

    Args:
        queries: `(size, n_queries)`, the numbers that are compared.
        below, above: masks of the same shape; queries in neither are not compared.
        threshold: threshold without noise.
        scales: scales of the Laplace noise on the threshold and on the queries, > 0.

    Returns:
        `(size,)`.
    """
    sign = above.astype(np.float64) - below
    cases = np.hstack([sign, np.where(sign == 0.0, threshold, queries)])
    distinct, inverse = _distinct(cases)
    sign, queries = np.hsplit(distinct, 2)
    log_probabilities, widths = np.empty(len(distinct)), _widths(scales)
    rows = max(1, MOST // (2 * len(widths) * NODES * (queries.shape[1] + 2) ** 2))
    for start in range(0, len(distinct), rows):
        block = slice(start, start + rows)
        log_probabilities[block] = _integrals(sign[block], queries[block], threshold, scales, widths)
    return np.asarray(log_probabilities[inverse])


def _distinct(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct rows and the index of each row among them.

    Rows are identified by a sum with irrational weights, or by a slower exact comparison if two sums agree.
    """
    sums = rows @ np.sqrt(np.arange(2.0, 2.0 + rows.shape[1]))
    _, first, inverse = np.unique(sums, return_index=True, return_inverse=True)
    distinct, inverse = rows[first], inverse.reshape(len(rows))
    if (distinct[inverse] == rows).all():
        return distinct, inverse
    distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(len(rows))


def _widths(scales: tuple[float, float]) -> Floats:
    """Return the distances of the edges of panels from a corner."""
    step, reach = 0.5 * min(scales), REACH * max(scales)
    n_panels = 2 + int(np.log(reach / step) / np.log(GROWTH))
    return np.asarray(np.minimum(step * (GROWTH ** np.arange(n_panels + 1) - 1.0) / (GROWTH - 1.0), reach))


def _integrals(sign: Floats, queries: Floats, threshold: float, scales: tuple[float, float], widths: Floats) -> Floats:
    edges = _edges(np.column_stack([np.full(len(queries), threshold), queries]), widths)
    x, w = np.polynomial.legendre.leggauss(NODES)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    t = (0.5 * (edges[:, :-1] + edges[:, 1:])[:, :, None] + half * x).reshape(len(edges), -1)
    weights = (half * w).reshape(t.shape)
    log_terms = -np.abs(t - threshold) / scales[0] - np.log(2.0 * scales[0])
    for query, side in zip(queries.T, sign.T, strict=True):
        log_terms += np.where(side[:, None] == 0.0, 0.0, log_cdf(-side[:, None] * (t - query[:, None]) / scales[1]))
    return np.asarray(logsumexp(log_terms, b=weights, axis=1))


def _edges(corners: Floats, widths: Floats) -> Floats:
    """Return the edges of panels that widen away from the corners of each row, `(size, n_edges)`; some have width 0."""
    corners = np.sort(corners, axis=1)
    middle = 0.5 * np.diff(corners, axis=1)[:, :, None]
    up = corners[:, :-1, None] + np.minimum(widths, middle)
    down = corners[:, 1:, None] - np.minimum(widths, middle)
    ends = (corners[:, :1] - widths, corners[:, -1:] + widths)
    inner = [side.reshape(len(corners), -1) for side in (up, down)]
    return np.sort(np.concatenate([*ends, *inner], axis=1), axis=1)
