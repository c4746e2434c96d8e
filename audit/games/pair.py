"""The distinguishing game on a pair: pilot, evaluation, bounds, verdict.

Statistics. Fixed before any evaluation trial runs: the pair, the scorer (trained on pilot trials), the direction of the
scores, every threshold that a bound chooses (on pilot trials), the number of trials, and how the significance is shared
between several bounds (Bonferroni). Pilot and evaluation trials come from disjoint random streams.

If the attack reads the low bits of floats, the same trials are also scored without them, and each of the two scores
uses half of the significance (Bonferroni), so that the bounds on both hold simultaneously. The pilot decides whether
low bits are read.

With stop="anytime" the number of trials is not fixed; the plan fixes the looks only. Every bound then holds at all
numbers of trials simultaneously, so that the rules "stop when the claim is refuted" and "stop after 5 minutes" are
covered. A look sees whole rounds of chunks only, so that the first rule does not depend on workers or interruptions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...attacks.base import Scorer
from ...attacks.distinguishing.events import EventScorer, fit_scorer
from ...attacks.distinguishing.simple_rules import OutputSample, SimpleRule
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.core import Floats, Outputs, ReleaseError, display_name, duration, fixed, number
from ...mechanisms.core.fingerprint import identity
from ..bounds.base import FixedBound, LedgerEntry
from ..bounds.pair.pilot_bet import PilotBet, average_log
from ..evidence.builds import BuildEvidence, Builds
from ..evidence.game import Game, Trials
from ..evidence.scores import PairScores, Scores
from ..evidence.verdict import Verdict
from ..randomness.decision import N_SINGLE, Doubt
from ..randomness.experiment import FreshProcesses, single_runs
from ..results.audit_result import AuditResult, WithoutLowBits
from ..results.explanations import Explanations
from ..results.refuting_event import points_to_side_1
from ..results.witness.base import as_json
from ..trials.array_files import Arrays
from ..trials.examples import Examples
from ..trials.execution import Work, announce, execute, in_this_process, measure_run_time
from ..trials.independence import Independence
from ..trials.plan import Chunk, TrialPlan
from ..trials.progress import Reporter
from ..trials.reduction import (
    SECOND_PREFIX,
    EvaluationScores,
    KeptScores,
    PilotOutputs,
    Reduction,
    SeveralReductions,
    StateChanges,
)
from ..trials.repeated_outputs import ReplayGuard
from ..trials.seeds import Stage, stream
from ..trials.store import TrialStore
from ..trials.work import EvaluationWork, PilotWork, run, seconds_of_calls
from .breakdown import with_breakdown
from .conclude import AuditContext, conclude
from .diagnostics import Diagnostics, deciding_event, event_rule
from .setup import AuditSetup

N_THRESHOLDS = 1024
"""Number of thresholds on the grid of counts, from quantiles of the pilot scores."""
N_RULE_RUNS = 1_000
"""Number of runs on each side from which the rule of an event is derived."""
PILOT_QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of the pilot scores: thresholds of further events whose independence is tested."""
_TWO_SCORES = LedgerEntry(
    "low bits", "2 scores: with the low bits of floats, and without", "half of the significance each"
)
FixedBounds = tuple[FixedBound[Scores], ...]


@dataclass(frozen=True, eq=False)
class ScorerBounds:
    """One way of scoring the trials, and the bounds on its scores.

    Args:
        scorer: scorer, fixed by the pilot.
        pilot: pilot scores, on which thresholds were chosen.
        bounds: bounds, fixed at their share of the significance.
        grid: thresholds at which scores are counted; None if the scores themselves are kept.
        significance_share: share of the significance that remains for the bounds.
        bet: bets of this build, for a history of builds; None without one.
    """

    scorer: EventScorer
    pilot: PairScores
    bounds: FixedBounds
    grid: Floats | None
    significance_share: float
    bet: PilotBet | None = None

    @property
    def thresholds(self) -> list[float]:
        """Thresholds of the events that the bounds and the bet read."""
        of_bet = [] if self.bet is None else [self.bet.threshold]
        return [*(threshold for bound in self.bounds for threshold in bound.thresholds), *of_bet]


