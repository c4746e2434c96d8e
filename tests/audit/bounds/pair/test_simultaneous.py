"""The band over all thresholds: tightness at every threshold, and its curves."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.audit import calls
from tests.audit.coverage import bounds_drawn

from dpassay.audit.bounds.numerics.binomial import quantile, upper
from dpassay.audit.bounds.numerics.noncrossing import local_level
from dpassay.audit.bounds.pair.pilot import candidates
from dpassay.audit.bounds.pair.simultaneous import SimultaneousBand, band
from dpassay.audit.calibration.laws import laplace
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally
from dpassay.mechanisms.core import ParameterError

BAND = SimultaneousBand()


def normal_pair(seed, n_out=300, n_in=300, shift=1.0):
    rng = np.random.default_rng(seed)
    return PairScores(rng.normal(size=n_out), rng.normal(size=n_in) + shift)


def epsilon(scores, *, delta=0.0, confidence=0.95):
    return calls.lower_bound(BAND, scores, delta=delta, confidence=confidence).epsilon


@pytest.mark.parametrize("significance", [0.2, 0.05])
def test_limits_miss_somewhere_exactly_as_often_as_they_may(significance):
    # both ways: never too often, and not too seldom either, which is what makes the band tight
    n, repeats = 60, 20_000
    eta = local_level(n, n, significance)
    limits = upper(np.arange(n), n, eta)  # after k hits the next score down has survival probability below this
    rng = np.random.default_rng(11)
    survival = np.sort(rng.random((2, repeats, n)), axis=2)
    missed = (survival > limits).any(axis=2).sum()
    expected = significance * (1 - 1e-4) / 2
    assert quantile(5e-7, 2 * repeats, expected) <= missed <= quantile(1 - 5e-7, 2 * repeats, expected)


def test_limits_are_those_of_clopper_and_pearson_at_the_local_level():
    scores = normal_pair(1)
    limits = band(scores.tally, confidence=0.95)
    eta = local_level(300, 300, 0.05)
    assert limits.local_level == pytest.approx(eta, rel=1e-9)
    for at in (0, 50, 300, len(limits.thresholds) - 1):
        k0, k1 = scores.hits(limits.thresholds[at])
        assert limits.fpr[at] == k0 / 300
        assert limits.tpr[at] == k1 / 300
        assert limits.fpr_upper[at] == pytest.approx(1.0 if k0 == 300 else stats.beta.isf(eta, k0 + 1, 300 - k0))
        assert limits.fnr_upper[at] == pytest.approx(1.0 if k1 == 0 else stats.beta.isf(eta, 301 - k1, k1))


@pytest.mark.parametrize(("n", "least"), [(1000, 0.68), (10_000, 0.89)])
def test_noise_free_laplace_scores_give_a_sound_and_tight_bound(n, least):
    # `least`: Clopper-Pearson limits of the one event {score >= 1}, 18.4 % and 50 % hits, at the local level
    lower_bound = epsilon(calls.quantiles(stats.laplace(), stats.laplace(loc=1), n))
    assert least < lower_bound < least + 0.04 < 1.0


@pytest.mark.parametrize(
    ("n", "repeats", "expected"), [(1000, 100, 0.75), pytest.param(10_000, 60, 0.92, marks=pytest.mark.slow)]
)
def test_mean_bound_on_laplace_noise_has_its_known_value(n, repeats, expected):
    # independent simulation of the same band, tolerance 0.02
    bounds = bounds_drawn(BAND, laplace(1.0), repeats=repeats, n_out=n, n_in=n, confidence=0.95, seed=1)
    assert bounds.mean() == pytest.approx(expected, abs=0.02)
    assert bounds.max() < 1.0


def test_noise_free_bound_closes_in_on_the_truth():
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)
    bounds = []
    for n in (100, 10_000, 1_000_000, 100_000_000):
        hits = np.array([n, round(q * n)]), np.array([n, round(p * n)])
        bounds.append(epsilon(PairCounts(Tally(np.array([0.0, 1.0]), *hits, n_out=n, n_in=n))))
    assert bounds == sorted(bounds)
    assert bounds[2] > 0.985
    assert 0.9985 < bounds[3] < 1.0


def test_ceiling_has_its_known_value_and_is_reached_by_a_perfect_attack():
    # ln((1 - h) / h), h = 1 - eta^(1/1000), eta = 5.329e-4
    assert calls.ceiling(BAND, 1000, 1000, delta=0.0, confidence=0.95) == pytest.approx(4.8841, abs=2e-4)
    perfect = PairScores(np.zeros(1000), np.ones(1000))
    assert epsilon(perfect) == calls.ceiling(BAND, 1000, 1000, delta=0.0, confidence=0.95)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=25), st.lists(st.integers(0, 4), min_size=1, max_size=25))
def test_directions_swap_with_the_sides(out, in_):
    out, in_ = np.array(out, dtype=float), np.array(in_, dtype=float)
    assert epsilon(PairScores(out, in_)) == pytest.approx(epsilon(PairScores(-in_, -out)))


def test_bound_is_the_best_of_its_thresholds():
    scores = normal_pair(4, 200, 100, shift=2.0)
    bound = calls.lower_bound(BAND, scores, delta=0.01, confidence=0.9)
    eta = local_level(200, 100, 0.1)
    best = 0.0
    for threshold in np.concatenate([scores.out, scores.in_]):
        k0, k1 = scores.hits(threshold)
        fpr = stats.beta.isf(eta, k0 + 1, 200 - k0) if k0 < 200 else 1.0
        fnr = stats.beta.isf(eta, 101 - k1, k1) if k1 else 1.0
        lines = (1 - fnr - 0.01) / fpr, (1 - fpr - 0.01) / fnr
        best = max([best] + [math.log(x) for x in lines if x > 0])
    assert bound.epsilon == pytest.approx(best, rel=1e-9)
    assert bound.hits == scores.hits(bound.threshold)
    assert [entry.what for entry in bound.ledger] == ["threshold", "direction"]
    assert "local level" in bound.ledger[0].correction


def test_all_equal_scores_show_nothing():
    assert epsilon(PairScores(np.zeros(500), np.zeros(700))) == 0.0


def test_coarse_grid_of_counts_gives_a_bound_below_that_of_the_scores():
    scores = normal_pair(9, 2000, 2000, shift=2.0)
    grid = np.array([-np.inf, *np.linspace(-1, 4, 30)])
    hits = [np.array([(side >= t).sum() for t in grid]) for side in (scores.out, scores.in_)]
    coarse = epsilon(PairCounts(Tally(grid, *hits, n_out=2000, n_in=2000)))
    assert 0.8 * epsilon(scores) < coarse <= epsilon(scores)


# --- very many thresholds ------------------------------------------------------------------------------------------


def test_looking_at_some_thresholds_loses_next_to_nothing():
    scores = normal_pair(3, 20_000, 20_000)
    at = candidates(scores.tally, per_side=500, tail=64)
    assert len(at) < 3000 < len(scores.tally.thresholds)
    some = epsilon(scores, delta=1e-3)
    eta = local_level(20_000, 20_000, 0.05)
    tally = scores.tally
    fpr, fnr = upper(tally.hits_out, 20_000, eta), upper(20_000 - tally.hits_in, 20_000, eta)
    with np.errstate(invalid="ignore", divide="ignore"):
        every = np.nanmax(np.log(np.maximum((1 - fnr - 1e-3) / fpr, (1 - fpr - 1e-3) / fnr)))
    assert 0.995 * every < some <= every * (1 + 1e-9)


def test_candidates_keep_atoms_whole_and_every_extreme_score():
    rng = np.random.default_rng(1)
    out = np.concatenate([rng.random(50_000), np.full(10_000, 2.0), 3 + rng.random(5_000)])
    tally = PairScores(out, out + 0.001 * rng.random(65_000)).tally
    chosen = tally.thresholds[candidates(tally, per_side=100, tail=10)]
    after = tally.thresholds[tally.thresholds > 2.0].min()
    assert 2.0 in chosen
    assert after in chosen
    assert set(tally.thresholds[-10:]) <= set(chosen)
    assert tally.thresholds[0] in chosen


def test_bounds_from_a_million_scores_are_close_to_the_truth():
    rng = np.random.default_rng(5)
    ratio = [2 * np.clip(rng.laplace(size=1_000_000) + side, 0, 1) - 1 for side in (0, 1)]
    assert 0.98 < epsilon(PairScores(*ratio)) < 1.0


# --- the p-value ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_out", "n_in"), [(300, 300), (80, 900)])
@pytest.mark.parametrize("claim", [0.2, 0.4, 0.7])
def test_p_value_is_the_significance_at_which_the_bound_passes_the_claim(n_out, n_in, claim):
    scores = normal_pair(2, n_out, n_in)
    p = calls.p_value(BAND, scores, epsilon=claim, delta=0.01)
    assert 1e-12 < p < 1
    assert epsilon(scores, delta=0.01, confidence=1 - 1.003 * p) > claim
    assert epsilon(scores, delta=0.01, confidence=1 - p / 1.003) <= claim


def test_p_value_has_its_ends():
    assert calls.p_value(BAND, PairScores(np.zeros(9), np.zeros(9)), epsilon=0.1, delta=0.0) == 1.0
    assert calls.p_value(BAND, PairScores(np.zeros(900), np.ones(900)), epsilon=0.1, delta=0.0) == 1e-12


# --- the curves ----------------------------------------------------------------------------------------------------


def test_tradeoff_limit_is_the_largest_convex_curve_below_the_limits():
    limits = band(normal_pair(7).tally, confidence=0.95)
    grid = np.linspace(0, 1, 201)
    curve = limits.tradeoff_upper(grid)
    assert np.all(np.diff(curve, 2) >= -1e-12)
    assert np.all(limits.tradeoff_upper(limits.fpr_upper) <= limits.fnr_upper + 1e-12)
    assert curve[0] == 1
    assert curve[-1] == 0
    x, y = np.append([0, 1], limits.fpr_upper), np.append([1, 0], limits.fnr_upper)
    for fpr, fnr in zip(grid[1:-1:20], curve[1:-1:20], strict=True):  # slowly: the lowest chord over each point
        left, right = x <= fpr, x >= fpr
        share = (fpr - x[left][:, None]) / np.maximum(x[right] - x[left][:, None], 1e-300)
        chords = y[left][:, None] + share * (y[right] - y[left][:, None])
        assert fnr == pytest.approx(np.where(x[right] > x[left][:, None], chords, 1).min(), abs=1e-9)


def test_tradeoff_limit_lies_above_the_true_curve_and_close_to_it():
    limits = band(calls.quantiles(stats.norm(), stats.norm(loc=1), 20_000).tally, confidence=0.95)
    grid = np.linspace(0.001, 0.999, 99)
    true = stats.norm.cdf(stats.norm.isf(grid) - 1)
    assert np.all(limits.tradeoff_upper(grid) > true)
    assert np.all(limits.tradeoff_upper(grid) < true + 0.03)


def test_profile_and_epsilon_are_two_views_of_the_same_limits():
    limits = band(normal_pair(8, shift=2.0).tally, confidence=0.95)
    for delta in (0.0, 0.05, 0.3):
        edge = limits.epsilon_lower(delta)
        assert edge > 0
        below, above = limits.delta_lower([edge - 1e-6, edge + 1e-6])
        assert below >= delta >= above or delta == 0.0 == above
    assert limits.delta_lower(0.5).shape == ()
    assert limits.delta_lower(np.ones((2, 3))).shape == (2, 3)
    assert np.all(np.diff(limits.delta_lower(np.linspace(0, 5, 50))) <= 0)


# --- wrong input ---------------------------------------------------------------------------------------------------


def test_side_without_scores_and_confidence_1_are_refused():
    with pytest.raises(ParameterError, match="scores on both sides, but there are 0 and 4"):
        band(PairScores(np.empty(0), np.zeros(4)).tally, confidence=0.9)
    with pytest.raises(ParameterError, match="confidence must"):
        band(normal_pair(1).tally, confidence=1.0)
