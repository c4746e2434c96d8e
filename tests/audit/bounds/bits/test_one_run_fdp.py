"""The bound from guesses for a family of curves: known values, soundness against every mechanism, coverage, twins."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.special import ndtr, ndtri
from tests.audit import calls
from tests.audit.one_run_laws import (
    bit_misses,
    gaussian,
    gaussian_together,
    hesitant_response,
    hull_vertices,
    leaky_response,
    quantile_scores,
    random_game,
    response,
    worst_probability,
)

from dpassay.audit import AuditResult, audit
from dpassay.audit.bounds.base import LowerBound
from dpassay.audit.bounds.bits import one_run_fdp
from dpassay.audit.bounds.bits.guessing import Guesses, Guessing
from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.bits.one_run_fdp import (
    OneRunFDP,
    _curve_p_value,
    _largest_theta,
    _least_theta,
    refuted,
)
from dpassay.audit.bounds.families import epsilon_of, family_of
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, LaplaceDP, PrivacyLossDP, PureDP
from dpassay.mechanisms.core import AccountingError, ParameterError, number

GAUSSIAN = family_of(GaussianDP(1.0))
PURE = family_of(PureDP(1.0))
LAPLACE = family_of(LaplaceDP(1.0))
LEAKY = family_of(ApproximateDP(1.0, 0.05))


# --- known values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "mu", "epsilon"),
    [((1000, 100, 90), 0.6025, 2.4564), ((1000, 1000, 700), 0.35721, 1.37198), ((1000, 100, 100), 1.22553, 5.54903)],
)
def test_bounds_agree_with_the_published_recursion(counts, mu, epsilon):
    # Mahloujifar, Melis and Chaudhuri (2024), evaluated by an independent program; to the digits printed
    theta = _least_theta(GAUSSIAN, *counts, significance=0.05)
    assert theta == pytest.approx(mu, abs=6e-6)
    assert GaussianDP(theta).epsilon(1e-5) == pytest.approx(epsilon, abs=6e-5)


GOLDEN = [
    (0, None, 0.0, 0.0),
    (1, (406, 379), 0.481919, 2.164749),
    (2, (938, 934), 0.970285, 4.7218075),
    (4, (5436, 5436), 1.713080, 9.133752),
]


@pytest.mark.parametrize(("mu", "best", "expected_theta", "epsilon"), GOLDEN)
def test_arithmetic_of_a_threshold_choice_that_is_no_proof(mu, best, expected_theta, epsilon):
    # jax_privacy tests/auditing_test.py (8967688c), to 1e-5: positive guesses, Bonferroni over the vertices of the ROC
    # hull. The hull is computed from the bits, which no union bound covers: arithmetic only.
    hull = hull_vertices(quantile_scores(mu))
    counts, level = [(x + y, y) for x, y in hull if x + y > 0], 0.05 / len(hull)
    if best is None:
        assert max(_least_theta(GAUSSIAN, 20_000, *count, significance=level) for count in counts) == 0.0
        return
    theta = _least_theta(GAUSSIAN, 20_000, *best, significance=level)
    assert best in counts
    assert theta == pytest.approx(expected_theta, abs=6e-7)
    assert GaussianDP(theta).epsilon(1e-6) == pytest.approx(epsilon, rel=1e-5)
    assert not any(_refuted(GaussianDP(theta + 1e-7), 20_000, *count, level) for count in counts)


@pytest.mark.parametrize(("mu", "least"), [(1, 3.15), (2, 6.59), (4, 13.68)])
def test_valid_bound_beats_the_arithmetic(mu, least):
    bound = OneRunFDP(curve_family=GAUSSIAN, negatives=0.5)
    bound = calls.lower_bound(bound, quantile_scores(mu), delta=1e-6, confidence=0.95)
    assert least < bound.epsilon < GaussianDP(mu).epsilon(1e-6)
    assert bound.epsilon > 1.39 * {row[0]: row[3] for row in GOLDEN}[mu]


@pytest.mark.parametrize(
    ("mu", "r", "fdp", "steinke"), [(0.5, 100, 0.86, 0.60), (1, 1000, 1.29, 0.69), (2, 100, 5.22, 3.28)]
)
def test_mean_on_gaussian_noise_is_as_simulated_elsewhere(mu, r, fdp, steinke):
    # m = 1000, delta = 1e-5, 95 %: means of an independent simulation (positive and negative guesses), two digits
    level = {"shape": (1, 1000), "repeats": 100, "confidence": 0.95, "delta": 1e-5}
    assert bit_misses(OneRunFDP(curve_family=GAUSSIAN, guesses=r), gaussian(mu), **level).mean == pytest.approx(
        fdp, abs=0.13 + 0.01 * fdp
    )
    assert bit_misses(OneRun(guesses=r), gaussian(mu), **level).mean == pytest.approx(steinke, abs=0.1)


# --- soundness against all mechanisms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "r", "v", "mu"), [(30, 30, 22, 0.5), (60, 15, 13, 1.0), (300, 20, 19, 1.0), (100, 30, 27, 1.0)]
)
def test_p_value_covers_every_mechanism_with_the_curve(m, r, v, mu):
    claim = GaussianDP(mu)
    epsilons = np.linspace(0.0, 6.0 * mu, 40)
    largest = worst_probability(claim.delta(epsilons), m, r, v, epsilons)
    assert largest < _curve_p_value(claim, m, r, v) < 2.0 * largest
    assert _curve_p_value(claim, r, r, v) < largest or m == r  # counting guessed bits only would be unsound


def test_recursion_agrees_with_the_sum_of_masses_that_it_stands_for():
    # the law that the proof builds, mass by mass: total mass 1 at the p-value
    claim, (m, r, v) = GaussianDP(1.0), (60, 15, 13)
    law = np.zeros(r + 1)
    law[v] = _curve_p_value(claim, m, r, v)
    k = np.arange(r + 1)
    for c in range(v, 0, -1):
        right = float(np.sum((k * law)[c:])) / m
        wrong = float(np.sum(((r - k) * law)[c:])) / m
        calls = stats.norm.cdf(stats.norm.ppf(right) - 1.0)
        law[c - 1] = max(0.0, calls - wrong) * m / (r - c + 1)
    assert law.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("claim", [GaussianDP(1.0), PrivacyLossDP.laplace(0.5, steps=3)], ids=str)
def test_critical_count_is_the_first_count_that_refutes_the_curve(claim):
    needed = one_run_fdp._needed(claim)
    for m, r in ((100, 10), (60, 60)):
        refuting = [v for v in range(r + 1) if refuted(needed, m, r, v, 0.05)]
        fixed = OneRunFDP(guesses=r).fix(Statement(claim, delta=1e-5), None, (m,))
        assert refuting == list(range(fixed._critical(m, r, 0.05), r + 1))


def test_curve_of_privacy_losses_is_the_same_for_one_number_as_for_many():
    claim = PrivacyLossDP.gaussian(1.0, sampling_probability=0.1, steps=20)
    x = np.concatenate([[1e-300, 1e-12, 1e-6], np.linspace(0.01, 0.999, 60)])
    needed = one_run_fdp._needed(claim)
    assert [needed(each) for each in x] == pytest.approx(claim.tradeoff(1.0 - x), rel=1e-9, abs=1e-12)
    # every line of the profile lies below
    epsilons = np.linspace(0.0, 8.0, 400)
    lines = 1.0 - np.asarray(claim.delta(epsilons)) - np.exp(epsilons) * (1.0 - x[:, None])
    assert (np.array([needed(each) for each in x]) >= lines.max(axis=1) - 1e-9).all()


@settings(max_examples=30)
@given(r=st.integers(2, 200), share=st.floats(0.55, 1.0), epsilon=st.floats(0.1, 3.0))
def test_p_value_under_a_pure_curve_is_above_the_binomial_tail(r, share, epsilon):
    v = math.ceil(share * r)
    binomial = stats.binom.sf(v - 1, r, 1 / (1 + math.exp(-epsilon)))
    assert _curve_p_value(PureDP(epsilon), 2 * r, r, v) >= min(1.0, binomial) * (1 - 1e-6)


def test_larger_alphabet_of_randomised_response_is_covered_by_its_own_law():
    # k-ary response at epsilon: right guesses are Bin(r, e^eps / (e^eps + k - 1)), and the p-value is above that tail
    r, v, epsilon = 200, 150, 2.0
    for k in (2, 4, 10):
        rate = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        v = round(rate * r + 15)
        tail = stats.binom.sf(v - 1, r, rate)
        p_value = _curve_p_value(PureDP(epsilon), r, r, v, alphabet=k)
        assert tail < p_value < 3 * tail


# --- properties ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [PureDP(1.0), GaussianDP(1.0), LaplaceDP(1.0), ApproximateDP(1.0, 1e-3)], ids=str)
def test_the_claim_is_exceeded_where_the_bound_exceeds_its_epsilon(claim):
    stated, exceeded = Statement(claim, delta=1e-3), []
    fixed = OneRunFDP().fix(stated, None, (200,))
    for mu in np.linspace(0.5, 4.0, 12):
        scores = random_game(int(100 * mu), mu=mu)
        exceeded.append(fixed.exceeds_claim(scores))
        assert exceeded[-1] == (fixed.lower_bound(scores).epsilon > stated.epsilon)
    assert 0 < sum(exceeded) < len(exceeded)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 0.3, 2.0, 40.0, 800.0])
def test_the_curve_of_pure_privacy_is_the_same_for_one_number_as_for_many(epsilon):
    x = np.concatenate([[0.0, 5e-324, 1e-300, 1e-9], np.linspace(0.01, 1.0, 100)])
    fpr = np.minimum(1.0, np.nextafter(1.0 - x, 2.0))
    one_by_one = [one_run_fdp._needed(PureDP(epsilon))(float(each)) for each in x]
    assert one_by_one == pytest.approx(PureDP(epsilon).tradeoff(fpr), rel=1e-13, abs=0)


@given(m=st.integers(2, 300), r=st.integers(2, 300), v=st.integers(0, 299))
def test_parameter_grows_with_right_guesses(m, r, v):
    r = min(r, m)
    v = min(v, r - 1)
    less, more = (_least_theta(GAUSSIAN, m, r, one, significance=0.05) for one in (v, v + 1))
    assert less <= more * (1 + 1e-8)
    assert v > r / 2 or less == 0.0


def test_largest_parameter_of_several_counts_is_that_of_the_best():
    counts = [(1000, 500, 330), (1000, 125, 100), (1000, 31, 26), (1000, 100, 40)]
    levels = [0.02, 0.01, 0.04, 0.02]
    each = [_least_theta(GAUSSIAN, *count, significance=level) for count, level in zip(counts, levels, strict=True)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        theta, index = _largest_theta(GAUSSIAN, [counts[i] for i in order], [levels[i] for i in order])
        assert (theta, order[index]) == (max(each), int(np.argmax(each)))
    assert _largest_theta(GAUSSIAN, counts[3:], levels[3:]) == (0.0, 0)


def test_family_is_that_of_the_claim_and_no_other():
    assert calls.against(OneRunFDP(), LaplaceDP(2.0)).curve_family.title == "LaplaceDP for some epsilon"
    assert calls.against(OneRunFDP(curve_family=PURE), PureDP(3.0)).curve_family.claimed == 3.0
    with pytest.raises(ParameterError, match="could be reported as a violation"):
        calls.against(OneRunFDP(curve_family=PURE), LaplaceDP(2.0))
    scores = random_game(5, m=2000)
    by_family = {
        claim: calls.lower_bound(calls.against(OneRunFDP(), claim), scores, delta=1e-5, confidence=0.95)
        for claim in (PureDP(1.0), LaplaceDP(1.0), GaussianDP(1.0), ApproximateDP(1.0, 1e-5))
    }
    general = calls.lower_bound(OneRun(), scores, delta=1e-5, confidence=0.95)
    assert by_family[GaussianDP(1.0)].epsilon > 1.2 * general.epsilon
    assert by_family[PureDP(1.0)].epsilon == pytest.approx(general.epsilon, rel=0.05)
    assert by_family[ApproximateDP(1.0, 1e-5)].epsilon == pytest.approx(general.epsilon, rel=0.05)


def test_result_names_its_family_and_the_bound_without_it():
    scores = random_game(1, n_runs=4)
    bound = calls.lower_bound(OneRunFDP(curve_family=GAUSSIAN), scores, delta=1e-6, confidence=0.95)
    assert bound.assumptions == ("the trade-off curve of one bit is that of GaussianDP for some mu",)
    looked_at = {entry.what: entry for entry in bound.ledger}
    without = calls.lower_bound(OneRun(), scores, delta=1e-6, confidence=0.95).epsilon
    assert looked_at["without family"].looked_at == f"epsilon >= {number(without)} at delta = 1e-6"
    assert looked_at["family"].correction.startswith("fixed beforehand; mu >= ")
    result = replace(audit(Laplace(epsilon=1.0), trials=500, seed=1), bounds=(bound,), claim=bound.epsilon)
    assert AuditResult.from_json(result.to_json()).bounds == (bound,)


def test_what_cannot_be_answered_is_refused():
    with pytest.raises(AccountingError, match=r"delta is 0, where the claim GaussianDP"):
        calls.lower_bound(OneRunFDP(curve_family=GAUSSIAN), random_game(1), delta=0.0, confidence=0.95)
    with pytest.raises(ParameterError, match=r"one-run-fdp reads BitScores"):
        calls.lower_bound(
            OneRunFDP(curve_family=GAUSSIAN), PairScores(np.zeros(3), np.ones(3)), delta=1e-5, confidence=0.95
        )
    with pytest.raises(ParameterError, match="alphabet must be a whole number >= 2, but is 1"):
        _least_theta(GAUSSIAN, 10, 5, 4, significance=0.05, alphabet=1)
    with pytest.raises(ParameterError, match="guesses must be at most the number of bits, 200, but is 300"):
        calls.lower_bound(OneRunFDP(curve_family=GAUSSIAN, guesses=300), random_game(1), delta=1e-5, confidence=0.95)


# --- coverage --------------------------------------------------------------------------------------------------------

COVERED = [
    (OneRunFDP(curve_family=GAUSSIAN), gaussian(0.5), 1e-5, (1, 200)),
    (OneRunFDP(curve_family=GAUSSIAN, guesses=20), gaussian(1.0), 1e-5, (1, 200)),
    (OneRunFDP(curve_family=GAUSSIAN, guesses=1.0), gaussian(0.2), 1e-3, (1, 60)),
    (OneRunFDP(curve_family=GAUSSIAN, guesses=0.2), gaussian_together(0.5), 1e-3, (5, 40)),
    (OneRunFDP(curve_family=PURE, guesses=60, center=0.0), response(1.0), 0.0, (1, 60)),
    (OneRunFDP(curve_family=PURE, guesses=(10, 60), center=0.0), hesitant_response(1.5), 0.0, (1, 60)),
    (OneRunFDP(curve_family=PURE, guesses=(10, 20, 40, 80, 160)), response(0.0), 0.0, (1, 200)),
    (OneRunFDP(curve_family=LEAKY, guesses=60, center=0.0), leaky_response(0.5, 0.05), 0.05, (1, 60)),
]  # fmt: skip


@pytest.mark.parametrize("case", COVERED, ids=lambda case: f"{case[1].name}-{case[0].guesses}-{case[3]}")
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(case):
    bound, law, delta, shape = case
    coverage = bit_misses(bound, law, shape=shape, repeats=400, confidence=0.8, delta=delta)
    assert coverage.holds, coverage


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("case", COVERED, ids=lambda case: f"{case[1].name}-{case[0].guesses}-{case[3]}")
def test_bound_never_exceeds_exact_epsilon_in_long_runs(case, confidence):
    bound, law, delta, shape = case
    coverage = bit_misses(bound, law, shape=shape, repeats=6000, confidence=confidence, delta=delta, seed=7)
    assert coverage.holds, coverage


# --- broken twins: the same harness has to catch them ----------------------------------------------------------------


class _Twin(calls.Own, OneRunFDP):
    """An intentionally broken bound."""

    def lower_bound_at(self, scores, *, delta, confidence):
        theta = self.wrong(scores, 1 - confidence)
        epsilon = epsilon_of(self.curve_family or GAUSSIAN, theta, delta)
        return LowerBound(epsilon, delta, confidence, "twin", scores.n_bits, math.inf)


class _Peeks(_Twin):
    """Bug: the number of guesses is chosen with the bits, at the full level."""

    def wrong(self, scores, significance):
        sizes = tuple(range(2, scores.n_bits + 1, 2))
        counts = zip(sizes, Guessing(center=self.center).right(scores, tuple(map(Guesses, sizes))), strict=True)
        return max(
            _least_theta((self.curve_family or GAUSSIAN), scores.n_bits, *count, significance=significance)
            for count in counts
        )


class _PlugIn(_Twin):
    """Bug: the parameter at which the observed number of right guesses is the expected one."""

    def wrong(self, scores, significance):
        (right,) = Guessing(center=self.center).right(scores, (Guesses(self.guesses),))
        return max(0.0, 2 * stats.norm.ppf((right + 0.5) / (self.guesses + 1)))


@pytest.mark.parametrize(
    ("twin", "law", "delta", "shape"),
    [
        (_Peeks(curve_family=PURE, center=0.0), response(0.3), 0.0, (1, 60)),
        (_Peeks(center=0.05), gaussian(0.1), 1e-3, (1, 60)),
        (_PlugIn(guesses=60, center=0.25), gaussian(0.5), 1e-3, (1, 60)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, OneRunFDP) else None,
)
def test_broken_twin_is_caught(twin, law, delta, shape):
    coverage = bit_misses(twin, law, shape=shape, repeats=200, confidence=0.8, delta=delta)
    assert not coverage.holds, coverage


def _refuted(claim, m, r, v, significance):
    return refuted(lambda x: float(ndtr(ndtri(x) - claim.mu)), m, r, v, significance)
