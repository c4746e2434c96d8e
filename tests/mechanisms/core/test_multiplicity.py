"""Corrections over many looks: definitions by brute force, properties, and error rates under dependence.

False alarms: 1e-6 a test.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats
from tests.audit.coverage import bounds_drawn

from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.calibration.laws import laplace_ratio
from dpassay.mechanisms.core import ParameterError, holm
from dpassay.mechanisms.core.multiplicity import bonferroni, e_bh, e_from_p, shared_confidence

probabilities = st.lists(st.floats(1e-200, 1.0) | st.just(0.0), min_size=1, max_size=6)
evidence = st.lists(st.floats(0.0, 1e6) | st.just(math.inf), min_size=1, max_size=8)


def weights_of(p, seed):
    return np.random.default_rng(seed).uniform(0.1, 3.0, size=len(p)).tolist()


# --- definitions -----------------------------------------------------------------------------------------------------


def test_known_values():
    # Holm (1979) by hand: 3 * .01, 2 * .02, then .04 again because 1 * .03 is less
    assert holm([0.01, 0.03, 0.02]) == pytest.approx([0.03, 0.04, 0.04])
    assert bonferroni([0.01, 0.03, 0.5]) == pytest.approx([0.03, 0.09, 1.0])
    # the largest of 4 needs 4 / a; two equal ones share 4 / (2 a)
    assert e_bh([40.0, 40.0, 1.0, 0.0]) == pytest.approx([0.05, 0.05, 1.0, 1.0])
    assert e_bh([math.inf, 0.0]) == [0.0, 1.0]
    assert bonferroni([]) == holm([]) == e_bh([]) == []


@given(p=probabilities, seed=st.integers(0, 99))
def test_holm_is_the_closed_test_of_bonferroni(p, seed):
    w = weights_of(p, seed)
    n = len(p)
    sets = [s for size in range(1, n + 1) for s in itertools.combinations(range(n), size)]
    level = {s: min(p[j] / w[j] for j in s) * sum(w[j] for j in s) for s in sets}
    expected = [min(1.0, max(level[s] for s in sets if i in s)) for i in range(n)]
    assert holm(p, weights=w) == pytest.approx(expected, rel=1e-12)


@given(e=evidence, a=st.sampled_from([0.01, 0.05, 0.2, 0.9]))
def test_e_bh_rejects_the_most_that_its_definition_allows(e, a):
    n = len(e)
    most = max([k for k in range(1, n + 1) if sorted(e)[n - k] * a * k >= n], default=0)
    cut = sorted(e)[n - most] if most else math.inf
    expected = [most > 0 and value >= cut for value in e]
    near = [abs(k * a * value / n - 1) < 1e-9 for k in range(1, n + 1) for value in e]
    assert any(near) or [adjusted <= a for adjusted in e_bh(e)] == expected


@given(p=st.floats(1e-300, 1.0))
def test_e_from_p_is_the_mean_over_its_family(p):
    expected, _ = integrate.quad(lambda k: k * p ** (k - 1), 0, 1, epsabs=0, epsrel=1e-10, limit=200)
    assert float(e_from_p([p])[0]) == pytest.approx(expected, rel=1e-7)


def test_e_from_p_has_mean_one_under_the_null_and_falls_with_p():
    grid = np.concatenate([[0.0], np.geomspace(1e-300, 1.0, 2000)])
    e_values = e_from_p(grid)
    assert e_values[0] == math.inf
    assert np.all(np.diff(e_values) < 0)
    # int_0^p of it is (1 - p) / ln(1 / p): check the whole from 1e-12, and that nothing is left below
    total, _ = integrate.quad(lambda x: float(e_from_p([math.exp(-x)])[0]) * math.exp(-x), 0, 27.6, epsabs=1e-9)
    assert total + (1 - 1e-12) / 27.6 == pytest.approx(1 + 1e-12, abs=2e-3)
    assert total <= 1.0


# --- properties ------------------------------------------------------------------------------------------------------


@given(p=probabilities, seed=st.integers(0, 99))
def test_holm_lies_between_no_correction_and_bonferroni(p, seed):
    w = weights_of(p, seed)
    for raw, first, second in zip(p, holm(p, weights=w), bonferroni(p, weights=w), strict=True):
        assert raw <= first * (1 + 1e-12)
        assert first <= second * (1 + 1e-12)


@pytest.mark.parametrize("correct", [holm, bonferroni])
@given(p=probabilities, seed=st.integers(0, 99))
def test_corrections_follow_permutations_and_ignore_the_scale_of_weights(correct, p, seed):
    w, order = weights_of(p, seed), np.random.default_rng(seed).permutation(len(p))
    adjusted = correct(p, weights=w)
    mixed = correct([p[i] for i in order], weights=[7.0 * w[i] for i in order])
    assert mixed == pytest.approx([adjusted[i] for i in order], rel=1e-12)
    assert correct(p) == pytest.approx(correct(p, weights=[0.3] * len(p)), rel=1e-12)


@given(e=evidence, at=st.integers(0, 7), more=st.floats(0.0, 1e6))
def test_more_evidence_for_one_never_takes_a_rejection_from_any(e, at, more):
    raised = list(e)
    raised[at % len(e)] += more
    assert all(new <= old for new, old in zip(e_bh(raised), e_bh(e), strict=True))


@given(p=probabilities, at=st.integers(0, 5), share=st.floats(0.0, 1.0))
def test_a_smaller_p_value_never_takes_a_rejection_from_any(p, at, share):
    lowered = list(p)
    lowered[at % len(p)] *= share
    for correct in (holm, bonferroni):
        assert all(new <= old * (1 + 1e-12) for new, old in zip(correct(lowered), correct(p), strict=True))


def test_one_hypothesis_needs_no_correction():
    assert holm([0.03]) == bonferroni([0.03]) == bonferroni([0.03], weights=[5.0]) == [0.03]
    assert e_bh([25.0]) == [0.04]
    assert shared_confidence(0.95, 1) == pytest.approx(0.95, rel=1e-15)


def test_sure_corrections_are_exact_for_equal_weights():
    assert bonferroni([0.1, 0.2, 0.3]) == [3 * 0.1, 3 * 0.2, 3 * 0.3]
    assert holm([1e-300] * 3) == [3e-300] * 3


# --- error rates under dependence ----------------------------------------------------------------------------------

K, REPEATS = 12, 3000


def independent(rng):
    return rng.uniform(size=(REPEATS, K))


def positive(rng):
    shared, own = rng.normal(size=(REPEATS, 1)), rng.normal(size=(REPEATS, K))
    return stats.norm.sf(math.sqrt(0.6) * shared + math.sqrt(0.4) * own)


def opposed(rng):
    half = rng.uniform(size=(REPEATS, K // 2))
    return np.concatenate([half, 1 - half], axis=1)


def disjoint(rng):
    """Return p-values that are never small simultaneously, for which Bonferroni's inequality is an equality."""
    return (rng.uniform(size=(REPEATS, 1)) + np.arange(K) / K) % 1.0


