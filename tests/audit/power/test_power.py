"""What this many trials could have shown."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import special
from tests.audit import calls
from tests.audit.coverage import bounds_drawn

from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.families import family_of
from dpassay.audit.bounds.pair.betting import Betting
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.family import Family
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.bounds.pair.simultaneous import SimultaneousBand
from dpassay.audit.calibration.laws import randomized_response
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.power.power import detectable, detectable_epsilon, detectable_in_bits, refutable
from dpassay.mechanisms.accounting import ApproximateDP, ExactDP, GaussianDP, LaplaceDP, PrivacyLossDP, PureDP
from dpassay.mechanisms.core import ParameterError

BOUNDS = [ClopperPearson(), SimultaneousBand()]


def epsilon(bounds, claim, delta=0.0, *, n=1000, confidence=0.95, **options):
    bounds = bounds if isinstance(bounds, list) else [bounds]
    options = {"n_out": n, "n_in": n} | options
    return detectable_epsilon(bounds, Statement(claim, delta, confidence), **options).epsilon


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
@pytest.mark.parametrize(("claim", "delta", "n"), [(1.0, 0.0, 1000), (0.2, 0.0, 400), (2.0, 0.05, 3000)])
def test_perfect_attack_at_the_detectable_epsilon_has_power_90_percent(bound, claim, delta, n):
    level = {"delta": delta, "confidence": 0.95, "n_out": n, "n_in": n}
    least_epsilon = epsilon(bound, ApproximateDP(claim, delta), delta, n=n)
    fixed = ClopperPearson(threshold=2.0) if isinstance(bound, ClopperPearson) else bound

    def shown(epsilon):
        return float(
            (bounds_drawn(fixed, randomized_response(epsilon, delta), repeats=400, seed=1, **level) > claim).mean()
        )

    assert shown(least_epsilon) > 0.9 - 4.8 * math.sqrt(0.09 / 400)
    assert shown(claim + 0.5 * (least_epsilon - claim)) < 0.8  # and it is not needlessly large


def refuted(bound, claim, mu, n, *, repeats, seed):
    """Share of audits of N(0, 1) against N(mu, 1), with a fresh pilot of 200 a side, that refute the claim."""
    rng = np.random.default_rng(seed)
    level = {"delta": 1e-5, "confidence": 0.95}
    n_refuted = 0
    for _ in range(repeats):
        pilot, scores = (PairScores(rng.normal(size=k), mu + rng.normal(size=k)) for k in (200, n))
        ready = calls.fixed(bound, (n, n), **level, claim=claim, pilot=pilot)
        n_refuted += ready.exceeds_claim(scores) or ready.curve_test(scores) is not None
    return n_refuted / repeats


@pytest.mark.parametrize("bound", [JointExact(), Family(), SimultaneousBand()], ids=lambda bound: bound.name)
def test_power_against_a_true_gaussian_is_that_of_a_gaussian_claim(bound):
    """Not so at what randomised response would need, which is less."""
    claim, n = GaussianDP(1.0), 1000
    least_epsilon = epsilon(bound, claim, 1e-5)
    mu = next(mu for mu in np.arange(1.0, 5.0, 0.01) if GaussianDP(mu).epsilon(1e-5) >= least_epsilon)
    assert refuted(bound, claim, mu, n, repeats=20, seed=0) > 0.9 - 4.8 * math.sqrt(0.09 / 20)
    as_randomised_response = ApproximateDP(claim.epsilon(1e-5), 1e-5)
    if isinstance(bound, JointExact):
        assert epsilon(bound, as_randomised_response, 1e-5) < least_epsilon


def test_the_family_is_that_of_the_claim():
    def family(claim):
        return detectable_epsilon([ClopperPearson()], Statement(claim, 1e-5), n_out=3, n_in=3).family  # no search

    assert family(GaussianDP(1.0)) == "GaussianDP for some mu"
    assert family(LaplaceDP(1.0)) == "LaplaceDP for some epsilon"
    assert "noise_multiplier" in family(PrivacyLossDP.gaussian(2.0, sampling_probability=0.1, steps=10))
    assert family(ExactDP([0.3, 0.7], [0.7, 0.3])) == "randomised response with some epsilon and delta = 1e-05"


def test_true_curve_beyond_the_reach_of_a_family_is_randomised_response():
    claim = PrivacyLossDP.gaussian(4.0, sampling_probability=0.01, steps=100)
    power = detectable_epsilon([ClopperPearson()], Statement(claim, 1e-5), n_out=100, n_in=100)
    assert power.family.startswith("randomised response")
    assert 0.5 < power.epsilon < 5.0


@pytest.mark.parametrize("threshold", ["pilot", "online", 0.0])
def test_every_kind_of_betting_has_power(threshold):
    least_epsilon = epsilon(Betting(threshold=threshold), PureDP(1.0), n=2000)
    assert 1.1 < least_epsilon < 1.5


def test_of_several_bounds_the_best_counts():
    claim = GaussianDP(1.0)
    single = [epsilon(bound, claim, 1e-5) for bound in (JointExact(), SimultaneousBand())]
    assert epsilon([JointExact(), SimultaneousBand()], claim, 1e-5) == pytest.approx(min(single), rel=2e-3)


def test_curves_can_be_refuted_where_the_bound_cannot_reach_the_claim():
    """100 trials a side: no bound at delta = 1e-5 exceeds 9.997, but the curve is left elsewhere."""
    stated, evidence = Statement(GaussianDP(2.0), 1e-5), PairScores(np.zeros(100), np.zeros(100))
    assert calls.ceiling(SimultaneousBand(), 100, 100, delta=1e-5, confidence=0.95) < GaussianDP(2.0).epsilon(1e-5)
    assert refutable([SimultaneousBand()], stated, evidence)
    assert math.isfinite(detectable([SimultaneousBand()], stated, evidence).epsilon)
    assert not refutable([Betting()], stated, evidence)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_detectable_epsilon_falls_towards_the_claim_with_more_trials(bound):
    detectable_epsilons = [epsilon(bound, PureDP(1.0), 1e-6, n=n) for n in (30, 100, 1000, 10_000, 1_000_000)]
    assert detectable_epsilons == sorted(detectable_epsilons, reverse=True)
    assert 1.0 < detectable_epsilons[-1] < 1.02


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_detectable_epsilon_is_infinite_if_the_ceiling_is_below_the_claim(bound):
    for n in (5, 20, 60, 200):
        ceiling = calls.ceiling(bound, n, n, delta=0.0, confidence=0.95)
        assert epsilon(bound, PureDP(ceiling + 1e-6), n=n) == math.inf
        assert ceiling == 0 or math.isfinite(epsilon(bound, PureDP(0.9 * ceiling), n=n))


@pytest.mark.parametrize("threshold", [-3.0, 0.0, 1.0, 1e9, math.inf])
def test_a_threshold_that_was_given_is_taken_to_be_the_best(threshold):
    claim, options = PureDP(1.0), {"confidence": 0.9, "n_out": 500, "n_in": 700}
    assert epsilon(ClopperPearson(threshold), claim, **options) == epsilon(ClopperPearson(2.0), claim, **options)
    assert epsilon(ClopperPearson(threshold), claim, **options) == pytest.approx(
        epsilon(ClopperPearson(), claim, **options), rel=0.01
    )


@settings(max_examples=10)
@example(claim=0.0, delta=0.0, n=500)
@example(claim=5e-324, delta=1e-5, n=228)
@given(claim=st.floats(0, 3), delta=st.sampled_from([0.0, 1e-5, 0.1]), n=st.integers(20, 5000))
def test_detectable_epsilon_exceeds_the_claim_and_grows_with_power(claim, delta, n):
    usual = epsilon(ClopperPearson(), ApproximateDP(claim, delta), delta, n=n)
    assert claim < usual <= epsilon(ClopperPearson(), ApproximateDP(claim, delta), delta, n=n, probability=0.99)


@pytest.mark.parametrize(("claim", "delta"), [(PureDP(1.0), 0.0), (GaussianDP(0.4), 1e-5)])
def test_bits_of_one_run_are_caught_nine_times_in_ten(claim, delta):
    stated = Statement(claim, delta)
    power, fixed = detectable_in_bits([OneRunFDP()], stated, n_bits=800), OneRunFDP().fix(stated, None, (800,))
    family = family_of(claim)
    parameter = next(p for p in np.arange(0.4, 4.0, 0.005) if family.member(p).epsilon(delta) >= power.epsilon)
    rng, caught = np.random.default_rng(1), 0
    for _ in range(30):
        bits = rng.random((1, 800)) < 0.5
        scores = rng.normal(size=bits.shape) + bits * parameter
        if isinstance(claim, PureDP):
            scores = 1.0 * (bits == (rng.random(bits.shape) < special.expit(parameter)))
        caught += fixed.exceeds_claim(BitScores(bits, scores))
    assert caught / 30 > 0.9 - 4.8 * math.sqrt(0.09 / 30)
    assert 1.1 * claim.epsilon(delta) < power.epsilon < 3.0 * claim.epsilon(delta)


def test_too_few_bits_expose_nothing():
    assert detectable_in_bits([OneRun()], Statement(PureDP(9.0), 0.0), n_bits=20).epsilon == math.inf


def test_impossible_questions_are_refused():
    stated = Statement(PureDP(1.0), 0.0)
    with pytest.raises(ParameterError, match="n_out must be a whole number >= 1, but is 0"):
        detectable_epsilon([ClopperPearson()], stated, n_out=0, n_in=3)
    with pytest.raises(ParameterError, match="probability must lie strictly between 0 and 1"):
        detectable_epsilon([ClopperPearson()], stated, n_out=9, n_in=3, probability=1.0)
