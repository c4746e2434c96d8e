"""Top k at a total (epsilon, delta): the laws, and how the noise of the two mechanisms compares."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import ExactDP, LaplaceDP, to_renyi
from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.selection import GumbelTopKCounts, LaplaceTopK, PeelingTopK

FALSE_ALARM = 1e-6
COUNTS = np.array([300.0, 250.0, 0.0, -200.0])
SETS = np.array(list(combinations(range(4), 2)))


def log_sets(mechanism, sets, counts):
    """The log probability of each set: its density with exact counts, less that of counts without noise."""
    at = np.asarray(counts)[np.clip(sets, 0, len(counts) - 1)]
    law = mechanism.log_density(Outputs(np.hstack([sets, at])), counts)
    return law - sets.shape[1] * np.log(0.5 * mechanism.rate)


def test_sets_are_chosen_with_their_probability():
    mechanism = LaplaceTopK(0.19, 4, 2, 0.04)
    assert mechanism.deviation == pytest.approx(8.0 * np.sqrt(2 * 2 * np.log(4 / 0.04)) / 0.19)
    law = np.exp(log_sets(mechanism, SETS, COUNTS))
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    chosen = mechanism.release(COUNTS, 200_000, np.random.default_rng(1)).values[:, :2]
    counts = [np.count_nonzero((chosen == pair).all(axis=1)) for pair in SETS]
    assert stats.chisquare(counts, law * 200_000).pvalue > FALSE_ALARM
    other = np.exp(log_sets(LaplaceTopK(0.15, 4, 2, 0.04), SETS, COUNTS))  # power
    assert stats.chisquare(counts, other * 200_000).pvalue < FALSE_ALARM


def test_what_is_no_set_in_increasing_order_has_probability_zero():
    wrong = np.array([[1, 0], [0, 0], [0, 4], [-1, 2]])
    assert np.isneginf(log_sets(LaplaceTopK(0.1, 4, 2, 1e-3), wrong, COUNTS)).all()


def test_sets_of_many_candidates_are_distinguished():
    """Too many for one number a set."""
    mechanism = LaplaceTopK(0.1, 60, 12, 1e-3)
    sets = mechanism.release(np.zeros(60), 40, np.random.default_rng(0)).values[:, :12].astype(int)
    expected = -sum(np.log(60.0 - i) - np.log(12.0 - i) for i in range(12))
    np.testing.assert_allclose(log_sets(mechanism, sets, np.zeros(60)), expected, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_counts_of_the_chosen_have_fresh_noise_of_the_same_scale(k):
    """The noise is fresh: that of the selection is large where a candidate is chosen. For k = d all are."""
    mechanism = LaplaceTopK(0.19, 4, k, 0.04)
    values = mechanism.release(COUNTS, 100_000, np.random.default_rng(3)).values
    noise = values[:, k:] - COUNTS[values[:, :k].astype(int)]
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=mechanism.deviation / np.sqrt(2.0)).cdf).pvalue > FALSE_ALARM
    assert np.abs(np.corrcoef(noise.T) - np.eye(k)).max() < 5.0 / np.sqrt(100_000)


def test_all_candidates_are_chosen_where_k_is_their_number():
    mechanism = LaplaceTopK(0.1, 3, 3, 1e-3)
    assert (mechanism.release(np.zeros(3), 5, np.random.default_rng(0)).values[:, :3] == np.arange(3)).all()
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(3 * mechanism.rate, rel=1e-9)


def test_loose_constants_leave_much_of_the_claim_unused():
    for n, k in ((2, 1), (10, 3), (30, 5), (5, 5)):
        mechanism = LaplaceTopK(0.19, n, k, 1e-3)
        mechanism.bind(mechanism.worst_case())
        assert 0.0 < mechanism.exact_guarantee().epsilon(0.0) < 0.19 / 3


@pytest.mark.parametrize(
    ("k", "d", "delta", "prime", "laplace", "gumbel", "counts"),
    [(10, 1000, 1e-6, 0.0268555, 1628.674, 151.022, 333.052), (5, 100, 1e-5, 0.0294081, 1015.656, 97.520, 215.062)],
)
def test_noise_of_both_mechanisms_is_known_and_gumbel_a_quarter_at_most(k, d, delta, prime, laplace, gumbel, counts):
    """Durfee and Rogers (2021), at epsilon 0.1."""
    once, twice = LaplaceTopK(0.1, d, k, delta), GumbelTopKCounts(0.1, d, k, delta, monotone=True)
    assert twice.share * np.sqrt(k) == pytest.approx(prime, abs=6e-8)
    assert once.deviation == pytest.approx(laplace, abs=6e-4)
    assert twice.selection_deviation == pytest.approx(gumbel, abs=6e-4)
    assert twice.count_deviation == pytest.approx(counts, abs=6e-4)
    assert twice.selection_deviation <= once.deviation / 4
    assert twice.count_deviation <= once.deviation / 2


def test_each_half_of_the_budget_is_an_eighth_of_epsilon_prime_squared():
    """Renyi divergences of the ranked lists by enumeration, and of the noise on the counts in closed form."""
    mechanism = GumbelTopKCounts(1.0, 4, 2, 1e-3, monotone=True)
    half, orders = mechanism.guarantee().rho / 2, np.array([1.01, 2.0, 8.0, 64.0])
    lists = Outputs(np.array(list(permutations(range(4), 2))))
    peeling = PeelingTopK(mechanism.share, 4, 2, monotone=True)
    for moved in ([1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]):
        p, q = (np.exp(peeling.log_density(lists, x)) for x in (np.zeros(4), np.array(moved, dtype=float)))
        assert (np.array(to_renyi(ExactDP(p, q), orders=list(orders)).divergences) <= half * orders).all()
    one = np.array(to_renyi(LaplaceDP(1.0 / mechanism.count_scale), orders=list(orders)).divergences)
    assert (2 * one <= half * orders).all()
    assert 2 * one[0] > 0.9 * half * orders[0]


def test_indices_and_fresh_counts_have_their_law():
    mechanism = GumbelTopKCounts(2.0, 3, 2, 1e-3, monotone=True)
    utilities = np.array([4.0, 0.0, 2.0])
    values = mechanism.release(utilities, 100_000, np.random.default_rng(2)).values
    noise = values[:, 2:] - utilities[values[:, :2].astype(int)]
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=mechanism.count_scale).cdf).pvalue > FALSE_ALARM
    assert abs(np.corrcoef(noise.T)[0, 1]) < 5.0 / np.sqrt(100_000)
    lists = np.array(list(permutations(range(3), 2)))
    law = np.exp(PeelingTopK(mechanism.share, 3, 2, monotone=True).log_density(Outputs(lists), utilities))
    counts = [np.count_nonzero((values[:, :2] == one).all(axis=1)) for one in lists]
    assert stats.chisquare(counts, law * 100_000).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.2}, r"epsilon must be below 0\.2"),
        ({"delta": 0.05}, r"delta must be below 0\.05"),
        ({"k": 5}, "k must be at most 4"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        LaplaceTopK(**({"epsilon": 0.1, "n_candidates": 4, "k": 2, "delta": 1e-3} | options))