DEPENDENCE = [independent, positive, opposed, disjoint]


def least_of_the_null(correct, p, n_false):
    """Return the smallest corrected p-value of a true null in each repeat; the first `n_false` are not null."""
    p = p.copy()
    p[:, :n_false] = 1e-12
    return np.array([min(correct(row.tolist())[n_false:]) for row in p])


def wrong(correct, p, a, n_false):
    """Return the repeats in which a true null is rejected."""
    return int(np.count_nonzero(least_of_the_null(correct, p, n_false) <= a))


def benjamini_hochberg(p):
    order = np.argsort(p)
    level = np.asarray(p)[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum.accumulate(level[::-1])[::-1]
    return adjusted.tolist()


def unequal(p):
    return holm(p, weights=np.arange(1.0, K + 1).tolist())


@pytest.mark.parametrize("n_false", [0, 6])
@pytest.mark.parametrize("law", DEPENDENCE, ids=lambda law: law.__name__)
@pytest.mark.parametrize("correct", [bonferroni, holm, unequal], ids=lambda c: c.__name__)
def test_any_false_rejection_is_as_rare_as_it_should_be(correct, law, n_false):
    least = least_of_the_null(correct, law(np.random.default_rng(1)), n_false)
    for a in (0.2, 0.05):
        assert np.count_nonzero(least <= a) <= quantile(1 - 1e-6, REPEATS, a)


def test_holm_spends_all_of_its_level_in_the_worst_case():
    rejected = wrong(holm, disjoint(np.random.default_rng(1)), 0.2, 6)
    assert rejected > quantile(1e-6, REPEATS, 0.2)


@pytest.mark.parametrize(
    ("twin", "law", "n_false"),
    [
        (list, independent, 0),
        (list, positive, 0),
        (benjamini_hochberg, disjoint, 6),
        (lambda p: [x * K / 2 for x in p], disjoint, 0),
        (lambda p: [x * (K - 7) for x in p], disjoint, 6),
    ],
    ids=["none", "none-positive", "false discovery rate as family-wise", "half", "one step too far"],
)
def test_weaker_correction_is_caught(twin, law, n_false):
    assert wrong(twin, law(np.random.default_rng(1)), 0.2, n_false) > quantile(1 - 1e-6, REPEATS, 0.2)


def false_discovery_rate(correct, e, a, n_false):
    """Return the mean share of true nulls among the rejected; the first `n_false` are not null."""
    shares = []
    for row in e:
        rejected = np.array(correct(row.tolist())) <= a
        shares.append(rejected[n_false:].sum() / max(1, rejected.sum()))
    return float(np.mean(shares))


def disjoint_bets(a, n_false):
    """Return null e-values that just suffice, never simultaneously; the others are always rejected."""
    size = K / (a * (n_false + 1)) * (1 + 1e-9)
    chance = 1.0 / size
    which = np.random.default_rng(2).uniform(size=REPEATS)[:, None]
    e = np.where((which >= np.arange(K) * chance) & (which < np.arange(1, K + 1) * chance), size, 0.0)
    e[:, :n_false] = math.inf
    return e


def correlated_bets(n_false, spread=2.0):
    rng = np.random.default_rng(3)
    z = math.sqrt(0.7) * rng.normal(size=(REPEATS, 1)) + math.sqrt(0.3) * rng.normal(size=(REPEATS, K))
    z[:, :n_false] += 3.0
    return np.exp(spread * z - 0.5 * spread**2)


@pytest.mark.parametrize("a", [0.2, 0.05])
@pytest.mark.parametrize("n_false", [0, 3])
def test_false_discovery_rate_of_e_bh_holds_under_dependence(a, n_false):
    limit = quantile(1 - 1e-6, REPEATS, a) / REPEATS
    assert false_discovery_rate(e_bh, disjoint_bets(a, n_false), a, n_false) <= limit
    assert false_discovery_rate(e_bh, correlated_bets(n_false), a, n_false) <= limit
    nulls = [e_from_p(row) for row in disjoint(np.random.default_rng(4))]
    assert false_discovery_rate(e_bh, nulls, a, 0) <= limit


def test_e_bh_uses_its_whole_level_in_the_worst_case_and_has_power():
    a = 0.2
    assert false_discovery_rate(e_bh, disjoint_bets(a, 0), a, 0) > quantile(1e-6, REPEATS, a) / REPEATS
    rejected = np.array([e_bh(row.tolist()) for row in correlated_bets(6)]) <= 0.05
    assert rejected[:, :6].mean() > 0.4


def test_e_values_without_correction_are_caught():
    def uncorrected(e):
        return [1 / x if x else 1.0 for x in e]

    e = np.where(disjoint_bets(0.9, 0) > 0, 1 / 0.08, 0.0)  # each with chance .075: mean below 1
    assert false_discovery_rate(uncorrected, e, 0.08, 0) > quantile(1 - 1e-6, REPEATS, 0.08) / REPEATS
    assert false_discovery_rate(e_bh, e, 0.08, 0) <= quantile(1 - 1e-6, REPEATS, 0.08) / REPEATS


def best_of(n, *, confidence, repeats):
    """Return the largest of `n` bounds on fresh scores of the same law, repeatedly."""
    level = {"n_out": 150, "n_in": 150, "confidence": confidence, "seed": 7}
    bound = ClopperPearson(threshold=0.999)
    return bounds_drawn(bound, laplace_ratio(1.0), repeats=repeats * n, **level).reshape(repeats, n).max(axis=1)


def test_the_best_of_several_bounds_holds_at_a_shared_confidence_only():
    allowed, repeats = quantile(1 - 1e-6, 150, 0.2), 150
    assert np.count_nonzero(best_of(20, confidence=shared_confidence(0.8, 20), repeats=repeats) > 1.0) <= allowed
    assert np.count_nonzero(best_of(20, confidence=0.8, repeats=repeats) > 1.0) > allowed


# --- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: holm([0.1, 1.5]), r"p_values must lie in \[0, 1\], but hold 1.5"),
        (lambda: bonferroni([math.nan]), r"p_values must lie in \[0, 1\], but hold nan"),
        (lambda: e_from_p([-0.1]), r"p_values must lie in \[0, 1\], but hold -0.1"),
        (lambda: e_bh([1.0, -2.0]), "e_values must be >= 0, but hold -2.0"),
        (lambda: holm([[0.1]]), r"p_values must be a list of numbers, but have shape \(1, 1\)"),
        (lambda: holm([0.1], weights=[1.0, 2.0]), "weights must be one for each of the 1 hypotheses, but are 2"),
        (lambda: holm([0.1], weights=[0.0]), "weights must be finite and > 0, but hold 0.0"),
        (lambda: shared_confidence(0.9, 0), "n must be a whole number >= 1, but is 0"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
