"""The bound from one event: known values, invariants, and the choice of its threshold on a pilot."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.audit import calls

from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally
from dpassay.mechanisms.core import ParameterError

FIXED = ClopperPearson(threshold=1.0)


def epsilon(k0, n0, k1, n1, *, delta=0.0, confidence=0.95):
    return calls.lower_bound(FIXED, calls.counts(k0, n0, k1, n1), delta=delta, confidence=confidence).epsilon


@pytest.mark.parametrize(
    ("k1", "k0", "n", "delta", "expected"),
    # the formula by beta quantiles, evaluated independently to 6 digits
    [
        (500, 184, 1000, 0.0, 0.805232),
        (500, 184, 1000, 1e-5, 0.805210),
        (500, 184, 1000, 0.01, 0.783658),
        (40, 3, 200, 0.0, 1.223682),
        (40, 3, 200, 0.01, 1.153178),
        (10, 0, 1000, 0.0, 0.266284),
        (10, 0, 1000, 0.01, 0.0),
        (1000, 1000, 1000, 0.0, 0.0),
        (20, 0, 20, 0.0, 1.59677),
        (50, 18, 100, 0.0, 0.3908),
        (5000, 1839, 10_000, 0.0, 0.9391),
    ],
)
def test_bound_has_its_known_value(k1, k0, n, delta, expected):
    digits = 6e-5 if expected in (0.3908, 0.9391) else 6e-6
    assert epsilon(k0, n, k1, n, delta=delta) == pytest.approx(expected, abs=digits)


@pytest.mark.parametrize(
    ("n", "tail", "expected"),
    # ln((1 - h) / h), h = 1 - tail^(1/n); 500 at 99 % is in Jagielski et al. 2020, 1000 at 95 % in Nasr et al. 2021
    [
        (100, 0.05, 3.49297),
        (200, 0.05, 4.19363),
        (500, 0.005, 4.54192),
        (1000, 0.05, 5.80907),
        (1000, 0.025, 5.60059),
        (1000, 0.005, 5.23772),
        (5000, 0.05, 7.41970),
        (10_000, 0.025, 7.90483),
        (100_000, 0.025, 10.20758),
        (1_000_000, 0.025, 12.51019),
    ],
)
def test_ceiling_has_its_known_value_and_is_reached_by_a_perfect_attack(n, tail, expected):
    confidence = 1 - 2 * tail
    assert calls.ceiling(FIXED, n, n, delta=0.0, confidence=confidence) == pytest.approx(expected, abs=6e-6)
    assert epsilon(0, n, n, n, confidence=confidence) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize("significance", [0.2, 0.05])
@pytest.mark.parametrize(("n_out", "n_in"), [(12, 12), (5, 30)])
def test_both_limits_are_right_together_at_every_pair_of_rates(n_out, n_in, significance):
    missed = []
    for side, n in (("fpr_upper", n_out), ("fnr_upper", n_in)):
        pairs = [(min(k, n_out), max(n_in - k, 0)) for k in range(n + 1)]  # k errors on this side
        limits = [float(getattr(ClopperPearson().limits(pair, n_out, n_in, significance), side)) for pair in pairs]
        rates = np.unique(np.append(np.nextafter(np.minimum(limits, 1 - 1e-9), 1), np.linspace(0, 1, 101)))
        law = stats.binom.pmf(np.arange(n + 1), n, rates[:, None])
        missed.append(float((law * (rates[:, None] > np.array(limits))).sum(axis=1).max()))
    worst = 1 - (1 - missed[0]) * (1 - missed[1])
    assert 0.8 * significance < worst <= significance


def test_bound_agrees_with_a_slow_twin_from_scipy_stats():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n0, n1 = rng.integers(1, 300, size=2)
        k0, k1 = rng.integers(0, n0 + 1), rng.integers(0, n1 + 1)
        delta, level = rng.choice([0.0, 0.01, 0.2]), rng.choice([0.2, 0.05, 1e-6])
        fpr = stats.beta.isf(level / 2, k0 + 1, n0 - k0) if k0 < n0 else 1.0
        fnr = stats.beta.isf(level / 2, n1 - k1 + 1, k1) if k1 > 0 else 1.0
        lines = [(1 - fnr - delta) / fpr, (1 - fpr - delta) / fnr]
        expected = max([0.0] + [math.log(x) for x in lines if x > 0])
        assert epsilon(k0, n0, k1, n1, delta=delta, confidence=1 - level) == pytest.approx(expected, abs=1e-9)


def test_bound_at_exact_rates_is_below_the_truth_and_closes_in():
    n = 10 ** np.arange(2, 8)
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)  # randomised response, epsilon 1
    bounds = [epsilon(math.ceil(q * size), size, math.floor(p * size), size) for size in n.tolist()]
    assert all(b < 1 for b in bounds)
    assert bounds == sorted(bounds)
    assert bounds[-1] > 0.998


hits = st.integers(0, 150)
levels = st.floats(0.01, 0.999999)
deltas = st.floats(0.0, 0.5)


@given(k0=st.integers(0, 149), k1=st.integers(1, 150), delta=deltas, confidence=levels)
def test_bound_grows_with_the_evidence_and_stops_at_the_ceiling(k0, k1, delta, confidence):
    lower_bound = epsilon(k0, 150, k1, 150, delta=delta, confidence=confidence)
    assert lower_bound >= epsilon(k0 + 1, 150, k1, 150, delta=delta, confidence=confidence)
    assert lower_bound >= epsilon(k0, 150, k1 - 1, 150, delta=delta, confidence=confidence)
    assert lower_bound <= calls.ceiling(FIXED, 150, 150, delta=delta, confidence=confidence)


@given(k0=st.integers(0, 60), k1=st.integers(0, 90), delta=deltas)
def test_directions_swap_with_the_sides(k0, k1, delta):
    # the complement of the event, seen from the other side
    assert epsilon(k0, 60, k1, 90, delta=delta) == pytest.approx(epsilon(90 - k1, 90, 60 - k0, 60, delta=delta))


@given(k0=st.integers(0, 40), k1=st.integers(0, 40), claim=st.sampled_from([0.0, 0.1, 1.0]), delta=deltas)
def test_p_value_is_the_significance_at_which_the_bound_passes_the_claim(k0, k1, claim, delta):
    scores = calls.counts(k0, 40, k1, 40)
    p = calls.p_value(FIXED, scores, epsilon=claim, delta=delta)
    if p < 1:
        assert calls.lower_bound(FIXED, scores, delta=delta, confidence=1 - p * (1 + 1e-6)).epsilon > claim
    if p > 1e-12:
        assert calls.lower_bound(FIXED, scores, delta=delta, confidence=1 - p * (1 - 1e-6)).epsilon <= claim


def test_result_holds_event_hits_ceiling_and_ledger():
    bound = calls.lower_bound(FIXED, calls.counts(3, 200, 40, 200), delta=0.0, confidence=0.95)
    assert (bound.method, bound.threshold, bound.hits, bound.n_trials) == ("clopper-pearson", 1.0, (3, 200 // 5), 400)
    assert bound.assumptions == ()
    assert [entry.what for entry in bound.ledger] == ["threshold", "direction"]
    assert bound.ledger[0].correction == "fixed beforehand"
    assert bound.ceiling == calls.ceiling(FIXED, 200, 200, delta=0.0, confidence=0.95)


# --- the threshold that is chosen on the pilot ---------------------------------------------------------------------


def prepared(pilot, *, delta=0.0, n=10_000):
    return calls.prepared(ClopperPearson(), pilot, delta=delta, confidence=0.95, n_out=n, n_in=n)


def test_best_threshold_of_a_noise_free_pilot_is_chosen():
    # Laplace noise of scale 1: beyond 1 all thresholds have the same ratio e, and 1 itself has the most hits
    pilot = calls.quantiles(stats.laplace(), stats.laplace(loc=1), 4000)
    assert (
        abs(prepared(pilot).event.threshold - 1.0) < 0.2 or abs(prepared(pilot).event.threshold) < 0.2
    )  # or its mirror image


def test_pilot_puts_the_threshold_between_atoms():
    pilot = PairScores(np.repeat([-1.0, 0.5, 1.0], [60, 20, 20]), np.repeat([-1.0, 0.5, 1.0], [20, 20, 60]))
    assert prepared(pilot).event.threshold in (-0.25, 0.75)


def test_atom_that_fell_apart_by_rounding_is_not_cut_through():
    rng = np.random.default_rng(2)
    jitter = 1.0 + rng.integers(-3, 4, size=600) * 2.0**-52
    pilot = PairScores(np.append(jitter[:100], np.zeros(300)), np.append(jitter[100:400], np.zeros(100)))
    assert prepared(pilot).event.threshold == pytest.approx(0.5)


def test_pilot_on_a_grid_of_counts_chooses_from_the_grid():
    grid = np.array([-np.inf, 0.0, 1.0, 2.0])
    pilot = PairCounts(Tally(grid, np.array([500, 400, 100, 90]), np.array([500, 450, 400, 150]), 500, 500))
    assert prepared(pilot).event.threshold == 1.0
    assert prepared(pilot).thresholds == (1.0,)


def test_lucky_score_in_the_tail_does_not_win():
    scores = np.linspace(0, 1, 1000)
    out, in_ = scores, np.append(scores[1:], 9.0)  # equal but for one score of side 1
    assert prepared(PairScores(out, in_)).event.threshold < 5


def test_pilot_is_remembered_in_the_ledger_and_used_once():
    pilot = calls.quantiles(stats.norm(), stats.norm(loc=1), 300)
    bound = prepared(pilot)
    entry = calls.lower_bound(bound, pilot, delta=0.0, confidence=0.95).ledger[0]
    assert "300 + 300 pilot scores" in entry.looked_at
    assert entry.correction == "chosen on pilot trials only"
    assert prepared(pilot) == bound
    given = ClopperPearson(bound.event.threshold)
    assert ClopperPearson().needs_pilot
    assert not given.needs_pilot
    again = calls.prepared(given, PairScores([5.0], [6.0]), delta=0.0, confidence=0.95, n_out=9, n_in=9)
    assert again.thresholds == bound.thresholds


@pytest.mark.parametrize(
    "pilot",
    [
        PairScores(np.zeros(5), np.zeros(5)),
        PairScores([0.0], [1.0]),
        PairScores([-np.inf, 0.0], [0.0, np.inf]),
        PairScores([1.0, 2.0], [0.0, 0.5]),
    ],
)
def test_degenerate_pilots_give_a_usable_threshold(pilot):
    bound = prepared(pilot)
    assert not np.isnan(bound.thresholds).any()
    assert calls.lower_bound(bound, pilot, delta=0.0, confidence=0.95).epsilon == 0.0


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_threshold_of_any_pilot_lies_within_its_scores(out, in_):
    pilot = PairScores(np.array(out, dtype=float), np.array(in_, dtype=float))
    assert all(min(out + in_) <= threshold <= max(out + in_) for threshold in prepared(pilot).thresholds)


# --- wrong input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", ["best", math.nan, None, True])
def test_unusable_threshold_is_named(threshold):
    with pytest.raises(ParameterError, match="threshold must be a number fixed beforehand"):
        ClopperPearson(threshold=threshold)
