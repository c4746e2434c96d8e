"""How likely each label is the one with the most noisy votes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, logsumexp

from ...selection.laws import log_largest_laplace
from .votes import Counts

Floats = NDArray[np.float64]

STEP = 0.1
"""Between the nodes of the quadrature, in standard deviations: what is integrated is analytic and falls as a Gaussian,
so that the trapezoidal rule is exact to rounding."""
TAIL = 9.0
"""Beyond the outermost nodes, in standard deviations."""
WIDE = 2_000.0
"""Votes that lie further apart, in standard deviations, have nodes of their own for each label."""
LARGEST = 1e150
"""Of the votes, in standard deviations: their squares are still numbers."""
_BLOCK = 1_000_000


def log_gaussian_winner(counts: Counts, standard_deviation: float) -> Floats:
    """log P(label j has the most votes plus N(0, sd^2)), `(n_queries, n_classes)`.

    The integral over the winning sum y of

        phi((y - n_j) / sd) / sd  product over i != j of Phi((y - n_i) / sd)

    whose largest terms, however rare the label, lie above the middle between its votes and the most votes.

    Example:
        >>> np.exp(log_gaussian_winner(np.array([[3, 1]]), 2.0)).round(6)  # Phi(2 / (2 sqrt(2)))
        array([[0.76025, 0.23975]])
    """
    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    scaled = np.clip(distinct / standard_deviation, -LARGEST, LARGEST)
    wide = np.ptp(scaled, axis=1) > WIDE
    found = np.empty(scaled.shape)
    found[~wide] = _by_common_nodes(scaled[~wide])
    for row in np.flatnonzero(wide):
        found[row] = _by_nodes_of_each(scaled[row])
    found -= logsumexp(found, axis=1, keepdims=True)
    return np.asarray(found[where.reshape(-1)])


def _by_common_nodes(scaled: Floats) -> Floats:
    """log of the integrals, but for a constant, for rows of votes in standard deviations: the same nodes for all
    labels."""
    top, low = scaled.max(axis=1), scaled.min(axis=1)
    start = 0.5 * (top + low) - TAIL
    n_nodes = math.ceil(float((top + TAIL - start).max(initial=0.0)) / STEP) + 1
    steps, rows = STEP * np.arange(n_nodes), max(1, _BLOCK // (n_nodes * scaled.shape[1]))
    found = np.empty(scaled.shape)
    for block in range(0, len(scaled), rows):
        some = slice(block, block + rows)
        away = start[some, None, None] + steps[:, None] - scaled[some, None, :]
        below = log_ndtr(away)
        terms = below.sum(axis=2, keepdims=True) - below - 0.5 * away * away
        found[some] = logsumexp(terms, axis=1)
    return found


def _by_nodes_of_each(scaled: Floats) -> Floats:
    """The same for one row, with nodes around the largest value of the integrand of each label.

    Its logarithm is concave with a second derivative of at most -1, so that it is negligible `TAIL` away from there.
    """
    found = np.empty(len(scaled))
    around = STEP * np.arange(-round(TAIL / STEP), round(TAIL / STEP) + 1)
    for label, own in enumerate(scaled):
        others = np.delete(scaled, label)
        low, high = own, max(own, others.max()) + len(scaled)
        while low < (middle := 0.5 * (low + high)) < high:
            hazards = math.sqrt(2.0 / math.pi) / erfcx((others - middle) / math.sqrt(2.0))
            slope = hazards.sum() - (middle - own)
            low, high = (middle, high) if slope > 0.0 else (low, middle)
        nodes = low + around
        away = nodes - own
        found[label] = logsumexp(log_ndtr(nodes[:, None] - others).sum(axis=1) - 0.5 * away * away)
    return found


def log_laplace_winner(counts: Counts, rate: float) -> Floats:
    """log P(label j has the most votes plus Laplace noise of scale 1 / rate), `(n_queries, n_classes)`.

    Two labels in closed form, from the difference of two noises: with x = rate * lead, the label behind has
    probability (2 + x) / 4 e^-x. More labels by quadrature, piece by piece.

    Example:
        >>> np.exp(log_laplace_winner(np.array([[3, 1]]), 0.5)).round(6)  # 3 / (4 e)
        array([[0.72409, 0.27591]])
    """
    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    if counts.shape[1] == 2:
        lead = rate * (distinct[:, 0] - distinct[:, 1])
        behind = np.log(0.25 * (2.0 + np.abs(lead))) - np.abs(lead)
        ahead = np.log1p(-np.exp(behind))
        found = np.where((lead >= 0)[:, None], np.column_stack([ahead, behind]), np.column_stack([behind, ahead]))
    else:
        found = np.array([log_largest_laplace(rate * row) for row in distinct]).reshape(distinct.shape)
        found -= logsumexp(found, axis=1, keepdims=True)
    return np.asarray(found[where.reshape(-1)])
