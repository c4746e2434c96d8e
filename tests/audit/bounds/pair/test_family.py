"""The smallest member of the claim's family that one event does not refute: exact by enumeration, tight, and named.

Null at theta: the trade-off curve of the pair lies nowhere below that of the member theta. False alarms of the random
tests: 1e-6 each.
"""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special, stats
from tests.audit import calls
from tests.audit.coverage import bounds_drawn, count_misses

from dpassay.audit import AuditResult, Verdict, audit
from dpassay.audit.bounds.families import family_of, least_member
from dpassay.audit.bounds.numerics import event_region
from dpassay.audit.bounds.numerics.event_region import EventRegion
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.pair.family import Family
from dpassay.audit.calibration.laws import SampledLaw, gaussian, geometric, laplace, randomized_response
from dpassay.mechanisms import Laplace, Neighbours
from dpassay.mechanisms.accounting import (
    ApproximateDP,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    compose,
)
from dpassay.mechanisms.core import AccountingError, ParameterError

DELTA = 1e-5
PAIR = Neighbours([0.0], [1.0], "replace_one")


@cache
def sampled():
    """Return a guarantee that takes seconds to compute; cached."""
    return PrivacyLossDP.gaussian(1.0, sampling_probability=0.2)


def made(claim):
    """Return a claim, or the claim that a function without arguments makes."""
    return claim() if callable(claim) else claim


def rectangle_bound(claim, hits_out, hits_in, n, significance=0.025):
    """Return the parameter from one rectangle of limits, the method of the literature."""
    limits = Rectangle.at(hits_out, hits_in, n_out=n, n_in=n, significance=significance)
    return least_member(family_of(claim), lambda m: bool(m.tradeoff(limits.fpr_upper) <= limits.fnr_upper), start=1.0)


def joint_bound(claim, hits_out, hits_in, n, *, delta=DELTA, confidence=0.95, n_in=None):
    scores = calls.counts(hits_out, n, hits_in, n_in or n)
    return calls.lower_bound(
        calls.against(Family(threshold=1.0), claim), scores, delta=delta, confidence=confidence
    ).epsilon


# --- known answers ---------------------------------------------------------------------------------------------------


def test_one_rectangle_gives_the_known_mu():
    # 159 and 500 hits of 1000: limits .183162 and .531451; mu = Phi^-1(1 - FPR) - Phi^-1(FNR), worked out by hand
    mu = rectangle_bound(GaussianDP(1.0), 159, 500, 1000)
    assert mu == pytest.approx(0.824462, abs=1e-6)
    assert GaussianDP(mu).epsilon(DELTA) == pytest.approx(3.505514, abs=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "n", "expected"),
    [
        (1, 5000, 0.72),
        (8, 1000, 6.99),
        (10, 500, 8.40),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 1000, 1.31), (4, 1000, 3.21), (8, 5000, 7.54))),
    ],
)
def test_joint_bound_at_expected_counts_exceeds_the_known_rectangle_bound(epsilon, n, expected):
    # mid threshold of exact Gaussian noise, expected counts, 95 %; figures of the rectangle worked out independently
    mu = GaussianDP.for_budget(epsilon=epsilon, delta=DELTA).mu
    rate = float(special.ndtr(-mu / 2))
    rectangle = GaussianDP(rectangle_bound(GaussianDP(mu), n * rate, n - n * rate, n)).epsilon(DELTA)
    assert rectangle == pytest.approx(
        expected, abs=0.04
    )  # at the best threshold, which for 500 scores is not the middle
    joint = joint_bound(GaussianDP(mu), round(n * rate), n - round(n * rate), n)
    assert rectangle + 0.3 * (epsilon - rectangle) < joint < epsilon


def test_least_member_of_the_pure_family_at_delta_0_needs_no_family():
    scores = calls.counts(184, 1000, 500, 1000)
    bound = calls.lower_bound(calls.against(Family(threshold=1.0), PureDP(1.0)), scores, delta=0.0, confidence=0.95)
    without = next(entry.looked_at for entry in bound.ledger if entry.what == "without family")
    assert f"epsilon >= {bound.epsilon:.4g}"[:15] in without
    assert 0.805 < bound.epsilon < 0.8855  # one rectangle .8052; one inequality alone, judged jointly, .8791


