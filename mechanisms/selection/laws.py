"""The law of the candidates that are largest after noise of scale 1 has been added to their scores.

    log_largest_exponential     one-sided exponential noise: each candidate's probability to be largest
    log_top_set_laplace         Laplace noise: the probability that a set of candidates is the set of the largest
    pieces                      where quadrature has to be cut, as Laplace densities bend at the scores

Every term that is added is positive, so that small probabilities keep their relative accuracy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..queries.base import Floats

TAIL = 45.0
"""Beyond the scores: e^-45 is far below the accuracy of a float."""
_NODES = 16
_EXACT = 128
_BLOCK = 2_000_000
"""Numbers that one step of the quadrature holds."""


@lru_cache(maxsize=64)
def _gauss(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1]; exact for polynomials of degree 2n - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (1.0 + nodes), 0.5 * weights


def log_largest_exponential(scores: Floats) -> Floats:
    """log P(i has the largest score plus standard exponential noise), shape `(n,)`.

    With w_j = e^(score_j - largest score), and u = e^-(z - largest score) for the largest sum z,

        P(i) = w_i integral from 0 to 1 of product over j != i of (1 - w_j u) du,

    a polynomial, for which a Gauss rule of n / 2 nodes is exact. (Beyond 128 candidates the interval is cut into pieces
    that double from 4 / n, on each of which 32 nodes are enough.)
    """
    log_weights, n = scores - scores.max(), len(scores)
    if n <= _EXACT:
        nodes, weights = _gauss((n + 1) // 2)
    else:
        nodes, weights = nodes_between(
            np.concatenate([[0.0], 2.0 ** -np.arange(math.ceil(math.log2(n / 4.0)), -1, -1)]), 32
        )
    each = np.log1p(-np.exp(log_weights) * nodes[:, np.newaxis])
    others = each.sum(axis=1, keepdims=True) - each
    return np.asarray(log_weights + logsumexp(others, axis=0, b=weights[:, np.newaxis]))


def log_top_set_laplace(scores: Floats, sets: NDArray[np.int64]) -> Floats:
    """log P(these candidates have the largest scores plus standard Laplace noise), shape `(n_sets,)`.

    The integral over z, the least noisy score of the set S, of

        sum over i in S of f_i(z)  product over j in S, j != i, of (1 - F_j(z))  product over j not in S of F_j(z).

    Args:
        scores: `(n,)`.
        sets: `(n_sets, k)` distinct indices in each row.
    """
    z, weights = nodes_between(pieces(scores))
    away = z[:, np.newaxis] - scores
    log_below, log_above = laplace_log_cdf(away), laplace_log_cdf(-away)
    log_density = -np.abs(away) - np.log(2.0)
    log_odds, all_below = log_above - log_below, log_below.sum(axis=1, keepdims=True)
    found = np.empty(len(sets))
    block = max(1, _BLOCK // (len(z) * sets.shape[1]))
    for start in range(0, len(sets), block):
        some = sets[start : start + block]
        log_term = log_odds[:, some].sum(axis=2) + logsumexp((log_density - log_above)[:, some], axis=2)
        found[start : start + block] = logsumexp(all_below + log_term, axis=0, b=weights[:, np.newaxis])
    return found


def laplace_log_cdf(x: Floats) -> Floats:
    """log P(standard Laplace noise <= x)."""
    half = 0.5 * np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0.0, -np.abs(x) - np.log(2.0), np.log1p(-half)))


def pieces(scores: Floats, longest: float = np.inf) -> Floats:
    """Increasing ends of pieces that cover all scores and `TAIL` on both sides, on each of which a Gauss rule is good.

    Products of n distribution functions change on a length of 1/n next to a score, and more slowly the further they
    are from it: pieces start short and double, from both ends of each gap, up to `longest`.
    """
    knots = np.unique(scores)
    knots = np.concatenate([[knots[0] - TAIL], knots, [knots[-1] + TAIL]])
    shortest = min(1.0, 4.0 / len(scores), longest)
    found = [knots]
    for low, high in pairwise(knots):
        steps = shortest * 2.0 ** np.arange(max(1.0, np.ceil(np.log2((high - low) / shortest)) + 1.0))
        steps = np.minimum(steps, longest)
        if steps.sum() < 0.5 * (high - low):
            steps = np.append(steps, np.full(int((0.5 * (high - low) - steps.sum()) / longest) + 1, longest))
        offsets = np.cumsum(steps)
        offsets = offsets[offsets < 0.5 * (high - low)]
        found += [low + offsets, high - offsets]
    return np.unique(np.concatenate(found))


def nodes_between(ends: Floats, n: int = _NODES) -> tuple[Floats, Floats]:
    """Gauss nodes and weights, n a piece, on all pieces together."""
    nodes, weights = _gauss(n)
    lengths = np.diff(ends)[:, np.newaxis]
    return (ends[:-1, np.newaxis] + lengths * nodes).ravel(), (lengths * weights).ravel()
