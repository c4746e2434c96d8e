"""Discrete noise: exact samplers against the laws, the vectorised twins against the exact ones, the curve."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from tests.mechanisms.noise.frequencies import p_value_of

from dpassay.audit import audit
from dpassay.mechanisms.accounting import ConcentratedDP, GaussianDP
from dpassay.mechanisms.core import Neighbours, Outputs, ParameterError
from dpassay.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from dpassay.mechanisms.noise.exact_samplers import (
    _bernoulli_exp,
    _uniform_below,
    bernoulli,
    discrete_gaussian,
    discrete_laplace,
)
from dpassay.mechanisms.noise.geometric import Geometric

FALSE_ALARM = 1e-6


def same_law(first, second):
    """p-value of the chi-square test that two samples have one law; rare values are lumped."""
    counts = [Counter(np.asarray(sample).tolist()) for sample in (first, second)]
    common = [y for y in counts[0] | counts[1] if counts[0][y] + counts[1][y] >= 20]
    table = np.array([[side[y] for y in common] for side in counts])
    rest = np.array([[len(first)], [len(second)]]) - table.sum(axis=1, keepdims=True)
    table = np.hstack([table, rest]) if rest.any() else table
    return stats.chi2_contingency(table).pvalue


def law(sigma, outputs):
    every = np.exp(-0.5 * (np.arange(-300, 301) / sigma) ** 2)
    return np.exp(-0.5 * (outputs / sigma) ** 2) / every.sum()


def test_coins_of_fractions_have_their_probabilities():
    rng, n = np.random.default_rng(0), 800
    below = [_uniform_below(7, rng) for _ in range(n)]
    assert stats.chisquare(np.bincount(below, minlength=7)).pvalue > FALSE_ALARM
    assert _uniform_below(1, rng) == 0
    for p in (Fraction(1, 3), Fraction(5, 7), Fraction(0), Fraction(1)):
        assert stats.binomtest(sum(bernoulli(p, rng) for _ in range(n)), n, float(p)).pvalue > FALSE_ALARM
    for rate in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 4)):
        ones = sum(_bernoulli_exp(rate, rng) for _ in range(n))
        assert stats.binomtest(ones, n, math.exp(-rate)).pvalue > FALSE_ALARM


def test_uniform_below_takes_numbers_of_any_size():
    rng, n = np.random.default_rng(1), 10**40
    drawn = [_uniform_below(n, rng) for _ in range(400)]
    assert max(drawn) < n
    assert stats.kstest([x / n for x in drawn], "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(5, 2), Fraction(2, 3)])
def test_exact_discrete_laplace_noise_is_that_of_geometric(scale):
    """Power: with 1,200 and 100,000 values, a scale that is wrong by a half fails."""
    rng = np.random.default_rng(2)
    exact = [discrete_laplace(scale, rng) for _ in range(1200)]
    outputs = np.arange(-6, 7)
    a = math.exp(-1 / scale)
    assert p_value_of(np.array(exact), outputs, (1 - a) / (1 + a) * a ** np.abs(outputs)) > FALSE_ALARM
    assert same_law(exact, Geometric(float(1 / scale)).release(0, 100_000, rng).values) > FALSE_ALARM
    assert same_law(exact, Geometric(float(1 / scale) / 1.5).release(0, 100_000, rng).values) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(2, 3), Fraction(4)])
def test_exact_and_vectorised_discrete_gaussian_noise_have_its_law(sigma):
    rng = np.random.default_rng(3)
    exact = [discrete_gaussian(sigma**2, rng) for _ in range(800)]
    outputs = np.arange(-12, 13)
    assert p_value_of(np.array(exact), outputs, law(float(sigma), outputs)) > FALSE_ALARM
    twin = DiscreteGaussian(float(sigma)).release(0, 200_000, rng).values
    assert p_value_of(twin, outputs, law(float(sigma), outputs)) > FALSE_ALARM
    assert same_law(exact, twin) > FALSE_ALARM
    assert same_law(exact, DiscreteGaussian(1.4 * float(sigma)).release(0, 200_000, rng).values) < FALSE_ALARM


def test_log_probability_sums_to_one_and_refuses_fractions():
    for sigma in (0.3, 1.0, 3.9, 4.1, 30.0):
        outputs = Outputs(np.arange(-400, 401))
        assert np.exp(DiscreteGaussian(sigma).log_density(outputs, 7)).sum() == pytest.approx(1.0, abs=1e-12)
    mixed = Outputs(np.array([[0.0, 1.0], [0.5, 1.0]]))
    assert np.isneginf(DiscreteGaussian(1.0, n_queries=2).log_density(mixed, [0, 0])).tolist() == [False, True]


def test_variance_is_at_most_sigma_squared_and_very_close():
    z = np.arange(-300, 301)
    for sigma in (0.5, 1.0, 2.0, 5.0):
        variance = (law(sigma, z) * z**2).sum()
        assert variance <= sigma**2 * (1 + 1e-12)
        assert sigma < 1.0 or variance == pytest.approx(sigma**2, rel=1e-6)


@pytest.mark.parametrize(("multiplier", "sensitivity"), [(0.5, 1), (2.0, 1), (1.0, 3), (20.0, 1)])
def test_discrete_curve_is_the_closed_sum_and_below_its_claim(multiplier, sensitivity):
    """Canonne, Kamath and Steinke (2020), theorem 7: delta(epsilon) in closed sums; and theorem 14."""
    exact = DiscreteGaussian(multiplier, sensitivity=sensitivity).guarantee()
    sigma, outputs = multiplier * sensitivity, np.arange(-300, 301)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        edge = epsilon * sigma**2 / sensitivity
        above = law(sigma, outputs)[outputs > edge - sensitivity / 2].sum()
        below = law(sigma, outputs)[outputs > edge + sensitivity / 2].sum()
        assert exact.delta(epsilon) == pytest.approx(above - math.exp(epsilon) * below, rel=1e-9, abs=1e-15)
        assert exact.delta(epsilon) <= ConcentratedDP(0.5 / multiplier**2).delta(epsilon) + 1e-31
    assert exact.epsilon(0.0) == math.inf
    if sigma >= 20.0:
        assert exact.epsilon(1e-5) == pytest.approx(GaussianDP(1 / multiplier).epsilon(1e-5), rel=1e-3)


def test_several_answers_claim_concentrated_dp():
    claim = DiscreteGaussian(2.0, n_queries=3).guarantee()
    assert claim == ConcentratedDP(0.125, relation="add_remove")


def test_an_audit_does_not_flag_it_and_gets_close(without_power):
    result = audit(DiscreteGaussian(1.0), trials=50_000, delta=1e-2, confidence=1 - 1e-6, seed=4)
    assert result.verdict.value == "consistent"
    assert 0.7 * result.claim < result.bound.epsilon <= result.claim


def test_large_noise_is_drawn_as_well():
    values = DiscreteGaussian(1e5).release(3, 50_000, np.random.default_rng(5)).values
    assert stats.kstest((values - 3 + 0.5) / 1e5, special.ndtr).pvalue > FALSE_ALARM


def test_fractional_answers_and_scales_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="must be at most 131072"):
        DiscreteGaussian(2.0**18)
    with pytest.raises(ParameterError, match="Use Gaussian for real numbers"):
        DiscreteGaussian(1.0).bind(Neighbours(0.0, 0.5, "add_remove"))
    for sampler in (discrete_laplace, discrete_gaussian):
        with pytest.raises(ParameterError, match="must be above 0"):
            sampler(Fraction(0), np.random.default_rng(0))
