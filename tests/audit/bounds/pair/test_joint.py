"""The exact joint bound: known values, its exact level on every small outcome, invariants, and its power."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.audit import calls
from tests.audit.coverage import bounds_drawn, count_misses

from dpassay.audit import audit
from dpassay.audit.bounds.numerics import unconditional
from dpassay.audit.bounds.numerics.unconditional import Ordering, UnconditionalTest
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.bounds.pair.pilot import _known_ratio_limits
from dpassay.audit.calibration.laws import all_equal, gaussian, geometric, laplace, laplace_ratio, randomized_response
from dpassay.audit.evidence.scores import PairScores
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP

FIXED = JointExact(threshold=1.0)
ORDERED = JointExact(threshold=1.0, ordering=Ordering())
"""One ordering at every confidence: p-values and bounds are then of the same test."""
ROUNDING = 0.02  # standard errors of epsilon: what sums are rounded by


def epsilon(k0, n0, k1, n1, *, delta=0.0, confidence=0.95, bound=FIXED):
    return calls.lower_bound(bound, calls.counts(k0, n0, k1, n1), delta=delta, confidence=confidence).epsilon


@pytest.mark.parametrize(
    ("k1", "k0", "n", "delta", "confidence", "expected"),
    # Buehler's bound under another ordering of the outcomes (Katz limits), computed on a grid of base rates to 0.001:
    # with hundreds of hits the ordering makes no difference
    [
        (500, 184, 1000, 0.0, 0.95, 0.8791),
        (500, 184, 1000, 0.0, 0.975, 0.8555),
        (500, 184, 1000, 0.01, 0.95, 0.8583),
        (5000, 1839, 10_000, 0.0, 0.95, 0.9619),
        # perfect separation: ln(1 / (1 - significance^(1/n))) under every ordering; and its like at delta 0.01
        (1000, 0, 1000, 0.0, 0.95, 5.8121),
        (1000, 0, 1000, 0.01, 0.95, 5.8020),
        (20, 0, 20, 0.0, 0.95, 1.9725),
    ],
)
def test_bound_has_its_known_value(k1, k0, n, delta, confidence, expected):
    lower_bound = epsilon(k0, n, k1, n, delta=delta, confidence=confidence, bound=tuned(confidence, delta))
    assert lower_bound == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("k1", "k0", "n", "under_katz"),
    # few hits: the skewness that this ordering keeps is worth something
    [(50, 18, 100, 0.6391), (40, 3, 200, 1.565), (5, 0, 1000, 0.0), (20, 0, 1000, 1.444)],
)
def test_bound_from_few_hits_exceeds_those_of_katz_and_of_two_limits(k1, k0, n, under_katz):
    lower_bound = epsilon(k0, n, k1, n)
    assert lower_bound > under_katz
    assert lower_bound > epsilon(k0, n, k1, n, bound=ClopperPearson(1.0)) + 0.2


# --- the level, without noise: every outcome, many base rates ---------------------------------------------------------


def all_bounds(n0, n1, delta, significance, bound=FIXED):
    bound = calls.prepared(bound, PairScores([], []), delta=delta, confidence=1 - significance, n_out=n0, n_in=n1)
    return np.array(
        [
            [epsilon(j, n0, i, n1, delta=delta, confidence=1 - significance, bound=bound) for j in range(n0 + 1)]
            for i in range(n1 + 1)
        ]
    )


def worst_miss_rate(table, true_epsilon, delta, *, direction="in", private=False):
    """Return the largest probability of a bound above the true epsilon.

    The maximum is over base rates at which the inequality is an equality. `private` leaves out those at which the
    inequality of the other direction fails.
    """
    n1, n0 = table.shape[0] - 1, table.shape[1] - 1
    false = np.linspace(0.0, (1 - delta) * math.exp(-true_epsilon), 400)[:, None]
    true = np.minimum(math.exp(true_epsilon) * false + delta, 1.0)
    p, q = (true, false) if direction == "in" else (1 - false, 1 - true)
    law1, law0 = stats.binom.pmf(np.arange(n1 + 1), n1, p), stats.binom.pmf(np.arange(n0 + 1), n0, q)
    missed = np.einsum("ci,cj,ij->c", law1, law0, (table > true_epsilon * (1 + 1e-12)).astype(float))
    both = np.maximum(p - math.exp(true_epsilon) * q, (1 - q) - math.exp(true_epsilon) * (1 - p)) <= delta + 1e-12
    return float(missed[both.ravel() | (not private)].max())


@pytest.mark.parametrize("significance", [0.2, 0.05])
@pytest.mark.parametrize(("n0", "n1"), [(12, 12), (5, 20), (25, 8)])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_miss_rate_stays_below_the_significance_at_every_base_rate(n0, n1, delta, significance):
    table = all_bounds(n0, n1, delta, significance)
    rates = [worst_miss_rate(table, e, delta) for e in (0.0, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5)]
    assert max(rates) <= significance
    assert max(rates) > 0.5 * significance  # and the level is used


@pytest.mark.parametrize("direction", ["out", "both"])
def test_miss_rate_stays_below_the_significance_in_the_other_directions(direction):
    table = all_bounds(12, 9, 0.05, 0.2, JointExact(threshold=1.0, direction=direction))
    for e in (0.0, 0.2, 0.5, 1.0):
        assert worst_miss_rate(table, e, 0.05, direction="out", private=direction == "both") <= 0.2
        assert direction == "out" or worst_miss_rate(table, e, 0.05, direction="in", private=True) <= 0.2


def test_two_directions_share_the_significance():
    assert epsilon(18, 100, 50, 100, bound=JointExact(threshold=1.0, direction="both")) == pytest.approx(
        epsilon(18, 100, 50, 100, confidence=0.975), abs=1e-9
    )


def test_p_values_of_two_directions_are_twice_that_of_the_better_one():
    scores, both = calls.counts(18, 100, 50, 100), replace(ORDERED, direction="both")
    p_value_in = calls.p_value(ORDERED, scores, epsilon=0.5, delta=0.0)
    assert p_value_in < 0.1
    assert calls.p_value(both, scores, epsilon=0.5, delta=0.0) == pytest.approx(2 * p_value_in, rel=0.02)
    p_value_in = calls.claim_p_value(ORDERED, scores, GaussianDP(0.5))
    assert p_value_in < 0.1
    assert calls.claim_p_value(both, scores, GaussianDP(0.5)) == pytest.approx(2 * p_value_in, rel=0.02)


@pytest.mark.parametrize("outcome", [(50, 100, 18, 100), (9, 12, 2, 12), (300, 300, 3, 300)])
def test_share_of_the_limits_on_the_base_rate_is_accounted_for(monkeypatch, outcome):
    # a share of 1/5, so that it shows next to the rounding
    monkeypatch.setattr(unconditional, "_NUISANCE_SHARE", 0.2)
    test, significance = UnconditionalTest(*outcome, Ordering()), 0.05
    bound = test.epsilon_lower(0.0, significance)
    assert test.probability(bound, 0.0, significance) <= 0.8 * significance
    low, high = bound, bound + 10 * test._spread  # on the way, P takes what the limits have cost
    while high - low > 1e-6:
        at = 0.5 * (low + high)
        low, high = (at, high) if test.probability(at, 0.0, significance) < 0.9 * significance else (low, at)
    assert 0.8 * significance < test.probability(low, 0.0, significance) < significance
    assert not test.rejects(low, 0.0, significance)
    assert test.p_value(low, 0.0) > significance


@pytest.mark.parametrize("outcome", [(9, 12, 2, 12), (30, 60, 10, 50), (14, 300, 0, 200), (199, 200, 20, 200)])
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_supremum_is_at_least_that_of_brute_force_and_close_to_it(outcome, delta):
    _, n1, _, n0 = outcome
    test = UnconditionalTest(*outcome, Ordering(0.05, delta))
    i, j = np.arange(n1 + 1.0)[:, None], np.arange(n0 + 1.0)[None, :]
    extreme = (test.ordering.value(i, j, n1, n0) >= test.level * (1 - 1e-10)).astype(float)

    def brute_force(at):
        low, high = test._domain(at, delta, 0.05)
        q = np.linspace(low, high, 1000)[:, None]
        law1 = stats.binom.pmf(i.ravel(), n1, np.minimum(np.exp(at) * q + delta, 1.0))
        return np.einsum("ci,ci->c", law1 @ extreme, stats.binom.pmf(j.ravel(), n0, q)).max()

    empty_below = max(math.log(max(test.limits(0.05)[0] - delta, 1e-300) / test.limits(0.05)[1]), 0.0)
    for at in (max(0.9 * test.level, empty_below + 0.01), test.level, 1.2 * test.level):
        probability = test.probability(at, delta, 0.05)
        assert brute_force(at) <= probability <= 1.02 * brute_force(at + 0.01 * test._spread) + 1e-5


@pytest.mark.parametrize(
    "outcome",
    [(9, 12, 2, 12), (12, 12, 0, 12), (30, 60, 10, 50), (14, 150, 0, 100), (90, 90, 0, 90), (3, 200, 20, 60)],
)
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("significance", [0.5, 0.05, 1e-9])
def test_least_extreme_count_is_that_of_a_search_through_all_outcomes(outcome, delta, significance):
    _, n1, _, n0 = outcome
    test = UnconditionalTest(*outcome, Ordering(significance, delta))
    i, j = np.arange(n1 + 1.0)[:, None], np.arange(n0 + 1.0)
    extreme = np.vstack([test.ordering.value(i, j, n1, n0) >= test.level * (1 - 1e-10), np.ones(n0 + 1, dtype=bool)])
    if test.shows:
        assert test._least(j).tolist() == np.argmax(extreme, axis=0).tolist()


def test_observed_outcome_is_extreme_at_any_sample_size():
    """Where side 0 has no hits, rounding leaves few digits of T."""
    outcome = (1_198_233, 1_198_233, 0, 1_198_233)
    test = UnconditionalTest(*outcome, Ordering(0.2, 0.1))
    assert test._least(np.zeros(1)) <= test.k1


def test_blocks_and_wide_cells_of_large_samples_round_up_and_not_by_much(monkeypatch):
    outcome = (50_300, 100_000, 18_400, 100_000)
    coarse = UnconditionalTest(*outcome, Ordering())
    monkeypatch.setattr(unconditional, "_MAX_FINE_TRIALS", 10**9)
    monkeypatch.setattr(unconditional, "_BLOCKS", (10**6, 10**6))
    fine = UnconditionalTest(*outcome, Ordering())
    assert (
        fine.probability(0.99, 0.0, 0.05)
        < coarse.probability(0.99, 0.0, 0.05)
        < 1.2 * fine.probability(0.99, 0.0, 0.05)
    )
    assert (
        fine.epsilon_lower(0.0, 0.05) - 0.1 * 0.0073 < coarse.epsilon_lower(0.0, 0.05) <= fine.epsilon_lower(0.0, 0.05)
    )


@pytest.mark.parametrize("significance", [0.5, 0.05, 1e-6, 1e-12])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.3])
@pytest.mark.parametrize(("n1", "n0"), [(1, 1), (7, 40), (200, 200), (1000, 30)])
def test_ordering_is_monotone_in_the_hits_of_each_side(n1, n0, delta, significance):
    value = Ordering(significance, delta).value(np.arange(n1 + 1.0)[:, None], np.arange(n0 + 1.0)[None, :], n1, n0)
    shown = np.where(np.isinf(value), -1.0, value)
    assert not np.isnan(value).any()
    assert np.diff(shown, axis=0).min() >= -1e-10
    assert np.diff(shown, axis=1).max() <= 1e-10


# --- properties -------------------------------------------------------------------------------------------------------

levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 1 - 1e-6, 1 - 1e-12])
deltas = st.sampled_from([0.0, 1e-5, 0.01, 0.1, 0.3])
hits = st.integers(0, 80)


def slack(k0, k1, n=80):
    return ROUNDING * Ordering().spread(k1, k0, n, n) + 1e-5


@settings(max_examples=25)
@given(k0=st.integers(0, 79), k1=st.integers(1, 80), delta=deltas, confidence=levels)
def test_bound_grows_with_the_evidence_and_stops_at_the_ceiling(k0, k1, delta, confidence):
    lower_bound, room = epsilon(k0, 80, k1, 80, delta=delta, confidence=confidence), slack(k0, k1)
    assert lower_bound >= epsilon(k0 + 1, 80, k1, 80, delta=delta, confidence=confidence) - room
    assert lower_bound >= epsilon(k0, 80, k1 - 1, 80, delta=delta, confidence=confidence) - room
    assert lower_bound <= calls.ceiling(FIXED, 80, 80, delta=delta, confidence=confidence)


@settings(max_examples=25)
@given(k0=st.integers(0, 60), k1=st.integers(0, 90), delta=deltas)
def test_directions_swap_with_the_sides(k0, k1, delta):
    # the complement of the event, seen from the other side
    outwards = JointExact(threshold=1.0, direction="out")
    assert epsilon(k0, 60, k1, 90, delta=delta) == epsilon(90 - k1, 90, 60 - k0, 60, delta=delta, bound=outwards)


@given(k0=hits, k1=hits, claim=st.sampled_from([0.0, 0.1, 1.0, 3.0]), delta=deltas)
@settings(max_examples=20)
def test_p_value_is_the_significance_at_which_the_bound_passes_the_claim(k0, k1, claim, delta):
    scores = calls.counts(k0, 80, k1, 80)
    p = UnconditionalTest(k1, 80, k0, 80, Ordering()).p_value(claim, delta)
    assert (
        1e-12 <= calls.p_value(ORDERED, scores, epsilon=claim, delta=delta) <= p <= 1
    )  # other promises may fall first
    room = slack(k0, k1)
    if p < 0.9:
        assert epsilon(k0, 80, k1, 80, delta=delta, confidence=1 - 1.01 * p, bound=ORDERED) >= claim - room
        assert calls.exceeds(ORDERED, claim, scores, delta=delta, confidence=1 - 1.05 * p)
    if p > 1e-11:
        assert epsilon(k0, 80, k1, 80, delta=delta, confidence=1 - 0.95 * p, bound=ORDERED) <= claim + room
        assert not calls.exceeds(ORDERED, claim, scores, delta=delta, confidence=1 - 0.9 * p)


@settings(max_examples=25)
@given(k0=st.integers(0, 300), k1=st.integers(0, 300), confidence=levels)
def test_bound_is_almost_never_below_two_limits(k0, k1, confidence):
    lower_bound = epsilon(k0, 300, k1, 300, confidence=confidence, bound=tuned(confidence))
    limits = epsilon(k0, 300, k1, 300, confidence=confidence, bound=ClopperPearson(1.0))
    backwards = epsilon(300 - k1, 300, 300 - k0, 300, confidence=confidence, bound=tuned(confidence))
    assert max(lower_bound, backwards) >= limits - 0.05


def tuned(confidence, delta=0.0):
    return calls.prepared(FIXED, PairScores([], []), delta=delta, confidence=confidence, n_out=300, n_in=300)


def test_event_without_hits_or_without_misses_gives_no_bound():
    for k0, k1 in ((0, 0), (50, 0), (50, 50), (50, 20)):
        assert epsilon(k0, 50, k1, 50) == 0
        assert calls.p_value(FIXED, calls.counts(k0, 50, k1, 50), epsilon=0.0, delta=0.0) == 1


def test_p_values_reach_far_into_the_tail_and_far_levels_work():
    assert calls.p_value(FIXED, calls.counts(184, 1000, 500, 1000), epsilon=0.4, delta=0.0) == 1e-12
    epsilons = [epsilon(0, 1000, 100, 1000, confidence=1 - a, bound=tuned(1 - a)) for a in (0.5, 0.05, 1e-6, 1e-12)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[2] > epsilon(0, 1000, 100, 1000, confidence=1 - 1e-6, bound=ClopperPearson(1.0)) + 0.3
    assert epsilons[3] > 1.0


# --- coverage and power -----------------------------------------------------------------------------------------------

LAWS = [
    (randomized_response(1.0), 0.0),
    (randomized_response(0.3), 0.0),
    (randomized_response(1.0, 0.1), 0.1),
    (geometric(0.7), 0.05),
    (laplace(1.0), 0.0),
    (laplace_ratio(0.5), 0.0),
    (gaussian(1.0), 0.1),
    (all_equal(), 0.0),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law[0].name}-{law[1]}".replace(" ", "-"))
def test_bound_with_its_event_from_a_pilot_keeps_its_level(law):
    level = {"confidence": 0.8, "delta": law[1], "n_pilot": 40}
    coverage = count_misses(JointExact(), law[0], repeats=100, n_out=60, n_in=60, seed=1, **level)
    assert coverage.holds, coverage


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law[0].name}-{law[1]}".replace(" ", "-"))
def test_bound_with_its_event_from_a_pilot_keeps_its_level_in_long_runs(law, confidence):
    level = {"confidence": confidence, "delta": law[1], "n_pilot": 200}
    coverage = count_misses(JointExact(), law[0], repeats=2000, n_out=1000, n_in=1000, seed=99, **level)
    assert coverage.holds, coverage


def test_mean_bound_on_laplace_is_that_of_the_best_test_of_one_event():
    # the bias of a limit at 95 % is 1.645 standard errors: 0.0736 at p = 0.5, q = 0.184, n = 1000
    known = bounds_drawn(
        JointExact(threshold=0.999), laplace_ratio(1.0), repeats=100, n_out=1000, n_in=1000, confidence=0.95, seed=2
    )
    assert known.mean() == pytest.approx(1 - 1.645 * 0.0736, abs=4 * 0.0736 / 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threshold", "trials", "least"),
    [("pilot", 1000, 0.84), ("pilot", 10_000, 0.945), (0.999999, 1000, 0.87), (0.999999, 10_000, 0.955)],
)
def test_mean_bound_of_audits_of_laplace_noise(threshold, trials, least):
    bound = JointExact(threshold)
    epsilons = [audit(Laplace(epsilon=1.0), trials=trials, seed=seed, bound=bound).bound.epsilon for seed in range(400)]
    assert np.mean(epsilons) >= least


# --- the whole curve --------------------------------------------------------------------------------------------------


def test_curve_is_refuted_at_another_delta():
    scores = calls.counts(159, 1000, 500, 1000)  # Gaussian, mu = 1
    violation = calls.curve_test(ORDERED, scores, GaussianDP(0.8), confidence=0.95)
    assert violation is not None
    assert 0.1 < violation.epsilon < 1.0
    assert violation.delta < violation.delta_lower < 0.5
    assert violation.delta == pytest.approx(GaussianDP(0.8).delta(violation.epsilon))
    assert calls.claim_p_value(ORDERED, scores, GaussianDP(0.8)) < 0.05
    assert calls.curve_test(ORDERED, scores, GaussianDP(1.0), confidence=0.95) is None
    assert calls.claim_p_value(ORDERED, scores, GaussianDP(1.0)) > 0.05


def test_curve_of_one_epsilon_is_judged_as_that_epsilon():
    scores = calls.counts(184, 1000, 500, 1000)
    assert calls.curve_test(ORDERED, scores, PureDP(0.86), confidence=0.95) is not None
    assert calls.curve_test(ORDERED, scores, PureDP(0.89), confidence=0.95) is None
    assert calls.curve_test(ORDERED, scores, ApproximateDP(0.87, 0.01), confidence=0.95) is None
    at_delta = calls.p_value(ORDERED, scores, epsilon=0.8, delta=0.0)
    assert at_delta <= calls.claim_p_value(ORDERED, scores, PureDP(0.8)) <= 1.2 * at_delta


def test_curves_hold_together_with_the_bound_at_the_level():
    # every small outcome: bound above the truth, or true curve refuted, at one significance
    n, significance, claim = 15, 0.2, ApproximateDP(0.5, 0.1)
    table = np.zeros((n + 1, n + 1))
    for i, j in itertools.product(range(n + 1), repeat=2):
        level = {"delta": 0.1, "confidence": 1 - significance}
        refuted = calls.curve_test(FIXED, calls.counts(j, n, i, n), claim, **level) is not None
        above = epsilon(j, n, i, n, **level) > 0.5
        table[i, j] = 9.0 if refuted or above else 0.0
    assert table.any()
    assert worst_miss_rate(table, 0.5, 0.1, private=True) <= significance


# --- choice on the pilot ----------------------------------------------------------------------------------------------


def test_pilot_chooses_event_and_direction():
    forward = PairScores(np.repeat([0.0, 1.0], [995, 5]), np.repeat([0.0, 1.0], [600, 400]))
    backward = PairScores(np.repeat([0.0, 1.0], [400, 600]), np.repeat([0.0, 1.0], [5, 995]))
    for pilot, direction in ((forward, "in"), (backward, "out")):
        ready = calls.prepared(JointExact(), pilot, delta=0.0, confidence=0.95, n_out=9000, n_in=9000)
        assert (ready.event.threshold, ready.event.direction) == (0.5, direction)
        bound = calls.lower_bound(ready, pilot, delta=0.0, confidence=0.95)
        assert [entry.what for entry in bound.ledger] == ["threshold", "direction", "nuisance rate"]
        assert bound.ledger[0].correction == bound.ledger[1].correction == "chosen on pilot trials only"
        assert bound.epsilon > 3


@pytest.mark.parametrize("bound", [JointExact(), ClopperPearson()], ids=lambda bound: bound.name)
def test_among_thresholds_without_false_positives_the_safest_is_taken(bound):
    # an exceptional output on 2 % of side 1 scores inf; just below it a tail whose false positives a small pilot misses
    rng = np.random.default_rng(1)
    out, in_ = rng.normal(size=(2, 5000))
    in_[:100] = np.inf
    in_[100] = 6.0
    ready = calls.prepared(bound, PairScores(out, in_), delta=0.0, confidence=0.95, n_out=45_000, n_in=45_000)
    assert ready.event.threshold == np.inf


def test_small_pilot_without_an_expected_bound_chooses_the_side_with_power():
    # the exponential mechanism on data: 2.9 % against 1.8 % is a ratio of 1.6, that of the complements is 1.01
    rng, n, level = np.random.default_rng(0), 18_000, {"delta": 0.0, "confidence": 0.99}

    def scores(n, n_out, n_in):
        return PairScores(*((np.arange(n) >= below).astype(float) for below in (n_out, n_in)))

    expected = scores(n, round(0.0293 * n), round(0.0179 * n))
    shown = []
    for _ in range(20):
        pilot = scores(2000, *rng.binomial(2000, [0.0293, 0.0179]))
        ready = calls.prepared(JointExact(), pilot, **level, n_out=n, n_in=n)
        shown.append(calls.lower_bound(ready, expected, **level).epsilon)
    known = calls.lower_bound(JointExact(threshold=0.5, direction="out"), expected, **level).epsilon
    assert known > 0.3
    assert np.mean(shown) > 0.9 * known


def gaussian_pilots(n, scale=1.0):
    """Return 100 pairs of log likelihood ratios under N(0, 1) and N(mu, 1), of runs whose distance is `scale` mu."""
    rng, mu = np.random.default_rng(11), 0.2632  # (1, 1e-5)
    shifts = 0.0, scale * mu
    return mu, [[mu * rng.normal(shift, 1.0, size=n) - 0.5 * mu**2 for shift in shifts] for _ in range(100)]


def test_log_likelihood_ratios_choose_a_better_event_than_counts():
    n, level = 9_000, {"delta": 1e-5, "confidence": 0.95}
    mu, pilots = gaussian_pilots(1_000)
    expected = tuned(level["confidence"], level["delta"]).ordering.value

    def value(threshold, direction):
        """Return the value of the ordering at the expected counts of an event: nearly its expected bound."""
        out, in_ = (n * stats.norm.sf(threshold / mu + 0.5 * mu - shift) for shift in (0.0, mu))
        return float(expected(in_, out, n, n) if direction == "in" else expected(n - out, n - in_, n, n))

    best = max(value(t, "in") for t in np.linspace(0.0, 1.0, 101))
    chosen = {
        known: [
            calls.prepared(JointExact(), PairScores(*pilot, are_log_ratios=known), **level, n_out=n, n_in=n).thresholds[
                0
            ]
            for pilot in pilots
        ]
        for known in (True, False)
    }
    means = {known: np.mean([max(value(t, "in"), value(t, "out")) for t in chosen[known]]) for known in chosen}
    assert means[True] > 0.95 * best > 1.1 * means[False]


def test_log_likelihood_ratios_that_the_pilot_contradicts_are_not_used():
    for scale, used in ((1.0, True), (3.0, False), (-1.0, False)):
        _, pilots = gaussian_pilots(1_000, scale)
        limits = [
            _known_ratio_limits(PairScores(*pilot, are_log_ratios=True), np.array([0.0, 0.1])) for pilot in pilots
        ]
        assert sum(map(bool, limits)) >= 98 if used else not any(limits)


def test_rates_of_log_likelihood_ratios_are_those_of_the_law():
    # randomised response at epsilon 1: scores +1 and -1; any counts give the ratio e, and their sum gives the frequency
    out, in_ = np.repeat([-1.0, 1.0], [80, 40]), np.repeat([-1.0, 1.0], [40, 80])
    first, median = _known_ratio_limits(PairScores(out, in_, are_log_ratios=True), np.array([0.0]))
    for limits, level in ((first, 0.05), (median, 0.5)):
        ratios = limits.tpr_lower / limits.fpr_upper, limits.tnr_lower / limits.fnr_upper
        assert np.ravel(ratios) == pytest.approx(np.e)
        frequency = stats.beta.ppf(level, 120, 121)
        assert limits.tpr_lower + limits.fpr_upper == pytest.approx(2 * frequency)
    certain = _known_ratio_limits(
        PairScores(np.array([-np.inf, 0.0]), np.array([0.0, np.inf]), are_log_ratios=True), np.array([np.inf])
    )
    assert certain[0].fpr_upper == 0.0 < certain[0].tpr_lower


def test_ordering_is_tuned_to_the_level_and_kept():
    ready = calls.prepared(FIXED, PairScores([], []), delta=0.01, confidence=0.99, n_out=9, n_in=9)
    assert (ready.ordering.significance, ready.ordering.delta) == (pytest.approx(0.01), 0.01)
    own = JointExact(threshold=1.0, ordering=Ordering(0.3))
    kept = calls.prepared(own, PairScores([], []), delta=0.01, confidence=0.99, n_out=9, n_in=9)
    assert kept.ordering == own.ordering


@pytest.mark.parametrize("n", [1000, 10_000, 1_000_000, 10**9])
def test_bound_at_expected_counts_is_close_below_the_truth_at_every_size(n):
    test = UnconditionalTest(n // 2, n, int(0.184 * n), n, Ordering())
    epsilon = test.epsilon_lower(0.0, 0.05)
    assert test.p_value(epsilon, 0.0) == pytest.approx(0.05, rel=1e-2)
    assert 0.87 < epsilon < 1.0002


# --- wrong input ------------------------------------------------------------------------------------------------------
