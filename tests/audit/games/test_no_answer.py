"""Functions that answer on one side of a pair only, on both sides late, or on neither.

A run is a process of its own, which takes half a second: the claims here need few runs.
"""

import itertools
import math
import os
import time
from dataclasses import replace

import numpy as np
import pytest

from dpassay import Neighbours, PureDP, audit
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games.no_answer import MAX_RUNS, SHARE, _runs_needed
from dpassay.audit.games.setup import AuditSetup
from dpassay.audit.results.audit_result import AuditResult
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.adapters.functions.isolated import Call, answers_within
from dpassay.mechanisms.adapters.functions.source import FunctionSource, present_source
from dpassay.mechanisms.core import NoAnswerError, ReleaseError

PAIR = Neighbours([1.0], [1.0, math.nan], "add_remove")
OPTIONS = {"claim": PureDP(0.1), "trials": 100, "timeout": 0.3, "seed": 0}


def waits_for_nan(dataset, rng):
    while any(math.isnan(value) for value in dataset):
        time.sleep(0.01)
    return sum(dataset) + rng.laplace()


def spins_on_few(dataset, size, rng):
    if len(dataset) < 2:
        sum(itertools.repeat(0))  # a loop in C, which no alarm interrupts
    return rng.laplace(size=size)


def hangs(dataset, rng):
    time.sleep(60.0)


def slow_on_nan(dataset, rng):
    time.sleep(0.8 if any(math.isnan(value) for value in dataset) else 0.0)
    return rng.laplace()


def test_a_function_that_answers_on_one_side_only_is_a_violation():
    result = audit(waits_for_nan, PAIR, **OPTIONS)
    n = result.trials.evaluation
    assert (result.verdict, result.refuted_by) == (Verdict.VIOLATION, "bound")
    assert result.events == {"no answer within 0.3 s": (0, n)}
    assert result.deciding.rule == f"no answer within 0.3 s in all {n} runs of side 1 and in none of {n} of side 0"
    assert result.bound.assumptions == ("a call without an answer gives none later: one gave none within 3 s",)
    assert "by a call that hangs" in result.summary(details=False)
    assert "0.04 % of the level" in result.summary()
    result.check()
    assert AuditResult.from_json(result.to_json()) == result


def test_a_loop_that_no_alarm_ends_is_found_in_an_isolated_process():
    result = audit(spins_on_few, PAIR, isolated=True, **OPTIONS)
    assert result.verdict is Verdict.VIOLATION
    assert result.events == {"no answer within 0.3 s": (result.trials.evaluation, 0)}
    assert not result.deciding.above


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (hangs, r"hangs\(\) gives no answer within timeout=0.3 seconds on both sides"),
        (slow_on_nan, r"slow_on_nan\(\) is slow on side 1: .* give it more time, timeout=3\."),
    ],
)
def test_slow_code_and_code_that_never_answers_have_no_verdict(function, says):
    with pytest.raises(NoAnswerError, match=says):
        audit(function, PAIR, **OPTIONS)


def raises(dataset, rng):
    raise ValueError("no")


def ends(dataset, rng):
    os._exit(3)


def test_an_exception_is_an_answer_and_the_end_of_a_process_is_none():
    call = Call(0, 1, np.random.default_rng(0), 0)
    assert answers_within(present_source(raises), PAIR, "one-run", call, 20.0, number=1)
    with pytest.raises(ReleaseError, match="exit code 3"):
        answers_within(present_source(ends), PAIR, "one-run", call, 20.0, number=1)
    with pytest.raises(ReleaseError, match="cannot be created"):
        answers_within(FunctionSource(b"no pickle"), PAIR, "one-run", call, 20.0, number=1)


def test_the_shares_of_all_audits_of_a_call_are_the_whole_significance():
    first = AuditSetup.of(raises_on_nan, PAIR, "threshold", "auto", None, 0.95, PureDP(1.0))
    second = replace(first, is_second_audit=True)
    assert first.significance_share + second.significance_share + SHARE == pytest.approx(1.0, abs=1e-12)


def raises_on_nan(dataset, rng):
    return rng.laplace() if len(dataset) < 2 else 1 / 0


# --- the decision, on processes that are played -----------------------------------------------------------------------


class Processes:
    """Processes that answer as `answers(side, seconds, rng)` says, in the place of real ones."""

    def __init__(self, monkeypatch, answers):
        self.sides, self.answers = [], answers
        monkeypatch.setattr("dpassay.audit.games.no_answer.answers_within", self)

    def __call__(self, source, neighbours, style, call, seconds, *, number):
        self.sides.append(call.side)
        return self.answers(call.side, seconds, call.rng)


def decided(**options):
    """Return the verdict, or what the error says."""
    try:
        return audit(waits_for_nan, PAIR, **OPTIONS | {"timeout": 0.05} | options).verdict
    except NoAnswerError as error:
        return str(error)


def test_both_sides_are_run_in_turn_as_often_as_stated_beforehand(monkeypatch):
    played = Processes(monkeypatch, lambda side, seconds, rng: side == 0)
    assert decided() is Verdict.VIOLATION
    n = _runs_needed(JointExact(threshold=0.5), Statement(PureDP(0.1), delta=0.0, confidence=1 - 0.05 * SHARE))
    assert played.sides[:3] == [0, 1, 1]  # a run on each side, and the longer one
    counted = played.sides[3:]
    assert len(counted) == 2 * n
    assert counted == [0, 1, 1, 0] * (n // 2) + [0, 1] * (n % 2)


@pytest.mark.parametrize("place", range(3, 3 + 2 * 9))
def test_one_run_that_disagrees_leaves_no_verdict(monkeypatch, place):
    played = Processes(monkeypatch, lambda side, seconds, rng: (side == 0) == (len(played.sides) - 1 != place))
    assert "in some runs only" in decided()
    assert len(played.sides) == place + 1


def test_a_function_that_hangs_as_often_on_both_sides_is_not_refuted(monkeypatch):
    Processes(monkeypatch, lambda side, seconds, rng: rng.random() < 0.5)
    said = [decided(seed=seed) for seed in range(50)]
    assert all("no verdict" in text.lower() for text in said)
    assert any("in some runs only" in text for text in said)  # the test began, with runs that seemed to differ


def test_a_claim_that_needs_too_many_runs_has_no_verdict(monkeypatch):
    Processes(monkeypatch, lambda side, seconds, rng: side == 0)
    assert f"more than {MAX_RUNS:,} such runs" in decided(claim=PureDP(8.0))


@pytest.mark.parametrize("claim", [PureDP(0.0), PureDP(0.1), PureDP(1.0), PureDP(3.0), ApproximateDP(1.0, 0.05)])
@pytest.mark.parametrize("significance", [0.5, 0.05, 1e-6])
def test_the_level_is_kept_exactly_with_few_more_runs_than_needed(claim, significance):
    """All n runs of each side must agree, which has probability p1^n (1 - p0)^n: largest over all rates of the claim.

    The joint test spends a part of the level on limits of the nuisance rate, most of it where epsilon is 0.
    """
    level = SHARE * significance
    delta = claim.delta(claim.epsilon(0.0)) if isinstance(claim, PureDP) else 0.05
    epsilon = claim.epsilon(delta)
    n = _runs_needed(JointExact(threshold=0.5), Statement(claim, delta=delta, confidence=1 - level))
    p0 = np.linspace(0.0, 1.0, 100_001)
    largest = (np.minimum(1.0, math.exp(epsilon) * p0 + delta) * (1.0 - p0)).max()
    needed = math.log(level) / math.log(largest)
    assert needed <= n <= 1.25 * needed + 1
