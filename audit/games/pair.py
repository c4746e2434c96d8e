"""A question being answered: pilot, evaluation, bounds, verdict.

Statistics. Fixed before any evaluation trial runs: the pair, the scorer (trained on pilot trials), the direction of the
scores, every threshold that a bound chooses (on pilot trials), the number of trials, and how the significance is shared
between several bounds (Bonferroni). Pilot and evaluation trials come from disjoint random streams.

With stop="anytime" the number of trials is not fixed, only the looks are, by the plan. Every bound is then one that
holds at all numbers of trials together, so that the rule "stop when the claim is refuted" is covered. A look sees whole
rounds of chunks and nothing else, so that where an audit stops does not depend on workers or interruptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ...attacks.base import Scorer
from ...attacks.events import EventScorer, fit_scorer
from ...mechanisms.base import KnownCurve, Mechanism
from ...mechanisms.errors import ReleaseError
from ...mechanisms.external.first_runs import FirstRuns
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.label import label
from ..bounds.base import FixedBound, LedgerEntry
from ..evidence.game import Game, Trials
from ..evidence.scores import Floats, PairScores, Scores
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.deciding import DecidingEvent, points_to_side_1
from ..trials.examples import Examples
from ..trials.execution import Work, execute
from ..trials.guards.changed import Changed
from ..trials.guards.independence import SHARE, Dependence, Independence
from ..trials.guards.replay import ReplayGuard
from ..trials.plan import Chunk, Chunks, TrialPlan
from ..trials.progress import Reporter
from ..trials.reduction import EvaluationScores, PilotOutputs, Reduction
from ..trials.seeds import Stage, stream
from ..trials.store import TrialStore
from ..trials.work import EvaluationWork, PilotWork, run
from ..witness.base import Witness
from ..witness.datasets import as_json
from ..witness.event import Rule, rule_of
from ..witness.impossible import impossible_outputs
from ..witness.no_randomness import Replayed, no_randomness, replay
from .conclude import Subject, conclude
from .question import Question

GRID = 1024
"""Thresholds on the grid of counts, from quantiles of the pilot scores."""
RULE_RUNS = 1_000
"""Runs of each side from which the rule of an event is read."""
QUANTILES = (0.1, 0.5, 0.9)
"""Of the pilot scores: events whose independence is tested besides those of the bounds."""
FixedBounds = tuple[FixedBound[Scores], ...]


@dataclass(eq=False)
class Run:
    """One question being answered."""

    question: Question
    plan: TrialPlan
    seed: int
    fingerprint: str
    store: TrialStore | None
    n_jobs: int | None
    reporter: Reporter
    timeout: float | None = None
    repeats: ReplayGuard = field(init=False)
    changed: Changed = field(init=False)
    examples: Examples = field(init=False)

    def __post_init__(self) -> None:
        self.repeats = ReplayGuard(label(self.question.mechanism))
        self.changed = Changed(label(self.question.mechanism))
        self.examples = Examples()

    def result(self) -> AuditResult:
        """Pilot, evaluation, bounds, verdict."""
        first = Independence() if self.question.guarded else None
        scorer, pilot = self._pilot(first)
        bounds = self._fix(pilot)
        grid = self._grid(pilot, bounds)
        self.examples.follow([threshold for bound in bounds for threshold in bound.thresholds])
        independence = self._independence(pilot, bounds, first)
        if self.question.stop:
            seen = self._evaluate_until_refuted(scorer, bounds, independence)
        else:
            seen = (*self._evaluate(scorer, grid, bounds, independence), ())
        found = self._conclude(scorer, bounds, *seen, independence)
        if found.refuted_by is None:
            return found
        rule, datasets = self._rule(found, scorer), as_json(self.question.neighbours)
        return replace(found, deciding=self._deciding(found, scorer), datasets=datasets, event_rule=rule)

    def _rule(self, found: AuditResult, scorer: Scorer) -> Rule | None:
        """The event that refutes the claim as a rule on outputs, read from runs of its own; None where it has none."""
        ask, decided = self.question, found.refuted_elsewhere or found.bound
        size = min(RULE_RUNS, self.plan.evaluation)
        if decided.threshold is None or found.dependence is not None:
            return None
        chunks = [Chunk(Stage.PROBE, side, 1, 0, size) for side in (0, 1)]
        with suppress(ReleaseError):  # a function may raise here that did not before
            parts = [run(ask.mechanism, ask.neighbours, self.seed, chunk, self.timeout)[0] for chunk in chunks]
            return rule_of(scorer, parts[0], parts[1], decided.threshold)
        return None

    def _pilot(self, independence: Independence | None) -> tuple[EventScorer, PairScores]:
        """The scorer, and the pilot scores that thresholds are chosen on."""
        ask, outputs = self.question, PilotOutputs(independence)
        work = PilotWork(ask.mechanism, ask.neighbours, self.seed, ask.guarded, self.timeout)
        self._execute(Stage.PILOT, work, outputs)
        side0, side1 = outputs.side(0), outputs.side(1)
        scorer = fit_scorer(ask.attack, ask.target, side0, side1, stream(self.seed, Stage.FIT))
        if self.plan.pilot == 0:
            return scorer, PairScores(np.empty(0), np.empty(0))
        return replace(scorer, held_out=None), PairScores(*scorer.score_pilot(side0, side1))

    def _fix(self, pilot: PairScores) -> FixedBounds:
        ask, n = self.question, self.plan.evaluation
        return tuple(bound.fix(ask.shared, pilot, (n, n)) for bound in ask.bounds)

    def _grid(self, pilot: PairScores, bounds: FixedBounds) -> Floats | None:
        """Thresholds that scores are counted on; None when the scores themselves are kept."""
        if self.plan.holds_scores:
            return None
        pooled = np.sort(np.concatenate([pilot.out, pilot.in_]))
        spread = pooled[np.linspace(0, len(pooled) - 1, GRID).astype(np.int64)]
        needed = [t for bound in bounds for t in bound.thresholds]
        return np.unique(np.concatenate([[-np.inf], spread, needed]))

    def _independence(self, pilot: PairScores, bounds: FixedBounds, first: Independence | None) -> Independence | None:
        """The test of independence, of the events that the bounds read and of three that the pilot fixes."""
        if not self.question.guarded:
            return None
        pooled = np.concatenate([pilot.out, pilot.in_])
        spread = np.quantile(pooled, QUANTILES, method="nearest") if len(pooled) else []
        return Independence([*(t for bound in bounds for t in bound.thresholds), *spread], first)

    def _evaluate(
        self, scorer: Scorer, grid: Floats | None, bounds: FixedBounds, independence: Independence | None
    ) -> tuple[Scores, EvaluationScores]:
        ask = self.question
        watched = next((bound for bound in bounds if len(bound.thresholds) == 1), None)
        watch = watched.thresholds[0] if watched else None
        into = EvaluationScores(self.plan, grid, watch, independence)

        def so_far() -> str:
            """The bound on the trials so far: to look at, not to stop on."""
            partial = into.so_far()
            if watched is None or partial is None:
                return ""
            found = watched.lower_bound(partial)
            return f"epsilon >= {found.epsilon:.3f} so far (claim {ask.statement.epsilon:.3g})"

        work = self._work(scorer, grid, independence)
        self._execute(Stage.EVALUATION, work, into, so_far)
        return into.scores(), into

    def _evaluate_until_refuted(
        self, scorer: Scorer, bounds: FixedBounds, independence: Independence | None
    ) -> tuple[Scores, EvaluationScores, tuple[LedgerEntry, ...]]:
        """Round after round until a look refutes the claim, or the trials are used up."""
        ask, planned, seen, n_looks = self.question, self.plan.evaluation, 0, 0
        into = EvaluationScores(self.plan, None, independence=independence)

        def so_far() -> str:
            if not seen:
                return ""
            found = max(bound.lower_bound(into.scores(seen)).epsilon for bound in bounds)
            return f"epsilon >= {found:.3f} after {seen:,} a side (claim {ask.statement.epsilon:.3g})"

        work = self._work(scorer, None, independence)
        for chunks in self.plan.rounds():
            self._run(chunks, work, into, so_far, 2 * planned)
            seen, n_looks = chunks.end, n_looks + 1
            scores = into.scores(seen)
            if any(bound.exceeds_claim(scores) for bound in bounds):
                break
        looked_at = f"{n_looks}, the last after {seen:,} of {planned:,} trials a side"
        entry = LedgerEntry("looks", looked_at, "free: the bound holds at every number of trials together")
        return into.scores(seen), into, (entry,)

    def _work(self, scorer: Scorer, grid: Floats | None, independence: Independence | None) -> EvaluationWork:
        ask = self.question
        events = None if independence is None else independence.events
        return EvaluationWork(
            ask.mechanism, ask.neighbours, self.seed, scorer, grid, events, self.timeout, self.examples.thresholds
        )

    def _execute(self, stage: Stage, work: Work, into: Reduction, note: Callable[[], str] = str) -> None:
        everything = self.plan.pilot_chunks() if stage is Stage.PILOT else next(self.plan.rounds())
        self._run(everything, work, into, note, 2 * everything.end)

    def _run(
        self, chunks: Chunks, work: Work, into: Reduction, note: Callable[[], str], total: int | None = None
    ) -> None:
        execute(
            chunks,
            work,
            self.examples.noting(self.changed.noting(into)),
            store=self.store,
            n_jobs=self.n_jobs,
            workers=self.question.workers,
            repeats=self.repeats,
            reporter=self.reporter,
            note=note,
            total=total,
        )

    def _conclude(
        self,
        scorer: EventScorer,
        fixed: FixedBounds,
        scores: Scores,
        evaluation: EvaluationScores,
        looks: tuple[LedgerEntry, ...],
        independence: Independence | None,
    ) -> AuditResult:
        ask, n = self.question, scores.n_in
        datasets = as_json(ask.neighbours)
        replayed = replay(ask.mechanism, ask.neighbours, evaluation.unvarying)
        name, claim = label(ask.mechanism), ask.statement.claim
        no_noise = no_randomness(replayed, claim, mechanism=name, n_runs=n, datasets=datasets)
        subject = Subject(
            game=Game.DISTINGUISHING,
            mechanism=label(ask.mechanism),
            attack=ask.attack_name,
            relation=ask.neighbours.relation.value,
            trials=Trials(self.plan.pilot + n, self.plan.pilot, n),
            seed=self.seed,
            fingerprint=self.fingerprint,
            exact=_exact(ask),
            looks=_looks(ask),
            later=(*looks, *_guard_entry(ask, independence)),
            part=ask.part,
            dependence=None if no_noise else self._dependence(evaluation, independence, replayed),
            events=evaluation.events(),
            unseen=_unseen(evaluation.events(), scorer) / (2 * n) if self.plan.pilot else 0.0,
            warnings=(*self._warnings(evaluation), *self.changed.warnings()),
            witnesses=(*self._impossible(evaluation, n, datasets), *no_noise),
            notes=_notes(ask.mechanism),
        )
        return conclude(ask.statement, ask.bounds, fixed, scores, subject)

    def _impossible(
        self, evaluation: EvaluationScores, n_runs: int, datasets: tuple[str, str] | None
    ) -> tuple[Witness, ...]:
        """Outputs that the other side never gives."""
        ask = self.question
        return impossible_outputs(
            evaluation.impossible,
            ask.statement.claim,
            mechanism=label(ask.mechanism),
            n_runs=n_runs,
            seed=self.seed,
            datasets=datasets,
        )

    def _warnings(self, evaluation: EvaluationScores) -> tuple[str, ...]:
        """What a reader should know: randomness from elsewhere, outputs that never vary, a law that is not theirs."""
        mechanism, unvarying = self.question.mechanism, evaluation.unvarying.sides
        found = list(_first_runs(mechanism).warnings)
        if unvarying:
            where = "on both sides" if len(unvarying) == 2 else f"on side {unvarying[0]}"
            found.append(
                f"the output never varied {where}: no noise was added there, or an earlier result was given again."
            )
        if evaluation.impossible.broken:
            found.append(
                f"the output law of {label(mechanism)} finds some of its own outputs impossible: it is not the law of "
                "these runs. (Bounds do not lean on it.)"
            )
        return tuple(found)

    def _deciding(self, found: AuditResult, scorer: EventScorer) -> DecidingEvent | None:
        """The event that refutes the claim, as a person sees it; None where none does, or none was followed."""
        decided = found.refuted_elsewhere or found.bound
        if found.verdict is not Verdict.VIOLATION or decided.threshold is None or decided.hits is None:
            return None
        above = points_to_side_1(decided.hits, (found.tally.n_out, found.tally.n_in))
        outputs = self.examples.of(decided.threshold, above=above)
        if outputs is None:
            return None
        event = DecidingEvent("", decided.threshold, above, *outputs)
        rule = scorer.describe(decided.threshold, above=above)
        return event if rule == event.name else replace(event, rule=rule)  # of its own words, where it has any

    def _dependence(
        self, evaluation: EvaluationScores, independence: Independence | None, replayed: Replayed
    ) -> Dependence | None:
        """Why these trials are not independent; None where nothing says so."""
        if independence is None:
            return None
        mechanism, sides = self.question.mechanism, evaluation.unvarying.sides
        if replayed.remembered:
            what = "every run in one process gave the same output, but a run in a fresh one gives another"
            return Dependence("memory", None, 0.0, what)
        remembered = _first_runs(mechanism).changed
        if remembered and sides:
            what = f"{' and '.join(remembered)} changed in the first runs, and every run gave the same output"
            return Dependence("memory", sides[0] if len(sides) == 1 else None, 0.0, what)
        return independence.dependence(self.question.guard_significance)


def _exact(ask: Question) -> Guarantee | None:
    """The exact curve of the pair, where it is known: of the worst case, or of any."""
    if ask.on_worst_case:
        return ask.mechanism.exact_guarantee()
    law = ask.mechanism.output_law()
    return law.curve(ask.neighbours) if isinstance(law, KnownCurve) else None


def _unseen(events: Mapping[str, tuple[int, int]], scorer: EventScorer) -> int:
    """Evaluation runs with an exceptional output that no pilot run gave."""
    known = set() if scorer.labels is None else set(scorer.labels.tolist())
    return sum(sum(counts) for label, counts in events.items() if label not in known)


def _guard_entry(ask: Question, independence: Independence | None) -> tuple[LedgerEntry, ...]:
    if independence is None:
        return ()
    looked_at = f"tested on these trials, p {independence.p_value():.2g}"
    share = f"{SHARE:.0%} of the significance, {ask.guard_significance:.2g}; the bounds have the rest"
    return (LedgerEntry("independence", looked_at, share),)


def _first_runs(mechanism: Mechanism) -> FirstRuns:
    seen = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return FirstRuns() if seen is None else seen


def _notes(mechanism: Mechanism) -> tuple[str, ...]:
    """What the first runs showed that is nothing against the claim."""
    found = _first_runs(mechanism).compared.notes
    if isinstance(mechanism, FunctionMechanism) and mechanism.style == "one-at-a-time":
        found += ("each run is a call of its own, with size=1: calls of many runs raise, or repeat each other.",)
    return found


def _looks(ask: Question) -> tuple[LedgerEntry, ...]:
    """What was chosen before the trials, and how it is paid for."""
    learned = "trained on pilot trials only" if ask.attack.minimum_pilot else "nothing learned from trials"
    raised = "2: a call of many runs raised, and all runs were made anew, one a call"
    again = (LedgerEntry("audits", raised, f"{SHARE:.0%} of the significance for the second"),) if ask.again else ()
    return (
        *again,
        LedgerEntry("pair", "1, fixed beforehand", "no correction needed"),
        LedgerEntry("attack", f"1, {ask.attack_name}", learned),
    )
