"""The test of independence: exact under the null, by enumeration; power against several kinds of dependence."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.audit import calls

from dpassay.attacks.distinguishing.threshold import Threshold
from dpassay.audit import Verdict, assert_private, audit
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.trials.independence import (
    FALSE_ALARM_SHARE,
    Independence,
    _log_e,
    _log_mean,
    _log_scatter,
    _separated,
    independent_by_construction,
    order,
)
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Laplace, Neighbours, Outputs, PureDP, Repeated
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
from dpassay.mechanisms.core import DependentTrialsError

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 3.0], [1.0, 3.0, 1.0], "add_remove")
BUILD = 1 - 1e-6


# --- the level, by enumeration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.3, 0.4]])
def test_all_pairings_of_four_scores_are_separated_equally_often(law):
    frequency = np.zeros(3)
    for scores in itertools.product(range(len(law)), repeat=4):
        a, b, c, d = map(float, scores)
        separated = [bool(_separated(*pairing)) for pairing in ((a, b, c, d), (a, c, b, d), (a, d, b, c))]
        assert sum(separated) <= 1
        frequency += np.array(separated) * math.prod(law[score] for score in scores)
    assert frequency[0] > 0.0
    assert frequency == pytest.approx(np.full(3, frequency[0]))


def test_pairings_across_the_sides_are_equally_likely_under_any_two_laws():
    out, in_ = [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]
    apart = np.zeros(2)
    for a, c, b, d in itertools.product(range(3), repeat=4):
        weight = out[a] * out[c] * in_[b] * in_[d]
        apart += weight * np.array([_separated(*map(float, pairing)) for pairing in ((a, b, c, d), (a, d, b, c))])
    assert apart[0] == pytest.approx(apart[1])


@pytest.mark.parametrize("rate", [1 / 3, 1 / 2])
@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_e_value_of_a_share_has_mean_one(n, rate):
    hits = np.arange(n + 1)
    e_values = np.exp(_log_e(np.stack([hits, np.full(n + 1, n)], axis=-1), rate))
    assert stats.binom.pmf(hits, n, rate) @ e_values == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.2, 0.5, 0.97])
def test_e_value_of_scatter_has_mean_at_most_one_at_every_rate(rate):
    sizes = np.array([3.0, 5.0, 4.0])
    mean = 0.0
    for hits in itertools.product(*(range(int(size) + 1) for size in sizes)):
        weight = math.prod(stats.binom.pmf(k, n, rate) for k, n in zip(hits, sizes, strict=True))
        mean += weight * math.exp(_log_scatter(np.array(hits, dtype=float), sizes))
    assert mean <= 1.0 + 1e-12


def test_mean_of_planned_e_values_stays_one_where_one_may_stop():
    """Two e-values of 0 or 2: stopping after a first 2 must not make it count in full."""
    stopped = [[2.0], [0.0, 0.0], [0.0, 2.0]]
    means = [math.exp(_log_mean(np.log(np.maximum(e_values, 1e-300)), planned=2)) for e_values in stopped]
    assert np.array([0.5, 0.25, 0.25]) @ means == pytest.approx(1.0)


# --- who is tested ----------------------------------------------------------------------------------------------------


def test_only_mechanisms_of_the_library_are_independent_by_construction():
    function = FunctionMechanism(lambda data, rng: rng.laplace(), claim=PureDP(1.0), neighbours=PAIR)
    assert independent_by_construction(Repeated(Laplace(1.0), 2))
    assert not independent_by_construction(function)
    assert not independent_by_construction(Repeated(function, 2))


def test_the_test_takes_its_share_of_the_significance_and_says_so():
    result = audit(lambda data, rng: sum(data) + rng.laplace(), PAIR, claim=PureDP(1.0), trials=1_000, seed=0)
    entry = next(entry for entry in result.ledger if entry.what == "independence")
    assert result.bound.confidence == pytest.approx(0.951)
    assert "0.001; the bounds use the rest" in entry.correction
    assert audit(Laplace(1.0), trials=1_000, seed=0).bound.confidence == pytest.approx(0.95)


def test_the_share_costs_less_than_a_hundredth_of_the_bound():
    rng, bound = np.random.default_rng(0), ClopperPearson(threshold=0.5)
    scores = [PairScores(rng.laplace(size=1_000), 1.0 + rng.laplace(size=1_000)) for _ in range(50)]
    shared, whole = (
        np.mean([calls.lower_bound(bound, each, delta=0.0, confidence=level).epsilon for each in scores])
        for level in (1 - 0.05 * (1 - FALSE_ALARM_SHARE), 0.95)
    )
    assert 0.99 * whole <= shared < whole


# --- what it sees -----------------------------------------------------------------------------------------------------


def chunked(make, n=1_000, n_chunks=32):
    """Return the test on scores from `make(side, size)`, chunk by chunk."""
    test, size = Independence([0.0, 1.0]), n // n_chunks
    for index in range(n_chunks):
        for side in (0, 1):
            scores = np.asarray(make(side, size), dtype=float)
            arrays = order(Outputs(scores), scores, test.events)
            test.add(Chunk(Stage.EVALUATION, side, index, index * size, size), arrays)
    return test


def one_noise_a_chunk(rng):
    return lambda side, size: np.full(size, rng.normal()) + side


def shared_part_of_the_noise(rng):
    return lambda side, size: 0.5 * rng.normal() + rng.normal(size=size) + side


def autoregressive(rng, keep=0.9, across=False):
    state = [0.0]

    def make(side, size):
        steps, noise = [], state[0] if across else rng.normal()
        for step in rng.normal(size=size):
            noise = keep * noise + math.sqrt(1 - keep**2) * step
            steps.append(noise)
        state[0] = noise
        return np.array(steps) + side

    return make


def drift(rng):
    place = itertools.count()
    return lambda side, size: rng.normal(size=size) + side + 0.05 * next(place)


def restarted(rng):
    return lambda side, size: (np.random.default_rng(5).random(size) < 0.5 + 0.1 * side) * 2.0


def antithetic(rng):
    return lambda side, size: np.stack([noise := rng.normal(size=size // 2), -noise], axis=-1).ravel() + side


def same_magnitude(rng):
    return lambda side, size: np.repeat(np.abs(rng.normal(size=size // 2)), 2) + side


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (one_noise_a_chunk, "chunks"),
        (shared_part_of_the_noise, "chunks"),
        (functools.partial(autoregressive, keep=0.7), "neighbours chunks"),
        (functools.partial(autoregressive, keep=0.99, across=True), "chunks"),
        (drift, "chunks"),
        (restarted, "places"),
        (antithetic, "neighbours"),
        (same_magnitude, "outputs"),
    ],
)
def test_each_kind_of_dependence_is_detected_and_named(make, kind):
    for seed in range(3):
        dependence = chunked(make(np.random.default_rng(seed))).dependence(0.02 * 1e-6)
        assert dependence is not None
        assert dependence.kind in kind.split()


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: lambda side, size: rng.normal(size=size) + side,
        lambda rng: lambda side, size: rng.random(size) < 0.3 + 0.1 * side,
        lambda rng: lambda side, size: 2.0 * (rng.random(size) < 0.002),
        lambda rng: lambda side, size: np.where(rng.random(size) < 0.5, -np.inf, np.inf),
        lambda rng: lambda side, size: np.zeros(size),
    ],
)
def test_independent_scores_raise_few_false_alarms(make):
    tests = (chunked(make(np.random.default_rng(seed)), 96, n_chunks=8) for seed in range(30))
    alarms = sum(test.dependence(0.2) is not None for test in tests)
    assert alarms <= stats.binom.isf(1e-6, 30, 0.2)


# --- what follows -----------------------------------------------------------------------------------------------------


def buffer():
    array = np.zeros(1)

    def release(data, rng):
        array[0] = sum(data) + rng.laplace()
        return array

    return release


def filled_list():
    kept = [0.0, 0.0]

    def release(data, rng):
        kept[0] = sum(data) + rng.laplace()
        return kept

    return release


def many_in_one_buffer():
    arrays = {}

    def release(data, size, rng):
        array = arrays.setdefault(size, np.empty(size))
        array[:] = sum(data) + rng.laplace(size=size)
        return array

    return release


@pytest.mark.parametrize(
    ("make", "n_jobs"),
    [
        (buffer, 1),
        (filled_list, 1),
        (many_in_one_buffer, 1),
        pytest.param(many_in_one_buffer, 2, marks=pytest.mark.slow),
        pytest.param(buffer, 2, marks=pytest.mark.slow),
        pytest.param(filled_list, 2, marks=pytest.mark.slow),
    ],
)
def test_function_that_reuses_its_array_is_consistent(make, n_jobs):
    result = audit(make(), PAIR, claim=PureDP(1.0), trials=2_000, seed=0, n_jobs=n_jobs, confidence=BUILD)
    assert result.verdict is Verdict.CONSISTENT
    assert result.bound.epsilon > 0.4


def test_a_function_that_leaks_through_a_reused_array_is_still_caught():
    array = np.zeros(1)

    def release(data, rng):
        array[0] = sum(data) + 0.2 * rng.laplace()
        return array

    result = audit(release, PAIR, claim=PureDP(1.0), trials=2_000, seed=0, confidence=BUILD)
    assert result.verdict is Verdict.VIOLATION


def coin_of_its_own():
    mine = np.random.default_rng(3)
    return lambda data, rng: float((mine.random() < math.e / (1 + math.e)) == (len(data) > 2))


def memory():
    kept = {}
    return lambda data, rng: sum(data) + kept.setdefault(len(data), rng.laplace())


def opposite_signs():
    waiting = []

    def release(data, rng):
        if not waiting:
            waiting.append(rng.laplace())
            return sum(data) + waiting[0]
        return sum(data) - waiting.pop()

    return release


def slow_noise():
    state = [0.0]

    def release(data, rng):
        state[0] = 0.99 * state[0] + 0.2 * rng.normal()
        return sum(data) + state[0]

    return release


@pytest.mark.parametrize("seeds", [[0], pytest.param(range(1, 6), marks=pytest.mark.slow)], ids=["one", "five"])
@pytest.mark.parametrize("make", [pytest.param(memory, marks=pytest.mark.slow), opposite_signs, slow_noise])
def test_no_violation_is_pronounced_on_dependent_trials(make, seeds):
    for seed in seeds:
        result = audit(make(), PAIR, claim=PureDP(0.1), trials=2_000, seed=seed)
        assert result.verdict is Verdict.DEPENDENT
        assert result.p_value == 1.0
        assert result.dependence in result.summary()
        assert any("these trials are dependent" in text for text in result.bound.assumptions)


def test_the_same_memory_is_known_when_the_function_is_audited_again():
    release = memory()
    results = [audit(release, PAIR, claim=PureDP(0.1), trials=200, seed=seed) for seed in (0, 1)]
    assert [(result.verdict, result.p_value) for result in results] == [(Verdict.DEPENDENT, 1.0)] * 2


def test_function_without_noise_is_a_violation_with_a_warning():
    result = audit(lambda data, rng: sum(data), PAIR, claim=PureDP(1.0), trials=1_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert "the given rng was never drawn from" in result.warnings[0]
    assert "the output never varied on both sides" in result.warnings[1]
    assert result.refuted_by == "bound"


def test_a_coin_in_a_closure_gives_no_false_violation_on_two_workers():
    for seed in range(2):
        result = audit(coin_of_its_own(), PAIR, claim=PureDP(1.0), trials=1_000, seed=seed, n_jobs=2, confidence=BUILD)
        assert result.verdict is Verdict.CONSISTENT


def test_assert_private_raises_where_there_is_no_verdict():
    with pytest.raises(DependentTrialsError, match=r"no verdict: the runs of .* are not independent"):
        assert_private(slow_noise(), PAIR, claim=PureDP(1.0), trials=2_000, seed=0)


def test_dependent_trials_are_detected_if_the_audit_may_stop_at_any_time():
    result = audit(slow_noise(), PAIR, claim=PureDP(0.1), trials=2_000, seed=0, stop="anytime")
    assert result.verdict is Verdict.DEPENDENT


def test_outputs_whose_sum_no_float_holds_are_tested_without_a_warning():
    def release(data, size, rng):
        large = 1.7e308 * np.sign(rng.normal(size=(size, 2)))
        return np.column_stack([large, sum(data) + rng.laplace(size=size)])

    result = audit(release, PAIR, claim=PureDP(1.0), trials=400, seed=0, attack=Threshold(statistic=2))
    assert result.verdict is Verdict.CONSISTENT
