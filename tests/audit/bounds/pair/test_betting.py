"""The betting bound: its factors, its paths, its level at all times simultaneously, and broken twins."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.audit import calls
from tests.audit.coverage import FALSE_ALARM

from dpassay.audit.bounds.numerics import martingale
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.numerics.martingale import Bets, Stretch, block_edges, largest_log_wealth
from dpassay.audit.bounds.pair import betting
from dpassay.audit.bounds.pair.betting import RESOLUTION, STAKES, Betting
from dpassay.audit.bounds.pair.learned_events import rounds
from dpassay.audit.calibration.laws import (
    SampledLaw,
    all_equal,
    gaussian,
    geometric,
    laplace,
    laplace_ratio,
    randomized_response,
)
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally
from dpassay.mechanisms.accounting import ExactDP, PureDP
from dpassay.mechanisms.core import ParameterError

ONE_BET = Betting(threshold=0.5, direction="in", stakes=(0.5,), centre=0.0)


def pairs(in_, out):
    return PairScores(np.array(out, dtype=float), np.array(in_, dtype=float))


def in_run_order(law):
    """A law of finitely many scores that draws scores, not counts."""
    samplers = [lambda rng, size, p=p: rng.choice(law.scores, size, p=p) for p in (law.p_out, law.p_in)]
    return SampledLaw(law.name, *samplers, law.curve)


def drawn(law, n, seed, n_out=None):
    return next(law.draws(np.random.default_rng(seed), n_out or n, n))


# --- known answers and slow twins -------------------------------------------------------------------------------------


def test_ten_perfect_pairs_at_half_the_stake_multiply_the_wealth_to_57_665():
    """1.5^10: bounds.md section 10."""
    assert 1 / calls.p_value(ONE_BET, pairs([1] * 10, [0] * 10), epsilon=0.0, delta=0.0) == pytest.approx(
        57.665, abs=5e-4
    )


@pytest.mark.parametrize("share", [1.0, 0.5, 1 / 7])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_a_step_is_worth_at_most_one_under_every_null(share, delta):
    """One run of a side and a block of 1/share runs of the other: the exact expectation, over a grid of nulls."""
    bets = Bets(STAKES, (0.0, 0.1, 0.3, 0.5))
    size = round(1 / share)
    for epsilon, q in product((0.0, 0.3, 1.0, 4.0), np.linspace(0.0, 1.0, 21)):
        for p in {min(1.0, math.exp(epsilon) * q + delta), 0.5 * min(1.0, math.exp(epsilon) * q + delta)}:
            for shares in ((share, 1.0), (1.0, share)):
                gain_hit, gain_miss, loss_hit, loss_miss = np.exp(
                    bets.logs(epsilon, epsilon, delta, tuple(zip((True, False), shares, strict=True)))
                )
                gain, loss = p * gain_hit + (1 - p) * gain_miss, q * loss_hit + (1 - q) * loss_miss
                runs = [size if s < 1.0 else 1 for s in shares]
                assert (gain ** runs[0] * loss ** runs[1]).max() <= 1.0 + 1e-12


def test_a_step_is_worth_exactly_one_on_the_edge_when_the_centre_is_right():
    gain_hit, gain_miss, loss_hit, loss_miss = np.exp(
        Bets(STAKES, (0.2,)).logs(0.5, 0.5, 0.1, ((True, 1.0), (False, 1.0)))
    )
    p = math.exp(0.5) * 0.2 + 0.1
    centre = 0.2 * (math.exp(0.5) + 0.1)
    surplus = (p - centre) / (math.exp(0.5) + 0.1)
    expected = (p * gain_hit + (1 - p) * gain_miss) * (0.2 * loss_hit + 0.8 * loss_miss)
    np.testing.assert_allclose(expected, 1.0 - (np.array(STAKES) / 0.8 * surplus) ** 2, rtol=1e-12)


def naive_p_value(bound, scores, epsilon, delta):
    """Return the p-value step by step and bet by bet, directly from the formulas."""
    wealths = {(f, t, c): 1.0 for f in (True, False) for t in bound.threshold for c in bound.stakes}
    top, growth = 1.0, math.exp(epsilon) + delta
    for past, now in rounds(scores):
        n_steps = min(now.n_out, now.n_in)
        edges_out, edges_in = (block_edges(n, n_steps) for n in (now.n_out, now.n_in))
        for step in range(n_steps):
            out, in_ = now.out[edges_out[step] : edges_out[step + 1]], now.in_[edges_in[step] : edges_in[step + 1]]
            for forward, threshold, share in wealths:
                gaining, losing, past_losing = (in_, out, past.out) if forward else (out, in_, past.in_)
                rate = (np.count_nonzero((past_losing >= threshold) == forward) + 0.5) / (len(past_losing) + 2)
                stake = share / (1 - min(0.5, rate))
                mu, held = stake / growth, min(0.5, rate) * growth
                for y in (gaining >= threshold) == forward:
                    wealths[forward, threshold, share] *= 1 + mu * (y - held) / len(gaining)
                for x in (losing >= threshold) == forward:
                    wealths[forward, threshold, share] *= 1 - mu * (math.exp(epsilon) * x + delta - held) / len(losing)
            top = max(top, sum(wealths.values()) / len(wealths))
    return 1 / top


@pytest.mark.parametrize(("n_out", "n_in"), [(1, 1), (8, 8), (9, 9), (500, 500), (3, 100), (130, 30), (99, 100)])
def test_rounds_cover_every_run_once_and_end_before_the_next_begins(n_out, n_in):
    scores = PairScores(np.arange(n_out), np.arange(n_in))
    parts = list(rounds(scores))
    assert np.array_equal(np.concatenate([now.out for _, now in parts]), scores.out)
    assert np.array_equal(np.concatenate([now.in_ for _, now in parts]), scores.in_)
    for past, now in parts:
        assert (past.n_out, past.n_in) == (now.out[0], now.in_[0])
    n_steps = [min(now.n_out, now.n_in) for _, now in parts]
    assert n_steps[0] <= 8
    assert sum(n_steps) == min(n_out, n_in)


@pytest.mark.parametrize(("n_out", "n_in"), [(40, 40), (300, 300), (17, 100), (130, 30)])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.9])
def test_p_value_is_that_of_a_gambler_who_plays_step_by_step(n_out, n_in, delta, epsilon):
    bound = Betting(threshold=(0.3, 1.2), direction="both", stakes=(0.05, 0.3, 0.9))
    scores = drawn(laplace(2.0), n_in, seed=n_out, n_out=n_out)
    expected = max(naive_p_value(bound, scores, epsilon, delta), 1e-12)
    assert calls.p_value(bound, scores, epsilon=epsilon, delta=delta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_highest_wealth_is_computed_without_visiting_every_step(seed):
    rng = np.random.default_rng(seed)
    gain, loss = rng.random((2, 30_000)) < [[0.5], [0.19]]
    stretch = Stretch.of(gain, loss, Bets(STAKES, (0.1, 0.3)))
    logs = stretch.bets.logs(0.97, 0.97, 0.0, stretch.roles)
    every = np.logaddexp.reduce(stretch.counts.T @ logs, axis=1) - math.log(2 * len(STAKES))
    log_wealth = largest_log_wealth([[stretch]], np.ones(1), low=0.97, high=0.97, delta=0.0)
    assert log_wealth == pytest.approx(every.max(), rel=1e-12)
    for enough, reached in ((every.max() - 1e-6, True), (every.max() + 1e-6, False)):
        top = largest_log_wealth([[stretch]], np.ones(1), low=0.97, high=0.97, delta=0.0, enough=enough)
        assert (top >= enough) == reached


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_bound_is_the_first_epsilon_that_was_never_rejected(delta):
    bound, scores = Betting(threshold=1.0), drawn(laplace(2.0), 400, seed=3)
    lower_bound = calls.lower_bound(bound, scores, delta=delta, confidence=0.95).epsilon
    below = np.linspace(0.0, lower_bound, 30, endpoint=False)
    assert lower_bound > 0.3
    assert max(calls.p_value(bound, scores, epsilon=e, delta=delta) for e in [*below, lower_bound]) <= 0.05
    assert calls.p_value(bound, scores, epsilon=lower_bound + 2 * RESOLUTION, delta=delta) > 0.05


@given(
    low=st.floats(0.0, 5.0), width=st.floats(0.0, 3.0), at=st.floats(0.0, 1.0), delta=st.sampled_from([0.0, 1e-5, 0.3])
)
def test_factors_of_an_interval_lie_below_those_of_each_epsilon_in_it(low, width, at, delta):
    roles, bets = ((True, 1.0), (False, 0.25)), Bets(STAKES, (0.0, 0.4))
    inside = low + at * width
    assert (bets.logs(low, low + width, delta, roles) <= bets.logs(inside, inside, delta, roles) + 1e-12).all()


def test_perfect_scores_reach_the_ceiling_and_others_do_not():
    level = {"delta": 0.0, "confidence": 0.95}
    for bound in (Betting(threshold=0.5), Betting(threshold=0.5, direction="both"), Betting()):
        perfect = calls.lower_bound(bound, pairs([1] * 500, [0] * 500), **level)
        assert 0.9 * perfect.ceiling < perfect.epsilon <= perfect.ceiling
        assert calls.lower_bound(bound, pairs([0] * 500, [0] * 500), **level).epsilon == 0.0
    ends = [calls.ceiling(Betting(), n, n, **level) for n in (10, 100, 1000, 10_000)]
    assert ends == sorted(ends)
    assert 3.0 < ends[2] < math.log(1000 / math.log(20))


# --- level ------------------------------------------------------------------------------------------------------------

NOTHING = SampledLaw(
    "normal on both sides, epsilon 0",
    lambda rng, size: rng.normal(size=size),
    lambda rng, size: rng.normal(size=size),
    ExactDP(np.ones(1), np.ones(1)),
)
LAWS = [
    (NOTHING, 0.0),
    (in_run_order(randomized_response(1.0)), 0.0),
    (in_run_order(randomized_response(1.0, 0.1)), 0.1),
    (in_run_order(geometric(0.7)), 0.0),
    (in_run_order(all_equal()), 0.0),
    (laplace(1.0), 0.0),
    (laplace_ratio(0.5), 0.0),
    (gaussian(1.0), 0.1),
]


def ever_too_high(bound, law, delta, *, repeats, n_out, n_in, seed, significances=(0.2, 0.05), n_pilot=0):
    """Return how often the bound ever exceeds the true epsilon, per significance, and True if chance explains it."""
    rng, truth = np.random.default_rng(seed), float(law.curve.epsilon(delta)) * (1 + 1e-12)
    p_values = []
    for scores, pilot in zip(law.draws(rng, n_out, n_in), law.draws(rng, n_pilot, n_pilot), strict=False):
        level = {"delta": delta, "confidence": 0.9, "n_out": n_out, "n_in": n_in}
        ready = calls.prepared(bound, pilot, **level) if n_pilot else bound
        p_values.append(calls.p_value(ready, scores, epsilon=truth, delta=delta))
        if len(p_values) == repeats:
            break
    misses = {s: int(np.count_nonzero(np.array(p_values) <= s)) for s in significances}
    return misses, all(count <= quantile(1 - FALSE_ALARM, repeats, s) for s, count in misses.items())


BOUNDS = {
    "online": (Betting(), 0),
    "fixed": (Betting((-0.2, 0.4, 1.0), direction="both"), 0),
    "fixed, in": (Betting(0.4), 0),
    "pilot": (Betting("pilot"), 40),
}


NOTHING_TO_FIND, RESPONSE, RESPONSE_AND_DELTA, GEOMETRIC, EQUAL, LAPLACE, RATIO, GAUSSIAN = LAWS
QUICK = {
    "online": (NOTHING_TO_FIND, RESPONSE_AND_DELTA, RATIO),
    "fixed": (NOTHING_TO_FIND, GAUSSIAN, EQUAL),
    "fixed, in": (RESPONSE, LAPLACE),
    "pilot": (GEOMETRIC, GAUSSIAN),
}
"""Where each way to an event is tried with few runs; `slow` tries each on every law."""


def named(law):
    return law[0].name.replace(", ", "-").replace(" ", "-")


@pytest.mark.parametrize(
    ("which", "law"),
    [
        pytest.param(which, law, id=f"{which}-{named(law)}", marks=() if law in QUICK[which] else pytest.mark.slow)
        for which, law in product(BOUNDS, LAWS)
    ],
)
def test_bound_never_exceeds_the_truth_at_any_time_more_often_than_it_may(which, law):
    bound, n_pilot = BOUNDS[which]
    repeats = 200 if law[0] is NOTHING else 100  # at epsilon 0 every bound above 0 is a miss
    misses, holds = ever_too_high(bound, *law, repeats=repeats, n_out=100, n_in=100, seed=1, n_pilot=n_pilot)
    assert holds, misses


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1000, 1000), (40, 700)])
@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize("which", BOUNDS)
def test_bound_never_exceeds_the_truth_at_any_time_in_long_runs(which, law, sizes):
    bound, n_pilot = BOUNDS[which]
    misses, holds = ever_too_high(bound, *law, repeats=2000, n_out=sizes[0], n_in=sizes[1], seed=2, n_pilot=n_pilot)
    assert holds, misses


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("sizes", [(20, 300), (300, 20)])
def test_counts_of_unequal_sides_are_bet_on_no_more_than_they_may_be(sizes, direction):
    bound, law = Betting(2.0, direction=direction), randomized_response(1.0)
    misses, holds = ever_too_high(bound, law, 0.0, repeats=300, n_out=sizes[0], n_in=sizes[1], seed=1)
    assert holds, misses


def test_twin_that_chooses_its_event_on_the_present_runs_is_caught(monkeypatch):
    def peeking(scores):
        now = list(rounds(scores))
        yield from ((later[0], this[1]) for this, later in pairwise(now))
        yield scores, now[-1][1]

    monkeypatch.setattr(betting, "rounds", peeking)
    misses, holds = ever_too_high(Betting(), NOTHING, 0.0, repeats=60, n_out=200, n_in=200, seed=1)
    assert not holds, misses


def test_twin_that_takes_the_best_bet_instead_of_their_average_is_caught(monkeypatch):
    def best_bet(play, levels, starts, ends):
        level = np.concatenate([counts[:, starts].T @ logs for counts, logs in play], axis=1)
        return level.max(axis=1) if ends is starts else np.full(len(starts), np.inf)

    monkeypatch.setattr(martingale, "_wealth", best_bet)
    several = Betting((0.0, 0.5, 1.0), direction="both")
    for law in (laplace(1.0), NOTHING):
        misses, holds = ever_too_high(several, law, 0.0, repeats=100, n_out=100, n_in=100, seed=1)
        assert not holds, misses


@pytest.mark.parametrize("bound", [Betting(), Betting(1.0)], ids=["online", "fixed"])
def test_bound_holds_where_delta_explains_most_of_it(bound):
    misses, holds = ever_too_high(bound, gaussian(1.0), 0.3, repeats=60, n_out=300, n_in=300, seed=1)
    assert holds, misses


def test_twin_that_forgets_delta_is_caught():
    class ForgetsDelta(Betting):
        def fix(self, statement, pilot, sizes):
            return super().fix(replace(statement, claim=PureDP(statement.epsilon), delta=0.0), pilot, sizes)

    misses, holds = ever_too_high(ForgetsDelta(), gaussian(1.0), 0.3, repeats=50, n_out=300, n_in=300, seed=1)
    assert not holds, misses


def test_twin_that_stakes_as_much_on_each_run_of_the_larger_side_is_caught(monkeypatch):
    def unshared(self, low, high, delta, roles):
        return real(self, low, high, delta, tuple((gains, 1.0) for gains, _ in roles))

    real = Bets.logs
    monkeypatch.setattr(Bets, "logs", unshared)
    law = in_run_order(randomized_response(1.0))
    misses = [
        ever_too_high(Betting(2.0), law, 0.0, repeats=200, n_out=a, n_in=b, seed=1) for a, b in ((20, 300), (300, 20))
    ]
    assert not all(holds for _, holds in misses), misses


# --- power ------------------------------------------------------------------------------------------------------------


def mean_bound(bound, law, n, repeats, seed=5):
    draws = law.draws(np.random.default_rng(seed), n, n)
    return np.mean([calls.lower_bound(bound, next(draws), delta=0.0, confidence=0.95).epsilon for _ in range(repeats)])


def test_known_threshold_gives_80_percent_of_epsilon_at_1000_trials():
    assert mean_bound(Betting(threshold=1.0), laplace(1.0), 1000, 20) >= 0.80


@pytest.mark.slow
def test_power_on_laplace_noise():
    """Below what was measured by three standard errors or more: 0.95, 0.79 and 0.94."""
    assert mean_bound(Betting(threshold=1.0), laplace(1.0), 10_000, 100) >= 0.93
    assert mean_bound(Betting(), laplace_ratio(1.0), 1000, 400) >= 0.77
    assert mean_bound(Betting(), laplace_ratio(1.0), 10_000, 100) >= 0.92


@pytest.mark.parametrize("bound", [Betting(), Betting(threshold=1.99)], ids=["online", "fixed"])
@pytest.mark.parametrize(("significance", "most"), [(0.05, 150), (1e-6, 600)])
def test_a_claim_of_1_against_a_truth_of_2_is_refuted_soon(bound, significance, most):
    draws = laplace_ratio(2.0).draws(np.random.default_rng(7), most, most)
    level = {"delta": 0.0, "confidence": 1 - significance}
    refuted = sum(calls.exceeds(bound, 1.0, next(draws), **level) for _ in range(30))
    assert refuted > 15, "the median is beyond the target"


@pytest.mark.slow
@pytest.mark.parametrize("bound", [Betting(), Betting(threshold=0.9)], ids=["online", "fixed"])
def test_a_million_scores_a_side_show_nearly_all_of_the_epsilon(bound):
    scores = drawn(laplace_ratio(1.0), 1_000_000, seed=1)
    lower_bound = calls.lower_bound(bound, scores, delta=0.0, confidence=0.95)
    assert 0.985 < lower_bound.epsilon <= 1.0


# --- properties -------------------------------------------------------------------------------------------------------

KINDS = st.sampled_from(
    [Betting(), Betting(threshold=0.7), Betting(threshold=(0.2, 0.9), direction="both"), Betting(direction="in")]
)
DATA = st.tuples(st.integers(0, 10_000), st.integers(10, 200), st.sampled_from([1.0, 3.0]))


def sample(data):
    seed, n, epsilon = data
    return drawn(laplace(epsilon), n, seed)


@settings(max_examples=8)
@given(bound=KINDS, data=DATA)
def test_bound_never_falls_when_trials_are_added(bound, data):
    scores = sample(data)
    at = [n for n in (10, 20, 33, 64, 65, 150, 200) if n <= scores.n_in]
    values = calls.fixed(bound, scores.sizes, delta=0.0, confidence=0.8).confidence_sequence(scores, at)
    assert values == sorted(values)


@settings(max_examples=15)
@given(data=DATA)
def test_more_extreme_hits_never_lower_the_bound_of_a_fixed_event(data):
    scores = sample(data)
    bound = Betting(threshold=0.5, direction="in", centre=0.2)
    better = PairScores(scores.out - 0.3, scores.in_ + 0.3)
    level = {"delta": 0.0, "confidence": 0.8}
    assert calls.lower_bound(bound, better, **level).epsilon >= calls.lower_bound(bound, scores, **level).epsilon


@settings(max_examples=8)
@given(data=DATA, delta=st.sampled_from([0.0, 0.1]))
def test_sides_swap_with_directions_and_increasing_maps_change_nothing(data, delta):
    scores, level = sample(data), {"delta": delta, "confidence": 0.8}
    swapped = PairScores(-scores.in_, -scores.out)
    for direction, mirrored in (("in", "out"), ("out", "in"), ("both", "both")):
        epsilon = calls.lower_bound(Betting(0.5, direction=direction), scores, **level).epsilon
        assert calls.lower_bound(Betting(-0.5, direction=mirrored), swapped, **level).epsilon == epsilon
    mapped = PairScores(np.exp(scores.out), np.exp(scores.in_))
    assert calls.lower_bound(Betting(threshold=math.exp(0.5), direction="both"), mapped, **level).epsilon == epsilon
    doubled = PairScores(4 * scores.out, 4 * scores.in_)
    online = [calls.lower_bound(Betting(), s, **level).epsilon for s in (scores, doubled)]
    assert online[0] == online[1]


def test_the_bound_exceeds_epsilon_where_exceeds_says_so():
    level = {"delta": 0.05, "confidence": 0.9}
    for seed in range(5):
        scores = drawn(laplace(2.0), 150, seed)
        bound = calls.lower_bound(Betting(), scores, **level).epsilon
        for epsilon in (0.0, bound - RESOLUTION, bound, bound + RESOLUTION, 3.0):
            if epsilon >= 0.0:
                assert calls.exceeds(Betting(), epsilon, scores, **level) == (bound > epsilon)


def test_counts_without_order_are_read_once_at_the_end():
    scores = drawn(laplace_ratio(2.0), 2000, seed=1)
    counts, level = PairCounts(scores.tally.thin(40)), {"delta": 0.0, "confidence": 0.95}
    bound = calls.lower_bound(Betting(), counts, **level)
    assert 1.0 < bound.epsilon <= 2.0
    assert any(entry.looked_at == "once, at the end" for entry in bound.ledger)
    shuffled = PairScores(np.random.default_rng(0).permutation(scores.out), scores.in_)
    assert calls.lower_bound(Betting(), PairCounts(shuffled.tally.thin(40)), **level).epsilon == bound.epsilon


@pytest.mark.parametrize("skew", [0.2, 1.0, 5.0])
def test_events_on_a_grid_of_counts_do_not_depend_on_the_counts(skew):
    grid = np.append(-math.inf, np.linspace(0.0, 1.0, 200))
    places = np.linspace(1, 200, 32).round().astype(int)
    fixed = Betting(threshold=tuple(grid[places]), direction="both")
    rng = np.random.default_rng(3)
    sides = (np.sort(rng.random(500) ** power) for power in (skew, 0.8 * skew))
    hits = (500 - np.searchsorted(side, grid) for side in sides)
    counts = PairCounts(Tally(grid, *hits, 500, 500))
    for epsilon in (0.0, 0.3):
        null = {"epsilon": epsilon, "delta": 0.0}
        expected = calls.p_value(fixed, counts, **null)
        assert calls.p_value(Betting(), counts, **null) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": "best"}, "threshold"),
        ({"threshold": math.nan}, "threshold must be a number or several"),
        ({"threshold": ()}, "threshold must be a number or several"),
        ({"threshold": True}, "threshold must be a number or several"),
        ({"stakes": (0.0, 0.5)}, "stakes must be a number or several, above 0"),
        ({"stakes": (1.0,)}, "stakes"),
        ({"centre": 0.6}, "centre"),
        ({"centre": -0.1}, "centre"),
        ({"direction": "up"}, "direction"),
        ({"threshold": (0.0, 1.0), "weights": (1.0,)}, "weights must be one for each threshold"),
        ({"weights": (1.0,)}, "weights must be one for each threshold"),
        ({"threshold": 0.0, "weights": (-1.0,)}, "weights"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        Betting(**options)


def test_weights_decide_which_threshold_counts_most():
    scores, level = drawn(laplace(2.0), 300, seed=2), {"delta": 0.0, "confidence": 0.95}
    good, bad = 1.0, 40.0
    epsilons = [
        calls.lower_bound(Betting(threshold=(good, bad), weights=w), scores, **level).epsilon
        for w in ((0.9, 0.1), (0.5, 0.5), (0.001, 0.999))
    ]
    assert epsilons[0] > epsilons[1] > epsilons[2]


def test_what_is_missing_is_named():
    scores, level = pairs([1.0], [0.0]), {"delta": 0.0, "confidence": 0.9}
    with pytest.raises(ParameterError, match="needs pilot scores on both sides, but there are 0 and 0"):
        calls.lower_bound(Betting("pilot"), scores, **level)
    with pytest.raises(ParameterError, match="needs pilot scores on both sides"):
        calls.prepared(Betting("pilot"), pairs([], []), **level, n_out=1, n_in=1)
    with pytest.raises(ParameterError, match="betting needs scores on both sides"):
        calls.lower_bound(Betting(), pairs([], [1.0]), **level)
