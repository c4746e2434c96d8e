"""Law of the candidates with the largest scores after noise of scale 1 is added.

    log_largest_exponential     one-sided exponential noise: the probability that each candidate is the largest
    log_largest_laplace         Laplace noise: the probability that each candidate is the largest
    log_top_set_laplace         Laplace noise: the probability that a set of candidates is the set of the largest
    log_all_below               Laplace noise: the probability that all sums are below a number
    log_hazards_below           Laplace noise: the contribution of the scores up to that number to its derivative
    piece_ends                  pieces for quadrature, since Laplace densities have kinks at the scores

All sums have positive terms, so that small probabilities keep their relative accuracy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from ..accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ..core import Floats, Ints

TAIL_SCALES = 45.0
"""Range of quadrature beyond the scores: e^-45 is far below the accuracy of a float."""
_NODES = 16
_MAX_SUMMED_TERMS = 128
_MAX_BLOCK_ENTRIES = 2_000_000
"""Largest number of floats in one step of the quadrature."""
_POWERS = np.arange(1.0, 55.0)
"""Exponents of q <= 1/2: the omitted powers are below the rounding of a float."""


@lru_cache(maxsize=64)
def _gauss(n: int) -> tuple[Floats, Floats]:
    """Return the Gauss nodes and weights on [0, 1], exact for polynomials of degree 2n - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (1.0 + nodes), 0.5 * weights


