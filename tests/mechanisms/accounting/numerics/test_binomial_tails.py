"""Binomial probabilities against those of scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting.numerics.binomial import (
    binomial_cdf,
    binomial_log_pmf,
    binomial_pmf,
    binomial_sf,
)


@pytest.mark.parametrize("p", [0.5, 1e-3, 0.97])
@pytest.mark.parametrize("n", [0, 1, 2, 25, 1000, 10**6])
def test_probabilities_are_those_of_scipy_far_into_the_tails(n, p):
    mean, deviation = n * p, np.sqrt(n * p * (1 - p))
    k = np.unique(np.clip(np.round(mean + deviation * np.linspace(-20, 20, 81)), 0, n))
    for ours, law in ((binomial_pmf, stats.binom.pmf), (binomial_sf, stats.binom.sf), (binomial_cdf, stats.binom.cdf)):
        expected = law(k, n, p)
        normal = expected > 1e-290
        np.testing.assert_allclose(ours(k, n, p)[normal], expected[normal], rtol=1e-10)
        assert np.all(ours(k, n, p)[~normal] < 1e-280)


def test_probabilities_of_the_edges():
    assert binomial_pmf([0, 3], 3, 0.5).tolist() == pytest.approx([0.125, 0.125], rel=1e-15)
    assert binomial_sf([-1, 3], 3, 0.5).tolist() == [1.0, 0.0]
    assert binomial_cdf([-1, 3], 3, 0.5).tolist() == [0.0, 1.0]


def test_probabilities_of_many_trials_sum_to_one():
    n = 10**8
    k = np.arange(n // 2 - 50_000, n // 2 + 50_001)
    assert binomial_pmf(k, n, 0.5).sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("n", [1, 30, 5000])
@pytest.mark.parametrize("rate", [1e-9, 0.3, 0.999])
def test_log_pmf_is_that_of_scipy(n, rate):
    k = np.unique(np.linspace(0, n - 1, 40).astype(int)).astype(float)
    ours = binomial_log_pmf(k, np.full(len(k), float(n)), np.full(len(k), rate), np.full(len(k), 1 - rate))
    np.testing.assert_allclose(ours, stats.binom.logpmf(k, n, rate), rtol=1e-11, atol=1e-11)
