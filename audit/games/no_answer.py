"""The event "no answer": calls that return on one side of a pair only.

    a call takes longer than T -> one run a side -> one call with 10 T -> n runs a side -> verdict

*Event.* "A call for one run gives no answer within T seconds", where T, the time limit of the caller, is fixed before
any run. It is a function of the run, so a claim bounds its rates p0 and p1 on the sides as those of every output:
p1 <= e^epsilon p0 + delta, and the other way round.

*Runs.* Each run is made in a new process, so that runs share no noise that is drawn once, no lock and no cache; a
function that no alarm can interrupt is ended with its process. The order of the sides changes from run to run, so that
the load of the machine is the same on both.

*Level.* What an audit has seen before only decides that this test is made. One run a side, a pilot, tells which side
does not answer. The number n is fixed before the counted runs: the smallest for which n runs without an answer on this
side, and none on the other, refute the claim by the exact joint test of the two counts (`bounds.pair.joint`), in this
direction, at s^2 of the significance, s = `FALSE_ALARM_SHARE`. A violation needs all 2 n runs: the first other one
ends the test without a verdict, which makes a false alarm only rarer. An audit may end here after 1 or 2 others, with
shares 1 - s and s (1 - s): with s^2, these are 1. At claim 1, delta 0 and 95 % confidence n is 24; at 1 - 1e-6, 48.

*Slow code.* A run that answers after T is no leak of its output. So the side is called once more with 10 T, in a new
process too, and if it answers there is no verdict. That the counted runs would not have answered later either is
assumed, and stands in the result.

Cost: 11 T + n T seconds on the side without an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.isolated import Call, answers_within
from ...mechanisms.adapters.functions.source import source_of, store_source
from ...mechanisms.core import NoAnswerError, display_name, number, percent, plural
from ...mechanisms.core.fingerprint import describe, fingerprint
from ..bounds.base import LedgerEntry
from ..bounds.pair.joint import JointExact
from ..bounds.pair.pilot import IN, OUT
from ..evidence.game import Game, Trials
from ..evidence.scores import PairScores
from ..evidence.statement import Statement
from ..results.audit_result import AuditResult
from ..results.refuting_event import NO_ANSWER, RefutingEvent
from ..results.witness.base import as_json
from ..trials.independence import FALSE_ALARM_SHARE
from ..trials.options import versions
from ..trials.plan import Chunk
from ..trials.progress import Reporter, in_words, is_long
from ..trials.seeds import Stage, stream
from ..trials.work import global_seed
from .conclude import AuditContext, conclude
from .setup import AuditSetup

LONGER = 10.0
"""Factor on the time limit in the call that distinguishes slow code from code that does not answer."""
MAX_RUNS = 1_024
"""Largest number of runs on each side."""
SHARE = FALSE_ALARM_SHARE**2
"""Share of the significance."""


def no_answer(setup: AuditSetup, seed: int, timeout: float, error: NoAnswerError, reporter: Reporter) -> AuditResult:
    """Return the violation of a function that answers on one side only; raise `NoAnswerError` if that is not shown.

    Args:
        setup: the audit in which a call took longer than `timeout`.
        seed: root of the random streams of the audit.
        timeout: time limit of a call in seconds.
        error: what the audit raised.
        reporter: announces the time of the test, if it is long.
    """
    answers = _answers(setup, seed)
    if answers is None:
        raise error
    name, limit = display_name(setup.mechanism), number(timeout)
    pilot = [answers(side, 0, timeout) for side in (0, 1)]
    if pilot == [False, False]:
        raise NoAnswerError(f"{name} gives no answer within timeout={limit} seconds on both sides. {_ADVICE}")
    if pilot == [True, True]:
        raise NoAnswerError(f"{error} There is no verdict: a run of each side, in a process of its own, answers.")
    side = pilot.index(False)
    bound, statement = JointExact(threshold=0.5, direction=IN if side else OUT), setup.statement.shared(1, SHARE)
    n = _runs_needed(bound, statement)
    if n is None:
        raise NoAnswerError(
            f"{name} gives no answer within timeout={limit} seconds on side {side}. There is no verdict: more than "
            f"{MAX_RUNS:,} such runs would be needed to refute a claim of {number(statement.epsilon)}."
        )
    if is_long(seconds := (n + LONGER) * timeout, reporter):
        runs = f"{plural(n, 'run')} a side, each in a process of its own"
        reporter.message(f"no answer on side {side}: at most {in_words(seconds)} for {runs}")
    if answers(side, 1, LONGER * timeout):
        raise NoAnswerError(
            f"{name} is slow on side {side}: it gives an answer after more than {limit} seconds. There is no verdict: "
            f"give it more time, timeout={number(LONGER * timeout)}."
        )
    for index in range(2, n + 2):
        for turn in (index % 2, 1 - index % 2):
            if answers(turn, index, timeout) is not (turn != side):
                raise NoAnswerError(
                    f"{name} gives no answer within timeout={limit} seconds in some runs only: after {index - 2} of "
                    f"{n} runs a side, one of side {turn} {'gives none' if turn != side else 'answers'}. {_ADVICE}"
                )
    return _violation(setup, bound, statement, side, n, seed, timeout)


_ADVICE = "There is no verdict: give it more time, or find out why it hangs."


def _answers(setup: AuditSetup, seed: int) -> Callable[[int, int, float], bool] | None:
    """Return what tells whether run `index` of a side answers in some seconds; None where no process can make it."""
    mechanism = setup.mechanism
    if not isinstance(mechanism, FunctionMechanism):
        return None
    store_source(mechanism.function)
    source, style = source_of(mechanism.function), str(mechanism.style)
    if source is None:
        return None

    def answers(side: int, index: int, seconds: float) -> bool:
        chunk = Chunk(Stage.NO_ANSWER, side, index, 0, 1)
        call = Call(side, 1, stream(seed, Stage.NO_ANSWER, side, index), global_seed(seed, chunk))
        return answers_within(source, setup.neighbours, style, call, seconds, number=1 + 2 * index + side)

    return answers


def _runs_needed(bound: JointExact, statement: Statement) -> int | None:
    """Return the smallest n with which n runs without an answer on one side only refute the claim.

    None if it is larger than `MAX_RUNS`.

    >>> from dpassay.mechanisms.accounting import PureDP
    >>> _runs_needed(JointExact(threshold=0.5), Statement(PureDP(1.0), delta=0.0, confidence=1 - 0.05 * SHARE))
    24
    """

    def refutes(n: int) -> bool:
        return bound.fix(statement, None, (n, n)).lower_bound(_scores(n)).epsilon > statement.epsilon

    below, above = 0, 1
    while not refutes(above):
        below, above = above, 2 * above
        if above > MAX_RUNS:
            return None
    while above - below > 1:
        between = (below + above) // 2
        below, above = (below, between) if refutes(between) else (between, above)
    return above


def _scores(n: int) -> PairScores:
    """Return scores of n runs of each side, which are higher on side 1, whichever side does not answer."""
    return PairScores(np.zeros(n), np.ones(n))


def _violation(
    setup: AuditSetup, bound: JointExact, statement: Statement, side: int, n: int, seed: int, timeout: float
) -> AuditResult:
    """Return the result of n runs without an answer on `side`, and n with one on the other."""
    event = f"{NO_ANSWER} within {number(timeout)} s"
    described = {name: describe(part) for name, part in (("mechanism", setup.mechanism), ("pair", setup.neighbours))}
    fixed = bound.fix(statement, None, (n, n))
    context = AuditContext(
        game=Game.DISTINGUISHING,
        mechanism=display_name(setup.mechanism),
        tier=setup.tier,
        attack=event,
        relation=setup.neighbours.relation.value,
        trials=Trials(n + 1, 1, n),
        seed=seed,
        fingerprint=fingerprint(described | {"timeout": timeout, "n": n, "seed": seed, **versions()}),
        looks=(
            LedgerEntry("pair", "1, fixed beforehand", "no correction needed"),
            LedgerEntry("event", f"{event}, after a call of the audit gave none", f"{percent(SHARE)} of the level"),
            LedgerEntry("runs", f"{n} a side, fixed beforehand, each in a process of its own", "all must agree"),
        ),
        significance_share=SHARE,
        events={event: (0, n) if side else (n, 0)},
    )
    result = conclude(setup.statement, (bound,), (fixed,), _scores(n), context)
    assumed = f"a call without an answer gives none later: one gave none within {number(LONGER * timeout)} s"
    outputs = [("an answer",), (event,)] if side else [(event,), ("an answer",)]
    rule = f"{event} in all {n} runs of side {side} and in none of {n} of side {1 - side}"
    return replace(
        result,
        bounds=tuple(replace(one, assumptions=(*one.assumptions, assumed)) for one in result.bounds),
        deciding=RefutingEvent(rule, 0.5, above=bool(side), outputs0=outputs[0], outputs1=outputs[1]),
        datasets=as_json(setup.neighbours),
    )
