"""A question being answered: pilot, evaluation, bounds, verdict.

Statistics. Fixed before any evaluation trial runs: the pair, the scorer (trained on pilot trials), the direction of the
scores, every threshold that a bound chooses (on pilot trials), the number of trials, and how the significance is shared
between several bounds (Bonferroni). Pilot and evaluation trials come from disjoint random streams.

Where the attack reads the low bits of floats, the same trials are scored without them too, and each of the two scores
has half of the significance (Bonferroni): whether low bits are read was decided on the pilot.

With stop="anytime" the number of trials is not fixed, only the looks are, by the plan. Every bound is then one that
holds at all numbers of trials together, so that the rule "stop when the claim is refuted" is covered. A look sees whole
rounds of chunks and nothing else, so that where an audit stops does not depend on workers or interruptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...attacks.base import Scorer
from ...attacks.events import EventScorer, fit_scorer
from ...mechanisms.base import Outputs
from ...mechanisms.label import label
from ..bounds.base import FixedBound, LedgerEntry
from ..evidence.game import Game, Trials
from ..evidence.scores import Floats, PairScores, Scores
from ..results.audit_result import AuditResult
from ..results.explained import Explained
from ..trials.examples import Examples
from ..trials.execution import Work, execute, in_this_process
from ..trials.guards.changed import Changed
from ..trials.guards.independence import Independence
from ..trials.guards.replay import ReplayGuard
from ..trials.plan import Chunks, TrialPlan
from ..trials.progress import Reporter
from ..trials.reduction import BESIDES, EvaluationScores, KeptScores, PilotOutputs, Reduction
from ..trials.seeds import Stage, stream
from ..trials.store import TrialStore
from ..trials.work import EvaluationWork, PilotWork
from ..witness.datasets import as_json
from .conclude import Subject, conclude
from .low_bits import beside
from .observed import Observed
from .question import Question
from .refuted import deciding_event, event_rule

GRID = 1024
"""Thresholds on the grid of counts, from quantiles of the pilot scores."""
RULE_RUNS = 1_000
"""Runs of each side from which the rule of an event is read."""
QUANTILES = (0.1, 0.5, 0.9)
"""Of the pilot scores: events whose independence is tested besides those of the bounds."""
FixedBounds = tuple[FixedBound[Scores], ...]


@dataclass(frozen=True, eq=False)
class Track:
    """One way of scoring the trials, and the bounds on its scores.

    Args:
        scorer: fixed by the pilot.
        pilot: scores that thresholds were chosen on.
        bounds: fixed at their share of the significance.
        grid: thresholds that scores are counted on; None when the scores themselves are kept.
        part: of the significance that is left to the bounds.
    """

    scorer: EventScorer
    pilot: PairScores
    bounds: FixedBounds
    grid: Floats | None
    part: float


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
        pilots = self._pilot(first)
        track, *others = (self._track(*one, self.question.part / len(pilots)) for one in pilots)
        besides = others[0] if others else None
        scorer, bounds = track.scorer, track.bounds
        self.examples.follow([threshold for bound in bounds for threshold in bound.thresholds])
        independence = self._independence(track.pilot, bounds, first)
        if self.question.stop:
            seen = self._evaluate_until_refuted(scorer, bounds, independence)
        else:
            seen = (*self._evaluate(track, besides, independence), ())
        found = self._conclude(track, *seen, independence)
        if besides is not None:
            _, evaluation, _ = seen
            assert evaluation.besides is not None
            without = self._conclude(besides, evaluation.besides.scores(), evaluation, (), independence)
            scorer, found = beside(found, without, scorer, besides.scorer)
        if found.refuted_by is None:
            return found
        return self._explain(found, scorer)

    def _explain(self, found: AuditResult, scorer: EventScorer) -> AuditResult:
        """A violation with what a reader needs to see it; a step that fails is a warning, and the verdict stays."""
        explained, n_runs = Explained(), min(RULE_RUNS, self.plan.evaluation)
        rule = partial(event_rule, n_runs=n_runs, seed=self.seed, timeout=self.timeout)
        shown = replace(
            found,
            deciding=explained.step("the deciding event", lambda: deciding_event(found, scorer, self.examples), None),
            datasets=explained.step("the JSON of the datasets", lambda: as_json(self.question.neighbours), None),
            event_rule=explained.step("the rule of the event", lambda: rule(found, scorer, self.question), None),
        )
        return replace(shown, warnings=(*shown.warnings, *explained.warnings))

    def _pilot(self, independence: Independence | None) -> list[tuple[EventScorer, PairScores]]:
        """The scorer, and the pilot scores that thresholds are chosen on.

        A second one without the low bits of floats, where the scorer reads them and the number of trials is fixed.
        """
        ask, outputs = self.question, PilotOutputs(independence)
        work = PilotWork(ask.mechanism, ask.neighbours, self.seed, ask.guarded, self.timeout)
        self._execute(Stage.PILOT, work, outputs)
        side0, side1 = outputs.side(0), outputs.side(1)
        with in_this_process():
            scorer = fit_scorer(ask.attack, ask.target, side0, side1, stream(self.seed, Stage.FIT))
            if self.plan.pilot == 0:
                return [(scorer, PairScores(np.empty(0), np.empty(0)))]
            without = None if ask.stop else scorer.without_low_bits
            scorers = [scorer] if without is None else [scorer, without]
            return [
                (replace(one, held_out=None, without_low_bits=None), PairScores(*one.score_pilot(side0, side1)))
                for one in scorers
            ]

    def _track(self, scorer: EventScorer, pilot: PairScores, part: float) -> Track:
        ask, n = self.question, self.plan.evaluation
        shared = ask.shared_at(part)
        bounds = tuple(bound.fix(shared, pilot, (n, n)) for bound in ask.bounds)
        return Track(scorer, pilot, bounds, self._grid(pilot, bounds), part)

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
        self, track: Track, besides: Track | None, independence: Independence | None
    ) -> tuple[Scores, EvaluationScores]:
        ask, bounds = self.question, track.bounds
        watched = next((bound for bound in bounds if len(bound.thresholds) == 1), None)
        watch = watched.thresholds[0] if watched else None
        kept = None if besides is None else KeptScores(self.plan.evaluation, besides.grid, BESIDES)
        into = EvaluationScores(self.plan, track.grid, watch, independence, kept)

        def so_far() -> str:
            """The bound on the trials so far: to look at, not to stop on."""
            partial = into.so_far()
            if watched is None or partial is None:
                return ""
            found = watched.lower_bound(partial)
            return f"epsilon >= {found.epsilon:.3f} so far (claim {ask.statement.epsilon:.3g})"

        work = self._work(track.scorer, track.grid, independence)
        if besides is not None:
            work = replace(work, besides=(besides.scorer, besides.grid))
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
        track: Track,
        scores: Scores,
        evaluation: EvaluationScores,
        looks: tuple[LedgerEntry, ...],
        independence: Independence | None,
    ) -> AuditResult:
        ask, n = self.question, scores.n_in
        seen, explained = Observed(ask, evaluation, n, independence), Explained()
        exact = explained.step("the exact curve of the pair", ask.exact_guarantee, None)
        witnesses = explained.step("the search for witnesses", partial(seen.witnesses, self.seed), ())
        notes = explained.step("what the first runs showed", seen.notes, ())
        warnings = explained.step("what the trials showed", seen.warnings, ())
        subject = Subject(
            game=Game.DISTINGUISHING,
            mechanism=label(ask.mechanism),
            attack=ask.attack_name,
            relation=ask.neighbours.relation.value,
            trials=Trials(self.plan.pilot + n, self.plan.pilot, n),
            seed=self.seed,
            fingerprint=self.fingerprint,
            exact=exact,
            looks=ask.looks(),
            later=(*looks, *seen.looks()),
            part=track.part,
            dependence=seen.dependence(),
            events=evaluation.events(),
            unseen=_unseen(evaluation.events(), track.scorer) / (2 * n) if self.plan.pilot else 0.0,
            warnings=(*warnings, *self.changed.warnings(), *explained.warnings),
            witnesses=witnesses,
            notes=notes,
        )
        found = conclude(ask.statement, ask.bounds, track.bounds, scores, subject)
        if found.refuted_by not in ("bound", "curve"):
            return found
        dependence = seen.doubted(partial(self._refuted_by_copies, track))
        if dependence is None:
            return found
        return conclude(ask.statement, ask.bounds, track.bounds, scores, replace(subject, dependence=dependence))

    def _refuted_by_copies(self, track: Track, out: Outputs, in_: Outputs) -> bool:
        """Whether fresh runs refute the claim by themselves, by the same bounds at the same confidence."""
        with in_this_process():
            scores = PairScores(np.asarray(track.scorer.score(out)), np.asarray(track.scorer.score(in_)))
        ask, sizes = self.question, (len(out), len(in_))
        fixed = [bound.fix(ask.shared_at(track.part), track.pilot, sizes) for bound in ask.bounds]
        return any(one.exceeds_claim(scores) or one.curve_test(scores) is not None for one in fixed)


def _unseen(events: Mapping[str, tuple[int, int]], scorer: EventScorer) -> int:
    """Evaluation runs with an exceptional output that no pilot run gave."""
    known = set() if scorer.labels is None else set(scorer.labels.tolist())
    return sum(sum(counts) for label, counts in events.items() if label not in known)
