"""What every guarantee has in common, on guarantees drawn at random."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from dpassay.mechanisms.accounting import (
    AdvancedComposition,
    ApproximateDP,
    BoundedRange,
    BoundedRangeComposition,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    OptimalComposition,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
)
from dpassay.mechanisms.accounting.kinds.profile import ProfileGuarantee
from dpassay.mechanisms.core import Guarantee, ParameterError, Relation

epsilons = st.floats(0.01, 20.0)
small_deltas = st.floats(1e-12, 0.3)
laws = st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=5).map(lambda w: np.array(w) / math.fsum(w))
curves = st.one_of(
    st.builds(PureDP, epsilons),
    st.builds(ApproximateDP, epsilons, small_deltas),
    st.builds(LaplaceDP, epsilons),
    st.builds(BoundedRange, epsilons),
    st.builds(GaussianDP, st.floats(0.01, 8.0)),
    st.builds(OptimalComposition, st.floats(0.01, 2.0), small_deltas, count=st.integers(1, 30)),
    laws.flatmap(lambda p: st.permutations(p.tolist()).map(lambda q: ExactDP(p, q))),
)
ORDERS = (1.5, 4.0, 20.0, 200.0)
bounds = st.one_of(
    st.builds(ConcentratedDP, st.floats(1e-6, 20.0)),
    st.builds(BoundedRangeComposition, st.sampled_from([0.1, 1.0, 4.0]), count=st.sampled_from([2, 7])),
    st.builds(lambda rho: RenyiDP(ORDERS, tuple(rho * order for order in ORDERS)), st.floats(1e-4, 5.0)),
    st.builds(
        lambda pairs, form: AdvancedComposition(*zip(*pairs, strict=True), form),
        st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 0.01)), min_size=1, max_size=30),
        st.sampled_from(["concentrated", "drv10", "kov"]),
    ),
)


@cache
def losses():
    """Takes a second to compute: not before a test needs it."""
    return PrivacyLossDP.gaussian(2.0, sampling_probability=0.2, steps=30)


everything = st.one_of(curves, bounds, st.builds(losses))
GRID = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 30), 1.0 - np.geomspace(0.4, 1e-9, 30), [1.0]])


@given(everything)
def test_delta_falls_with_epsilon_and_epsilon_with_delta(guarantee: Guarantee):
    deltas = guarantee.delta(np.linspace(0.0, 60.0, 121))
    assert ((deltas >= 0.0) & (deltas <= 1.0)).all()
    assert (np.diff(deltas) <= 1e-15).all()
    epsilons = guarantee.epsilon(np.concatenate([[0.0], np.geomspace(1e-14, 0.99, 60)]))
    assert (epsilons >= 0.0).all()
    assert (epsilons[1:] <= epsilons[:-1] * (1 + 1e-12) + 1e-12).all()


@given(everything, st.floats(1e-10, 0.9))
def test_epsilon_is_enough_for_its_delta(guarantee: Guarantee, delta: float):
    epsilon = guarantee.epsilon(delta)
    if math.isfinite(epsilon):
        assert guarantee.delta(epsilon) <= delta * (1 + 1e-9) + 1e-14


@given(everything, st.floats(0.0, 40.0))
def test_epsilon_of_delta_of_epsilon_is_no_more(guarantee: Guarantee, epsilon: float):
    delta = guarantee.delta(epsilon)
    if 0.0 < delta < 1.0:  # a delta that underflows to 0 has lost its epsilon
        assert guarantee.epsilon(delta) <= epsilon * (1 + 1e-7) + 1e-7


@given(curves, st.one_of(st.floats(0.0, 2.0), st.floats(0.0, 50.0)))
def test_epsilon_inverts_delta_where_the_curve_falls(guarantee: Guarantee, epsilon: float):
    delta = guarantee.delta(epsilon)
    falls = delta - guarantee.delta(math.inf) > 1e-6 * delta
    if falls and 1e-300 < delta < 0.999:
        assert_allclose(guarantee.epsilon(delta), epsilon, rtol=1e-7, atol=1e-8)


@given(everything)
def test_tradeoff_is_convex_falling_and_below_random_guessing(guarantee: Guarantee):
    fnr = guarantee.tradeoff(GRID)
    assert (fnr >= 0.0).all()
    assert (fnr <= 1.0 - GRID).all()
    assert (np.diff(fnr) <= 1e-14).all()
    slopes = np.diff(fnr) / np.diff(GRID)
    noise = 1e-11 / np.diff(GRID)
    assert (np.diff(slopes) >= -(noise[1:] + noise[:-1])).all()


@given(everything)
def test_tradeoff_misses_no_line_of_the_profile(guarantee: Guarantee):
    """On a fine grid of epsilons, with the places where a profile jumps."""
    x = np.concatenate([np.geomspace(1e-9, 0.5, 12), 1.0 - np.geomspace(0.4, 1e-6, 8)])
    epsilons = np.concatenate([np.linspace(0.0, 40.0, 4001), np.geomspace(1e-6, 700.0, 1000)])
    jump = guarantee.epsilon(0.5 * (guarantee.delta(math.inf) + 1e-12))
    epsilons = np.append(epsilons, [jump, math.nextafter(jump, math.inf)] if math.isfinite(jump) else [])
    deltas = guarantee.delta(epsilons)
    steep, flat = 1.0 - deltas[:, None] - np.exp(epsilons)[:, None] * x, 1.0 - deltas[:, None] - x
    lines = np.maximum(steep, np.exp(-epsilons)[:, None] * flat).max(axis=0)
    assert (guarantee.tradeoff(x) >= lines - 1e-9).all()


def test_tradeoff_of_advanced_composition_includes_basic_composition():
    """One search over the least of the two profiles met one of its two peaks, and made a curve that was not convex."""
    claim = AdvancedComposition((0.392,) * 15, (0.0,) * 15)
    assert_allclose(claim.tradeoff(1e-4), 1.0 - math.exp(5.88) * 1e-4, rtol=1e-12)


@settings(max_examples=25)
@given(curves)
def test_tradeoff_is_its_own_inverse(guarantee: Guarantee):
    """Symmetric: f(f(x)) <= x, with equality where f falls."""
    x = np.linspace(0.01, 0.9, 20)
    once = guarantee.tradeoff(x)
    twice = guarantee.tradeoff(once)
    assert (twice <= x + 1e-9).all()
    falls = (once > 1e-9) & (once < guarantee.tradeoff(0.0) - 1e-9)
    assert_allclose(twice[falls], x[falls], atol=1e-7)


@given(curves)
def test_closed_tradeoff_is_the_supremum_over_lines(guarantee: ProfileGuarantee):
    x = np.concatenate([np.geomspace(1e-9, 0.5, 15), np.linspace(0.55, 0.999, 10)])
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        by_lines = np.clip(ProfileGuarantee._tradeoff(guarantee, x), 0.0, 1.0 - x)
    assert_allclose(by_lines, guarantee.tradeoff(x), rtol=1e-8, atol=1e-12)


@settings(max_examples=25)
@given(everything, st.floats(0.0, 8.0))
def test_profile_and_tradeoff_never_contradict_each_other(guarantee: Guarantee, epsilon: float):
    """fpr e^epsilon + delta >= tpr for every test on the curve, in both directions."""
    fnr, delta = guarantee.tradeoff(GRID), guarantee.delta(epsilon)
    assert (1.0 - fnr <= math.exp(epsilon) * GRID + delta + 1e-11).all()
    assert (math.exp(epsilon) * fnr + delta + 1e-11 >= 1.0 - GRID).all()


@given(st.one_of(curves, st.builds(losses)))
def test_bisection_finds_the_same_epsilon_as_the_closed_form(guarantee: ProfileGuarantee):
    deltas = np.geomspace(1e-9, 0.5, 12)
    with np.errstate(over="ignore"):
        by_bisection = ProfileGuarantee._epsilon(guarantee, deltas)
    assert_allclose(by_bisection, guarantee.epsilon(deltas), rtol=1e-6, atol=1e-6)


@settings(max_examples=20)
@given(everything)
def test_arrays_and_scalars_agree(guarantee: Guarantee):
    grid = np.array([[0.0, 0.01, 0.2], [0.3, 0.5, 0.9]])
    for view in (guarantee.epsilon, guarantee.delta, guarantee.tradeoff):
        table = view(grid)
        assert table.shape == grid.shape
        assert table.dtype == np.float64
        assert_allclose(table[1, 0], float(view(0.3)), rtol=1e-12)
    assert type(guarantee.epsilon(0.2)) is float
    assert type(guarantee.delta(0.2)) is float


@settings(max_examples=10)
@given(st.floats(0.01, 10.0), st.floats(1.001, 3.0))
def test_more_noise_is_never_worse(parameter: float, factor: float):
    """Every kind is ordered by its parameter."""
    x = np.linspace(0.0, 0.99, 12)
    for kind in (PureDP, LaplaceDP, GaussianDP, ConcentratedDP):
        less, more = kind(parameter), kind(parameter * factor)
        assert (less.delta(5 * x) <= more.delta(5 * x) + 1e-15).all()
        assert (less.epsilon(x) <= more.epsilon(x) * (1 + 1e-9) + 1e-12).all()
        assert (less.tradeoff(x) >= more.tradeoff(x) - 1e-12).all()


@given(everything)
def test_a_relation_is_adopted_and_kept(guarantee: ProfileGuarantee):
    restated = guarantee.under("zero_out")
    assert restated.relation is Relation.ZERO_OUT
    assert restated.epsilon(0.1) == guarantee.epsilon(0.1)
    assert "zero_out" in repr(restated)
    assert str(restated) == str(guarantee)


@pytest.mark.parametrize(
    ("guarantee", "text", "default_delta", "exact"),
    [
        (PureDP(1), "PureDP(epsilon=1)", 0.0, False),
        (PureDP(1.0, exact=True), "PureDP(epsilon=1)", 0.0, True),
        (ApproximateDP(0.5, 1e-5), "ApproximateDP(epsilon=0.5, delta=1e-05)", 1e-5, False),
        (LaplaceDP(math.log(3.0)), "LaplaceDP(epsilon=1.09861)", 0.0, True),
        (GaussianDP(np.float64(2.0)), "GaussianDP(mu=2)", None, True),
        (ConcentratedDP(0.5), "ConcentratedDP(rho=0.5)", None, False),
        (RenyiDP((2.0,), (0.5,)), "RenyiDP(orders=(2.0,), divergences=(0.5,))", None, False),
        (ExactDP([0.25, 0.75], [0.75, 0.25]), "ExactDP(p0=[0.25, 0.75], p1=[0.75, 0.25])", 0.0, True),
        (ExactDP([1 / 3, 2 / 3], [0.5, 0.5]), "ExactDP(p0=[0.333333, 0.666667], p1=[0.5, 0.5])", 0.0, True),
        (ExactDP([0.2] * 5, [0.2] * 5), "ExactDP(n_outputs=5)", 0.0, True),
        (
            losses,
            "PrivacyLossDP(gaussian, noise_multiplier=2, sampling_probability=0.2, steps=30)",
            None,
            False,
        ),
    ],
)
def test_text_default_delta_and_exactness_of_each_kind(guarantee, text, default_delta, exact):
    guarantee = guarantee() if guarantee is losses else guarantee
    assert str(guarantee) == text
    assert guarantee.default_delta == default_delta
    assert guarantee.exact is exact


def test_repr_of_plain_kinds_builds_them_again():
    for guarantee in (PureDP(0.1, "add_remove"), ApproximateDP(1.0, 0.1), GaussianDP(2.0, Relation.ZERO_OUT)):
        assert eval(repr(guarantee)) == guarantee


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (PureDP, "epsilon"),
        (LaplaceDP, "epsilon"),
        (lambda value: ApproximateDP(value, 0.1), "epsilon"),
        (lambda value: RenyiDP((2.0,), (value,)), "divergences"),
        (PrivacyLossDP.gaussian, "noise_multiplier"),
        (PrivacyLossDP.laplace, "epsilon"),
        (lambda value: OptimalComposition(value, 0.0, count=2), "epsilon"),
        (lambda value: AdvancedComposition((value,), (0.0,)), "epsilons"),
    ],
)
def test_bad_parameters_are_refused_by_name(kind, name, value):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        kind(value)


def test_zero_epsilon_and_deltas_outside_their_range_are_refused():
    with pytest.raises(ParameterError, match="> 0, but is 0"):
        LaplaceDP(0)
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ParameterError, match="delta must"):
            ApproximateDP(1.0, delta)


@pytest.mark.parametrize(
    ("orders", "divergences", "message"),
    [
        ((), (), "must come in pairs"),
        ((2.0, 3.0), (1.0,), "2 orders and 1 divergences"),
        ((1.0,), (0.5,), "must be > 1 and strictly increasing"),
        ((3.0, 2.0), (0.5, 0.5), "strictly increasing"),
        ((math.nan,), (0.5,), "strictly increasing"),
    ],
)
def test_bad_orders_are_refused(orders, divergences, message):
    with pytest.raises(ParameterError, match=message):
        RenyiDP(orders, divergences)


@given(everything)
def test_arguments_of_the_views_out_of_range_are_refused(guarantee: Guarantee):
    for view, name, bad in [
        (guarantee.epsilon, "delta", [-1e-9, 1.0, math.nan]),
        (guarantee.delta, "epsilon", [-1e-9, math.nan]),
        (guarantee.tradeoff, "fpr", [-1e-9, 1.1, math.nan]),
    ]:
        for value in bad:
            with pytest.raises(ParameterError, match=f"^{name} must be"):
                view([0.5, value])
        with pytest.raises(ParameterError, match=f"^{name} must be numbers"):
            view("much")


def test_unknown_relation_is_refused_with_the_nearest_names():
    with pytest.raises(ParameterError, match="Did you mean 'add_remove'"):
        PureDP(1.0, "add-remove")
    with pytest.raises(ParameterError, match="Known: add_remove, replace_one, zero_out"):
        GaussianDP(1.0, "swap")
