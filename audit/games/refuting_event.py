"""The event that refutes a claim, for the report: examples of outputs in it and outside, and a rule on outputs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ...attacks.base import Scorer
from ...attacks.distinguishing.events import EventScorer
from ...mechanisms.core.errors import ReleaseError
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.refuting_event import RefutingEvent, points_to_side_1
from ..results.witness.event import EventRule, rule_of
from ..trials.examples import Examples
from ..trials.execution import in_this_process
from ..trials.plan import Chunk
from ..trials.seeds import Stage
from ..trials.work import run
from .setup import AuditSetup


def deciding_event(result: AuditResult, scorer: EventScorer, examples: Examples) -> RefutingEvent | None:
    """Return the event that refutes the claim, with examples; None if there is no event or no examples."""
    decided = result.refuted_elsewhere or result.bound
    if result.verdict is not Verdict.VIOLATION or decided.threshold is None or decided.hits is None:
        return None
    above = points_to_side_1(decided.hits, (result.tally.n_out, result.tally.n_in))
    outputs = examples.of(decided.threshold, above=above)
    if outputs is None:
        return None
    event = RefutingEvent("", decided.threshold, above, *outputs)
    rule = scorer.describe(decided.threshold, above=above)
    return event if rule == event.name else replace(event, rule=rule)  # the rule, if the scorer has one


def event_rule(
    result: AuditResult, scorer: Scorer, question: AuditSetup, *, n_runs: int, seed: int, timeout: float | None
) -> EventRule | None:
    """Return the event as a rule on outputs, derived from `n_runs` extra runs on each side; None if there is none."""
    decided = result.refuted_elsewhere or result.bound
    if decided.threshold is None or result.dependence is not None:
        return None
    chunks = [Chunk(Stage.PROBE, side, 1, 0, n_runs) for side in (0, 1)]
    with suppress(ReleaseError):  # a function may raise in these runs only
        parts = [run(question.mechanism, question.neighbours, seed, chunk, timeout)[0] for chunk in chunks]
        with in_this_process():
            return rule_of(scorer, parts[0], parts[1], decided.threshold)
    return None