def log_largest_exponential(scores: Floats) -> Floats:
    """Return log P(i has the largest score plus standard exponential noise), shape `(n,)`.

    With w_j = e^(score_j - largest score), and u = e^-(z - largest score) for the largest sum z,

        P(i) = w_i integral from 0 to 1 of product over j != i of (1 - w_j u) du,

    a polynomial, for which a Gauss rule with n / 2 nodes is exact. (Beyond 128 candidates the interval is divided into
    pieces that double in length from 4 / n, with 32 nodes each, which are enough.)
    """
    distinct, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    log_weights, n = distinct - distinct[-1], len(scores)
    if n <= _MAX_SUMMED_TERMS:
        nodes, weights = _gauss((n + 1) // 2)
    else:
        nodes, weights = nodes_between(
            np.concatenate([[0.0], 2.0 ** -np.arange(math.ceil(math.log2(n / 4.0)), -1, -1)]), 32
        )
    log_integral = np.full(len(distinct), -np.inf)
    block = max(1, _MAX_BLOCK_ENTRIES // len(distinct))
    for start in range(0, len(nodes), block):
        part = slice(start, start + block)
        log_terms = np.log1p(-np.exp(log_weights) * nodes[part, np.newaxis])
        others = (log_terms @ counts)[:, np.newaxis] - log_terms
        log_integral = np.logaddexp(log_integral, logsumexp(others, axis=0, b=weights[part, np.newaxis]))
    return np.asarray((log_weights + log_integral)[where.ravel()])


def log_largest_laplace(scores: Floats) -> Floats:
    """Return log P(i has the largest score plus standard Laplace noise), shape `(n,)`.

    With F the distribution function of the noise, f its density, and G(z) the product of all F(z - score_j),

        P(i) = integral of G(z) f(z - score_i) / F(z - score_i) dz.

    The ratio f / F is 1 below the score, and q / (1 - q) = q + q^2 + ... above it, with q = e^-(z - score_i) / 2 <=
    1/2. So P(i) is the integral of G up to score_i plus the sum over m of the integrals of G q^m beyond it. Each of
    these is accumulated from score to score: the integral up to the next score, plus e^(-m distance) times the
    integral from there. The time grows with the number of nodes, not with nodes times candidates.
    """
    knots, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    z, weights = nodes_between(piece_ends(scores))
    log_mass = log_all_below(z, knots, counts) + np.log(weights)
    starts = np.searchsorted(z, knots)
    below = np.logaddexp.accumulate(_log_sums(log_mass[:, np.newaxis], np.append(0, starts))[:-1, 0])
    beyond = _log_powers(z, log_mass, knots, starts)
    for k in range(len(knots) - 2, -1, -1):
        beyond[k] = np.logaddexp(beyond[k], beyond[k + 1] - _POWERS * (knots[k + 1] - knots[k]))
    return np.asarray(np.logaddexp(below, logsumexp(beyond, axis=1))[where.ravel()])


def _log_powers(z: Floats, log_mass: Floats, knots: Floats, starts: Ints) -> Floats:
    """Return the log of the integral of G q^m from each score to the next one, `(n_knots, n_powers)`."""
    log_integrals = np.empty((len(knots), len(_POWERS)))
    ends = np.append(starts[1:], len(z))
    first = 0
    while first < len(knots):
        last = max(
            first + 1, int(np.searchsorted(ends, starts[first] + _MAX_BLOCK_ENTRIES // len(_POWERS), side="right"))
        )
        nodes = slice(starts[first], ends[last - 1])
        from_score = z[nodes] - np.repeat(knots[first:last], (ends - starts)[first:last])
        terms = log_mass[nodes, np.newaxis] - (from_score + math.log(2.0))[:, np.newaxis] * _POWERS
        log_integrals[first:last] = _log_sums(terms, starts[first:last] - starts[first])
        first = last
    return log_integrals


def _log_sums(terms: Floats, starts: Ints) -> Floats:
    """Return the log of the sum of e^terms over non-empty groups of rows that begin at `starts`."""
    largest = np.maximum.reduceat(terms, starts, axis=0)
    rows = np.diff(np.append(starts, len(terms)))
    sums = np.add.reduceat(np.exp(terms - np.repeat(largest, rows, axis=0)), starts, axis=0)
    return np.asarray(largest + np.log(sums))


def log_all_below(z: Floats, knots: Floats, counts: Ints) -> Floats:
    """Return the log of the product of all F(z - score), with F the CDF of standard Laplace noise.

    Args:
        z: any numbers, `(n,)`.
        knots: the distinct scores in increasing order.
        counts: number of occurrences of each score.

    Each score above z contributes z - score - log 2, each score below it log(1 - q) = -(q + q^2 / 2 + q^3 / 3 + ...),
    with q as in `log_largest_laplace`.
    """
    n_from = np.append(np.cumsum(counts[::-1])[::-1], 0)
    rises = np.append(np.cumsum((np.diff(knots) * n_from[1:-1])[::-1])[::-1], [0.0, 0.0])
    interval = np.searchsorted(knots, z, side="right")
    above = n_from[interval] * (np.append(knots, 0.0)[interval] - z + math.log(2.0)) + rises[interval]
    log_q, total = _sum_of_powers(z, knots, counts, 1.0 / _POWERS)
    return np.asarray(-np.where(interval < len(knots), above, 0.0) - np.exp(log_q) * total)


def log_hazards_below(z: Floats, knots: Floats, counts: Ints) -> Floats:
    """Return the log of the sum of f(z - score) / F(z - score) over the scores up to z; -inf if there are none.

    Arguments as for `log_all_below`; each ratio is q + q^2 + q^3 + ...
    """
    log_q, total = _sum_of_powers(z, knots, counts, np.ones(len(_POWERS)))
    return np.asarray(log_q + np.log(np.maximum(total, 1e-300)))


def _sum_of_powers(z: Floats, knots: Floats, counts: Ints, factors: Floats) -> tuple[Floats, Floats]:
    """Return log q, and the sum over all scores up to z and all m >= 1 of factors[m - 1] q_score^m / q.

    q_score = e^-(z - score) / 2, and q is q_score of the nearest score up to z; log q is -inf if there is none. The sum
    of the m-th powers is accumulated from score to score.
    """
    powers = np.empty((len(knots), len(_POWERS)))
    powers[0] = counts[0]
    for k, gap in enumerate(np.diff(knots)):
        powers[k + 1] = counts[k + 1] + np.exp(-gap * _POWERS) * powers[k]
    log_q, total = np.empty(len(z)), np.zeros(len(z))
    block = max(1, _MAX_BLOCK_ENTRIES // len(_POWERS))
    for start in range(0, len(z), block):
        part = slice(start, start + block)
        interval = np.searchsorted(knots, z[part], side="right")
        nearest = np.maximum(interval - 1, 0)
        log_q[part] = np.where(interval > 0, knots[nearest] - z[part] - math.log(2.0), -np.inf)
        q = np.exp(log_q[part])
        for column in (powers[nearest] * factors).T[::-1]:
            total[part] *= q
            total[part] += column
    return log_q, total


def log_top_set_laplace(scores: Floats, sets: Ints) -> Floats:
    """Return log P(these candidates have the largest scores plus standard Laplace noise), shape `(n_sets,)`.

    This is the integral over z, the least noisy score of the set S, of

        sum over i in S of f_i(z)  product over j in S, j != i, of (1 - F_j(z))  product over j not in S of F_j(z).

    Args:
        scores: `(n,)`.
        sets: `(n_sets, k)` distinct indices in each row.
    """
    knots, counts = np.unique(scores, return_counts=True)
    z, weights = nodes_between(piece_ends(scores))
    all_below = log_all_below(z, knots, counts) + np.log(weights)
    members, inverse = np.unique(sets, return_inverse=True)
    inverse = inverse.reshape(sets.shape)
    log_probabilities = np.full(len(sets), -np.inf)
    n_nodes = max(1, _MAX_BLOCK_ENTRIES // (10 * max(len(members), sets.shape[1])))
    for first in range(0, len(z), n_nodes):
        nodes = slice(first, first + n_nodes)
        offset = z[nodes, np.newaxis] - scores[members]
        log_below, log_above = laplace_log_cdf(offset), laplace_log_cdf(-offset)
        log_odds, log_hazard = log_above - log_below, log_laplace(offset) - log_above
        block = max(1, _MAX_BLOCK_ENTRIES // (len(offset) * sets.shape[1]))
        for start in range(0, len(sets), block):
            part = slice(start, start + block)
            log_term = log_odds[:, inverse[part]].sum(axis=2) + logsumexp(log_hazard[:, inverse[part]], axis=2)
            log_term += all_below[nodes, np.newaxis]
            log_probabilities[part] = np.logaddexp(log_probabilities[part], logsumexp(log_term, axis=0))
    return log_probabilities


def piece_ends(scores: Floats, longest: float = np.inf) -> Floats:
    """Return the increasing ends of pieces for a Gauss rule that cover all scores and `TAIL_SCALES` on both sides.

    Products of n distribution functions vary on a length of 1/n next to a score, and more slowly further away: pieces
    start short and double in length, from both ends of each gap, up to `longest`.
    """
    knots = np.unique(scores)
    knots = np.concatenate([[knots[0] - TAIL_SCALES], knots, [knots[-1] + TAIL_SCALES]])
    shortest = min(1.0, 4.0 / len(scores), longest)
    ends = [knots]
    for low, high in pairwise(knots):
        steps = shortest * 2.0 ** np.arange(max(1.0, np.ceil(np.log2((high - low) / shortest)) + 1.0))
        steps = np.minimum(steps, longest)
        if steps.sum() < 0.5 * (high - low):
            steps = np.append(steps, np.full(int((0.5 * (high - low) - steps.sum()) / longest) + 1, longest))
        offsets = np.cumsum(steps)
        offsets = offsets[offsets < 0.5 * (high - low)]
        ends += [low + offsets, high - offsets]
    return np.unique(np.concatenate(ends))


def nodes_between(ends: Floats, n: int = _NODES) -> tuple[Floats, Floats]:
    """Return the Gauss nodes and weights on all pieces, n per piece."""
    nodes, weights = _gauss(n)
    lengths = np.diff(ends)[:, np.newaxis]
    return (ends[:-1, np.newaxis] + lengths * nodes).ravel(), (lengths * weights).ravel()
