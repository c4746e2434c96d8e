"""Probability that each label has the most noisy votes."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, log_expit, log_ndtr, logsumexp

from ...core import Floats, bisect
from ...selection.laws import log_largest_laplace
from .vote_counts import Counts

NODE_DISTANCE = 0.1
"""Distance between the nodes of the quadrature, in standard deviations.

The integrand is analytic and decays as a Gaussian, so that the trapezoidal rule is exact to rounding.
"""
TAIL_DEVIATIONS = 9.0
"""Distance from the peak to the outermost nodes, in standard deviations."""
MAX_SHARED_RANGE = 2_000.0
"""Range of the votes, in standard deviations, above which each label has separate nodes."""
MAX_VOTES = 1e150
"""Largest number of votes, in standard deviations, whose square does not overflow."""
_MAX_BLOCK_ENTRIES = 1_000_000


def log_gaussian_winner(counts: Counts, standard_deviation: float) -> Floats:
    """Return log P(label j has the most votes plus N(0, sd^2)), `(n_queries, n_classes)`.

    The probability is the integral over the winning sum y of

        phi((y - n_j) / sd) / sd  product over i != j of Phi((y - n_i) / sd)

    whose largest terms, even for an unlikely label, lie above the midpoint of n_j and the largest count.

    Example:
        >>> np.exp(log_gaussian_winner(np.array([[3, 1]]), 2.0)).round(6)  # Phi(2 / (2 sqrt(2)))
        array([[0.76025, 0.23975]])
    """
    distinct, inverse = np.unique(counts, axis=0, return_inverse=True)
    scaled = np.clip(distinct / standard_deviation, -MAX_VOTES, MAX_VOTES)
    wide = np.ptp(scaled, axis=1) > MAX_SHARED_RANGE
    log_probabilities = np.empty(scaled.shape)
    log_probabilities[~wide] = _by_common_nodes(scaled[~wide])
    for row in np.flatnonzero(wide):
        log_probabilities[row] = _by_nodes_of_each(scaled[row])
    log_probabilities -= logsumexp(log_probabilities, axis=1, keepdims=True)
    return np.asarray(log_probabilities[inverse.reshape(-1)])


def _by_common_nodes(scaled: Floats) -> Floats:
    """Return the log integrals of rows of votes in standard deviations, up to a constant, with common nodes."""
    top, low = scaled.max(axis=1), scaled.min(axis=1)
    start = 0.5 * (top + low) - TAIL_DEVIATIONS
    n_nodes = math.ceil(float((top + TAIL_DEVIATIONS - start).max(initial=0.0)) / NODE_DISTANCE) + 1
    steps, rows = NODE_DISTANCE * np.arange(n_nodes), max(1, _MAX_BLOCK_ENTRIES // (n_nodes * scaled.shape[1]))
    log_integrals = np.empty(scaled.shape)
    for block in range(0, len(scaled), rows):
        part = slice(block, block + rows)
        distances = start[part, None, None] + steps[:, None] - scaled[part, None, :]
        below = log_ndtr(distances)
        terms = below.sum(axis=2, keepdims=True) - below - 0.5 * distances * distances
        log_integrals[part] = logsumexp(terms, axis=1)
    return log_integrals


def _by_nodes_of_each(scaled: Floats) -> Floats:
    """Return the log integrals of one row, with nodes around the maximum of the integrand of each label.

    The logarithm of the integrand is concave with a second derivative of at most -1, so that the integrand is
    negligible at a distance of `TAIL_DEVIATIONS` from the maximum.
    """
    log_integrals = np.empty(len(scaled))
    offsets = NODE_DISTANCE * np.arange(
        -round(TAIL_DEVIATIONS / NODE_DISTANCE), round(TAIL_DEVIATIONS / NODE_DISTANCE) + 1
    )
    for label, votes in enumerate(scaled):
        others = np.delete(scaled, label)

        def falls(at: float, votes: float = votes, others: Floats = others) -> bool:
            hazards = math.sqrt(2.0 / math.pi) / erfcx((others - at) / math.sqrt(2.0))
            return bool(hazards.sum() - (at - votes) <= 0.0)

        nodes = bisect(falls, votes, max(votes, others.max()) + len(scaled))[0] + offsets
        distances = nodes - votes
        log_integrals[label] = logsumexp(log_ndtr(nodes[:, None] - others).sum(axis=1) - 0.5 * distances * distances)
    return log_integrals


def log_laplace_winner(counts: Counts, rate: float) -> Floats:
    """Return log P(label j has the most votes plus Laplace noise of scale 1 / rate), `(n_queries, n_classes)`.

    Two labels have a closed form, from the difference of two noise values: with x = rate * lead, the trailing label has
    probability (2 + x) / 4 e^-x. More labels need a piecewise quadrature.

    Example:
        >>> np.exp(log_laplace_winner(np.array([[3, 1]]), 0.5)).round(6)  # 3 / (4 e)
        array([[0.72409, 0.27591]])
    """
    distinct, inverse = np.unique(counts, axis=0, return_inverse=True)
    if counts.shape[1] == 2:
        lead = rate * (distinct[:, 0] - distinct[:, 1])
        trailing = np.log(0.25 * (2.0 + np.abs(lead))) - np.abs(lead)
        leading = np.log1p(-np.exp(trailing))
        log_probabilities = np.where(
            (lead >= 0)[:, None], np.column_stack([leading, trailing]), np.column_stack([trailing, leading])
        )
    else:
        log_probabilities = np.array([log_largest_laplace(rate * row) for row in distinct]).reshape(distinct.shape)
        log_probabilities -= logsumexp(log_probabilities, axis=1, keepdims=True)
    return np.asarray(log_probabilities[inverse.reshape(-1)])


def log_laplace_majority(counts: Counts, rate: float) -> Floats:
    """Return log P(label j wins by n_1 + Laplace noise of scale 1 / rate > M / 2), `(n_queries, 2)`; M = n_0 + n_1.

    Example:
        >>> np.exp(log_laplace_majority(np.array([[3, 1]]), 0.5)).round(6)  # 1 / (2 sqrt(e))
        array([[0.696735, 0.303265]])
    """
    log_odds = laplace_majority_log_odds(counts, rate)
    return np.stack([log_expit(-log_odds), log_expit(log_odds)], axis=-1)


def laplace_majority_log_odds(counts: Counts, rate: float) -> Floats:
    """Return the log odds that n_1 + Laplace noise of scale 1 / rate > M / 2, `(n_queries,)`."""
    lead = (counts[..., 1] - counts.sum(axis=-1) / 2) / (1.0 / rate)
    return np.asarray(np.copysign(np.abs(lead) + np.log(2.0 - np.exp(-np.abs(lead))), lead))
