"""Rules of published audits report a leak where none is, more often than they say; bounds do not."""

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.numerics.binomial import lower, upper
from dpassay.audit.calibration.certificate import CertificatePlan, CertificateSetting, certify
from dpassay.audit.calibration.laws import no_leak
from dpassay.audit.calibration.methods import BOUND, PUBLISHED, CoverageSetup, Sample, catalogue_methods, uncorrected
from dpassay.audit.calibration.published import (
    SETTINGS,
    GridOfGuesses,
    PublishedSetting,
    TenNumbersOfGuesses,
    ThresholdOfMostRightGuesses,
    ThresholdsOnTheScores,
    published_rules,
)
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms.accounting import ApproximateDP

ONE_RUN = (TenNumbersOfGuesses(), GridOfGuesses(), ThresholdsOnTheScores(), ThresholdOfMostRightGuesses())
FALSE_ALARM = 1e-6


def coins(seed, n=1_000):
    """Return the scores of one run that does not depend on the coins."""
    rng = np.random.default_rng(seed)
    return BitScores(rng.random(n) < 0.5, rng.normal(size=n))


def tried(name, bits, scores):
    """Return (guesses, right) of everything that a rule tries, one by one."""
    order = np.argsort(scores)
    b, s = bits[order], scores[order]
    n = len(b)
    if name == "ten numbers of guesses":
        return [(r, sum(b[n - r :])) for r in range(10, 101, 10)]
    if name == "grid of guesses in and out":
        ends = range(0, n, int(n**0.5))
        return [(k + n - j, sum(~b[:k]) + sum(b[j:])) for j in ends for k in ends if k < j]
    if name == "200 thresholds, guesses in":
        return [(sum(s >= t), sum(b[s >= t])) for t in np.linspace(s[0], s[-1], 200)]
    return [(n, max(sum(~b[:k]) + sum(b[k:]) for k in range(n + 1)))]


@pytest.mark.parametrize("rule", ONE_RUN, ids=lambda rule: rule.name)
def test_counts_are_those_of_a_loop_over_what_the_rule_tries(rule):
    evidence = coins(5, 144)
    guesses, right = rule.counts(evidence)
    expected = tried(rule.name, evidence.bits.ravel(), evidence.scores.ravel())
    assert sorted(zip(guesses.tolist(), right.tolist(), strict=True)) == sorted((int(r), int(v)) for r, v in expected)
    best = max(float(lower(v, r, 0.05)) for r, v in expected)
    assert rule.epsilon(evidence, 0.95) == pytest.approx(max(0.0, np.log(best / (1.0 - best))))


@pytest.mark.parametrize("rule", ONE_RUN, ids=lambda rule: rule.name)
def test_one_run_rule_reports_a_leak_more_often_than_it_says(rule):
    confidence, repeats = (0.99, 3_000) if rule.name.startswith("ten") else (0.95, 300)
    found = sum(rule.epsilon(coins([1, i]), confidence) > 0.0 for i in range(repeats))
    assert found > stats.binom.isf(FALSE_ALARM, repeats, 1.0 - confidence)


@pytest.mark.parametrize("guesses", ["grid", 100, 1.0])
def test_one_run_bound_keeps_its_level_on_the_same_scores(guesses):
    bound = OneRun(guesses=guesses).fix(Statement(ApproximateDP(1.0, 1e-5), 1e-5), None, (1_000,))
    found = sum(bound.lower_bound(coins([1, i])).epsilon > 0.0 for i in range(300))
    assert found <= stats.binom.isf(FALSE_ALARM, 300, 0.05)


@pytest.fixture(scope="module")
def measured():
    setting = CertificateSetting(no_leak(), (0.0, 1e-5), ((300, 300),), 200, few=24)
    plan = CertificatePlan("no leak", (setting,), confidences=(0.95,), numbers=5)
    names = ("clopper-pearson", "joint-exact", "simultaneous-band", "one-run-fdp")
    return certify(plan, [*catalogue_methods(names), *uncorrected(), *published_rules()], seed=3)


def test_bounds_keep_their_level_where_nothing_leaks(measured):
    assert measured.holds, measured.failures
    assert len(measured.bounds) == 2 * 6
    assert all(cell.exact_epsilon == 0.0 for cell in measured.cells)


def test_every_pair_rule_misses_and_none_is_taken_for_a_bound(measured):
    for name in ("best threshold, Gaussian curve", "best event, bootstrap", "event fixed beforehand, Bayesian"):
        assert {cell.kind for cell in measured.of(name)} == {PUBLISHED}
        assert not any(cell.holds for cell in measured.of(name)), name
    assert {cell.kind for cell in measured.bounds} == {BOUND}


def test_credible_interval_never_contains_an_epsilon_of_zero(measured):
    assert {cell.miss_rate for cell in measured.of("event fixed beforehand, Bayesian")} == {1.0}


def test_ceilings_are_those_in_the_literature():
    jagielski, nasr = (setting.ceiling for setting in SETTINGS[:2])
    assert (round(jagielski, 2), round(nasr, 2)) == (4.54, 5.60)


@pytest.mark.parametrize("n", [50, 400])
def test_ceiling_is_what_a_perfect_attack_reports(n):
    bits = np.arange(n) % 2 == 0
    bound = OneRun(guesses=1.0, delta_term="published").fix(Statement(ApproximateDP(1.0, 1e-5), 1e-5), None, (n,))
    perfect = bound.lower_bound(BitScores(bits, bits.astype(float))).epsilon
    assert PublishedSetting("", "one run", n, 0.95, 1e-5).ceiling == pytest.approx(perfect)
    scores = PairScores(np.zeros(n), np.ones(n))
    sample = Sample(scores, scores, np.random.default_rng(0))
    setup = CoverageSetup(no_leak(), 1e-5, 0.95, 2 * n, 2 * n, scores)
    (rule,) = (rule for rule in published_rules() if rule.name == "best threshold, Gaussian curve")
    assert PublishedSetting("", "gaussian", 2 * n, 0.95, 1e-5).ceiling == pytest.approx(rule.measure(setup)(sample))
    fpr = float(upper(0, n, 0.025))
    assert PublishedSetting("", "rates", n, 0.95, 0.0).ceiling == pytest.approx(np.log((1.0 - fpr) / fpr))
