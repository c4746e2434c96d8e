"""Renyi divergences of one answer on fixed votes, from an upper bound q on the probability that the leader loses.

    log_gaussian_miss, log_laplace_miss, log_check_miss     log q from the votes
    gaussian_divergences, laplace_divergences               bounds on the divergence from q, at each order

All functions bound D(answer on these votes || answer on votes with one moved). They hold for every upper bound on q.

For small q the bound is far below the one that holds for all votes (order / sigma^2 for GNMax). The smaller of the two
is returned.

References:
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018), theorem 6, proposition 7, appendix A;
    Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017), theorem 3 and lemma 4.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp

from ...core import Floats, Ints

CHECK_DEVIATION_RATIO = math.sqrt(2.0)
"""Ratio of the deviation of an equivalent GNMax of two labels to that of a check.

A moved vote changes the support of a check by 1, but the lead of a GNMax by 2.
"""


def log_gaussian_miss(counts: Ints, standard_deviation: float) -> Floats:
    """Return log of the sum over the other labels i of Phi(-(n_first - n_i) / (sigma sqrt(2))), `(n,)`.

    The result is at most log(1 - 1/m).

    Args:
        counts: `(n, m)` votes.
        standard_deviation: sigma.
    """
    return _capped(log_ndtr(-_leads(counts) / (math.sqrt(2.0) * standard_deviation)), counts.shape[1])


def log_laplace_miss(counts: Ints, rate: float) -> Floats:
    """Return log of the sum over the other labels of (2 + x) / 4 e^-x, x = rate * lead, `(n,)`.

    The result is at most log(1 - 1/m).
    """
    leads = rate * _leads(counts)
    return _capped(np.log(0.25 * (2.0 + leads)) - leads, counts.shape[1])


def log_check_miss(above: Floats, standard_deviation: float) -> Floats:
    """Return log of the probability of the less likely outcome of a check, `(n,)`; `above` is support - threshold."""
    return np.asarray(log_ndtr(-np.abs(above) / standard_deviation))


def gaussian_divergences(log_miss: Floats, standard_deviation: float, orders: Floats) -> Floats:
    """Return the divergences of GNMax, `(n, n_orders)`.

    The smaller of order / sigma^2 and, where its conditions hold,

        log((1 - q) A^(order - 1) + q B^(order - 1)) / (order - 1)
        A = (1 - q) / (1 - (q e^e2)^((mu2 - 1) / mu2)),   B = e^e1 / q^(1 / (mu1 - 1)),

    mu2 = sigma sqrt(-log q), mu1 = mu2 + 1, e1 = mu1 / sigma^2, e2 = mu2 / sigma^2; 0 if q = 0.

    Args:
        log_miss: `(n,)` log q, each at most 0.
        standard_deviation: sigma.
        orders: `(n_orders,)`, each > 1.
    """
    distinct, inverse = np.unique(np.minimum(log_miss, 0.0), return_inverse=True)
    log_q, variance = distinct[:, None], standard_deviation**2
    data_independent = np.broadcast_to(orders / variance, (len(log_q), len(orders)))
    with np.errstate(all="ignore"):
        mu2 = standard_deviation * np.sqrt(-log_q)
        mu1 = mu2 + 1.0
        e1, e2 = mu1 / variance, mu2 / variance
        threshold = -mu2 * np.log1p(1.0 / mu2) - mu2 * np.log1p(1.0 / (mu2 - 1.0))  # mu1 - 1 = mu2
        valid = (mu1 > orders) & (mu2 > 1.0) & (-log_q > e2) & (log_q <= (mu2 - 1.0) * e2 + threshold)
        log_hit = np.log(-np.expm1(log_q))
        log_a = log_hit - np.log(-np.expm1((log_q + e2) * (mu2 - 1.0) / mu2))
        log_b = e1 - log_q / mu2
        excess = orders - 1.0
        bound = np.logaddexp(log_hit + excess * log_a, log_q + excess * log_b) / excess
    smaller = np.where(valid & (bound < data_independent), np.maximum(bound, 0.0), data_independent)
    return np.asarray(np.where(np.isneginf(log_q), 0.0, smaller)[inverse])


def laplace_divergences(log_miss: Floats, rate: float, orders: Floats) -> Floats:
    """Return the divergences of LNMax, `(n, n_orders)`.

    The smallest of e^2 order / 2, e, and, where q <= 1 / (1 + e^e),

        log((1 - q) ((1 - q) / (1 - e^e q))^(order - 1) + q e^(e (order - 1))) / (order - 1),     e = 2 rate.

    Args:
        log_miss: `(n,)` log q, each at most 0.
        rate: 1 / scale of the noise.
        orders: `(n_orders,)`, each > 1.
    """
    distinct, inverse = np.unique(np.minimum(log_miss, 0.0), return_inverse=True)
    pure, log_q = 2.0 * rate, distinct[:, None]
    data_independent = np.broadcast_to(np.minimum(0.5 * pure * pure * orders, pure), (len(log_q), len(orders)))
    with np.errstate(all="ignore"):
        log_hit = np.log(-np.expm1(log_q))
        log_a = log_hit - np.log(-np.expm1(log_q + pure))
        excess = orders - 1.0
        bound = np.logaddexp(log_hit + excess * log_a, log_q + excess * pure) / excess
        valid = log_q <= -np.logaddexp(0.0, pure)
    return np.asarray(np.where(valid & (bound < data_independent), np.maximum(bound, 0.0), data_independent)[inverse])


def _leads(counts: Ints) -> Floats:
    """Return the leads of the first label over each other label, `(n, m - 1)`."""
    ordered = np.sort(counts, axis=1).astype(np.float64)
    return ordered[:, -1:] - ordered[:, :-1]


def _capped(logs: Floats, n_classes: int) -> Floats:
    return np.asarray(np.minimum(logsumexp(logs, axis=1), math.log1p(-1.0 / n_classes)))
