"""The bound from many guesses in one run: known values, its worst case, properties, coverage, and broken twins."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy import special, stats
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
    worst_case,
    worst_level,
    worst_probability,
)

from dpassay.audit import AuditResult, audit, audit_scores
from dpassay.audit.bounds.base import LowerBound
from dpassay.audit.bounds.bits.guessing import Guesses, Guessing
from dpassay.audit.bounds.bits.independent import OneRunIndependent
from dpassay.audit.bounds.bits.one_run import OneRun, _guess_p_value, least_epsilon
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms import ApproximateDP, Laplace, PureDP
from dpassay.mechanisms.core import ParameterError

LEVEL = {"delta": 0.0, "confidence": 0.95}


def game(n_correct, n_guesses, n_bits):
    """Return guesses at score +-1, of which the first are right; the others abstain at 0."""
    bits = np.arange(n_bits) % 2 == 0
    say = np.where(np.arange(n_bits) < n_correct, bits, ~bits)
    return BitScores(bits[None, :], np.where(np.arange(n_bits) < n_guesses, 2.0 * say - 1.0, 0.0)[None, :])


# --- the game --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "scores", "message"),
    [
        (
            [[[True, False]]],
            [[[1.0, 2.0]]],
            r"bits must have shape \(n_runs, n_canaries\), or \(n_canaries,\) .* \(1, 1, 2\)",
        ),
        ([True, False], [[1.0, 2.0]], r"but has shape \(2,\)"),
        ([[]], [[]], r"but has shape \(1, 0\)"),
        ([[0, 2]], [[1.0, 2.0]], r"True \(in\) and False \(out\)"),
        ([[0, 1]], [[1.0]], r"scores must have the shape of bits, \(1, 2\), but has shape \(1, 1\)"),
        ([[0, 1]], [[1.0, np.nan]], "scores holds NaN"),
        ([[0, 1]], [[1.0, 2j]], "scores must be real numbers"),
        ([[0, 1]], np.array([[1.0, np.complex128(2 + 1j)]], dtype=object), "scores must be real numbers"),
        ([[0j, 1 + 0j]], [[1.0, 2.0]], "bits must be True"),
    ],
)
def test_malformed_games_are_refused(bits, scores, message):
    with pytest.raises(ParameterError, match=message):
        BitScores(bits, scores)


# --- known values ----------------------------------------------------------------------------------------------------


def test_p_values_agree_with_the_published_theorem():
    # Steinke, Nasr and Jagielski (2023), Theorem 5.2, evaluated by an independent program: 6 decimals
    published = {"delta_term": "published"}
    assert _guess_p_value(1000, 100, 80, epsilon=1.0, delta=0.0) == pytest.approx(0.071556, abs=5e-7)
    assert _guess_p_value(1000, 100, 80, epsilon=1.0, delta=1e-5, **published) == pytest.approx(0.073009, abs=5e-7)
    assert _guess_p_value(1000, 100, 90, epsilon=1.5, delta=1e-5, **published) == pytest.approx(0.018765, abs=5e-7)


@pytest.mark.parametrize(
    ("counts", "delta", "expected"),
    [
        ((1000, 100, 100), 0.0, 3.49297),
        ((1000, 100, 90), 0.0, 1.63082),
        ((1000, 100, 90), 1e-5, 1.62614),
        ((1000, 1000, 700), 1e-5, 0.73174),
    ],
)
def test_bounds_agree_with_the_published_theorem(counts, delta, expected):
    epsilon = least_epsilon(*counts, delta=delta, significance=0.05, delta_term="published")
    assert epsilon == pytest.approx(expected, abs=6e-6)
    bound = OneRun(guesses=counts[1], center=0.0, delta_term="published")
    one = game(counts[2], counts[1], counts[0])
    assert calls.lower_bound(bound, one, delta=delta, confidence=0.95).epsilon == pytest.approx(epsilon, abs=1e-12)


GOLDEN = [
    (0, 2, None, 0.0),
    (1, 386, (3376, 2807), 1.13346),
    (2, 374, (4666, 4499), 2.311945),
    (4, 140, (8233, 8223), 4.395568),
]


@pytest.mark.parametrize(("mu", "vertices", "best", "expected"), GOLDEN)
def test_arithmetic_of_a_threshold_choice_that_is_no_proof(mu, vertices, best, expected):
    # jax_privacy tests/auditing_test.py (8967688c), to 1e-5: positive guesses, Bonferroni over the vertices of the ROC
    # hull. The hull is computed from the bits, which no union bound covers: arithmetic only.
    hull = hull_vertices(quantile_scores(mu))
    level = {"delta": 1e-6, "significance": 0.05 / len(hull), "delta_term": "published"}
    assert len(hull) == vertices
    counts = [(x + y, y) for x, y in hull if x + y > 0]
    if best is None:
        assert max(least_epsilon(20_000, *count, **level) for count in counts) == 0.0
        return
    assert best in counts
    epsilon = least_epsilon(20_000, *best, **level)
    assert epsilon == pytest.approx(expected, rel=1e-5)
    at = {"epsilon": epsilon + 1e-6, "delta": 1e-6, "delta_term": "published"}
    assert all(_guess_p_value(20_000, *count, **at) > level["significance"] for count in counts)


@pytest.mark.parametrize(("mu", "least"), [(1, 2.36), (2, 4.49), (4, 7.72)])
def test_valid_bound_beats_the_arithmetic(mu, least):
    bound = calls.lower_bound(OneRun(negatives=0.5), quantile_scores(mu), delta=1e-6, confidence=0.95)
    truth = float(gaussian(mu).curve.epsilon(1e-6))
    assert least < bound.epsilon < truth
    assert bound.epsilon > 1.7 * {row[0]: row[3] for row in GOLDEN}[mu]


def test_ceiling_of_all_right_is_the_closed_form():
    for r, expected in ((100, 3.49297), (1000, 5.80907), (10_000, 8.11300)):
        ceiling = calls.ceiling(OneRun(guesses=r), r // 2, r - r // 2, **LEVEL)
        assert ceiling == pytest.approx(-math.log(math.expm1(math.log(20) / r)), rel=1e-9)
        assert ceiling == pytest.approx(expected, abs=6e-6)


# --- the delta term --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "r", "v", "epsilon", "delta"),
    [
        (30, 30, 25, 1.0, 1e-3),
        (60, 30, 25, 1.0, 1e-2),
        (30, 30, 20, 0.3, 1e-3),
        (1000, 60, 48, 1.0, 1e-4),
        (9, 4, 4, 2, 0.01),
    ],
)
def test_p_value_is_the_largest_probability_over_all_mechanisms(m, r, v, epsilon, delta):
    largest = worst_probability([delta], m, r, v, [epsilon])
    assert _guess_p_value(m, r, v, epsilon=epsilon, delta=delta) == pytest.approx(largest, rel=2e-6)


def stein_factor(r, v, epsilon):
    """Return max u of the proof from its recursion, k u(k - 1) - e^epsilon (r - k) u(k) = 1{k >= v} - F(v)."""
    rate = special.expit(epsilon)
    tail = stats.binom.sf(v - 1, r, rate)
    up = [tail / (math.exp(epsilon) * r)]
    for k in range(1, v):
        up.append((k * up[-1] + tail) / (math.exp(epsilon) * (r - k)))
    down = [(1 - tail) / r]
    for k in range(r - 1, v - 1, -1):
        down.append((1 - tail + math.exp(epsilon) * (r - k) * down[-1]) / k)
    assert up[-1] == pytest.approx(down[-1], rel=1e-8)
    return max(up + down)


@given(r=st.integers(2, 300), share=st.floats(0.5, 1.0), epsilon=st.floats(0.0, 4.0))
def test_delta_term_is_the_maximum_of_the_solution_of_steins_equation(r, share, epsilon):
    v = max(1, math.floor(share * r))
    tail = _guess_p_value(r, r, v, epsilon=epsilon, delta=0.0)
    assume(1e-200 < tail < 0.999)
    delta = 1e-9 * tail
    term = (_guess_p_value(r, r, v, epsilon=epsilon, delta=delta) - tail) / (r * delta)
    assert term == pytest.approx(stein_factor(r, v, epsilon), rel=1e-4)


@given(
    r=st.integers(1, 400), extra=st.integers(0, 400), share=st.floats(0.3, 1.0), epsilon=st.floats(0.0, 5.0),
    delta=st.sampled_from([1e-8, 1e-5, 1e-3, 0.1]),
)  # fmt: skip
def test_sharp_delta_term_is_at_most_half_the_published_one_below_one_half(r, extra, share, epsilon, delta):
    counts = r + extra, r, max(1, math.ceil(share * r))
    at_zero = _guess_p_value(*counts, epsilon=epsilon, delta=0.0)
    sharp, published = (
        _guess_p_value(*counts, epsilon=epsilon, delta=delta, delta_term=term) for term in ("sharp", "published")
    )
    assert sharp <= published
    if at_zero <= 0.5 and published < 1.0:
        assert sharp - at_zero <= 0.5 * (published - at_zero) * (1 + 1e-6) + 1e-15


@given(r=st.integers(1, 2000), share=st.floats(0.4, 1.0), delta=st.sampled_from([0.0, 1e-7, 1e-4, 0.02]))
def test_p_value_never_falls_with_epsilon(r, share, delta):
    v = max(1, math.ceil(share * r))
    values = [_guess_p_value(2 * r, r, v, epsilon=e, delta=delta) for e in np.linspace(0.0, 12.0, 60)]
    assert np.all(np.diff(values) >= -1e-12)


def test_p_value_stays_finite_where_the_tails_underflow():
    for v in (1, 10, 9_999, 10_000):
        for epsilon in (0.0, 1.0, 30.0):
            assert 0.0 <= _guess_p_value(20_000, 10_000, v, epsilon=epsilon, delta=1e-9) <= 1.0
    # F and p underflow, their ratio does not: about m delta / v, and at least that
    assert _guess_p_value(10_000, 10_000, 9_000, epsilon=0.0, delta=1e-6) == pytest.approx(
        1e-2 / 9000 * 1.125, rel=0.01
    )


# --- properties ------------------------------------------------------------------------------------------------------


@given(m=st.integers(1, 500), r=st.integers(1, 500), v=st.integers(0, 499), delta=st.sampled_from([0.0, 1e-6, 1e-3]))
def test_bound_grows_with_right_guesses_and_falls_with_bits_that_abstain(m, r, v, delta):
    r, m = min(r, m), m
    v = min(v, r - 1)
    level = {"delta": delta, "significance": 0.05}
    assert least_epsilon(m, r, v, **level) <= least_epsilon(m, r, v + 1, **level) + 1e-12
    assert least_epsilon(2 * m, r, v, **level) <= least_epsilon(m, r, v, **level) + 1e-12
    assert v > r / 2 or least_epsilon(m, r, v, **level) == 0.0


@given(seed=st.integers(0, 10**6))
def test_bound_is_the_same_with_in_and_out_swapped(seed):
    scores = random_game(seed)
    swapped = BitScores(~scores.bits, -scores.scores)
    for negatives, mirrored in ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0)):
        first = calls.lower_bound(OneRun(guesses=50, negatives=negatives), scores, **LEVEL)
        assert calls.lower_bound(OneRun(guesses=50, negatives=mirrored), swapped, **LEVEL).epsilon == first.epsilon
    centred = calls.lower_bound(OneRun(guesses=50, center=0.75), scores, **LEVEL)
    assert calls.lower_bound(OneRun(guesses=50, center=-0.75), swapped, **LEVEL).epsilon == centred.epsilon


def naive_right(scores, size, negatives):
    ties = np.random.default_rng(scores.n_bits).permutation(scores.n_bits)
    ranked = sorted(zip(scores.scores.ravel(), ties, scores.bits.ravel(), strict=True), key=lambda each: each[:2])
    low = round(size * negatives)
    guessed_in = ranked[len(ranked) - (size - low) :]
    return sum(not bit for *_, bit in ranked[:low]) + sum(bool(bit) for *_, bit in guessed_in)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 60), negatives=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_right_guesses_are_counted_as_a_slow_twin_counts_them(seed, size, negatives):
    rng = np.random.default_rng(seed)
    scores = BitScores(rng.random((3, 20)) < 0.5, rng.integers(0, 6, size=(3, 20)))  # ties
    assert Guessing().right(scores, (Guesses(size, negatives),)) == (naive_right(scores, size, negatives),)


@pytest.mark.usefixtures("without_refusals")
@pytest.mark.parametrize("bound", [OneRun(), OneRunIndependent()])
@pytest.mark.parametrize("n_values", [1, 3])
def test_tied_scores_of_canaries_in_the_order_of_their_bits_are_no_evidence(bound, n_values):
    """Null: scores are independent of the bits; rows are sorted by the bits, as in a file with excluded ones first."""
    rng, refuted, n_games = np.random.default_rng(9), 0, 50
    for n in range(100, 100 + n_games):
        scores = BitScores(np.sort(rng.random(n) < 0.5), rng.integers(n_values, size=n).astype(float))
        refuted += bound.fix(Statement(PureDP(0.1), delta=0.0, confidence=0.8), None, (n,)).exceeds_claim(scores)
    assert refuted <= stats.binom.isf(1e-6, n_games, 0.2)


def sizes_of(n_bits, kind, **options):
    return [each.size for each in Guessing(**options).division(n_bits) if each.kind == kind]


def test_grids_depend_on_the_number_of_bits_only():
    assert {n: sizes_of(n, "in and out") for n in (1, 2, 30, 100, 399, 400, 20_000)} == {
        1: [1], 2: [1], 30: [15], 100: [50], 399: [199], 400: [50, 200], 20_000: [156, 625, 2500, 10_000]
    }  # fmt: skip
    of_one_kind = {99: [], 100: [25], 400: [25, 50, 100], 2000: [25, 50, 100, 200, 400]}
    assert {n: sizes_of(n, "in only") for n in of_one_kind} == of_one_kind
    assert {n: sizes_of(n, "out only") for n in of_one_kind} == of_one_kind
    assert [sizes_of(n, "in only", negatives=0.0) for n in (1, 30, 200)] == [[1], [7], [25, 50]]
    assert sizes_of(400, "out only", negatives=1.0) == [25, 50, 100]
    assert sizes_of(400, "in and out", negatives=0.5) == sizes_of(400, "in and out", center=0.0) == [50, 200]


@given(n=st.integers(1, 10**6), negatives=st.sampled_from([None, 0.0, 0.3, 0.5, 1.0]))
def test_shares_of_the_significance_add_up_to_1_and_fall_with_the_number_of_guesses(n, negatives):
    division = Guessing(negatives=negatives).division(n)
    assert math.fsum(each.share for each in division) == pytest.approx(1.0, rel=1e-12)
    for less, more in pairwise(division):
        fall = 1.0 if less.kind == "in and out" else 0.7
        assert less.kind != more.kind or more.share == pytest.approx(fall * less.share, rel=1e-12)
    if negatives is None and n >= 100:
        for kind, share in {"in only": 0.5, "out only": 0.05}.items():
            assert math.fsum(each.share for each in division if each.kind == kind) == pytest.approx(share)


@pytest.mark.usefixtures("without_power")
@pytest.mark.parametrize(("released", "least"), [(0.05, 2.2), (0.3, 3.0)])
def test_records_released_verbatim_are_found_by_guesses_of_one_kind(released, least):
    # claim (2, 1e-5), 2,000 coins, of which half are 1, a share of the included records released
    rng, games = np.random.default_rng(1), []
    for _ in range(20):
        bits = rng.permutation(2000) < 1000
        scores = np.zeros(2000)
        scores[np.flatnonzero(bits)[: round(released * 1000)]] = 1.0
        games += [BitScores(bits, scores), BitScores(~bits, -scores)]  # and where as many are known to be out
    bound, bound_out = (
        audit_scores(game, claim=ApproximateDP(2.0, 1e-5), tossed=True).bound.epsilon for game in games[:2]
    )  # the same in each game
    assert bound >= least
    assert bound - 0.6 < bound_out < bound
    in_and_out = [calls.lower_bound(OneRun(negatives=0.5), game, delta=1e-5, confidence=0.95) for game in games]
    assert np.median([bound.epsilon for bound in in_and_out]) < (0.6 if released < 0.1 else 1.2)


def test_result_says_what_was_looked_at_and_survives_json():
    bound = calls.lower_bound(OneRun(), random_game(1, n_runs=4), delta=1e-6, confidence=0.95)
    looked_at = {entry.what: (entry.looked_at, entry.correction) for entry in bound.ledger}
    assert looked_at["bits"] == ("800 in 4 independent runs", "independent fair coins, recorded before the run")
    grids = "in and out 100, 400; in only 25, 50, 100, 200; out only 25, 50, 100, 200"
    assert f"best of {grids}; " in looked_at["guesses"][0]
    assert looked_at["guesses"][1] == (
        "fixed beforehand; the significance is divided: 45 % in and out, 50 % in only (each number 0.7 times the share "
        "of the next smaller one), 5 % out only (each number 0.7 times the share of the next smaller one)"
    )
    assert bound.assumptions == ()
    assert bound.n_trials == 800
    result = replace(audit(Laplace(epsilon=1.0), trials=500, seed=1), bounds=(bound,), claim=bound.epsilon)
    assert AuditResult.from_json(result.to_json()).bounds == (bound,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guesses": "many"}, "guesses must be a number, a share, several of these, or \"grid\", but is 'many'"),
        ({"guesses": 0}, "guesses must be a whole number >= 1, but is 0"),
        ({"guesses": 1.5}, r"guesses as a share must lie in \(0, 1\], but is 1.5"),
        ({"guesses": ()}, "guesses must name at least one size"),
        ({"guesses": True}, "guesses must be a whole number"),
        ({"negatives": -0.1}, r"negatives must lie in \[0, 1\]"),
        ({"center": math.inf}, "center must be a finite number"),
        ({"delta_term": "none"}, "unknown delta_term 'none'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        OneRun(**options)


def test_other_games_and_impossible_counts_are_refused():
    with pytest.raises(ParameterError, match=r"one-run reads BitScores\(bits, scores\), but was given PairScores"):
        calls.lower_bound(OneRun(), PairScores(np.zeros(3), np.ones(3)), **LEVEL)
    with pytest.raises(ParameterError, match="guesses must be at most the number of bits, 200, but is 300"):
        calls.lower_bound(OneRun(guesses=300), random_game(1), **LEVEL)
    with pytest.raises(ParameterError, match="n_correct must be at most n_guesses = 3, but is 4"):
        _guess_p_value(10, 3, 4, epsilon=1.0, delta=0.0)
    with pytest.raises(ParameterError, match="delta must lie in"):
        calls.lower_bound(OneRun(), random_game(1), delta=1.0, confidence=0.9)


# --- coverage --------------------------------------------------------------------------------------------------------

WORST = (1.0, 1e-2, 400, 40, 36)  # epsilon, delta, m, r, v: nearly all of the level, 0.159, is the delta term

COVERED = [
    (OneRun(guesses=60, center=0.0), response(1.0), 0.0, (1, 60)),
    (OneRun(guesses=12, center=0.0), hesitant_response(1.5), 0.0, (1, 60)),
    (OneRun(guesses=(10, 60), center=0.0), hesitant_response(1.5), 0.0, (1, 60)),
    (OneRun(), response(0.0), 0.0, (1, 400)),
    (OneRun(), leaky_response(0.5, 0.05), 0.05, (1, 200)),
    (OneRun(guesses=0.2), gaussian(0.3), 1e-3, (1, 300)),
    (OneRun(), gaussian(1.0), 0.3, (1, 300)),
    (OneRun(guesses=0.2), gaussian_together(0.5), 0.15, (1, 200)),
    (OneRun(guesses=0.2, center=0.25), gaussian_together(0.5), 0.15, (20, 10)),
    (OneRun(guesses=60, center=0.0), response(1.0), 0.0, (6, 10)),
]  # fmt: skip


@pytest.mark.parametrize("case", COVERED, ids=lambda case: f"{case[1].name}-{case[0].guesses}-{case[3]}")
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(case):
    bound, law, delta, shape = case
    coverage = bit_misses(bound, law, shape=shape, repeats=2000, confidence=0.8, delta=delta)
    assert coverage.holds, coverage


@pytest.mark.parametrize("worst", [WORST, (1.0, 1e-3, 40, 40, 32), (0.2, 1e-2, 300, 20, 15)])
def test_bound_on_the_worst_mechanism_misses_as_often_as_it_may(worst):
    level = worst_level(*worst)
    bound = OneRun(guesses=worst[3], center=0.0)
    options = {"shape": (1, worst[2]), "repeats": 4000, "confidence": 1 - level * (1 + 1e-9), "delta": worst[1]}
    coverage = bit_misses(bound, worst_case(*worst), **options)
    assert coverage.holds, coverage
    assert abs(coverage.misses - level * 4000) < 4.9 * math.sqrt(level * (1 - level) * 4000)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("case", COVERED, ids=lambda case: f"{case[1].name}-{case[0].guesses}-{case[3]}")
def test_bound_never_exceeds_exact_epsilon_in_long_runs(case, confidence):
    bound, law, delta, shape = case
    coverage = bit_misses(bound, law, shape=shape, repeats=20_000, confidence=confidence, delta=delta, seed=7)
    assert coverage.holds, coverage


# --- broken twins: the same harness has to catch them ----------------------------------------------------------------


class _Twin(calls.Own, OneRun):
    """An intentionally broken bound."""

    def lower_bound_at(self, scores, *, delta, confidence):
        epsilon = self.wrong(scores, delta, 1 - confidence)
        return LowerBound(epsilon, delta, confidence, "twin", scores.n_bits, math.inf)


class _Peeks(_Twin):
    """Bug: the number of guesses is chosen with the bits, at the full level."""

    def wrong(self, scores, delta, significance):
        sizes = tuple(range(10, scores.n_bits + 1, 5))
        rights = Guessing(center=self.center).right(scores, tuple(map(Guesses, sizes)))
        return max(
            least_epsilon(scores.n_bits, r, v, delta=delta, significance=significance)
            for r, v in zip(sizes, rights, strict=True)
        )


class _GridUnpaid(_Twin):
    """Bug: every size of the grid is tested at the full level."""

    def wrong(self, scores, delta, significance):
        division = Guessing(self.guesses, self.negatives, self.center).division(scores.n_bits)
        single = (OneRun(each.size, each.negatives, self.center) for each in division)
        return max(calls.lower_bound(one, scores, delta=delta, confidence=1 - significance).epsilon for one in single)


class _Direction(_Twin):
    """Bug: in or out guesses are chosen after looking."""

    def wrong(self, scores, delta, significance):
        single = (OneRun(guesses=self.guesses, negatives=share) for share in (0.0, 1.0))
        return max(calls.lower_bound(one, scores, delta=delta, confidence=1 - significance).epsilon for one in single)


class _ForgetsDelta(_Twin):
    """Bug: the bound is computed at delta 0 for every delta."""

    def wrong(self, scores, delta, significance):
        return calls.lower_bound(
            OneRun(self.guesses, center=0.0), scores, delta=0.0, confidence=1 - significance
        ).epsilon


class _OnlyGuessed(_Twin):
    """Bug: m is the number of guesses, so that delta is accounted for guessed bits only."""

    def wrong(self, scores, delta, significance):
        (right,) = Guessing(center=self.center).right(scores, (Guesses(self.guesses),))
        return least_epsilon(self.guesses, self.guesses, right, delta=delta, significance=significance)


class _PlugIn(_Twin):
    """Bug: the odds of the observed guesses, without a limit."""

    def wrong(self, scores, delta, significance):
        (right,) = Guessing(center=self.center).right(scores, (Guesses(self.guesses),))
        return max(0.0, math.log(right + 1) - math.log(self.guesses - right + 1))


TWINS = [
    (_Peeks(), response(0.0), 0.0, (1, 200), 0.8),
    (_Peeks(center=0.0), response(1.0), 0.0, (1, 200), 0.8),
    (_GridUnpaid(guesses=(10, 40, 160)), response(0.0), 0.0, (1, 200), 0.8),
    (_GridUnpaid(), response(0.0), 0.0, (1, 400), 0.8),
    (_Direction(guesses=0.25), response(0.0), 0.0, (1, 200), 0.8),
    (_ForgetsDelta(guesses=WORST[3]), worst_case(*WORST), WORST[1], (1, WORST[2]), None),
    (_OnlyGuessed(guesses=WORST[3], center=0.0), worst_case(*WORST), WORST[1], (1, WORST[2]), None),
    (_PlugIn(guesses=60, center=0.0), response(1.0), 0.0, (1, 60), 0.8),
]


@pytest.mark.parametrize("case", TWINS, ids=lambda case: f"{type(case[0]).__name__}-{case[1].name}")
def test_broken_twin_is_caught(case):
    twin, law, delta, shape, confidence = case
    confidence = 1 - worst_level(*WORST) * (1 + 1e-9) if confidence is None else confidence
    coverage = bit_misses(twin, law, shape=shape, repeats=2000, confidence=confidence, delta=delta)
    assert not coverage.holds, coverage
