"""Observations on the trials of a pair other than scores: witnesses, dependence, warnings, the refuting event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...attacks.base import Scorer
from ...attacks.distinguishing.events import EventScorer
from ...attacks.distinguishing.simple_rules import OutputSample, SimpleRule
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.same_seed import FirstRuns
from ...mechanisms.core import NO_NAMES, Mechanism, OutputNames, Outputs, display_name, number, percent
from ..bounds.base import LedgerEntry
from ..evidence.verdict import Verdict
from ..randomness.decision import Doubt, doubt, one_output
from ..randomness.experiment import N_FEW, FreshProcesses, fresh_processes, joined, n_needed
from ..results.audit_result import AuditResult
from ..results.refuting_event import RefutingEvent, points_to_side_1
from ..results.saved import CUT_SHORT
from ..results.witness.base import Witness, as_json
from ..results.witness.event import EventRule, rule_of
from ..results.witness.impossible import impossible_outputs
from ..results.witness.no_randomness import no_randomness
from ..trials.examples import Examples
from ..trials.execution import in_this_process
from ..trials.independence import FALSE_ALARM_SHARE, Dependence, Independence
from ..trials.reduction import EvaluationScores
from .setup import AuditSetup


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Observations on the trials of one audit, other than their scores.

    Args:
        setup: the audited setup.
        evaluation: the reduced evaluation trials.
        n_runs: number of evaluation trials on each side.
        independence: the test of their independence; None if they are independent by construction.
        seed: the root seed of the audit.
        experiments: those made so far, by their number of processes; shared by the scores of an audit, and extended.
        names: of the numbers of an output, some of which stand for texts.
    """

    setup: AuditSetup
    evaluation: EvaluationScores
    n_runs: int
    independence: Independence | None
    seed: int
    experiments: dict[int, FreshProcesses]
    names: OutputNames = NO_NAMES

    def witnesses(self) -> tuple[Witness, ...]:
        """Return the witnesses: outputs that the other side never gives, and outputs without any noise."""
        claim, pair = self.setup.statement.claim, as_json(self.setup.neighbours)
        known: Any = {"mechanism": display_name(self.setup.mechanism), "n_runs": self.n_runs, "datasets": pair}
        return (
            *impossible_outputs(self.evaluation.impossible, claim, seed=self.seed, **known),
            *no_randomness(self._fresh, self.evaluation.unvarying, claim, names=self.names, **known),
        )

    def dependence(self) -> Dependence | None:
        """Return the reason why these trials are not independent; None if no dependence was detected."""
        if self.independence is None:
            return None
        level = self.setup.guard_significance
        found = one_output(self._fresh, self.evaluation.unvarying, self.n_runs, level)
        return found or self.independence.dependence(level)

    def doubt(self, scorer: Scorer) -> Doubt | None:
        """Return a reason to doubt a violation: the trials could share noise that was drawn once. None: no reason."""
        if self.independence is None or not isinstance(self.setup.mechanism, FunctionMechanism):
            return None
        return doubt(
            self._after_violation,
            self.evaluation.unvarying,
            repeats=self.independence.repeats(),
            scorer=scorer,
            events=list(self.independence.events),
        )

    def own_runs(self) -> tuple[Outputs, Outputs]:
        """Return the own runs of all fresh processes on side 0 and on side 1."""
        own = self._after_violation.own
        return joined([sides[0] for sides in own]), joined([sides[1] for sides in own])

    def untested(self) -> tuple[str, ...]:
        """Return the assumption behind a violation that fresh processes could not test, or not enough of them."""
        if self.independence is None or not isinstance(self.setup.mechanism, FunctionMechanism):
            return ()
        fresh = self._after_violation
        if not fresh.can_run:
            return (
                "the function could not be created in a fresh process: that its runs share no noise that was drawn "
                "once is assumed, not tested.",
            )
        if fresh.n_asked < self._n_processes:
            return (
                f"{fresh.n} {CUT_SHORT} {self._n_processes}, as they took long: noise that is drawn once in fewer than "
                f"1 of {fresh.n} processes would not show.",
            )
        return ()

    def warnings(self) -> tuple[str, ...]:
        """Return warnings on randomness from other sources, outputs that never vary, and a wrong output law."""
        mechanism, unvarying = self.setup.mechanism, self.evaluation.unvarying.sides
        texts = list(_first_runs(mechanism).warnings)
        if unvarying:
            sides = "on both sides" if len(unvarying) == 2 else f"on side {unvarying[0]}"
            texts.append(
                f"the output never varied {sides}: no noise was added there, or an earlier result was returned again."
            )
        if self.evaluation.impossible.broken:
            texts.append(
                f"the output law of {display_name(mechanism)} gives some outputs of these runs probability 0, so it is "
                "wrong. (The bounds do not depend on it.)"
            )
        if self.evaluation.impossible.error:
            texts.append(
                f"the output law of {display_name(mechanism)} raised {self.evaluation.impossible.error}: the search "
                "for outputs that the other side never gives is incomplete."
            )
        return tuple(texts)

    def notes(self) -> tuple[str, ...]:
        """Return observations on the first runs that do not contradict the claim."""
        mechanism = self.setup.mechanism
        texts = _first_runs(mechanism).compared.notes
        if isinstance(mechanism, FunctionMechanism) and mechanism.style == "one-at-a-time":
            texts += ("each run is a separate call with size=1: calls with many runs raise, or repeat each other.",)
        return texts

    def looks(self) -> tuple[LedgerEntry, ...]:
        """Return the ledger entry on the test of independence."""
        if self.independence is None:
            return ()
        looked_at = f"tested on these trials, p {number(self.independence.p_value(), 2)}"
        level = self.setup.guard_significance
        share = f"{percent(FALSE_ALARM_SHARE)} of the significance, {number(level, 2)}; the bounds use the rest"
        return (LedgerEntry("independence", looked_at, share),)

    @cached_property
    def _fresh(self) -> FreshProcesses:
        """Runs in fresh processes, if they may show why outputs do not vary; otherwise none."""
        unvarying = self.evaluation.unvarying
        if unvarying.differs:
            return self._after_violation
        return self._experiment(N_FEW) if unvarying.sides else FreshProcesses(None)

    @cached_property
    def _after_violation(self) -> FreshProcesses:
        return self._experiment(self._n_processes)

    @property
    def _n_processes(self) -> int:
        return n_needed(self.setup.statement.epsilon, self.setup.guard_significance)

    def _experiment(self, n_processes: int) -> FreshProcesses:
        mechanism = self.setup.mechanism
        if self.independence is None or not isinstance(mechanism, FunctionMechanism):
            return FreshProcesses(None)
        if n_processes not in self.experiments:
            with in_this_process():
                made = fresh_processes(mechanism, self.setup.neighbours, self.seed, n_processes)
            self.experiments[n_processes] = made
        return self.experiments[n_processes]


