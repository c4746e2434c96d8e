"""Exponential mechanism: law, worst case, bounded range, refusals, utility bounds."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import ExactDP, to_concentrated
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.noise.queries import Histogram, MedianUtility
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, chance_of_shortfall, expected_shortfall, shortfall
from dpassay.mechanisms.selection.base import TIGHTNESS

FALSE_ALARM = 1e-6


def law(mechanism: Exponential, dataset: object) -> np.ndarray:
    return mechanism.probabilities(dataset)


@pytest.mark.parametrize("monotone", [False, True])
def test_candidates_are_chosen_with_their_probability(monotone):
    mechanism = Exponential(1.5, 6, sensitivity=2.0, monotone=monotone)
    utilities = np.array([0.0, 1.0, -3.0, 5.0, 5.0, 2.0])
    weights = np.exp(1.5 * utilities / (2.0 if monotone else 4.0))
    expected = weights / weights.sum()
    np.testing.assert_allclose(law(mechanism, utilities), expected, rtol=1e-12)
    chosen = mechanism.release(utilities, 200_000, np.random.default_rng(1)).values
    assert stats.chisquare(np.bincount(chosen, minlength=6), expected * 200_000).pvalue > FALSE_ALARM


def test_gumbel_noise_gives_the_same_law():
    """The largest of utility * rate + standard Gumbel noise is the exponential mechanism (the Gumbel max trick)."""
    mechanism = Exponential(1.0, 4)
    utilities = np.array([0.0, 1.0, 2.0, 4.0])
    noisy = mechanism.rate * utilities + np.random.default_rng(2).gumbel(size=(200_000, 4))
    counts = np.bincount(noisy.argmax(axis=1), minlength=4)
    assert stats.chisquare(counts, law(mechanism, utilities) * 200_000).pvalue > FALSE_ALARM


def test_huge_utilities_do_not_overflow():
    mechanism = Exponential(1.0, 3)
    outputs = mechanism.release([1e6, 1e6, -1e6], 1000, np.random.default_rng(3))
    assert set(np.unique(outputs.values)) == {0, 1}
    assert np.all(np.isfinite(mechanism.log_density(outputs, [1e6, 1e6, -1e6])))


def test_log_density_is_minus_infinity_for_what_is_no_candidate():
    mechanism = Exponential(1.0, 2)
    result = mechanism.log_density(Outputs(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])), [0.0, 1.0])
    assert np.isneginf(result).tolist() == [True, False, True, False, True]


def test_two_candidates_that_swap_show_half_of_epsilon():
    # utilities (0, 1) against (1, 0): e^(1/2) / (1 + e^(1/2)) = 0.622459
    mechanism = Exponential(1.0, 2)
    assert law(mechanism, [0.0, 1.0])[1] == pytest.approx(0.622459, abs=5e-7)
    assert np.log(law(mechanism, [0.0, 1.0]) / law(mechanism, [1.0, 0.0])) == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("n_candidates", [2, 3, 50])
@pytest.mark.parametrize("monotone", [False, True])
def test_worst_case_shows_80_percent_of_epsilon(epsilon, n_candidates, monotone):
    mechanism = Exponential(epsilon, n_candidates, sensitivity=3.0, monotone=monotone)
    pair = mechanism.worst_case()
    mechanism.bind(pair)
    p0, p1 = law(mechanism, pair.d0), law(mechanism, pair.d1)
    assert np.abs(np.log(p1 / p0)).max() == pytest.approx(0.8 * epsilon, rel=1e-9)
    direct, truth = ExactDP(p0, p1), mechanism.exact_guarantee()
    for t in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        assert truth.delta(t) == pytest.approx(direct.delta(t), rel=1e-6)
    assert truth.epsilon(0.0) == pytest.approx(0.8 * epsilon, rel=1e-9)


def test_event_of_the_worst_case_is_frequent():
    # odds o = (e^0.2 - 1) / (e - e^0.2), probability o / (1 + o) = (e^0.2 - 1) / (e - 1)
    mechanism = Exponential(1.0, 10)
    assert law(mechanism, mechanism.worst_case().d0)[0] == pytest.approx(0.128851, abs=5e-7)


def test_privacy_loss_has_range_epsilon_and_obeys_the_concentrated_claim():
    rng = np.random.default_rng(4)
    mechanism = Exponential(1.3, 5)
    rho = 1.3**2 / 8
    tightest = 0.0
    for _ in range(300):
        start = rng.normal(scale=3.0, size=5)
        step = rng.choice([-1.0, 1.0], size=5)
        p, q = law(mechanism, start), law(mechanism, start + step)
        loss = np.log(p / q)
        assert np.ptp(loss) <= 1.3 * (1 + 1e-12)
        for order in (1.5, 2.0, 8.0, 64.0):
            renyi = math.log(np.sum(p * np.exp((order - 1) * loss))) / (order - 1)
            assert renyi <= rho * order + 1e-12
            tightest = max(tightest, renyi / (rho * order))
    assert tightest > 0.9  # the claim is not idle: epsilon^2 / 9 would fail
    assert to_concentrated(mechanism.bounded_range()).rho == pytest.approx(rho)


def test_median_of_nine_numbers_has_the_known_law():
    # u = min(#{x <= y}, #{x >= y}) on x = 1..9, y = 0..10 at epsilon 1; softmax of u / 2
    query = MedianUtility(candidates=tuple(range(11)))
    mechanism = Exponential(1.0, 11, query=query, relation="replace_one")
    expected = [0.0214, 0.0353, 0.0583, 0.0961, 0.1584, 0.2611, 0.1584, 0.0961, 0.0583, 0.0353, 0.0214]
    before, after = law(mechanism, np.arange(1, 10)), law(mechanism, np.arange(2, 11))
    np.testing.assert_allclose(before, expected, atol=5e-5)
    loss = np.log(after / before)  # record 1 replaced by 10
    np.testing.assert_allclose(loss[1:6], -0.5, atol=1e-12)
    np.testing.assert_allclose(loss[6:], 0.5, atol=1e-12)


def test_bernoulli_parameter_has_the_known_rate():
    # loss -log likelihood on (0.1, 0.9): sensitivity ln 10 under add_remove, exponent 0.1 / (2 ln 10)
    assert Exponential(0.1, 2, sensitivity=math.log(10)).rate == pytest.approx(0.0217147, abs=5e-8)


def test_monotone_means_one_direction():
    mechanism = Exponential(1.0, 2, monotone=True)
    mechanism.bind(Neighbours([0, 0], [1, 0.5], "add_remove"))
    mechanism.bind(Neighbours([0, 0], [-1, 0], "add_remove"))
    with pytest.raises(NeighboursError, match="change in both directions"):
        mechanism.bind(Neighbours([0, 0], [1, -1], "add_remove"))


def test_counts_are_monotone_under_add_remove_only():
    counts = Histogram(categories=("a", "b"))
    Exponential(1.0, 2, monotone=True, query=counts)
    with pytest.raises(ParameterError, match="not monotone under 'replace_one'"):
        Exponential(1.0, 2, monotone=True, query=counts, relation="replace_one")


def test_pair_whose_utilities_move_too_far_is_refused():
    with pytest.raises(NeighboursError, match="Linf norm"):
        Exponential(1.0, 2).bind(Neighbours([0, 0], [1.5, 0], "add_remove"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1.0, "n_candidates": 2, "monotone": "yes"}, "monotone must be True or False"),
        ({"epsilon": 1.0, "n_candidates": 2, "query": Histogram(categories="abc")}, "Set n_candidates=3"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Exponential(**options)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 699.0, 701.0, 800.0, 1e5])
def test_exact_guarantee_is_a_little_below_the_claim_at_every_epsilon(epsilon):
    mechanism = Exponential(epsilon, 3)
    mechanism.bind(mechanism.worst_case())
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(0.8 * epsilon, rel=1e-13, abs=1e-15)
    log0, log1 = (mechanism.log_probabilities(mechanism.worst_case().side(side))[0] for side in (0, 1))
    assert log1 - log0 == pytest.approx(0.8 * epsilon, rel=1e-6, abs=1e-14)


def test_exact_guarantee_beyond_the_reach_of_floats_joins_on():
    below, above = (Exponential(epsilon, 2).exact_guarantee() for epsilon in (700.0, np.nextafter(700.0, 800.0)))
    levels = np.array([0.0, 1.0, 10.0, 300.0, 680.0, 685.0, 685.9])
    np.testing.assert_allclose(above.delta(levels), below.delta(levels), rtol=1e-6)
    for epsilon in (750.0, 1e4, 1e6):
        result = Exponential(epsilon, 2).exact_guarantee()
        assert result.epsilon(0.0) == pytest.approx(TIGHTNESS * epsilon, rel=1e-9)
        assert result.delta(0.5 * epsilon) <= 1.0


def test_utility_bounds_have_their_known_values():
    mechanism = Exponential(1.0, 100)
    assert chance_of_shortfall(mechanism, 20.0) == pytest.approx(0.00454, abs=5e-6)
    assert expected_shortfall(mechanism) == pytest.approx(9.2103, abs=5e-5)
    assert shortfall(mechanism, confidence=0.95) == pytest.approx(2.0 * (np.log(100) + np.log(20)))
    assert chance_of_shortfall(mechanism, shortfall(mechanism, confidence=0.9)) == pytest.approx(0.1)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_utility_bounds_hold_for_all_utilities(kind):
    rng, closest = np.random.default_rng(1), 0.0
    for _ in range(200):
        mechanism = kind(float(rng.uniform(0.2, 4.0)), int(rng.integers(2, 30)), monotone=bool(rng.integers(2)))
        spread = float(rng.choice([0.1, 3.0, 30.0]))
        behind = rng.exponential(spread, size=mechanism.n_candidates) * (rng.random(mechanism.n_candidates) < 0.9)
        behind -= behind.min()
        law = mechanism.probabilities(-behind)
        assert law @ behind <= expected_shortfall(mechanism)
        for level in (0.5, 3.0, 10.0):
            assert law[behind >= level].sum() <= chance_of_shortfall(mechanism, level)
        closest = max(closest, law @ behind / expected_shortfall(mechanism))
    assert closest > 0.2  # the bound on the average is not idle


def test_many_bad_candidates_come_near_the_bound():
    mechanism = Exponential(1.0, 1000)
    behind = np.append(0.0, np.full(999, 20.0))
    exact = mechanism.probabilities(-behind)[1:].sum()
    assert 0.9 * chance_of_shortfall(mechanism, 20.0) < exact <= chance_of_shortfall(mechanism, 20.0)
    missed = np.count_nonzero(mechanism.release(-behind, 100_000, np.random.default_rng(2)).values)
    at_most = chance_of_shortfall(mechanism, 20.0)
    assert stats.binomtest(int(missed), 100_000, at_most, alternative="greater").pvalue > 1e-6
