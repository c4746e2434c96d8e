"""Pairs of finite distributions against brute force over all events."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from dpassay.mechanisms.accounting import ExactDP, OptimalComposition, PureDP
from dpassay.mechanisms.accounting.kinds.profile import ProfileGuarantee
from dpassay.mechanisms.accounting.numerics.losses import LossProfile
from dpassay.mechanisms.core import ParameterError

masses = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1.0)), min_size=1, max_size=6)


@st.composite
def pairs(draw):
    """Two laws on the same few outputs, zeros included."""
    p0 = draw(masses.filter(any))
    p1 = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1.0)), min_size=len(p0), max_size=len(p0)).filter(any))
    return np.array(p0) / math.fsum(p0), np.array(p1) / math.fsum(p1)


def all_events(p0, p1):
    """(probability on side 0, on side 1) of every set of outputs."""
    sets = np.array(list(itertools.product([0, 1], repeat=len(p0))))
    return sets @ p0, sets @ p1


@given(pairs(), st.floats(0.0, 20.0))
def test_delta_is_the_worst_event_in_the_worse_direction(pair, epsilon):
    on0, on1 = all_events(*pair)
    worst = max((on1 - math.exp(epsilon) * on0).max(), (on0 - math.exp(epsilon) * on1).max())
    assert_allclose(ExactDP(*pair).delta(epsilon), worst, rtol=1e-9, atol=1e-12)


@given(pairs(), st.floats(0.0, 0.999))
def test_epsilon_is_the_least_that_no_event_violates(pair, delta):
    claim = ExactDP(*pair)
    epsilon = claim.epsilon(delta)
    if math.isinf(epsilon):
        assert claim.delta(600.0) > delta
        return
    assert claim.delta(epsilon) <= delta + 1e-12
    if epsilon > 1e-9:
        assert claim.delta(epsilon * (1 - 1e-6) - 1e-9) >= delta - 1e-13


@given(pairs())
def test_tradeoff_is_below_every_event_and_touches_the_hull(pair):
    claim = ExactDP(*pair)
    on0, on1 = all_events(*pair)
    assert (claim.tradeoff(np.clip(on0, 0, 1)) <= 1.0 - on1 + 1e-12).all()
    assert (claim.tradeoff(np.clip(on1, 0, 1)) <= 1.0 - on0 + 1e-12).all()
    fpr, fnr = claim.polygon
    events = np.column_stack([np.concatenate([on0, 1.0 - on1]), np.concatenate([1.0 - on1, on0])])
    for corner in np.column_stack([fpr, fnr]):  # each corner is an event in one direction or the other
        assert np.abs(events - corner).max(axis=1).min() < 1e-9


@settings(max_examples=20)
@given(pairs())
def test_polygon_and_profile_are_dual(pair):
    """The polygon against the supremum over lines, which every guarantee without a closed form uses."""
    claim, x = ExactDP(*pair), np.linspace(0.0, 1.0, 41)
    with np.errstate(divide="ignore", over="ignore"):
        by_lines = np.clip(ProfileGuarantee._tradeoff(claim, x), 0.0, 1.0 - x)
    assert_allclose(claim.tradeoff(x), by_lines, atol=1e-9)
    epsilons = np.linspace(0.0, 10.0, 11)
    fine = np.union1d(np.linspace(0.0, 1.0, 101), claim.polygon[0])
    by_curve = (1.0 - claim.tradeoff(fine) - np.exp(epsilons)[:, np.newaxis] * fine).max(axis=1)
    assert_allclose(claim.delta(epsilons), np.maximum(by_curve, 0.0), atol=1e-10)


@given(pairs())
def test_swapping_the_sides_changes_nothing(pair):
    one, other = ExactDP(*pair), ExactDP(*pair[::-1])
    grid = np.linspace(0.0, 0.99, 12)
    assert_allclose(one.epsilon(grid), other.epsilon(grid))
    assert_allclose(one.delta(5 * grid), other.delta(5 * grid), atol=1e-15)
    assert_allclose(one.tradeoff(grid), other.tradeoff(grid), atol=1e-12)


@given(pairs())
def test_symmetric_twin_has_the_same_curve_in_each_direction(pair):
    claim = ExactDP(*pair)
    twin, epsilons = claim.symmetric(), np.linspace(0.0, 8.0, 17)
    for profile in twin.profiles:
        assert_allclose(profile.delta(epsilons), claim.delta(epsilons), atol=1e-12)


def test_asymmetric_pair_takes_the_worse_direction():
    """Side 1 alone can produce output 0: that direction gives 0.1 away, the other one nothing at large epsilon."""
    claim = ExactDP([0.0, 1.0], [0.1, 0.9])
    assert claim.delta(math.inf) == 0.1
    assert claim.epsilon(0.05) == math.inf
    assert claim.epsilon(0.1) == 0.0
    assert claim.default_delta is None
    assert_allclose(claim.tradeoff([0.0, 0.9, 0.95]), [0.9, 0.0, 0.0], atol=1e-15)


def test_randomized_response_is_pure_dp():
    claim, pure = ExactDP([0.25, 0.75], [0.75, 0.25]), PureDP(math.log(3.0))
    x = np.linspace(0.0, 0.6, 13)
    assert_allclose(claim.epsilon(x), pure.epsilon(x), atol=1e-14)
    assert_allclose(claim.delta(3 * x), pure.delta(3 * x), atol=1e-15)
    assert_allclose(claim.tradeoff(x), pure.tradeoff(x), atol=1e-15)
    assert claim.default_delta == 0.0


def test_disjoint_laws_leak_everything():
    claim = ExactDP([1.0, 0.0], [0.0, 1.0])
    assert claim.epsilon(0.5) == math.inf
    assert claim.delta(50.0) == 1.0
    assert_allclose(claim.tradeoff([0.0, 0.5, 1.0]), 0.0)


def test_delta_keeps_its_digits_far_in_the_tail():
    """Binomial pair: 60 coins of 1/4 or 3/4; delta near the largest loss is one tiny term."""
    k = np.arange(61)
    claim = ExactDP(stats.binom.pmf(k, 60, 0.25), stats.binom.pmf(k, 60, 0.75))
    top = 60 * math.log(3.0)
    last = 0.75**60 * -math.expm1(-0.5)  # only "all ones" has a loss above top - 0.5
    assert_allclose(claim.delta(top - 0.5), last, rtol=1e-9)
    assert_allclose(claim.epsilon(last), top - 0.5, rtol=1e-12)
    assert_allclose(claim.epsilon(0.0), top, rtol=1e-14)


def test_profile_of_many_losses_is_the_plain_sum():
    rng = np.random.default_rng(0)
    losses, weights = rng.normal(0.5, 3.0, 2_000), rng.random(2_000)
    weights *= 0.9 / weights.sum()
    epsilons = np.linspace(0.0, losses.max(), 50)
    plain = [0.1 + (weights * np.maximum(0.0, 1.0 - np.exp(e - losses))).sum() for e in epsilons]
    profile = LossProfile.of(losses, weights, 0.1)
    assert_allclose(profile.delta(epsilons), plain, rtol=1e-10)
    assert_allclose(profile.epsilon(np.array(plain)), epsilons, atol=1e-9)


def test_losses_beyond_the_range_of_floats_are_as_exact_as_others():
    losses, weights = np.array([2800.0, 1e6, 800.0, 799.0, 1.0, -3.0]), np.array([0.1, 0.05, 0.125, 0.1, 0.3, 0.25])
    profile = LossProfile.of(losses, weights, 0.0625)
    epsilons = np.array([0.0, 0.5, 650.0, 799.5, 2799.0, 999_999.0, 2e6])
    plain = [
        0.0625 + sum(-w * np.expm1(min(0.0, t - loss)) for loss, w in zip(losses, weights, strict=True))
        for t in epsilons
    ]
    assert_allclose(profile.delta(epsilons), plain, rtol=1e-13)
    distinct = epsilons[[1, 3, 4, 5]]  # between 1 and 799 delta is one float
    assert_allclose(profile.epsilon(profile.delta(distinct)), distinct, rtol=1e-12)
    assert_allclose(profile.epsilon(np.array([0.06, 0.0625])), [math.inf, 1e6])


def test_laws_given_by_their_logarithms_have_no_largest_loss():
    for epsilon in (1.0, 300.0, 709.0, 745.0, 1e4, 1e6):
        response = np.array([-np.log1p(np.exp(-epsilon)), -epsilon - np.log1p(np.exp(-epsilon))])
        curve, pure = ExactDP.of_logs(response, response[::-1]), PureDP(epsilon)
        t = epsilon - np.array([epsilon, 30.0, 1.0, 1e-3, 0.0])
        t, deltas, fpr = np.maximum(t, 0.0), np.array([0.0, 1e-9, 0.5]), np.array([0.0, 1e-320, 1e-9, 0.5, 1.0])
        assert_allclose(curve.delta(t), pure.delta(t), rtol=1e-12, atol=1e-15)
        assert_allclose(curve.epsilon(deltas), pure.epsilon(deltas), rtol=1e-12)
        assert_allclose(curve.tradeoff(fpr), pure.tradeoff(fpr), rtol=1e-12, atol=1e-300)
        assert curve.default_delta == 0.0
    assert curve != ExactDP.of_logs(2.0 * response, 2.0 * response[::-1])  # though all four laws are (1, 0) in floats


@pytest.mark.parametrize(
    ("p0", "p1", "message"),
    [
        ([0.5, 0.5], [1.0], "same outputs"),
        ([0.5, 0.6], [0.5, 0.5], "p0 must sum to 1"),
        ([0.5, 0.5], [1.5, -0.5], "p1 must hold probabilities >= 0, but holds -0.5"),
        ([math.nan, 1.0], [0.5, 0.5], "p0 must hold probabilities"),
        ([], [], "p0 must be a vector"),
        ([[0.5, 0.5]], [[0.5, 0.5]], "shape"),
        ("half", [1.0], "vector of probabilities"),
    ],
)
def test_values_that_are_not_a_pair_of_laws_are_refused(p0, p1, message):
    with pytest.raises(ParameterError, match=message):
        ExactDP(p0, p1)


def test_laws_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        ExactDP([0.5, 0.5], [0.4, 0.6]).p0[0] = 1.0


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(0.3, 0.0, 7), (0.3, 0.01, 4), (1.0, 0.001, 12)])
def test_optimal_composition_is_the_theorem(epsilon, delta, count):
    """Kairouz, Oh, Viswanath (2015), Theorem 3.3: ((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i))."""
    claim = OptimalComposition(epsilon, delta, count=count)
    for i in range(count // 2 + 1):
        terms = [
            math.comb(count, n) * (math.exp((count - n) * epsilon) - math.exp((count - 2 * i + n) * epsilon))
            for n in range(i)
        ]
        inner = sum(terms) / (1.0 + math.exp(epsilon)) ** count
        whole = 1.0 - (1.0 - delta) ** count * (1.0 - inner)
        assert_allclose(claim.delta((count - 2 * i) * epsilon), whole, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("count", [1, 3])
def test_optimal_composition_is_the_product_of_dominating_pairs(count):
    """Every outcome of the product enumerated: certain side 0, truth, lie, certain side 1."""
    e, d = 0.7, 0.05
    truth, lie = (1 - d) * math.exp(e) / (1 + math.exp(e)), (1 - d) / (1 + math.exp(e))
    law0, law1 = np.array([d, truth, lie, 0.0]), np.array([0.0, lie, truth, d])
    p0, p1 = np.ones(1), np.ones(1)
    for _ in range(count):
        p0, p1 = np.outer(p0, law0).ravel(), np.outer(p1, law1).ravel()
    product, claim = ExactDP(p0, p1), OptimalComposition(e, d, count=count)
    epsilons = np.linspace(0.0, 3.0, 31)
    assert_allclose(claim.delta(epsilons), product.delta(epsilons), rtol=1e-10)
    assert_allclose(claim.tradeoff(np.linspace(0, 1, 21)), product.tradeoff(np.linspace(0, 1, 21)), atol=1e-9)


def test_ten_thousand_compositions_do_not_overflow():
    claim = OptimalComposition(0.05, 0.0, count=10_000)
    assert claim.epsilon(0.0) == pytest.approx(500.0)
    assert 12.5 < claim.epsilon(1e-6) < 37.0
    assert np.isfinite(claim.delta(np.linspace(0.0, 600.0, 50))).all()


def test_guarantees_of_equal_laws_are_equal():
    one = ExactDP([0.25, 0.75], [0.75, 0.25])
    assert one == ExactDP([0.25, 0.75], [0.75, 0.25])
    assert hash(one) == hash(ExactDP([0.25, 0.75], [0.75, 0.25]))
    others = [
        ExactDP([0.75, 0.25], [0.25, 0.75]),
        ExactDP([0.25, 0.75], [0.75, 0.25], "add_remove"),
        ExactDP([0.25, 0.75], [0.75, 0.25], exact=False),
    ]
    assert one not in others
    assert one != "ExactDP"


@pytest.mark.parametrize("lowest", [-5.0, -300.0, -700.0, -2000.0, -1e6])
def test_laws_too_rare_for_floats_keep_their_largest_ratio(lowest):
    log_p0 = np.array([lowest, np.log(0.3), 0.0])
    log_p1 = np.array([lowest - 3.0, np.log(0.2), 0.0])
    for law in (log_p0, log_p1):
        law[2] = np.log1p(-np.exp(law[:2]).sum())
    curve = ExactDP.of_logs(log_p0, log_p1)
    assert curve.epsilon(0.0) == pytest.approx(3.0, rel=1e-9)
    if lowest < -100.0:
        assert curve.epsilon(1e-6) == pytest.approx(ExactDP([0.3, 0.7], [0.2, 0.8]).epsilon(1e-6), rel=1e-9)


def test_ratios_beyond_floats_are_bounded_and_impossible_outputs_are_not():
    curve = ExactDP.of_logs([-1.0, np.log1p(-np.exp(-1.0))], [-900.0, 0.0])
    assert curve.epsilon(0.0) == pytest.approx(899.0)
    assert ExactDP.of_logs([0.0, -np.inf], [np.log(0.5), np.log(0.5)]).epsilon(0.0) == np.inf
