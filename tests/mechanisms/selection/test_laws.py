"""Laws of the largest noisy scores: against slow twins, and at sizes at which a table of all nodes does not fit."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import logsumexp

from dpassay.mechanisms.accounting.numerics.laplace import laplace_log_cdf
from dpassay.mechanisms.literature.selection import LaplaceTopK
from dpassay.mechanisms.selection import PermuteAndFlip, ReportNoisyMax
from dpassay.mechanisms.selection.laws import (
    log_all_below,
    log_largest_laplace,
    log_top_set_laplace,
    nodes_between,
    piece_ends,
)

SCORES = {
    "one scale": np.random.default_rng(0).normal(size=30),
    "close": np.random.default_rng(1).normal(scale=0.01, size=20),
    "far apart": np.random.default_rng(2).exponential(scale=500.0, size=12),
    "ties": np.random.default_rng(3).integers(0, 4, 40).astype(float),
    "all equal": np.zeros(7),
    "two": np.array([-3.0, 8.0]),
}


def dense(scores, sets):
    """The quadrature with a row for each node and a column for each candidate."""
    z, weights = nodes_between(piece_ends(scores))
    away = z[:, np.newaxis] - scores
    log_below, log_above = laplace_log_cdf(away), laplace_log_cdf(-away)
    hazard = -np.abs(away) - np.log(2.0) - log_above
    log_odds, total = log_above - log_below, log_below.sum(axis=1) + np.log(weights)
    return np.array(
        [logsumexp(total + log_odds[:, one].sum(axis=1) + logsumexp(hazard[:, one], axis=1)) for one in sets]
    )


def peak_megabytes(run):
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SCORES)
def test_probability_that_all_are_below_is_the_sum_of_the_logarithms(name):
    scores = SCORES[name]
    z = np.concatenate([scores, np.linspace(scores.min() - 50.0, scores.max() + 50.0, 301)])
    expected = laplace_log_cdf(z[:, np.newaxis] - scores).sum(axis=1)
    np.testing.assert_allclose(log_all_below(z, *np.unique(scores, return_counts=True)), expected, rtol=1e-13)


@pytest.mark.parametrize("name", SCORES)
def test_laws_are_those_of_the_dense_quadrature(name):
    scores, rng = SCORES[name], np.random.default_rng(4)
    alone = np.arange(len(scores))[:, np.newaxis]
    expected = dense(scores, alone)
    np.testing.assert_allclose(log_largest_laplace(scores), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(log_top_set_laplace(scores, alone), expected, rtol=1e-12, atol=1e-12)
    size = min(3, len(scores) - 1)
    sets = np.array([rng.choice(len(scores), size, replace=False) for _ in range(20)])
    np.testing.assert_allclose(log_top_set_laplace(scores, sets), dense(scores, sets), rtol=1e-12, atol=1e-12)


def test_a_thousand_different_candidates_need_little_memory():
    utilities = np.linspace(0.0, 2000.0, 1000)
    results = []
    peak = peak_megabytes(lambda: results.append(ReportNoisyMax(1.0, 1000).log_probabilities(utilities)))
    assert np.exp(results[0]).sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(results[0]) > 0.0).all()
    assert peak < 200.0


def test_worst_case_of_many_equal_candidates_needs_little_memory():
    mechanism = ReportNoisyMax(1.0, 100_000)
    assert peak_megabytes(mechanism.worst_case) < 200.0
    utilities = np.random.default_rng(0).integers(0, 50, 100_000).astype(float)
    results = []
    assert peak_megabytes(lambda: results.append(PermuteAndFlip(1.0, 100_000).probabilities(utilities))) < 200.0
    assert results[0].sum() == pytest.approx(1.0, abs=1e-9)


def test_law_of_a_set_among_many_candidates_needs_little_memory():
    mechanism = LaplaceTopK(0.1, 1000, k=3, delta=1e-3)
    utilities = np.linspace(0.0, 50_000.0, 1000)
    runs = mechanism.release(utilities, 5, np.random.default_rng(0))
    results = []
    assert peak_megabytes(lambda: results.append(mechanism.log_density(runs, utilities))) < 400.0
    assert np.isfinite(results[0]).all()