@dataclass(eq=False)
class PairRun:
    """The run of one audit on a pair."""

    setup: AuditSetup
    plan: TrialPlan
    seed: int
    fingerprint: str
    store: TrialStore | None
    n_jobs: int | None
    reporter: Reporter
    timeout: float | None = None
    minutes: float | None = None
    history: Builds | None = None
    repeats: ReplayGuard = field(init=False)
    changed: StateChanges = field(init=False)
    examples: Examples = field(init=False)
    learned_numbers: int = field(default=0, init=False)
    code_digest: str = field(default="", init=False)
    outputs_digest: str = field(default="", init=False)
    alarmed: bool = field(default=False, init=False)
    doubted: bool = field(default=False, init=False)
    experiments: dict[int, FreshProcesses] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.repeats = ReplayGuard(display_name(self.setup.mechanism))
        self.changed = StateChanges(display_name(self.setup.mechanism))
        self.examples = Examples()
        self.began = time.monotonic()
        if self.history is not None:
            self.code_digest = self.setup.code_digest

    def announce(self, one_run: float) -> None:
        """Announce the time of all runs, if it is long; `one_run` is the time of one."""
        setup, plan = self.setup, self.plan
        n_runs = 2 * plan.per_side
        n_chunks = 2 * (-(-plan.pilot // plan.chunk_size) + -(-plan.evaluation // plan.chunk_size))
        if self.minutes is not None or (self.store is not None and self.store.n_finished >= n_chunks):
            return  # the time is known, or all is read, and nothing runs, not even to be timed
        if setup.guarded:
            seconds = seconds_of_calls(setup.mechanism, one_run, n_runs, n_chunks)
        else:
            work = PilotWork(setup.mechanism, setup.neighbours, self.seed)
            seconds = measure_run_time(work, Chunk(Stage.PROBE, 0, 0, 0, 1), n_runs, plan.chunk_size)
        announce(
            seconds,
            n_runs,
            n_chunks,
            store=self.store,
            n_jobs=self.n_jobs,
            workers=setup.workers,
            reporter=self.reporter,
        )

    def result(self) -> AuditResult:
        """Return the result: run the pilot and the evaluation, compute bounds and verdict."""
        first = Independence() if self.setup.guarded else None
        pilots, sample = self._pilot(first)
        track, *others = (self._track(*pilot, self.setup.significance_share / len(pilots)) for pilot in pilots)
        second = others[0] if others else None
        if self.store is not None:
            self.store.agree("pilot-scores", _fixed(track, *others))
        scorer, bounds = track.scorer, track.bounds
        self.examples.follow(
            [threshold for bound in bounds for threshold in bound.thresholds],
            lambda threshold: _simple_rule(sample, track.pilot, threshold),
        )
        independence = self._independence(track, first)
        if self.setup.stop:
            evaluated = self._evaluate_until_refuted(scorer, bounds, independence)
        else:
            evaluated = (*self._evaluate(track, second, independence), ())
        _, evaluation, _ = evaluated
        scored = [(track, evaluated[0])]
        if second is not None:
            assert evaluation.second is not None
            scored.append((second, evaluation.second.scores()))
        evidence = self._evidence(scored)
        result = self._conclude(track, *evaluated, independence)
        if second is not None:
            without = self._conclude(*scored[1], evaluation, (), independence)
            scorer, result = _combine_scores(result, without, scorer, second.scorer)
        if self.history is not None and evidence is not None:
            dependent = self.doubted or result.dependence is not None
            self.history.keep(evidence.without("its trials are not independent") if dependent else evidence)
        if result.refuted_by is None:
            return result
        return self._explain(result, scorer)

    def _explain(self, result: AuditResult, scorer: EventScorer) -> AuditResult:
        """Return a violation with its explanation; a step that fails adds a warning and keeps the verdict."""
        explained = Explanations()
        fresh = explained.step("the further runs", lambda: self._fresh_runs(result), None)
        complete = replace(
            result,
            deciding=explained.step(
                "the deciding event", lambda: deciding_event(result, scorer, self.examples, fresh), None
            ),
            datasets=explained.step("the JSON of the datasets", lambda: as_json(self.setup.neighbours), None),
            event_rule=explained.step("the rule of the event", lambda: event_rule(result, scorer, fresh), None),
        )
        return replace(complete, warnings=(*complete.warnings, *explained.warnings))

    def _fresh_runs(self, result: AuditResult) -> tuple[Outputs, Outputs] | None:
        """Return further runs of each side, which describe the deciding event; None if there is no use for them."""
        if result.decided_by.threshold is None or result.dependence is not None:
            return None
        return self._further_runs(1)

    def _further_runs(self, key: int) -> tuple[Outputs, Outputs] | None:
        """Return runs of each side from separate streams; None if the function raises in them."""
        setup, n_runs = self.setup, min(N_RULE_RUNS, self.plan.evaluation)
        with suppress(ReleaseError):
            out, in_ = (
                run(
                    setup.mechanism, setup.neighbours, self.seed, Chunk(Stage.PROBE, side, key, 0, n_runs), self.timeout
                )[0]
                for side in (0, 1)
            )
            return out, in_
        return None

    def _pilot(
        self, independence: Independence | None
    ) -> tuple[list[tuple[EventScorer, PairScores]], OutputSample | None]:
        """Return the scorer, the pilot scores on which thresholds are chosen, and outputs that describe its events.

        If the scorer reads the low bits of floats and the number of trials is fixed, add a second scorer without them.
        """
        setup, outputs = self.setup, PilotOutputs(independence)
        work = PilotWork(setup.mechanism, setup.neighbours, self.seed, setup.guarded, self.timeout)
        self._execute(Stage.PILOT, work, outputs)
        side0, side1 = outputs.side(0), outputs.side(1)
        self.outputs_digest = "" if self.history is None else identity((side0, side1))
        names = setup.mechanism._output_names(outputs.texts())
        with in_this_process():
            scorer = fit_scorer(setup.attack, setup.target, side0, side1, stream(self.seed, Stage.FIT))
            if self.plan.pilot == 0:
                return [(scorer, PairScores(np.empty(0), np.empty(0)))], None
            without = None if setup.stop else scorer.without_low_bits
            scorers = [scorer] if without is None else [scorer, without]
            scored = [
                (
                    replace(variant.with_names(names), held_out=None, without_low_bits=None),
                    PairScores(*variant.score_pilot(side0, side1), are_log_ratios=variant.scores_log_ratios),
                )
                for variant in scorers
            ]
            learned = scored[0][0] if hasattr(scorer.base, "names") else None
            if learned is not None and setup.guarded and learned.shapes and None not in learned.shapes:
                self.learned_numbers = max(math.prod(shape) for shape in learned.shapes)
            return scored, None if learned is None else OutputSample.of(learned, side0, side1, names)

    def _track(self, scorer: EventScorer, pilot: PairScores, significance_share: float) -> ScorerBounds:
        setup, n = self.setup, self.plan.evaluation
        shared = setup.shared_at(significance_share)
        bounds = tuple(bound.fix(shared, pilot, (n, n)) for bound in setup.bounds)
        bet = None if self.history is None else PilotBet.fix(setup.statement, pilot, n)
        track = ScorerBounds(scorer, pilot, bounds, None, significance_share, bet)
        return track if self.plan.holds_scores else replace(track, grid=self._grid(track))

    def _grid(self, track: ScorerBounds) -> Floats:
        """Return the thresholds at which scores are counted."""
        pilot = track.pilot
        pooled = np.sort(np.concatenate([pilot.out, pilot.in_]))
        spread = pooled[np.linspace(0, len(pooled) - 1, N_THRESHOLDS).astype(np.int64)]
        return np.unique(np.concatenate([[-np.inf], spread, track.thresholds]))

    def _independence(self, track: ScorerBounds, first: Independence | None) -> Independence | None:
        """Return the test of independence of the events of bounds and bet, and of three events that the pilot fixes."""
        if not self.setup.guarded:
            return None
        pooled = np.concatenate([track.pilot.out, track.pilot.in_])
        spread = np.quantile(pooled, PILOT_QUANTILES, method="nearest") if len(pooled) else []
        return Independence([*track.thresholds, *spread], first)

    def _evidence(self, scored: Sequence[tuple[ScorerBounds, Scores]]) -> BuildEvidence | None:
        """Return the evidence of this build from all ways of scoring its trials; None without a history.

        The e-values of two ways are averaged. Those of the first audit and of a second one, which is made if a call
        raises, are multiplied by shares whose sum is 1. Independent trials that fail the test of independence, whose
        e-values become 1, add at most the level of this test to the expectation: it is divided by 1 + level.
        """
        setup = self.setup
        logs = [track.bet.log_e_values(scores) for track, scores in scored if track.bet is not None]
        if self.history is None or not logs:
            return None
        false_alarm = setup.guard_significance if setup.guarded else 0.0
        log_e = average_log(logs) + (math.log(setup.significance_share) - math.log1p(false_alarm))
        evidence = BuildEvidence(self.code_digest, self.outputs_digest, tuple(log_e.tolist()))
        if setup.own_generator:
            evidence = evidence.without("the code has a generator of its own, whose noise may be that of another build")
        self.alarmed = self.history.alarms(evidence)
        return evidence

    def _evaluate(
        self, track: ScorerBounds, second: ScorerBounds | None, independence: Independence | None
    ) -> tuple[Scores, EvaluationScores]:
        setup, bounds = self.setup, track.bounds
        watched = next((bound for bound in bounds if len(bound.thresholds) == 1), None)
        watch = watched.thresholds[0] if watched else None
        second_scores = None if second is None else KeptScores(self.plan.evaluation, second.grid, SECOND_PREFIX)
        into = EvaluationScores(self.plan, track.grid, watch, independence, second_scores)

        def so_far() -> str:
            partial = into.so_far()
            if watched is None or partial is None:
                return ""
            bound = watched.lower_bound(partial)  # for display; the audit does not stop on it
            return f"epsilon >= {fixed(bound.epsilon)} so far (claim {number(setup.statement.epsilon)})"

        work = self._work(track.scorer, track.grid, independence)
        if second is not None:
            work = replace(work, second=(second.scorer, second.grid))
        self._execute(Stage.EVALUATION, work, into, so_far)
        return into.scores(), into

    def _evaluate_until_refuted(
        self, scorer: Scorer, bounds: FixedBounds, independence: Independence | None
    ) -> tuple[Scores, EvaluationScores, tuple[LedgerEntry, ...]]:
        """Run rounds until a look refutes the claim, or all planned trials are done."""
        setup, planned, n_done, n_looks = self.setup, self.plan.evaluation, 0, 0
        into = EvaluationScores(self.plan, None, independence=independence)

        def so_far() -> str:
            if not n_done:
                return ""
            epsilon = max(bound.lower_bound(into.scores(n_done)).epsilon for bound in bounds)
            return f"epsilon >= {fixed(epsilon)} after {n_done:,} a side (claim {number(setup.statement.epsilon)})"

        work = self._work(scorer, None, independence)
        if self.store is not None and self.store.share is not None:  # runs its slice of all rounds, and ends there
            self._run(list(self.plan.chunks(Stage.EVALUATION)), work, into, so_far)
        ended, since = "", time.monotonic()
        for chunks in self.plan.rounds():
            if n_done and self._ends_before(chunks.end - n_done, (time.monotonic() - since) / n_done):
                ended = f"; the time limit of {duration(60.0 * (self.minutes or 0.0))} ended the audit"
                break
            self._run(chunks, work, into, so_far, None if self.minutes else 2 * planned)
            n_done, n_looks = chunks.end, n_looks + 1
            scores = into.scores(n_done)
            if any(bound.exceeds_claim(scores) for bound in bounds):
                break
        looked_at = f"{n_looks}, the last after {n_done:,} of {planned:,} trials a side{ended}"
        entry = LedgerEntry("looks", looked_at, "no correction needed: the bound holds at every number of trials")
        return into.scores(n_done), into, (entry,)

    def _ends_before(self, n: int, seconds_each: float) -> bool:
        """Return True if the time limit is before the middle of the next `n` trials of each side."""
        if self.minutes is None:
            return False
        return time.monotonic() + 0.5 * n * seconds_each > self.began + 60.0 * self.minutes

    def _work(self, scorer: Scorer, grid: Floats | None, independence: Independence | None) -> EvaluationWork:
        setup = self.setup
        events = None if independence is None else independence.events
        return EvaluationWork(
            setup.mechanism, setup.neighbours, self.seed, scorer, grid, events, self.timeout, self.examples.followed
        )

    def _execute(self, stage: Stage, work: Work, into: Reduction, note: Callable[[], str] = str) -> None:
        chunks = self.plan.pilot_chunks() if stage is Stage.PILOT else next(self.plan.rounds())
        self._run(chunks, work, into, note, 2 * chunks.end)

    def _run(
        self, chunks: Sequence[Chunk], work: Work, into: Reduction, note: Callable[[], str], total: int | None = None
    ) -> None:
        execute(
            chunks,
            work,
            SeveralReductions(self.examples, self.changed, into),
            store=self.store,
            n_jobs=self.n_jobs,
            workers=self.setup.workers,
            repeats=self.repeats,
            reporter=self.reporter,
            note=note,
            total=total,
        )

    def _conclude(
        self,
        track: ScorerBounds,
        scores: Scores,
        evaluation: EvaluationScores,
        looks: tuple[LedgerEntry, ...],
        independence: Independence | None,
    ) -> AuditResult:
        setup, n = self.setup, scores.n_in
        names = getattr(track.scorer.base, "names", None) or setup.mechanism._output_names({})
        observed = Diagnostics(setup, evaluation, n, independence, self.seed, self.experiments, names)
        explained = Explanations()
        exact = explained.step("the exact curve of the pair", setup.exact_guarantee, None)
        witnesses = explained.step("the search for witnesses", observed.witnesses, ())
        notes = explained.step("what the first runs showed", observed.notes, ())
        warnings = explained.step("what the trials showed", observed.warnings, ())
        context = AuditContext(
            game=Game.DISTINGUISHING,
            mechanism=display_name(setup.mechanism),
            tier=setup.tier,
            attack=setup.attack_name,
            relation=setup.neighbours.relation.value,
            trials=Trials(self.plan.pilot + n, self.plan.pilot, n),
            seed=self.seed,
            fingerprint=self.fingerprint,
            exact=exact,
            looks=setup.looks(),
            later=(*looks, *observed.looks()),
            significance_share=track.significance_share,
            dependence=observed.dependence(),
            events=evaluation.events(),
            unseen=_unseen(evaluation.events(), track.scorer) / (2 * n) if self.plan.pilot else 0.0,
            learned_numbers=self.learned_numbers,
            warnings=(*warnings, *self.changed.warnings(), *explained.warnings),
            witnesses=witnesses,
            notes=notes,
        )
        result = conclude(setup.statement, setup.bounds, track.bounds, scores, context)
        if result.refuted_by not in ("bound", "curve"):
            result = with_breakdown(result, setup, scores)
            if not self.alarmed:
                return result
        doubt = observed.doubt(track.scorer)
        if doubt is None:
            return replace(result, warnings=(*result.warnings, *observed.untested()))
        self.doubted = True
        decided = self._decided_by_single_runs(track, observed, context, doubt) if doubt.decides else None
        if decided is not None and decided.refuted_by in ("bound", "curve"):
            return decided
        context = replace(context, dependence=doubt.dependence())
        return conclude(setup.statement, setup.bounds, track.bounds, scores, context)

    @cached_property
    def _single_runs(self) -> tuple[Outputs, Outputs] | None:
        """Runs in processes of their own, made once for all scores; None if one fails."""
        mechanism = self.setup.mechanism
        assert isinstance(mechanism, FunctionMechanism)
        with in_this_process():
            return single_runs(mechanism, self.setup.neighbours, self.seed, N_SINGLE)

    def _decided_by_single_runs(
        self, track: ScorerBounds, observed: Diagnostics, context: AuditContext, doubt: Doubt
    ) -> AuditResult | None:
        """Return the result of runs in processes of their own, by the same bounds; None if they cannot be made.

        The pilot has the noise of one process: thresholds come from the runs of all processes of the experiment.
        """
        setup, outputs = self.setup, self._single_runs
        if outputs is None:
            return None
        with in_this_process():
            pilot, scores = (
                PairScores(*(np.asarray(track.scorer.score(part)) for part in sides))
                for sides in (observed.own_runs(), outputs)
            )
        bounds = tuple(
            bound.fix(setup.shared_at(track.significance_share), pilot, (N_SINGLE, N_SINGLE)) for bound in setup.bounds
        )
        warning = f"{doubt.what}: {N_SINGLE} runs a side, each in a process of its own, decided alone."
        trials = Trials(self.plan.pilot + N_SINGLE, self.plan.pilot, N_SINGLE)
        context = replace(context, trials=trials, warnings=(*context.warnings, warning), events={}, unseen=0.0)
        return conclude(setup.statement, setup.bounds, bounds, scores, context)


def _simple_rule(sample: OutputSample | None, pilot: PairScores, threshold: float) -> SimpleRule | None:
    """Return the rule on one number of the output that stands for an event on the pilot; None if there is none."""
    if sample is None:
        return None
    hits = int((pilot.out >= threshold).sum()), int((pilot.in_ >= threshold).sum())
    above = points_to_side_1(hits, (len(pilot.out), len(pilot.in_)))
    return Explanations().step("the rule on one number", lambda: sample.rule(threshold, above=above), None)


def _fixed(*tracks: ScorerBounds) -> Arrays:
    """Return what the pilot has fixed: every machine that runs a slice of the evaluation must compute the same."""
    arrays: Arrays = {}
    for index, track in enumerate(tracks):
        thresholds = [threshold for bound in track.bounds for threshold in bound.thresholds]
        arrays |= {f"{index}-out": track.pilot.out, f"{index}-in": track.pilot.in_}
        arrays[f"{index}-thresholds"] = np.array(thresholds, dtype=np.float64)
    return arrays


def _unseen(events: Mapping[str, tuple[int, int]], scorer: EventScorer) -> int:
    """Return the number of evaluation runs with an exceptional output that no pilot run gave."""
    known = set() if scorer.labels is None else set(scorer.labels.tolist())
    return sum(sum(counts) for display_name, counts in events.items() if display_name not in known)


def _combine_scores(
    result: AuditResult, without: AuditResult, scorer: EventScorer, scorer_without: EventScorer
) -> tuple[EventScorer, AuditResult]:
    """Combine the results of two scores of the same trials, and return the scorer that the result reports.

    Almost every function that adds float noise to a number leaks in the low bits of its output. The score without them
    shows whether the claim is also refuted for another reason. The combined p-value is twice the smaller one.

    Args:
        result, without: results with low bits and without, each at half of the significance.
        scorer, scorer_without: their scorers.

    Returns:
        `result` and its scorer; `without` and its scorer if only `without` refutes the claim.
    """
    p_value, ledger = min(result.p_value, without.p_value), (*result.ledger, _TWO_SCORES)
    if without.verdict is Verdict.VIOLATION and result.verdict is not Verdict.VIOLATION:
        return scorer_without, replace(without, p_value=p_value, ledger=(*without.ledger, _TWO_SCORES))
    summary = WithoutLowBits(without.bound, without.curve_violation, _rule_without(without, scorer_without))
    return scorer, replace(result, p_value=p_value, ledger=ledger, without_low_bits=summary)


def _rule_without(without: AuditResult, scorer: EventScorer) -> str:
    """Return a description of the event of the larger bound or of the refuted curve; empty if there is none."""
    decided = without.decided_by
    if decided.threshold is None or decided.hits is None:
        return ""
    above = points_to_side_1(decided.hits, (without.tally.n_out, without.tally.n_in))
    return scorer.describe(decided.threshold, above=above)