def _first_runs(mechanism: Mechanism) -> FirstRuns:
    """Return the observations of the first runs of a function; empty for any other mechanism."""
    first_runs = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return FirstRuns() if first_runs is None else first_runs


def deciding_event(
    result: AuditResult, scorer: EventScorer, examples: Examples, fresh: tuple[Outputs, Outputs] | None
) -> RefutingEvent | None:
    """Return the event that refutes the claim, with examples; None if there is no event or no examples.

    The rule of the event is one on a single number of the output, if there is one in `examples` that distinguishes the
    sides as well; else that of `scorer`, with the parts of the output that hold the effect in `fresh` runs.
    """
    decided = result.decided_by
    if result.verdict is not Verdict.VIOLATION or decided.threshold is None or decided.hits is None:
        return None
    sizes = (result.tally.n_out, result.tally.n_in)
    above = points_to_side_1(decided.hits, sizes)
    outputs = examples.of(decided.threshold, above=above)
    if outputs is None:
        return None
    event = RefutingEvent("", decided.threshold, above, *outputs)
    names: OutputNames | None = getattr(scorer.base, "names", None)
    with in_this_process():
        seen = None if fresh is None or names is None else OutputSample.of(scorer, *fresh, names)
        counted = examples.rule(decided.threshold, above=above, n_runs=result.trials.evaluation)
        if names is not None and counted is not None:
            named = _with_rule(event, *counted, decided.hits, sizes, names, seen)
            if named is not None:
                return named
        rule = scorer.describe(decided.threshold, above=above)
        no_parts = seen is None or scorer.describes_outputs(decided.threshold, above=above)
        parts = None if seen is None or no_parts else seen.parts()
    if parts is not None:
        return replace(event, rule=f"{parts}: {rule}", where=" and ".join(parts.names))
    return event if rule == event.name else replace(event, rule=rule)  # the rule, if the scorer has one


def _with_rule(
    event: RefutingEvent,
    rule: SimpleRule,
    counts: tuple[int, int],
    hits: tuple[int, int],
    sizes: tuple[int, int],
    names: OutputNames,
    seen: OutputSample | None,
) -> RefutingEvent | None:
    """Return the event with a rule on one number, with the counts of the rule in the evaluation runs.

    Returns None if the rule is not exactly the event, and another part of the output matters too.
    """
    of_event = tuple(k if event.above else n - k for k, n in zip(hits, sizes, strict=True))
    likelier = int(counts[1] * sizes[0] > counts[0] * sizes[1])
    other, exact = 1 - likelier, rule.exact and of_event == counts
    most = f"{counts[likelier]:,} of {sizes[likelier]:,}{'' if exact else ' evaluation'} runs of side {likelier}"
    least = f"{counts[other]:,} of {sizes[other]:,}" if counts[other] else "none"
    described, held = rule.describe(names), f"in {most} and in {least} of side {other}"
    if exact:
        return replace(event, rule=f"{described} {held}", where=names.name(rule.index))
    part = None if seen is None or rule.index is None else seen.share(rule.index)
    if part is not None and not part.is_most:
        return None
    close = f'close to "{described}", which holds {held}'
    return replace(event, rule=close if part is None else f"{part}; {close}", where=names.name(rule.index))


def event_rule(result: AuditResult, scorer: Scorer, fresh: tuple[Outputs, Outputs] | None) -> EventRule | None:
    """Return the event as a rule on outputs, derived from `fresh` runs of each side; None if there is none."""
    decided = result.decided_by
    if fresh is None or decided.threshold is None or result.dependence is not None:
        return None
    with in_this_process():
        return rule_of(scorer, *fresh, decided.threshold)
