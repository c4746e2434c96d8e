"""The test of a whole claimed curve by the limits of a bound: its power at every delta, and its level.

Null: the curve of the pair lies nowhere below the claimed one. False alarms of the random tests: 1e-6 each.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.audit import calls

from dpassay.audit import AuditResult, Verdict, audit
from dpassay.audit.bounds.base import PairBound
from dpassay.audit.bounds.curve import contradicting, refute
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.simultaneous import SimultaneousBand, band
from dpassay.audit.calibration.laws import gaussian, geometric, laplace, randomized_response
from dpassay.audit.evidence.scores import PairScores, Tally
from dpassay.mechanisms import Laplace, Neighbours
from dpassay.mechanisms.accounting import ApproximateDP, ExactDP, GaussianDP, LaplaceDP, PrivacyLossDP, PureDP
from dpassay.mechanisms.accounting.kinds.exact import lower_hull

pytestmark = pytest.mark.usefixtures("without_power")

BAND = SimultaneousBand()
PAIR = Neighbours([0.0], [1.0], "replace_one")


def laplace_noise(scale):
    def noisy(dataset, size, rng):
        return dataset[0] + rng.laplace(scale=scale, size=size)

    return noisy


def publishes_one_in_fifty(dataset, size, rng):
    """Release the secret itself with probability 0.02, and noise otherwise: (0, 0.02)-DP and no better."""
    return np.where(rng.random(size) < 0.02, 10.0 + dataset[0], rng.random(size))


# --- where the claim is (epsilon, delta), the curve says what the bound says -----------------------------------------


@given(
    hits=st.tuples(st.integers(0, 60), st.integers(0, 80)),
    epsilon=st.floats(0.01, 4),
    delta=st.floats(0, 0.3),
    level=st.floats(1e-6, 0.4),
)
def test_epsilon_delta_curve_is_contradicted_where_its_epsilon_is_exceeded(hits, epsilon, delta, level):
    limits = Rectangle.at(*hits, n_out=60, n_in=80, significance=level)
    assert bool(contradicting(limits, PureDP(epsilon))) == bool(limits.log_ratio(0.0) > epsilon)
    assert bool(contradicting(limits, ApproximateDP(epsilon, delta))) == bool(limits.log_ratio(delta) > epsilon)


@pytest.mark.parametrize("claim", [0.6, 0.9])
def test_pure_claim_gets_the_same_p_value_from_the_curve_as_from_the_bound(claim):
    rng = np.random.default_rng(1)
    scores = PairScores(rng.laplace(size=400), 1 + rng.laplace(size=400))
    for bound in (BAND, ClopperPearson(threshold=1.0)):
        at_delta = calls.p_value(bound, scores, epsilon=claim, delta=0.0)
        assert calls.claim_p_value(bound, scores, PureDP(claim)) == pytest.approx(at_delta, rel=1e-5)


# --- noise-free ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("claimed", "false"), [(0.9, True), (1.0, False), (1.1, False)])
def test_noise_free_gaussian_scores_refute_false_gaussian_claims(claimed, false):
    limits = band(calls.quantiles(stats.norm(), stats.norm(loc=1), 20_000).tally, confidence=0.95)
    assert (limits.refutes(GaussianDP(claimed)) is not None) == false


def test_curve_violation_names_a_promise_that_the_limits_break():
    scores = calls.quantiles(stats.laplace(), stats.laplace(loc=1.5), 20_000)
    limits = band(scores.tally, confidence=0.95)
    claim = GaussianDP(1.0)
    where = limits.refutes(claim)
    assert where.delta == pytest.approx(claim.delta(where.epsilon))
    assert where.delta_lower == pytest.approx(float(limits.delta_lower(where.epsilon)))
    assert where.fnr < where.claimed_fnr
    assert where.claimed_fnr == pytest.approx(float(claim.tradeoff(where.fpr)))
    grid = np.linspace(0, 4, 2001)
    gap = limits.delta_lower(grid) - claim.delta(grid)
    assert where.delta_lower - where.delta == pytest.approx(gap.max(), abs=1e-5)  # where it is largest
    assert gap.max() > 0.05
    assert where.hits == scores.hits(where.threshold)
    assert "the claim promises delta <=" in str(where)


@given(seed=st.integers(0, 300), mu=st.floats(0.3, 2.5))
def test_curve_is_refuted_exactly_where_the_hull_of_the_limits_leaves_it(seed, mu):
    rng = np.random.default_rng(seed)
    limits = band(PairScores(rng.normal(size=80), 1.5 + rng.laplace(size=80)).tally, confidence=0.8)
    claim = GaussianDP(mu)
    x, y = lower_hull(np.append([0.0, 1.0], limits.fpr_upper), np.append([1.0, 0.0], limits.fnr_upper))
    assert (limits.refutes(claim) is not None) == bool(np.any(y * (1 + 1e-9) < claim.tradeoff(x)))


def test_curve_violation_needs_a_contradiction():
    limits = Rectangle.at([3], [90], n_out=100, n_in=100, significance=0.025)
    events = Tally(np.zeros(1), np.array([3]), np.array([90]), 100, 100)
    assert refute(limits, PureDP(0.5), method="m", events=events).threshold == 0.0
    assert refute(limits, PureDP(0.5), method="m").threshold is None
    assert refute(limits, PureDP(5.0), method="m", events=events) is None


# --- coverage: a true curve is refuted no more often than it may be --------------------------------------------------

TRUE = [randomized_response(1.0), randomized_response(1.0, 0.1), geometric(0.7), laplace(1.0), gaussian(1.0)]


def refuted(bound, law, *, significance, repeats, n, seed):
    draws = law.draws(np.random.default_rng(seed), n, n)
    return sum(
        calls.curve_test(bound, next(draws), law.curve, confidence=1 - significance) is not None for _ in range(repeats)
    )


@pytest.mark.parametrize("significance", [0.2, pytest.param(0.05, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", TRUE, ids=lambda law: law.name)
@pytest.mark.parametrize("bound", [BAND, ClopperPearson(threshold=1.0)], ids=lambda bound: bound.name)
def test_true_curve_is_refuted_no_more_often_than_it_may(bound, law, significance):
    n_refuted = refuted(bound, law, significance=significance, repeats=300, n=60, seed=3)
    assert n_refuted <= quantile(1 - 1e-6, 300, significance)


class _EveryThresholdAtFullLevel(calls.Own, PairBound):
    """Bug: a band without its correction."""

    name = "twin"

    def violation(self, scores, claim, *, confidence):
        tally = scores.tally
        hits = tally.hits_out, tally.hits_in
        limits = Rectangle.at(*hits, n_out=tally.n_out, n_in=tally.n_in, significance=(1 - confidence) / 2)
        return refute(limits, claim, method=self.name, events=tally)


@pytest.mark.parametrize(
    "law", [laplace(1.0), pytest.param(gaussian(1.0), marks=pytest.mark.slow)], ids=lambda law: law.name
)
def test_band_without_its_correction_is_caught(law):
    n_refuted = refuted(_EveryThresholdAtFullLevel(), law, significance=0.2, repeats=150, n=1000, seed=3)
    assert n_refuted > quantile(1 - 1e-6, 150, 0.2)


@pytest.mark.parametrize("bound", [BAND, ClopperPearson(threshold=1.0)], ids=lambda bound: bound.name)
def test_p_value_of_a_curve_is_the_significance_at_which_it_is_refuted(bound):
    rng = np.random.default_rng(2)
    scores = PairScores(rng.normal(size=300), 1.2 + rng.normal(size=300))
    for mu in (0.6, 0.8, 1.0):
        p = calls.claim_p_value(bound, scores, GaussianDP(mu))
        assert calls.curve_test(bound, scores, GaussianDP(mu), confidence=1 - min(0.999, 1.003 * p)) is not None
        assert calls.curve_test(bound, scores, GaussianDP(mu), confidence=1 - p / 1.003) is None
    assert calls.claim_p_value(bound, scores, GaussianDP(8.0)) == 1.0


# --- the whole way ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole_band", [True, False], ids=["simultaneous-band", "clopper-pearson"])
@pytest.mark.parametrize(
    ("mechanism", "claim", "delta", "threshold"),
    [
        (laplace_noise(1 / 1.5), GaussianDP(1.0), 1e-5, 0.5),  # claimed epsilon 4.4: Laplace noise of 1.5 is below
        (publishes_one_in_fifty, PureDP(0.5), 0.05, 10.5),
        (laplace_noise(1 / 1.15), ApproximateDP(1.0, 1e-5), 0.3, 1.0),
    ],
    ids=["laplace-as-gaussian", "publishes-a-person", "epsilon-1.15-as-1"],
)
def test_claim_that_fails_at_another_delta_is_refuted(mechanism, claim, delta, threshold, whole_band):
    bound = BAND if whole_band else ClopperPearson(threshold=threshold)
    level = {"claim": claim, "delta": delta, "bound": bound}
    result = audit(mechanism, PAIR, **level, attack="threshold", trials=30_000, seed=5)
    assert result.bound.epsilon <= result.claim
    assert result.verdict is Verdict.VIOLATION
    assert result.p_value < 1e-3
    assert result.curve_violation.delta_lower > result.curve_violation.delta
    assert "curve " in result.summary()
    assert f"{result.curve_violation.hits[1]:,} of " in result.summary(details=False)
    assert result.summary(details=False).startswith("verdict     VIOLATION:")
    assert "whole claimed curve" in str(result.ledger)


@pytest.mark.parametrize(
    "claim",
    [GaussianDP(1.7), ApproximateDP(1.5, 1e-5), PureDP(1.5), LaplaceDP(1.5), PrivacyLossDP.laplace(1.5)],
    ids=str,
)
def test_true_claims_are_not_refuted(claim):
    claim = claim if claim.relation is None else claim.under("replace_one")
    level = {"claim": claim, "delta": 1e-3, "confidence": 1 - 1e-6, "bound": "simultaneous-band"}
    result = audit(laplace_noise(1 / 1.5), PAIR, **level, attack="threshold", trials=2000, seed=5)
    assert result.verdict is not Verdict.VIOLATION
    assert result.curve_violation is None
    assert result.p_value > 1e-6


@pytest.mark.parametrize("repeats", [50, pytest.param(400, marks=pytest.mark.slow)])
def test_p_values_of_true_curves_are_valid(repeats):
    p = np.array(
        [
            audit(Laplace(1.0), claim=LaplaceDP(1.0), bound="simultaneous-band", trials=150, seed=s).p_value
            for s in range(repeats)
        ]
    )
    for level in (0.05, 0.2, 0.5):
        assert np.count_nonzero(p <= level) <= quantile(1 - 1e-6, repeats, level)


def test_p_value_belongs_to_the_verdict():
    options = {"claim": GaussianDP(1.0), "delta": 1e-5, "bound": "simultaneous-band", "attack": "threshold", "seed": 1}
    noise = laplace_noise(1 / 1.4)
    p = audit(noise, PAIR, trials=1500, **options).p_value
    assert 1e-12 < p < 0.5
    verdicts = [audit(noise, PAIR, trials=1500, confidence=1 - a, **options).verdict for a in (1.01 * p, p / 1.01)]
    assert verdicts == [Verdict.VIOLATION, Verdict.CONSISTENT]


def test_power_at_another_delta_is_not_underpowered():
    def noisy(dataset, size, rng):
        return dataset[0] + 0.25 * rng.normal(size=size)

    level = {"claim": GaussianDP(4.0), "delta": 1e-5, "attack": "threshold", "trials": 3000, "seed": 1}
    assert audit(noisy, PAIR, bound="simultaneous-band", **level).ceiling < 24.3  # the claimed epsilon is 24.4
    assert audit(noisy, PAIR, bound="simultaneous-band", **level).verdict is Verdict.CONSISTENT
    pure = {"claim": PureDP(24.0), "delta": 0.0, "attack": "threshold", "trials": 3000, "seed": 1}
    assert audit(noisy, PAIR, bound="simultaneous-band", **pure).verdict is Verdict.UNDERPOWERED


def test_curve_violation_survives_json():
    options = {"claim": GaussianDP(1.0), "delta": 1e-5, "bound": "simultaneous-band", "attack": "threshold"}
    result = audit(laplace_noise(0.5), PAIR, trials=2000, seed=1, **options)
    again = AuditResult.from_json(result.to_json())
    assert again.curve_violation == result.curve_violation is not None
    assert again.to_json() == result.to_json()


def test_asymmetric_pair_is_held_against_its_symmetric_curve():
    law = ExactDP([0.5, 0.5, 0.0], [0.4, 0.3, 0.3])
    out, in_ = (np.repeat(np.arange(3.0), [round(1000 * p) for p in side]) for side in (law.p0, law.p1))
    for scores in (PairScores(out, in_), PairScores(-in_, -out)):
        limits = band(scores.tally, confidence=0.8)
        assert limits.refutes(law) is None
        assert limits.refutes(PureDP(2.0)) is not None
