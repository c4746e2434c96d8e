"""Entropy that no audit sees, and noise that was drawn once, are no violation; a broken function still is one."""

import os

import numpy as np
import pytest
from tests.audit import hidden_entropy as hidden, replayed_functions as replayed
from tests.audit.hidden_entropy import COUNTING, DRAWN_ANEW, DRAWN_ONCE, PAIR, SYSTEM

from dpassay.audit import audit
from dpassay.audit.results.saved import comparable
from dpassay.mechanisms import PureDP

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks", "many_processes")

EPSILONS = (0.1, 1.0, 10.0, 20.0)
IN_SLOW_SWEEP_ONLY = (hidden.from_rand_of_libc, hidden.from_secrets, hidden.from_uuids)
"""Other sources of the entropy that `from_libc` and `from_the_system` read."""
ONE_OF_EACH_MEMORY = (
    hidden.cached_before,
    hidden.by_the_hash_of_a_text,
    hidden.in_a_file,
    hidden.of_a_pool,
    hidden.with_little_fresh_noise,
)
CERTAIN = 1 - 1e-6
"""Confidence of audits whose noise no seed fixes: a false violation is as rare as in every other random test."""
QUICK = {"attack": "threshold", "bound": "clopper-pearson", "trials": 200, "seed": 0}


def verdict(function, claim, **options):
    return audit(function, PAIR, claim=PureDP(claim), **QUICK | options).verdict.value


def named(makers):
    return pytest.mark.parametrize("make", makers, ids=lambda make: make.__name__)


def slow(*values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@named([make for make in DRAWN_ANEW if make not in IN_SLOW_SWEEP_ONLY])
def test_fresh_noise_from_a_hidden_source_is_consistent(make):
    assert verdict(make(1.0), 1.0, confidence=CERTAIN) == "consistent"


@named(ONE_OF_EACH_MEMORY)
def test_noise_that_was_drawn_once_is_never_a_violation(make, request):
    if make is hidden.by_the_hash_of_a_text:
        request.getfixturevalue("new_interpreters")
    assert verdict(make(0.1), 0.1, confidence=CERTAIN) != "violation"


@pytest.mark.parametrize(
    "function",
    [hidden.lying_once(1.0), hidden.behind_a_lock(1.0), replayed.with_a_lie_of_the_import],
    ids=["outputs repeat", "cannot run again", "drawn at import"],
)
def test_noise_that_was_drawn_once_is_doubted_although_each_run_adds_a_coin(function):
    assert verdict(function, 1.0, confidence=CERTAIN) == "dependent"


@pytest.mark.slow
@pytest.mark.usefixtures("new_interpreters")
@pytest.mark.parametrize("epsilon", EPSILONS)
@named([*DRAWN_ANEW, *DRAWN_ONCE])
def test_no_violation_at_any_epsilon_in_either_of_two_audits(make, epsilon):
    function = make(epsilon)
    verdicts = [verdict(function, epsilon, trials=trials, confidence=CERTAIN) for trials in (200, 1_000)]
    assert "violation" not in verdicts
    if make in DRAWN_ANEW:
        assert verdicts[0] == ("consistent" if epsilon < 5.0 else "underpowered")


def test_at_least_thirty_functions_are_in_the_slow_sweep():
    assert len({make.__name__ for make in (*DRAWN_ANEW, *DRAWN_ONCE)}) >= 30


@pytest.mark.parametrize("make", [COUNTING[0], *slow(*COUNTING[1:])])
def test_a_function_that_counts_calls_or_keeps_a_log_can_be_refuted(make):
    assert verdict(make(4.0), 1.0) == "violation"
    if make is not hidden.counting_behind_a_lock:  # at 10 no output varies, and no copy can show why
        assert verdict(make(10.0), 1.0) == "violation"


@pytest.mark.parametrize("value", [True, *slow(0.123456789, {2: 1, 3: 1}, np.ones(3))])
def test_noise_that_was_drawn_at_construction_is_no_violation(value):
    result = audit(replayed.Noise(value), PAIR, claim=PureDP(1.0), **QUICK)
    assert result.verdict.value == "dependent"
    assert "numbers that may be noise drawn before" in result.dependence


@pytest.mark.parametrize("function", [*replayed.ONE_OF_EACH_FORM, *slow(*replayed.OF_THESE_FORMS)])
def test_a_function_without_noise_is_refuted_by_the_bound(function):
    result = audit(function, PAIR, claim=PureDP(1.0), **QUICK)
    assert (result.verdict.value, result.refuted_by) == ("violation", "bound")


@pytest.mark.slow
@pytest.mark.parametrize("function", [*replayed.ONE_OF_EACH_FORM, *replayed.OF_THESE_FORMS])
def test_a_function_without_noise_is_underpowered_at_a_large_claim(function):
    assert verdict(function, 50.0) == "underpowered"


@pytest.mark.parametrize(
    "function", [replayed.copied_with_noise_of_the_import, *slow(replayed.with_noise_of_the_import)]
)
def test_noise_that_is_drawn_at_import_is_no_violation(function):
    assert audit(function, PAIR, claim=PureDP(1.0), **QUICK).verdict.value == "dependent"


def test_a_violation_that_no_fresh_process_can_test_says_so():
    waiting = (value for value in iter(float, 1.0))
    result = audit(lambda dataset, rng: len(dataset) + 0.1 * rng.laplace() + next(waiting), PAIR, claim=PureDP(0.1))
    assert result.verdict.value == "violation"
    assert any("assumed, not tested" in text for text in result.warnings)


def test_a_violation_that_too_few_processes_tested_says_so(monkeypatch):
    def audited():
        few = {"trials": 1_000, "seed": 0}
        return audit(lambda dataset, rng: len(dataset) + 0.1 * rng.laplace(), PAIR, claim=PureDP(0.1), **few)

    in_time = audited()
    monkeypatch.setattr("dpassay.audit.randomness.experiment.MAX_SECONDS", 0.0)
    result = audited()
    assert result.verdict.value == "violation"
    assert any("8 fresh processes were compared, and not" in text for text in result.warnings)
    assert result != in_time
    assert comparable(result.to_json()) == comparable(in_time.to_json())


@pytest.mark.parametrize(("shift", "expected"), [(0.1, "violation"), (100.0, "dependent")])
def test_runs_in_processes_of_their_own_decide_where_runs_of_a_process_share_noise(shift, expected, monkeypatch):
    """A shift that each process draws once hides nothing if it is small, and almost everything if it is large."""
    monkeypatch.setattr("dpassay.audit.games.pair.N_SINGLE", 16)
    kept, audited = [], os.getpid()

    def drawn():
        if shift > 1.0:
            return shift * SYSTEM.random()
        return shift * (1 if os.getpid() == audited else SYSTEM.randrange(2))  # the pilot has the larger one only

    def release(dataset, rng):
        kept[:] = kept or [drawn()]
        return len(dataset) + kept[0] + 1e-3 * rng.laplace()

    result = audit(release, PAIR, claim=PureDP(1.0), trials=1_000, seed=0)
    assert result.verdict.value == expected
    if expected == "violation":
        assert (result.tally.n_in, result.trials.evaluation) == (16, 16)
        assert any("16 runs a side, each in a process of its own, decided alone" in text for text in result.warnings)
