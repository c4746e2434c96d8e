"""Limits of one rate: against tables, against the binomial law itself, and far into the tails."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special, stats

from dpassay.audit.bounds.numerics.binomial import lower, quantile, quantile_of_one, upper


@pytest.mark.parametrize(
    ("k", "n", "level", "expected"),
    # 1 - (level)^(1/n) at k = 0 and the two limits of 500 and 184 hits in 1000: closed form, and scipy.stats.beta.isf
    [
        (0, 1000, 0.025, -math.expm1(math.log(0.025) / 1000)),
        (184, 1000, 0.025, 0.2094341),
        (500, 1000, 0.025, 0.5314508),
    ],
)
def test_upper_limit_has_its_known_value(k, n, level, expected):
    assert float(upper(k, n, level)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("level", [0.3, 0.025, 1e-6, 1e-12])
@pytest.mark.parametrize("n", [1, 7, 1000, 1_000_000])
def test_upper_limit_inverts_the_binomial_tail(n, level):
    k = np.unique(np.round(np.geomspace(1, n, 12)).astype(int) - 1)
    limits = upper(k, n, level)
    inside = limits < 0.999  # nearer to 1 the limit itself cannot be written down precisely enough
    tail = special.betaincc(k + 1.0, n - k, limits)  # Pr[Bin(n, limit) <= k]
    np.testing.assert_allclose(tail[inside], level, rtol=1e-7)
    assert inside.any() or n == 1


def test_lower_limit_is_the_mirrored_upper_limit():
    k = np.arange(0, 501)
    np.testing.assert_allclose(lower(k, 500, 0.01), 1 - upper(500 - k, 500, 0.01), atol=1e-14)


def test_lower_limit_keeps_its_precision_where_one_minus_upper_loses_it():
    level, n = 1e-12, 10**9
    assert float(lower(1, n, level)) == pytest.approx(level / n, rel=1e-9)


def test_limits_at_the_edges_are_certain():
    assert upper(5, 5, 0.1) == 1
    assert lower(0, 5, 0.1) == 0
    assert upper(0, 0, 0.1) == 1


@given(k=st.integers(0, 200), level=st.floats(1e-12, 0.5))
def test_limits_enclose_the_observed_rate_and_widen_with_the_level(k, level):
    assert lower(k, 200, level) <= k / 200 <= upper(k, 200, level)
    assert upper(k, 200, level / 2) >= upper(k, 200, level)
    assert upper(k, 200, level) <= upper(min(k + 1, 200), 200, level)


@given(n=st.integers(1, 400), rate=st.floats(0.001, 0.999), probability=st.floats(0.01, 0.999))
def test_quantile_is_that_of_scipy(n, rate, probability):
    k = quantile(probability, n, rate)
    assert stats.binom.cdf(k, n, rate) >= probability - 1e-12
    assert k == 0 or stats.binom.cdf(k - 1, n, rate) < probability + 1e-12


@given(
    n=st.integers(1, 10**9),
    rate=st.one_of(st.floats(0.0, 1.0), st.floats(1e-12, 1e-6), st.floats(1e-12, 1e-6).map(lambda rest: 1.0 - rest)),
    probability=st.one_of(st.floats(1e-13, 0.999), st.floats(1e-12, 1e-3).map(lambda rest: 1.0 - rest)),
)
def test_quantile_of_one_rate_is_that_of_an_array_of_rates(n, rate, probability):
    assert quantile_of_one(probability, n, rate) == quantile(probability, n, rate)
