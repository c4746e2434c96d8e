"""Sparse vectors that are wrong on purpose: released as their papers say, and as bad as is known."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.selection.sparse_vector import sparse_vector_twins as twins

from dpassay.mechanisms import Neighbours, Outputs
from dpassay.mechanisms.selection.sparse_vector.broken import (
    BudgetOfThreshold,
    NeverStops,
    NoiseWithoutCount,
    NoQueryNoise,
    ReleasesTestedValue,
    TwoBrokenSparseVectors,
    _log_between,
)

FALSE_ALARM = 1e-6
SLOW = 6_000
QUERIES = np.array([0.0, 2.0, -1.0, 3.0])
ONE, HALF = np.ones(10), np.r_[2.0 * np.ones(5), np.zeros(5)]
ANSWERS = {
    "algorithm 4": (NoiseWithoutCount(1.0, 4, stop_after=2, threshold=0.5), (0.5, 4.0, 4.0 / 3.0, 2)),
    "budget of threshold": (BudgetOfThreshold(1.0, 4, stop_after=2, threshold=0.5), (0.5, 1.0, 4.0 ** (1 / 3), 2)),
    "algorithm 5": (NoQueryNoise(1.0, 4, threshold=0.5), (0.5, 2.0, 0.0, 4)),
    "algorithm 6": (NeverStops(1.0, 4, threshold=0.5), (0.5, 2.0, 2.0, 4)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_release_has_the_law_of_a_slow_twin(name):
    mechanism, scales = ANSWERS[name]
    fast = mechanism.release(QUERIES, 100_000, np.random.default_rng(1)).values
    assert twins.alike(fast, twins.runs(SLOW, 2, QUERIES, *scales)) > FALSE_ALARM


def test_tested_values_are_those_of_a_slow_twin():
    mechanism = ReleasesTestedValue(1.0, 4, stop_after=2, threshold=0.5)
    fast = mechanism.release(QUERIES, 100_000, np.random.default_rng(3)).values
    slow = twins.runs(SLOW, 4, QUERIES, 0.5, 2.0, 4.0, 2, tested=True)
    slow[slow == -1.0] = 0.0
    assert twins.alike(fast != 0.0, slow != 0.0) > FALSE_ALARM
    for one, other in zip(fast.T, slow.T, strict=True):
        assert stats.ks_2samp(one[one != 0.0], other[other != 0.0]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("mechanism", "pair", "known"),
    [  # with 10 queries at epsilon 0.1, the usual pairs
        (ReleasesTestedValue(0.1, 10, threshold=1.0), (ONE, 2.0 * ONE), 0.5),
        (ReleasesTestedValue(0.1, 10, threshold=1.0), (ONE, 0.0 * ONE), 0.5),
        (NoiseWithoutCount(0.1, 10, threshold=1.0), (ONE, HALF), 0.1725),
        (NeverStops(0.1, 10, threshold=1.0), (ONE, HALF), 0.420),
        (NoQueryNoise(0.1, 10, threshold=1.0), (ONE, HALF), math.inf),
        (NoQueryNoise(0.1, 10, threshold=1.0), (ONE, 2.0 * ONE), 0.05),
    ],
)
def test_epsilon_is_the_known_one(mechanism, pair, known):
    assert mechanism.curve(Neighbours(*pair, "add_remove")).epsilon(0.0) == pytest.approx(known, abs=5e-4)


def test_all_wrong_patterns_have_the_known_probabilities():
    """Of the six algorithms' pairs at epsilon 0.1, length 10."""
    never = NeverStops(0.1, 10, threshold=1.0)
    wrong = np.array([[0] * 5 + [1] * 5], dtype=np.int8)
    p0, p1 = (math.exp(never.log_probabilities(wrong, side)[0]) for side in (ONE, HALF))
    assert (p0, p1) == (pytest.approx(3.6e-4, abs=6e-6), pytest.approx(2.4e-4, abs=6e-6))
    noiseless = NoQueryNoise(0.1, 10, threshold=1.0)
    p0, p1 = (math.exp(noiseless.log_probabilities(1 - wrong, side)[0]) for side in (ONE, HALF))
    assert (p0, p1) == (0.0, pytest.approx(-math.expm1(-0.05), rel=1e-12))


@pytest.mark.parametrize("stop_after", [1, 2, 4])
def test_noise_without_count_approaches_its_stated_epsilon(stop_after):
    broken = NoiseWithoutCount(0.1, 30 if stop_after < 3 else 16, stop_after=stop_after)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx((1 + 6 * stop_after) * 0.1 / 4, rel=0.05)


@pytest.mark.parametrize("stop_after", [1, 4])
def test_budget_of_threshold_approaches_the_sum_of_both_shares(stop_after):
    broken = BudgetOfThreshold(0.1, 30 if stop_after == 1 else 16, stop_after=stop_after)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(0.1 * (1 + (2 * stop_after) ** (2 / 3)), rel=0.02)


def test_epsilon_grows_with_the_number_of_queries():
    for kind in (ReleasesTestedValue, NeverStops):
        grows = [kind(0.1, n).exact_guarantee().epsilon(0.0) for n in (2, 10, 40)]
        assert grows[0] < grows[1] < grows[2]
        assert grows[2] > 1.5


def test_probability_between_two_points_keeps_its_accuracy_in_the_tails():
    low, high = np.array([-3.0, 30.0, -31.0, 2.0, 1.0, -np.inf]), np.array([2.0, 31.0, -30.0, 2.0, 0.5, np.inf])
    exact = stats.laplace.cdf(high) - stats.laplace.cdf(low)
    result = np.exp(_log_between(low, high))
    np.testing.assert_allclose(result[[0, 5]], exact[[0, 5]], rtol=1e-12)
    np.testing.assert_allclose(result[1:3], 0.5 * math.exp(-30) * -math.expm1(-1), rtol=1e-12)
    assert result[3:5].tolist() == [0.0, 0.0]


def test_two_parallel_mechanisms_have_the_curve_of_the_product():
    two = TwoBrokenSparseVectors(0.5, 3)
    values = two.release(QUERIES[:3], 60_000, np.random.default_rng(5)).values
    assert values.shape == (60_000, 6)
    anything = np.column_stack([(values[:, :3] != 0).any(axis=1), (values[:, 3:] == 1).any(axis=1)])
    table = [[np.count_nonzero((anything == (i, j)).all(axis=1)) for j in (0, 1)] for i in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
    tested, counted = ReleasesTestedValue(0.5, 3), NoiseWithoutCount(0.5, 3)
    first, second = Outputs(values[:, :3]), Outputs(values[:, 3:].astype(np.int8))
    together = tested.log_density(first, QUERIES[:3]) + counted.log_density(second, QUERIES[:3])
    np.testing.assert_allclose(two.log_density(Outputs(values), QUERIES[:3]), together)
    parts = [kind(0.5, 3).curve(two.worst_case()).epsilon(0.0) for kind in (ReleasesTestedValue, NoiseWithoutCount)]
    assert two.exact_guarantee().epsilon(0.0) == pytest.approx(sum(parts), rel=1e-9)


@pytest.mark.parametrize("n_queries", [2, 16, 20, 40])
def test_the_tested_value_gives_away_half_of_the_claim_for_each_query(n_queries):
    assert ReleasesTestedValue(1.0, n_queries).exact_guarantee().epsilon(0.0) == pytest.approx(n_queries / 2, rel=1e-3)
