"""audit(stop="anytime"): it stops when the claim is refuted, independently of workers, at the stated level."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpassay.audit import AuditResult, Verdict, assert_private, audit
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.pair.betting import Betting
from dpassay.audit.games.setup import AuditSetup
from dpassay.audit.trials.plan import FIRST_LOOK, TrialPlan, plan_trials
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Laplace, Neighbours, PureDP, RandomizedResponse
from dpassay.mechanisms.core import FingerprintError, ParameterError, PrivacyViolation

pytestmark = pytest.mark.usefixtures("without_power")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
BROKEN = {"claim": PureDP(1.0), "stop": "anytime", "seed": 1, "trials": 20_000}
KEPT = {"stop": "anytime", "seed": 3, "trials": 3_000}


def leaky_count(dataset, rng):
    return sum(dataset) + rng.laplace(scale=0.25)


def looks(result):
    return next(entry for entry in result.ledger if entry.what == "looks")


def test_broken_claim_is_refuted_after_few_trials_that_are_reported():
    result = audit(Laplace(epsilon=2.0), **BROKEN)
    assert result.verdict is Verdict.VIOLATION
    assert result.claim < result.bound.epsilon <= result.exact_epsilon
    assert result.p_value <= 0.05
    assert result.trials.pilot == 0
    assert result.trials.per_side == result.trials.evaluation == result.bound.n_trials // 2 == result.tally.n_in < 400
    assert f"the last after {result.trials.evaluation} of 20,000 trials a side" in looks(result).looked_at
    assert "no correction needed" in looks(result).correction
    again = AuditResult.from_json(result.to_json())
    assert (again.to_json(), again.bound) == (result.to_json(), result.bound)


def test_median_broken_audit_stops_within_150_or_600_trials_a_side():
    for confidence, most in ((0.95, 150), (1 - 1e-6, 600)):
        options = BROKEN | {"confidence": confidence, "trials": 5_000}
        used = [audit(Laplace(epsilon=2.0), **options | {"seed": s}).trials.evaluation for s in range(9)]
        assert np.median(used) <= most


def test_it_stops_at_the_first_look_that_refutes_the_claim():
    stopped = audit(Laplace(epsilon=2.0), **BROKEN)
    plan = TrialPlan(0, 20_000, 625, 256, FIRST_LOOK)
    ends = [chunks[-1].start + chunks[-1].size for chunks in plan.rounds()]
    before = ends[ends.index(stopped.trials.evaluation) - 1]
    kept = audit(Laplace(epsilon=2.0), **BROKEN | {"trials": before})
    assert kept.trials.evaluation == before
    assert kept.verdict is not Verdict.VIOLATION


def test_several_bounds_stop_at_the_confidence_that_they_share():
    options = {"claim": PureDP(1.0), "stop": "anytime", "trials": 5_000, "bound": [Betting(1.99), Betting()]}
    for seed in range(12):
        result = audit(Laplace(epsilon=2.0), seed=seed, **options)
        assert result.trials.evaluation < 2_000
        assert result.verdict is Verdict.VIOLATION


def test_a_claim_that_is_kept_takes_all_trials():
    result = audit(Laplace(epsilon=1.0), **KEPT)
    assert result.verdict is Verdict.CONSISTENT
    assert result.trials.evaluation == 3_000
    assert result.bound.epsilon <= 1.0
    assert result.bound.method == "betting"


@pytest.mark.parametrize(
    "bound",
    ["betting", Betting(threshold=0.5), Betting("pilot"), [Betting(), Betting(threshold=(0.0, 0.9))]],
    ids=["online", "fixed", "pilot", "two"],
)
def test_every_kind_of_betting_stops(bound):
    result = audit(RandomizedResponse(epsilon=3.0), bound=bound, **BROKEN)
    assert result.verdict is Verdict.VIOLATION
    assert result.trials.evaluation < 200
    assert result.trials.pilot == (500 if result.bound.ledger[0].correction == "chosen on pilot trials only" else 0)


def test_a_function_is_caught_after_its_pilot_and_a_few_trials():
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(leaky_count, PAIR, **BROKEN)
    trials = caught.value.result.trials
    assert trials.pilot == 500
    assert trials.evaluation < 200


# --- a time limit -----------------------------------------------------------------------------------------------------


def test_a_time_limit_ends_the_audit_at_a_look_and_says_so():
    result = audit(Laplace(epsilon=1.0), minutes=1e-9, seed=0)
    assert (result.verdict, result.bound.epsilon) == (Verdict.CONSISTENT, 0.0)
    assert result.trials.evaluation == FIRST_LOOK
    assert f"the last after {FIRST_LOOK} of 2,000,000 trials a side; the time limit of" in looks(result).looked_at


def test_a_time_limit_is_kept_within_half_a_look(monkeypatch):
    seconds = iter(range(10**6))
    monkeypatch.setattr("dpassay.audit.games.pair.time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    result = audit(Laplace(epsilon=1.0), minutes=0.5, seed=0)
    n_looks = int(looks(result).looked_at.split(",")[0])
    assert 24 <= 2 * n_looks <= 32  # the clock is read twice for each look, and 30 seconds are given
    assert result.bound.epsilon <= 1.0


def test_a_time_limit_changes_nothing_where_the_claim_is_refuted_before():
    n_runs = {audit(Laplace(epsilon=2.0), minutes=minutes, **BROKEN).trials.per_side for minutes in (None, 10.0)}
    assert len(n_runs) == 1


def test_the_pilot_takes_a_quarter_of_the_time_at_most(monkeypatch):
    monkeypatch.setattr("dpassay.audit.games.setup.probe", lambda *_: (0.0, 0.1))
    setup = AuditSetup.of(leaky_count, PAIR, "auto", "auto", 0.0, 0.95, PureDP(1.0), "anytime")
    pilots = [setup.plan(2_000_000, 0, minutes)[0].pilot for minutes in (None, 100.0, 1.0, 0.1)]
    assert pilots == [500, 500, 75, 50]


# --- the same bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [BROKEN | {"confidence": 1 - 1e-6}, KEPT], ids=["broken", "kept"])
def test_the_number_of_workers_does_not_change_the_bytes(options):
    serial, parallel = (audit(Laplace(epsilon=2.0), **options, n_jobs=n).to_json() for n in (1, 2))
    assert serial == parallel


@pytest.mark.slow
def test_a_function_gives_the_same_bytes_on_two_processes():
    options = BROKEN | {"trials": 600, "claim": PureDP(3.9)}
    serial, parallel = (audit(leaky_count, PAIR, **options, n_jobs=n).to_json() for n in (1, 2))
    assert serial == parallel


class Interrupting:
    """A reporter that interrupts after this many chunks."""

    def __init__(self, after):
        self.left = after

    def start(self, stage, total):
        pass

    def advance(self, runs, note=""):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def message(self, text):
        raise AssertionError(text)

    def close(self):
        pass


INTERRUPTED = {(1, 1), (1, 3), (2, 1), (2, 7)}


@pytest.mark.parametrize(
    ("n_jobs", "after"),
    [
        pytest.param(*case, marks=() if case in INTERRUPTED else pytest.mark.slow)
        for case in product((1, 2), (1, 2, 3, 7, 12))
    ],
)
def test_interrupted_audit_continues_to_the_same_bytes(tmp_path, after, n_jobs):
    options = BROKEN | {"confidence": 1 - 1e-6}
    expected = audit(Laplace(epsilon=2.0), **options)
    with pytest.raises(KeyboardInterrupt):
        audit(Laplace(epsilon=2.0), **options, store=tmp_path, n_jobs=n_jobs, progress=Interrupting(after))
    assert audit(Laplace(epsilon=2.0), **options, store=tmp_path).to_json() == expected.to_json()
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    n_run = 0
    for line in lines:
        with np.load(tmp_path / "chunks" / f"{json.loads(line)['chunk']}.npz") as arrays:
            n_run += len(arrays["scores"])
    assert n_run == 2 * expected.trials.evaluation


def test_stop_is_part_of_what_a_store_belongs_to(tmp_path):
    audit(Laplace(epsilon=2.0), **BROKEN, store=tmp_path)
    with pytest.raises(FingerprintError, match="first_look"):
        audit(Laplace(epsilon=2.0), **BROKEN | {"stop": None}, bound=Betting(), store=tmp_path)


class Listening(Interrupting):
    def __init__(self):
        self.totals, self.done, self.notes = {}, 0, []

    def start(self, stage, total):
        self.totals[stage] = total

    def advance(self, runs, note=""):
        self.done += runs
        self.notes.append(note)


def test_progress_is_of_all_trials_and_says_the_bound_so_far(monkeypatch):
    monkeypatch.setattr("dpassay.audit.trials.execution.NOTE_SECONDS", 0.0)
    monkeypatch.setattr("dpassay.audit.trials.execution.NOTE_SHARE", 1e9)
    reporter = Listening()
    audit(Laplace(epsilon=1.0), **KEPT, progress=reporter)
    assert reporter.totals == {"evaluation": 6_000}
    assert reporter.done == 6_000
    assert reporter.notes[-1].startswith("epsilon >= 0.")
    assert reporter.notes[-1].endswith("a side (claim 1)")


# --- level, plan, refusals --------------------------------------------------------------------------------------------


def test_stopping_does_not_refute_a_kept_claim_more_often_than_it_may():
    repeats, n_violations = 50, 0
    for seed in range(repeats):
        result = audit(RandomizedResponse(epsilon=1.0), trials=200, stop="anytime", confidence=0.8, seed=seed)
        n_violations += result.verdict is Verdict.VIOLATION
    assert n_violations <= quantile(1 - 1e-6, repeats, 0.2)


@given(
    evaluation=st.integers(1, 5_000),
    chunk_size=st.integers(1, 700),
    smallest=st.integers(1, 300),
    pilot=st.integers(0, 99),
)
def test_rounds_cover_each_side_once_and_every_round_has_both(evaluation, chunk_size, smallest, pilot):
    plan = TrialPlan(pilot, evaluation, chunk_size, smallest, FIRST_LOOK)
    n_before, indices = 0, []
    for chunks in plan.rounds():
        for side in (0, 1):
            covered = [t for c in chunks if c.side == side for t in range(c.start, c.start + c.size)]
            assert covered == list(range(n_before, n_before + len(covered)))
        assert max(chunk.size for chunk in chunks) <= chunk_size
        assert len(covered) == min(max(FIRST_LOOK, n_before // 4), evaluation - n_before)
        indices += [chunk.index for chunk in chunks if chunk.side == 0]
        n_before += len(covered)
    assert n_before == evaluation
    assert indices == list(range(len(indices)))
    assert [c for chunks in plan.rounds() for c in chunks] == list(plan.chunks(Stage.EVALUATION))


def test_the_first_looks_are_the_same_however_many_trials_are_planned():
    plans = [
        plan_trials(n, bytes_per_run=8, learns=False, chooses=False, vectorised=True, anytime=True)
        for n in (2_000, 10**6)
    ]
    ends = [[chunks[-1].start + chunks[-1].size for chunks in plan.rounds()] for plan in plans]
    assert ends[0][:-1] == ends[1][: len(ends[0]) - 1]
    assert ends[0][:5] == [32, 64, 96, 128, 160]
    assert len(ends[1]) < 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "soon"}, "stop must be None or \"anytime\", but is 'soon'"),
        ({"stop": True}, "stop must be None"),
        ({"bound": "clopper-pearson"}, 'With stop="anytime" use bound="betting"'),
        ({"bound": ["betting", "simultaneous-band"]}, "bound 'simultaneous-band' holds at a number of trials"),
        ({"trials": 3_000_000}, "at most 2,000,000 per side"),
        ({"minutes": 0.0}, "minutes must be a finite number > 0, but is 0.0"),
        ({"minutes": 1.0, "bound": "clopper-pearson"}, 'With stop="anytime" use bound="betting"'),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        audit(Laplace(epsilon=2.0), **BROKEN | options)
