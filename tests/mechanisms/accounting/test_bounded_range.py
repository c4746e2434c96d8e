"""Bounded range: its curve, its composition, and what it turns into."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from dpassay.mechanisms.accounting import (
    BoundedRange,
    BoundedRangeComposition,
    ExactDP,
    OptimalComposition,
    PureDP,
    compose,
    group,
    to_concentrated,
    to_renyi,
)

ETAS = (1e-3, 0.3, 1.0, 5.0, 60.0)


def two_outputs(eta, t):
    """The worst pair whose losses lie in [t - eta, t], shape of `t`: probabilities of loss t on side 1 and side 0."""
    upper = np.expm1(t - eta) / np.expm1(-eta)
    return upper, upper * np.exp(-t)


@pytest.mark.parametrize("eta", ETAS)
def test_curve_is_the_worst_of_all_intervals(eta):
    p, q = two_outputs(eta, np.linspace(0.0, eta, 100_001))
    claim = BoundedRange(eta)
    for epsilon in np.linspace(0.0, 0.99 * eta, 5):
        assert claim.delta(epsilon) == pytest.approx(np.max(p - np.exp(epsilon) * q), rel=1e-6)
        if claim.delta(epsilon) < 0.999:
            assert claim.epsilon(claim.delta(epsilon)) == pytest.approx(epsilon, abs=1e-9 * eta)
    for fpr in (1e-3, 0.2, 0.7):
        with np.errstate(invalid="ignore"):
            fnr = np.where(fpr <= q, 1.0 - fpr * p / q, (1.0 - p) * (1.0 - fpr) / (1.0 - q))
        assert claim.tradeoff(fpr) == pytest.approx(np.nanmin(fnr), rel=1e-3)
    assert claim.epsilon(0.0) == eta
    assert claim.delta(eta) == 0.0


def test_curve_is_that_of_logistic_noise():
    x = np.linspace(0.01, 0.99, 9)
    assert_allclose(BoundedRange(1.3).tradeoff(x), stats.logistic.cdf(stats.logistic.isf(x) - 1.3), rtol=1e-12)


@given(st.floats(0.01, 20.0), st.floats(0.0, 1.0))
def test_range_is_worth_more_than_pure_privacy_and_less_than_half_of_it(eta, share):
    """eta-DP has a range of 2 eta; a range of 2 eta covers it."""
    epsilon = share * eta
    curves = [guarantee.delta(epsilon) for guarantee in (BoundedRange(eta), PureDP(eta), BoundedRange(2 * eta))]
    assert curves[0] <= curves[1] + 1e-12 <= curves[2] + 2e-12


def nonadaptive(eta, count, epsilon):
    """Mechanisms with the same t, whose number of losses t is binomial: known from Dong, Durfee, Rogers (2020)."""
    i, worst = np.arange(count + 1), 0.0
    for t in np.linspace(0.0, eta, 101):
        p = float(two_outputs(eta, np.array(t))[0])
        gain = np.maximum(0.0, -np.expm1(epsilon - (count * t - i * eta)))
        worst = max(worst, float(stats.binom.pmf(i, count, 1.0 - p) @ gain))
    return worst


@pytest.mark.parametrize(("eta", "count"), [(0.1, 30), (1.0, 3), (4.0, 5)])
def test_composition_lies_between_nonadaptive_and_pure_composition(eta, count):
    claim = BoundedRangeComposition(eta, count=count)
    for epsilon in np.array([0.0, 0.2, 0.5]) * eta * count:
        attained = nonadaptive(eta, count, epsilon)
        assert attained * (1 - 1e-9) <= claim.delta(epsilon) <= OptimalComposition(eta, 0.0, count=count).delta(epsilon)
        assert claim.delta(epsilon) <= to_concentrated_sum(eta, count).delta(epsilon)
    for delta in (1e-6, 1e-2):
        least = claim.epsilon(delta)
        assert nonadaptive(eta, count, 0.97 * least) > 0.98 * delta or count == 30  # hardly anything is lost
    assert claim.epsilon(0.0) == pytest.approx(count * eta, rel=1e-12)


def to_concentrated_sum(eta, count):
    return compose([to_concentrated(BoundedRange(eta))] * count)


def test_composition_of_two_is_that_of_a_search_over_both_intervals():
    """The second interval may depend on which output came first."""
    eta, claim = 1.0, BoundedRangeComposition(1.0, count=2)
    one = BoundedRange(eta)

    def after(epsilon):
        below = -np.expm1(np.minimum(epsilon, 0)) + np.exp(np.minimum(epsilon, 0)) * one.delta(np.abs(epsilon))
        return np.where(epsilon < 0, below, one.delta(np.maximum(epsilon, 0)))

    t = np.linspace(0.0, eta, 4001)
    p, _ = two_outputs(eta, t)
    for epsilon in (0.0, 0.4, 1.1, 1.7):
        searched = np.max(p * after(epsilon - t) + (1.0 - p) * after(epsilon - t + eta))
        assert searched <= claim.delta(epsilon) <= searched * 1.005 + 1e-6


def test_composition_of_one_is_the_guarantee_itself():
    levels = np.linspace(0.0, 0.9, 7)
    assert_allclose(BoundedRangeComposition(1.0, count=1).delta(levels), BoundedRange(1.0).delta(levels), rtol=2e-3)
    assert compose([BoundedRange(0.3)], accounting="optimal") == BoundedRange(0.3)


@settings(max_examples=20)
@given(st.floats(0.05, 8.0), st.floats(0.0, 1.0), st.sampled_from([1.01, 1.5, 4.0, 60.0]))
def test_renyi_divergence_covers_every_interval_and_stays_below_an_eighth(eta, share, order):
    p, q = two_outputs(eta, np.array(share * eta))
    divergence = to_renyi(BoundedRange(eta), orders=[order]).divergences[0]
    attained = to_renyi(ExactDP([q, 1 - q], [p, 1 - p]), orders=[order]).divergences[0] if 0 < p < 1 else 0.0
    assert attained <= divergence * (1 + 1e-9) + 1e-13
    assert divergence <= to_concentrated(BoundedRange(eta)).rho * order * (1 + 1e-12)


def test_known_values_of_rho():
    assert to_concentrated(BoundedRange(1.0)).rho == 0.125
    assert compose([to_concentrated(BoundedRange(0.1))] * 10).rho == pytest.approx(0.0125)


def test_privacy_loss_distribution_keeps_the_curve_and_composes():
    one = compose([BoundedRange(1.0), BoundedRange(0.5)], accounting="privacy-loss")
    assert one.epsilon(0.01) >= BoundedRangeComposition(0.5, count=2).epsilon(0.01)
    assert one.epsilon(0.01) <= compose([PureDP(1.0), PureDP(0.5)], accounting="privacy-loss").epsilon(0.01)
    mixed = [BoundedRange(1.0), PureDP(0.5)]
    assert compose(mixed).epsilon(0.0) == 1.5
    assert compose(mixed, accounting="renyi").epsilon(1e-9) == pytest.approx(1.5, abs=0.01)


def test_ranges_add_along_a_group():
    assert group(BoundedRange(0.4), 3).eta == pytest.approx(1.2)


def test_huge_ranges_are_those_of_pure_privacy():
    claim = BoundedRangeComposition(300.0, count=2)
    assert claim.epsilon(0.0) == pytest.approx(600.0)
    assert math.isfinite(to_renyi(BoundedRange(900.0), orders=[2.0]).divergences[0])
