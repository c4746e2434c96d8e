"""Conversions against integrals, against the theorem's own inequality, and refused where there is no theorem."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from dpassay.mechanisms.accounting import (
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    to_approximate,
    to_concentrated,
    to_privacy_loss,
    to_renyi,
)
from dpassay.mechanisms.core import AccountingError, ParameterError

DELTAS = np.geomspace(1e-9, 0.3, 10)


def response(epsilon):
    """Randomized response with this epsilon."""
    law = np.array([1.0, math.exp(epsilon)]) / (1.0 + math.exp(epsilon))
    return ExactDP(law, law[::-1])


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_laplace_divergence_is_the_integral(order, epsilon):
    scale = 1.0 / epsilon
    moved = lambda x: stats.laplace.pdf(x, 1, scale) ** order * stats.laplace.pdf(x, 0, scale) ** (1.0 - order)  # noqa: E731
    moment, _ = integrate.quad(moved, -80 * scale, 80 * scale, points=[0.0, 1.0], limit=500)
    assert_allclose(
        to_renyi(LaplaceDP(epsilon), orders=[order]).divergences[0], math.log(moment) / (order - 1), rtol=1e-7
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_pure_divergence_is_that_of_randomized_response(epsilon):
    orders = [1.01, 1.5, 2.0, 10.0, 300.0]
    law = response(epsilon)
    sums = [math.log(float((law.p1**a * law.p0 ** (1 - a)).sum())) / (a - 1) for a in orders[:4]]
    divergences = to_renyi(PureDP(epsilon), orders=orders).divergences
    assert_allclose(divergences[:4], sums, rtol=1e-9)
    assert_allclose(divergences, to_renyi(law, orders=orders).divergences, rtol=1e-9)
    assert divergences[-1] <= epsilon


@given(st.floats(1e-3, 30.0))
def test_no_order_exceeds_the_rho_of_pure_and_laplace(epsilon):
    """D_order <= rho order on 450 orders, and equality in the limit order -> 1."""
    for guarantee in (PureDP(epsilon), LaplaceDP(epsilon)):
        rho, renyi = to_concentrated(guarantee).rho, to_renyi(guarantee)
        assert (np.array(renyi.divergences) <= rho * np.array(renyi.orders) * (1 + 1e-9) + 1e-12).all()
        near_one = to_renyi(guarantee, orders=[1.0001]).divergences[0]
        assert_allclose(near_one, rho, rtol=1e-3)
        assert rho <= 0.5 * epsilon**2  # the textbook's


def test_rho_of_each_kind():
    assert to_concentrated(GaussianDP(1.0)).rho == 0.5
    assert_allclose(to_concentrated(PureDP(1.0)).rho, math.tanh(0.5))
    assert_allclose(to_concentrated(LaplaceDP(1.0)).rho, math.exp(-1.0))
    assert_allclose(to_concentrated(response(1.0)).rho, math.tanh(0.5))
    assert to_concentrated(ConcentratedDP(0.3)) == ConcentratedDP(0.3)


@given(st.floats(0.05, 5.0))
def test_exponential_mechanism_with_an_eighth_covers_its_laws(epsilon):
    """A law and its tilt by utilities in [0, 1]: log ratios in an interval of width epsilon."""
    p0 = np.array([0.2, 0.5, 0.3])
    p1 = p0 * np.exp(epsilon * np.array([0.0, 0.4, 1.0]))
    law = ExactDP(p0, p1 / p1.sum())
    rho = to_concentrated(BoundedRange(epsilon)).rho
    renyi = to_renyi(law, orders=np.geomspace(1.01, 300.0, 40).tolist())
    assert (np.array(renyi.divergences) <= rho * np.array(renyi.orders) * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    "guarantee", [PureDP(1.0), LaplaceDP(1.0), GaussianDP(1.0), ConcentratedDP(0.5), response(2.0)], ids=str
)
def test_no_conversion_is_stronger_than_its_input(guarantee):
    exact = np.asarray(guarantee.epsilon(DELTAS))
    assert (to_renyi(guarantee).epsilon(DELTAS) >= exact - 1e-12).all()
    assert (to_concentrated(guarantee).epsilon(DELTAS) >= exact - 1e-9).all()
    for delta in DELTAS:
        assert (to_approximate(guarantee, delta=delta).epsilon(DELTAS) >= exact - 1e-9).all()


def test_list_of_orders_costs_little_against_all_of_them():
    for rho in (1e-3, 0.05, 0.5, 5.0):
        whole, listed = ConcentratedDP(rho), to_renyi(ConcentratedDP(rho))
        assert_allclose(listed.epsilon(DELTAS[:8]), whole.epsilon(DELTAS[:8]), rtol=2e-3)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-7, 1e-3, 0.3, 1.0, 5.0, 90.0, 1e4])
@pytest.mark.parametrize("order", [1.01, 2.0, 97.0, 1024.0])
def test_divergences_keep_their_accuracy_from_tiny_to_huge_epsilons(epsilon, order):
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        share = a / (2 * a - 1)
        pure = mpmath.log(mpmath.cosh((a - 0.5) * e) / mpmath.cosh(e / 2)) / (a - 1)
        laplace = mpmath.log(share * mpmath.exp((a - 1) * e) + (1 - share) * mpmath.exp(-a * e)) / (a - 1)
        divergence = e - 1 + mpmath.exp(-e)
    assert_allclose(to_renyi(PureDP(epsilon), orders=[order]).divergences, [float(pure)], rtol=1e-13)
    assert_allclose(to_renyi(LaplaceDP(epsilon), orders=[order]).divergences, [float(laplace)], rtol=1e-13)
    assert_allclose(to_concentrated(LaplaceDP(epsilon)).rho, float(divergence), rtol=1e-13)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-3, 0.5])
@pytest.mark.parametrize("order", [1.01, 2.0, 97.0, 1024.0])
def test_divergences_of_two_close_laws_do_not_cancel(epsilon, order):
    pair = response(epsilon)  # whose divergences are those of pure DP
    assert_allclose(
        to_renyi(pair, orders=[order]).divergences,
        to_renyi(PureDP(epsilon), orders=[order]).divergences,
        rtol=1e-13 + 1e-15 / epsilon,
    )


@settings(max_examples=15)
@given(st.floats(0.05, 8.0), st.floats(0.0, 0.2))
def test_grid_of_losses_costs_almost_nothing(epsilon, delta):
    for guarantee in (PureDP(epsilon), ApproximateDP(epsilon, delta)):
        on_grid = to_privacy_loss(guarantee)
        for x, error in ((np.linspace(0.0, epsilon, 9), 1e-4), (np.linspace(0.0, 0.9 * epsilon, 9), 1e-8)):
            assert (on_grid.delta(x) >= guarantee.delta(x) - 1e-12).all()
            assert_allclose(on_grid.delta(x), guarantee.delta(x), atol=error)


@pytest.mark.parametrize("relation", ["add_remove", "zero_out", "replace_one"])
def test_grid_keeps_the_directions_only_where_sides_are_fixed(relation):
    pair = ExactDP([0.5, 0.4, 0.1], [0.2, 0.7, 0.1], relation)
    kept, mixed = to_privacy_loss(pair, fixed_sides=True), to_privacy_loss(pair)
    assert len(kept.profiles) == 2
    assert len(mixed.profiles) == 1
    x = np.linspace(0.0, 1.2, 7)
    assert_allclose(kept.delta(x), pair.delta(x), atol=1e-8)
    assert_allclose(mixed.delta(x), pair.delta(x), atol=1e-8)


@pytest.mark.parametrize(
    "guarantee", [ApproximateDP(1.0, 1e-6), PrivacyLossDP.laplace(1.0), RenyiDP((2.0,), (1.0,))], ids=str
)
def test_no_theorem_gives_zcdp_from_these(guarantee):
    with pytest.raises(AccountingError, match="no implemented theorem converts"):
        to_concentrated(guarantee)


def test_refused_conversions_come_with_advice():
    with pytest.raises(AccountingError, match=r"Renyi DP.*privacy-loss"):
        to_renyi(PrivacyLossDP.laplace(1.0))
    with pytest.raises(AccountingError, match="every Renyi divergence is infinite"):
        to_renyi(ExactDP([0.0, 1.0], [0.5, 0.5]))
    with pytest.raises(AccountingError, match="has no divergence at order 3"):
        to_renyi(RenyiDP((2.0,), (1.0,)), orders=[3.0])
    with pytest.raises(ParameterError, match="orders must be finite and > 1"):
        to_renyi(PureDP(1.0), orders=[1.0])
    with pytest.raises(AccountingError, match="has no finite epsilon at delta = 0"):
        to_approximate(GaussianDP(1.0), delta=0.0)
    with pytest.raises(AccountingError, match=r"grid of 0\.0001, but 0\.001"):
        to_privacy_loss(PrivacyLossDP.laplace(1.0), interval=1e-3)
    with pytest.raises(ParameterError, match="orders must be finite and > 1"):
        RenyiDP.gaussian(1.0, sampling_probability=0.5, orders=[1.0])
    with pytest.raises(ParameterError, match="Gaussian noise has no bound"):
        RenyiDP.gaussian(1.0, orders=[2.0, math.inf])
    with pytest.raises(AccountingError, match="'replace_one' is not known for Poisson"):
        RenyiDP.gaussian(1.0, sampling_probability=0.5, relation="replace_one")


def test_renyi_keeps_a_choice_of_its_orders():
    given_ = RenyiDP((2.0, 3.0, 4.0), (0.1, 0.2, 0.3), "zero_out")
    assert to_renyi(given_, orders=[2.0, 4.0]) == RenyiDP((2.0, 4.0), (0.1, 0.3), "zero_out")
    assert to_renyi(given_) is given_