def test_gaussian_family_on_laplace_noise_gives_too_large_an_epsilon():
    # why the family stands in the assumptions: FPR = FNR = e^(-1/2) / 2 is mu = 1.030064 and epsilon = 4.530054
    n, rate = 10_000_000, 0.5 * math.exp(-0.5)
    scores = calls.counts(round(n * rate), n, n - round(n * rate), n)
    as_gaussian, as_laplace = (
        calls.lower_bound(calls.against(Family(threshold=1.0), claim), scores, delta=DELTA, confidence=0.95)
        for claim in (GaussianDP(1.0), LaplaceDP(1.0))
    )
    assert 4.5 < as_gaussian.epsilon < 4.5301
    assert as_gaussian.assumptions == ("the trade-off curve is that of GaussianDP for some mu",)
    assert 0.99 < as_laplace.epsilon < 1.0
    assert as_laplace.assumptions == ("the trade-off curve is that of LaplaceDP for some epsilon",)


def test_claim_is_judged_by_its_own_family_only():
    # the true claim LaplaceDP(1) would be reported as a violation: as Gaussian noise the scores show epsilon >= 4.47
    gaussian = Family(threshold=1.0, curve_family=family_of(GaussianDP(1.0)))
    with pytest.raises(ParameterError, match=r"curve_family is .GaussianDP for some mu., but the claim .* .LaplaceDP"):
        calls.against(gaussian, LaplaceDP(1.0))
    with pytest.raises(ParameterError, match="reported as a violation"):
        audit(Laplace(epsilon=1.0), bound=gaussian, trials=1_000, delta=DELTA, seed=0)
    assert calls.against(gaussian, GaussianDP(1.0)) == gaussian
    assert calls.against(gaussian, GaussianDP(2.0)).curve_family.claimed == 2.0


# --- the joint test, by enumeration of all outcomes ------------------------------------------------------------------

CURVES = [GaussianDP(0.5), GaussianDP(2.0), LaplaceDP(1.0), PureDP(0.7), ApproximateDP(1.0, 0.1)]


def refuting_probability(curve, significance, n_out, n_in, ranking):
    """Return the largest probability, over all rates on the curve, of an outcome that refutes it."""
    refuting = np.array(
        [
            [EventRegion(i, j, n_out, n_in, ranking).refutes(curve.tradeoff, significance) for j in range(n_in + 1)]
            for i in range(n_out + 1)
        ]
    )
    fpr = np.concatenate([np.linspace(0, 1, 200), np.geomspace(1e-4, 1, 50)])
    p0 = stats.binom.pmf(np.arange(n_out + 1), n_out, fpr[:, None])
    p1 = stats.binom.pmf(np.arange(n_in + 1), n_in, 1 - curve.tradeoff(fpr)[:, None])
    return float(np.einsum("ki,ij,kj->k", p0, refuting, p1).max())


@pytest.mark.parametrize("significance", [0.2, 0.05, pytest.param(1e-3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_true_curve_is_refuted_with_at_most_the_significance_at_every_rate(curve, significance):
    for n_out, n_in, ranking in ((10, 10, 1.645), (5, 14, 0.5), (16, 6, 4.0)):
        probability = refuting_probability(curve, significance, n_out, n_in, ranking)
        assert probability <= significance


@pytest.mark.parametrize("curve", CURVES, ids=str)
@pytest.mark.parametrize(("hits_out", "hits_in"), [(4, 17), (0, 9), (9, 20), (12, 14)])
def test_p_value_is_the_supremum_of_brute_force(curve, hits_out, hits_in):
    n_out, n_in = 20, 24
    region = EventRegion(hits_out, hits_in, n_out, n_in)
    p = region.p_value(curve.tradeoff)
    level = special.ndtr(-region.ranking / math.sqrt(2))
    fpr_place = stats.norm.ppf(np.append(stats.beta.isf(level, np.arange(1, n_out + 1), np.arange(n_out, 0, -1)), 1.0))
    fnr_place = stats.norm.ppf(np.append(1.0, stats.beta.isf(level, np.arange(n_in, 0, -1), np.arange(1, n_in + 1))))
    ranks = -fpr_place[:, None] - fnr_place[None, :]
    ranked_no_lower = ranks >= ranks[hits_out, hits_in] - 1e-9
    tail = p / 1000  # half of a 500th, for either limit
    fpr = np.linspace(0, stats.beta.isf(tail, hits_out + 1, n_out - hits_out), 3000)
    fnr = curve.tradeoff(fpr)
    within = fnr <= (stats.beta.isf(tail, n_in - hits_in + 1, hits_in))
    p0 = stats.binom.pmf(np.arange(n_out + 1), n_out, fpr[:, None])
    p1 = stats.binom.pmf(np.arange(n_in + 1), n_in, 1 - fnr[:, None])
    largest = float(np.einsum("ki,ij,kj->k", p0, ranked_no_lower, p1)[within].max(initial=0.0))
    if p == 1.0:
        assert largest > 0.99
    else:
        assert 0.85 * p <= largest <= 0.998 * p * (1 + 1e-6)
        assert region.refutes(curve.tradeoff, 1.0001 * p)
        assert not region.refutes(curve.tradeoff, p / 1.0001)


def test_points_account_for_the_share_of_the_limits_on_the_rates(monkeypatch):
    # a share of 1/5, so that it shows next to the rounding
    monkeypatch.setattr(event_region, "_OUTSIDE", 0.2)
    region, curve = EventRegion(4, 17, 20, 24), GaussianDP(0.5).tradeoff
    p = region.p_value(curve)
    (fpr, fnr), (_, lower_fnr) = region.points(0.95 * p), region.points(1.1 * p)
    assert not np.all(curve(fpr) >= fnr)
    assert np.all(curve(region.points(1.1 * p)[0]) >= lower_fnr)


def test_test_spends_most_of_its_significance():
    assert refuting_probability(GaussianDP(1.0), 0.05, 14, 14, 1.645) > 0.025


@settings(max_examples=7)
@given(
    hits=st.tuples(st.integers(0, 40), st.integers(0, 50)),
    mu=st.floats(0.05, 3),
    significance=st.floats(1e-6, 0.5),
)
def test_points_p_value_and_curve_test_agree(hits, mu, significance):
    region, curve = EventRegion(*hits, 40, 50), GaussianDP(mu).tradeoff
    fpr, fnr = region.points(significance)
    p = region.p_value(curve)
    if not 0.999 < p / significance < 1.001:
        assert region.refutes(curve, significance) == (p <= significance)
    if region.refutes(curve, significance):  # points are rounded to the safe side
        assert np.all(GaussianDP(0.98 * mu).tradeoff(fpr) >= fnr - 0.01)
    if np.all(curve(fpr) >= fnr):
        assert region.refutes(curve, significance)


# --- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=7)
@given(
    hits=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    more=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    claim=st.sampled_from([GaussianDP(1.0), LaplaceDP(1.0), PureDP(1.0)]),
)
def test_bound_grows_as_the_counts_become_more_extreme(hits, more, claim):
    extreme = max(0, hits[0] - more[0]), min(60, hits[1] + more[1])
    lower_bound, larger = joint_bound(claim, *hits, 60, delta=0.01), joint_bound(claim, *extreme, 60, delta=0.01)
    assert larger >= lower_bound * (1 - 0.01) - 1e-6  # cells of FPR lie elsewhere: 1 % of rounding


@settings(max_examples=7)
@given(hits=st.tuples(st.integers(0, 50), st.integers(0, 40)))
def test_sides_swap_with_the_complement_of_the_event(hits):
    lower_bound = joint_bound(GaussianDP(1.0), hits[0], hits[1], 50, delta=0.01, n_in=40)
    mirrored = joint_bound(GaussianDP(1.0), 40 - hits[1], 50 - hits[0], 40, delta=0.01, n_in=50)
    assert lower_bound == pytest.approx(mirrored, rel=0.05, abs=0.02)  # cells round on one side only


def test_scores_that_order_the_sides_the_wrong_way_show_nothing():
    assert joint_bound(GaussianDP(1.0), 900, 100, 1000) == 0.0
    assert joint_bound(GaussianDP(1.0), 500, 500, 1000) == 0.0
    assert joint_bound(GaussianDP(1.0), 1000, 1000, 1000) == 0.0
    assert joint_bound(GaussianDP(1.0), 0, 0, 1000) == 0.0


@pytest.mark.parametrize("confidence", [0.5, 1 - 1e-9, 1 - 1e-12])
def test_extreme_significances_give_bounds_in_order(confidence):
    lower_bound = joint_bound(GaussianDP(1.0), 200, 800, 1000, confidence=confidence)
    assert 0.0 < lower_bound < GaussianDP(2 * stats.norm.ppf(0.8)).epsilon(DELTA)


def test_p_value_is_that_of_the_claimed_curve_and_reaches_far():
    bound = calls.against(Family(threshold=1.0), GaussianDP(1.0))
    claimed = float(GaussianDP(1.0).epsilon(DELTA))
    for scores in (calls.counts(200, 1000, 800, 1000), calls.counts(280, 1000, 690, 1000)):
        p = calls.p_value(bound, scores, epsilon=claimed, delta=DELTA)
        if p > 1e-12:
            level = {"delta": DELTA, "confidence": 1 - 1.01 * p}
            assert calls.lower_bound(bound, scores, **level).epsilon > claimed
            level = {"delta": DELTA, "confidence": 1 - p / 1.01}
            assert calls.lower_bound(bound, scores, **level).epsilon <= claimed
    assert calls.p_value(bound, calls.counts(100, 1000, 900, 1000), epsilon=claimed, delta=DELTA) == 1e-12
    assert calls.p_value(bound, calls.counts(500, 1000, 500, 1000), epsilon=claimed, delta=DELTA) == 1.0


# --- coverage on true members, and power -----------------------------------------------------------------------------


def sampled_gaussian(noise_multiplier, probability):
    """Return Gaussian noise on a sampled record, with the accountant of the family."""
    guarantee = PrivacyLossDP.gaussian(noise_multiplier, sampling_probability=probability, interval=4e-3)

    def inside(rng, size):
        return (rng.random(size) < probability) + noise_multiplier * rng.normal(size=size)

    return SampledLaw("sampled gaussian", lambda rng, size: noise_multiplier * rng.normal(size=size), inside, guarantee)


MEMBERS = [
    (gaussian(0.5), GaussianDP(1.0), 1e-5),
    (gaussian(2.0), GaussianDP(1.0), 1e-2),
    (laplace(1.0), LaplaceDP(0.5), 0.0),
    (laplace(2.0), LaplaceDP(0.5), 1e-3),
    (randomized_response(1.0), PureDP(2.0), 0.0),
    (geometric(0.7), PureDP(2.0), 0.0),
    (randomized_response(1.0, 0.1), ApproximateDP(0.5, 0.1), 0.1),
]


@pytest.mark.parametrize(("law", "claim", "delta"), MEMBERS, ids=lambda x: getattr(x, "name", str(x)))
def test_bound_keeps_its_level_on_every_true_member(law, claim, delta):
    bound = calls.against(Family(threshold=1.0), claim)
    coverage = count_misses(bound, law, repeats=40, n_out=20, n_in=25, seed=4, confidence=0.8, delta=delta)
    assert coverage.holds, coverage


def test_fixed_threshold_is_not_chosen_again_on_the_counted_scores():
    bound = calls.against(Family(threshold=1.0), GaussianDP(1.0))
    for seed in range(5):
        scores = next(gaussian(1.0).draws(np.random.default_rng(seed), 50, 50))
        lower_bound = calls.lower_bound(bound, scores, delta=DELTA, confidence=0.8)
        assert (lower_bound.threshold, lower_bound.hits) == (1.0, scores.hits(1.0))


def test_bound_on_subsampled_gaussian_noise_is_below_the_truth():
    law = sampled_gaussian(0.8, 0.2)
    bound = calls.against(Family(threshold=1.0), law.curve)
    scores = next(law.draws(np.random.default_rng(5), 300, 300))
    assert 0.0 < calls.lower_bound(bound, scores, delta=DELTA, confidence=0.95).epsilon < law.curve.epsilon(DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize(("law", "claim", "delta"), MEMBERS, ids=lambda x: getattr(x, "name", str(x)))
def test_bound_holds_on_true_members_in_long_runs(law, claim, delta, confidence):
    bound = calls.against(Family(), claim)
    level = {"confidence": confidence, "delta": delta, "n_pilot": 50}
    coverage = count_misses(bound, law, repeats=2000, n_out=200, n_in=200, seed=9, **level)
    assert coverage.holds, coverage


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bound_holds_on_subsampled_gaussian_noise_in_long_runs(confidence):
    bound = calls.against(Family(threshold=1.0), sampled())
    level = {"confidence": confidence, "delta": DELTA}
    coverage = count_misses(bound, sampled_gaussian(0.8, 0.2), repeats=200, n_out=1000, n_in=1000, seed=4, **level)
    assert coverage.holds, coverage


class _ThresholdFromTheCountedScores(calls.Own, Family):
    """Bug: the evaluation scores are the pilot."""

    def lower_bound_at(self, scores, *, delta, confidence):
        sizes = {"n_out": scores.n_out, "n_in": scores.n_in}
        bound = Family(curve_family=self.curve_family)
        prepared = calls.prepared(bound, scores, delta=delta, confidence=confidence, **sizes)
        return calls.lower_bound(prepared, scores, delta=delta, confidence=confidence)


def test_threshold_from_the_counted_scores_is_caught():
    twin = calls.against(_ThresholdFromTheCountedScores(threshold=0.0), GaussianDP(1.0))
    level = {"confidence": 0.8, "delta": DELTA}
    coverage = count_misses(twin, gaussian(0.5), repeats=30, n_out=30, n_in=30, seed=1, **level)
    assert not coverage.holds, coverage


@pytest.mark.parametrize(
    ("n", "repeats", "least"),
    [
        (1000, 3, 6.9),
        pytest.param(1000, 400, 6.9, marks=pytest.mark.slow),
        pytest.param(5000, 400, 7.5, marks=pytest.mark.slow),
    ],
)
def test_mean_bound_on_gaussian_noise_of_epsilon_8_reaches_its_mark(n, repeats, least):
    mu, pilot = GaussianDP.for_budget(epsilon=8, delta=DELTA).mu, max(n // 10, 50)
    sizes, level = {"n_out": n - pilot, "n_in": n - pilot, "n_pilot": pilot}, {"confidence": 0.95, "delta": DELTA}
    bound = calls.against(Family(), GaussianDP(mu))
    bounds = bounds_drawn(bound, gaussian(mu), repeats=repeats, seed=1, **level, **sizes)
    assert bounds.mean() >= least
    assert np.mean(bounds > 8.0) <= 0.15


# --- families --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        GaussianDP(1.0),
        LaplaceDP(1.0),
        PureDP(1.0),
        ApproximateDP(1.0, 0.01),
        ConcentratedDP(0.5),
        RenyiDP.gaussian(1.0),
        pytest.param(sampled, id="PrivacyLossDP-gaussian"),
        pytest.param(lambda: PrivacyLossDP.laplace(1.0, steps=3), id="PrivacyLossDP-laplace"),
    ],
    ids=str,
)
def test_family_holds_the_claim_and_is_ordered(claim):
    claim = made(claim)
    family = family_of(claim)
    grid = np.linspace(0.001, 0.999, 50)
    assert family.member(family.claimed).tradeoff(grid) == pytest.approx(claim.tradeoff(grid), abs=1e-12)
    curves = [family.search(x * family.claimed).tradeoff(grid) for x in (0.5, 1.0, 2.0)]
    assert np.all(curves[0] >= curves[1])
    assert np.all(curves[1] >= curves[2])
    assert np.all(family.search(family.claimed).tradeoff(grid) <= claim.tradeoff(grid) + 1e-12)


@pytest.mark.parametrize(
    "claim",
    [
        ExactDP([0.25, 0.75], [0.75, 0.25]),
        lambda: compose([PrivacyLossDP.gaussian(4.0)] * 2, accounting="privacy-loss"),
        lambda: PrivacyLossDP.from_pld(sampled().pld),
    ],
    ids=["exact", "composed", "from-pld"],
)
def test_claim_without_a_family_is_refused_with_a_way_out(claim):
    with pytest.raises(AccountingError, match="simultaneous-band"):
        calls.against(Family(), made(claim))


def test_use_without_a_pilot_or_at_a_delta_too_small_is_refused():
    scores = calls.counts(184, 1000, 500, 1000)
    with pytest.raises(ParameterError, match="needs pilot scores on both sides, but there are 0 and 0"):
        calls.lower_bound(calls.against(Family(), GaussianDP(1.0)), scores, delta=DELTA, confidence=0.95)
    with pytest.raises(AccountingError, match="delta is 0, where the claim GaussianDP"):
        calls.lower_bound(calls.against(Family(threshold=1.0), GaussianDP(1.0)), scores, delta=0.0, confidence=0.95)
    with pytest.raises(ParameterError, match="threshold must be"):
        Family(threshold="best")


def test_audit_names_the_family_and_survives_json(without_power):
    def noisy(dataset, size, rng):
        return dataset[0] + rng.normal(size=size)

    options = {"delta": DELTA, "bound": "accountant-family", "attack": "threshold", "trials": 2000, "seed": 1}
    right, wrong = (audit(noisy, PAIR, claim=GaussianDP(mu), **options) for mu in (1.0, 0.5))
    assert right.verdict is Verdict.CONSISTENT
    assert 2.8 < right.bound.epsilon < right.claim
    assert wrong.verdict is Verdict.VIOLATION
    assert wrong.p_value < 1e-6
    for result in (right, wrong):
        assert "assumes     the trade-off curve is that of GaussianDP for some mu" in result.summary()
        assert "the trade-off curve is that of GaussianDP for some mu" in result.summary(details=False)
        assert AuditResult.from_json(result.to_json()).to_json() == result.to_json()
