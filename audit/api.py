"""`audit` and `assert_private`: from a mechanism to a verdict.

    mechanism and pair -> trials -> scores -> bounds -> verdict

Statistics. Fixed before any evaluation trial runs: the pair, the scorer (trained on pilot trials), the direction of the
scores, every threshold that a bound chooses (on pilot trials), the number of trials, and how the significance is shared
between several bounds (Bonferroni). Pilot and evaluation trials come from disjoint random streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attacks.base import Attack, Scorer
from attacks.catalogue import choose
from attacks.events import fit_scorer
from audit.bounds.base import Bound, LedgerEntry, LowerBound, check_level
from audit.bounds.catalogue import catalogue as bounds_catalogue
from audit.describe import describe, fingerprint, label
from audit.games import Floats, PairScores, Scores, Tally
from audit.power import detectable_epsilon
from audit.results import AuditResult, ClaimCurve, Trials
from audit.trials.execution import Work, execute
from audit.trials.plan import TrialPlan, plan_trials
from audit.trials.progress import Reporter, reporter_for
from audit.trials.reduction import EvaluationScores, PilotOutputs, Reduction
from audit.trials.seeds import Stage, root_seed, stream
from audit.trials.store import TrialStore
from audit.trials.work import EvaluationWork, PilotWork
from audit.verdict import Verdict, judge
from mechanisms.base import Mechanism, Neighbours
from mechanisms.errors import AccountingError, ParameterError, PrivacyViolation, RelationError
from mechanisms.external.function import FunctionMechanism
from mechanisms.guarantees.base import Guarantee

GRID = 1024
"""Thresholds on the grid of counts, from quantiles of the pilot scores."""
KEPT = 400
"""Thresholds kept in a result, for its curves."""


def audit(
    mechanism: Mechanism | Callable[..., Any],
    neighbours: Neighbours | None = None,
    *,
    attack: str | Attack = "auto",
    bound: str | Bound | Sequence[str | Bound] = "auto",
    trials: int = 100_000,
    delta: float | None = None,
    confidence: float = 0.95,
    claim: Guarantee | None = None,
    seed: int | None = None,
    n_jobs: int | None = 1,
    store: Path | str | None = None,
    progress: bool | Reporter = False,
) -> AuditResult:
    """Runs `mechanism` on both datasets of a pair, attacks the outputs, and bounds epsilon from below.

    Args:
        mechanism: a `Mechanism`, or a function `release(dataset, rng)` (one run) or `release(dataset, size, rng)`.
        neighbours: the pair; None takes `mechanism.worst_case()`.
        attack: a name in `attacks.catalogue`, an `Attack`, or "auto": the likelihood ratio where the output law is
            known, else a classifier.
        bound: a name in `audit.bounds.catalogue`, a `Bound`, or several of these, which then share the significance;
            "auto" is Clopper-Pearson with its threshold chosen on the pilot.
        trials: runs per side, pilot included; at least 10.
        delta: of the statement, in [0, 1); None takes the delta at which the claim is usually quoted.
        confidence: strictly between 0 and 1.
        claim: what is tested; None takes `mechanism.guarantee()`.
        seed: root of every random stream, a whole number >= 0; None draws a fresh one and records it.
        n_jobs: workers; 1 runs here, -1 takes every core, None takes what `joblib.parallel_config` says.
            The result does not depend on it.
        store: directory that keeps finished trials, so that an interrupted audit continues; None keeps none.
        progress: True shows a progress bar when stderr is a terminal; or a `Reporter`.

    Returns:
        The bound, the claim, the verdict, and all that a table, a plot or a report needs.

    Raises:
        ParameterError: a value out of range; the message names it.
        NeighboursError, RelationError: the pair is not one that the claim speaks of.
        AttackError, ReleaseError, StoreError: see `mechanisms.errors`.

    Guarantees:
        * With probability at least `confidence`, `result.bound.epsilon` does not exceed the true epsilon at `delta`.
        * Serial, parallel and resumed audits with the same seed give the same result, byte for byte.

    Example:
        >>> from mechanisms import Laplace
        >>> result = audit(Laplace(epsilon=1.0), trials=20_000, seed=0)
        >>> result.verdict.value, result.claim
        ('consistent', 1.0)
        >>> 0.9 < result.bound.epsilon <= 1.0
        True
    """
    question = _Question.ask(mechanism, neighbours, attack, bound, delta, confidence, claim)
    seed = root_seed(seed)
    plan = question.plan(trials, seed)
    digest = question.describe(plan, seed)
    reporter = reporter_for(progress)
    try:
        with nullcontext() if store is None else TrialStore(Path(store), digest, warn=reporter.message) as opened:
            return _Run(question, plan, seed, fingerprint(digest), opened, n_jobs, reporter).result()
    finally:
        reporter.close()


def assert_private(
    mechanism: Mechanism | Callable[..., Any], neighbours: Neighbours | None = None, **options: Any
) -> AuditResult:
    """`audit`, but a violation raises `PrivacyViolation` (an AssertionError) with the evidence in its message.

    Args:
        mechanism, neighbours, options: as for `audit`. In a test, fix `seed` and choose a `confidence` so close to 1
            that a false alarm is out of the question, such as 1 - 1e-6.

    Returns:
        The result, whose verdict is `consistent` or `underpowered`.

    Example:
        >>> from mechanisms import Laplace
        >>> assert_private(Laplace(epsilon=1.0), trials=5_000, confidence=1 - 1e-6, seed=1).verdict.value
        'consistent'
    """
    __tracebackhide__ = True
    result = audit(mechanism, neighbours, **options)
    if result.verdict is Verdict.VIOLATION:
        raise PrivacyViolation(result.evidence(), result)
    return result


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked, checked and complete; nothing has run yet."""

    mechanism: Mechanism
    neighbours: Neighbours
    on_worst_case: bool
    attack_name: str
    attack: Attack
    bounds: tuple[Bound, ...]
    delta: float
    confidence: float
    claim: Guarantee
    claimed_epsilon: float

    @classmethod
    def ask(
        cls,
        mechanism: Mechanism | Callable[..., Any],
        neighbours: Neighbours | None,
        attack: str | Attack,
        bound: str | Bound | Sequence[str | Bound],
        delta: float | None,
        confidence: float,
        claim: Guarantee | None,
    ) -> _Question:
        """Checks the arguments against each other and fills in the defaults."""
        mechanism = _as_mechanism(mechanism, neighbours, claim)
        pair = mechanism.worst_case() if neighbours is None else neighbours
        mechanism.check(pair)
        quoted = mechanism.quoted_delta if claim is None else claim.default_delta
        claim = mechanism.guarantee() if claim is None else claim
        if claim.relation is not None and claim.relation is not pair.relation:
            raise RelationError(
                f"the claim {claim} speaks of relation {claim.relation.value!r}, the pair of {pair.relation.value!r}. "
                "An epsilon means different things under the two; give both the same relation."
            )
        delta = quoted if delta is None else delta
        if delta is None:
            raise ParameterError(f"delta must be given: {claim} promises a whole curve. Try delta=1e-5.")
        check_level(delta=delta, confidence=confidence)
        epsilon = float(claim.epsilon(delta))
        if not math.isfinite(epsilon):
            raise AccountingError(
                f"the claim {claim} is infinite at delta = {delta:g}; choose a larger delta, such as 1e-5."
            )
        name, chosen = choose(attack, mechanism, pair)
        bounds = _as_bounds(bound)
        return cls(mechanism, pair, neighbours is None, name, chosen, bounds, delta, confidence, claim, epsilon)

    @property
    def share(self) -> float:
        """The confidence of each of several bounds, so that all of them hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) / len(self.bounds)

    def plan(self, trials: int, seed: int) -> TrialPlan:
        """Cuts the trials into chunks; one extra run on its own stream shows how large an output is."""
        options = {
            "learns": self.attack.learns,
            "chooses": any(bound.uses_pilot for bound in self.bounds),
            "batched": self.mechanism.parallel == "threads",
        }
        plan_trials(trials, bytes_per_run=1, **options)  # refuses bad numbers of trials before anything runs
        probe = self.mechanism.release(self.neighbours.d0, 1, stream(seed, Stage.PROBE))
        return plan_trials(trials, bytes_per_run=np.asarray(getattr(probe, "values", probe)).nbytes, **options)

    def describe(self, plan: TrialPlan, seed: int) -> dict[str, Any]:
        """Everything that determines the trials and what is reduced from them."""
        return {
            "mechanism": describe(self.mechanism),
            "neighbours": describe(self.neighbours),
            "attack": describe(self.attack),
            "bounds": describe(self.bounds),
            "delta": self.delta,
            "confidence": self.confidence,
            "plan": describe(plan),
            "seed": seed,
            "numpy": np.__version__.rpartition(".")[0],
        }


def _as_mechanism(
    thing: Mechanism | Callable[..., Any], neighbours: Neighbours | None, claim: Guarantee | None
) -> Mechanism:
    if isinstance(thing, Mechanism):
        return thing
    if not callable(thing):
        raise ParameterError(f"mechanism must be a Mechanism or a function release(dataset, rng), but is {thing!r}.")
    if neighbours is None:
        raise ParameterError(
            f"neighbours must be given for a function such as {label(thing)}: nobody knows its worst case."
        )
    if claim is None:
        raise ParameterError(
            f"claim must be given for a function such as {label(thing)}, for example claim=PureDP(1.0)."
        )
    return FunctionMechanism(thing, claim=claim, neighbours=neighbours)


def _as_bounds(bound: str | Bound | Sequence[str | Bound]) -> tuple[Bound, ...]:
    several = [bound] if isinstance(bound, (str, Bound)) else list(bound)
    if not several:
        raise ParameterError("bound must name at least one bound, but is an empty list. Try bound='auto'.")
    names = ["clopper-pearson" if b == "auto" else b for b in several]
    built = tuple(bounds_catalogue.build(b) if isinstance(b, str) else b for b in names)
    for one in built:
        if not isinstance(one, Bound):
            raise ParameterError(
                f"bound must be a name or a Bound, but is {one!r}. Known: {', '.join(bounds_catalogue)}."
            )
    return built


@dataclass(eq=False)
class _Run:
    """One question being answered."""

    question: _Question
    plan: TrialPlan
    seed: int
    fingerprint: str
    store: TrialStore | None
    n_jobs: int | None
    reporter: Reporter

    def result(self) -> AuditResult:
        """Pilot, evaluation, bounds, verdict."""
        scorer, pilot = self._pilot()
        bounds = self._prepare(pilot)
        scores, events = self._evaluate(scorer, self._grid(pilot, bounds), bounds)
        return self._conclude(bounds, scores, events)

    def _pilot(self) -> tuple[Scorer, PairScores]:
        """The scorer, and the pilot scores that thresholds are chosen on."""
        ask, outputs = self.question, PilotOutputs()
        work = PilotWork(ask.mechanism, ask.neighbours, self.seed)
        self._execute(Stage.PILOT, work, outputs)
        side0, side1 = outputs.side(0), outputs.side(1)
        scorer = fit_scorer(ask.attack, side0, side1, stream(self.seed, Stage.FIT))
        if self.plan.pilot == 0:
            return scorer, PairScores(np.empty(0), np.empty(0))
        return scorer, PairScores(scorer.score(side0), scorer.score(side1))

    def _prepare(self, pilot: PairScores) -> tuple[Bound, ...]:
        ask, n = self.question, self.plan.evaluation
        level = {"delta": ask.delta, "confidence": ask.share}
        return tuple(bound.prepare(pilot, **level, n_out=n, n_in=n) for bound in ask.bounds)

    def _grid(self, pilot: PairScores, bounds: tuple[Bound, ...]) -> Floats | None:
        """Thresholds that scores are counted on; None when the scores themselves are kept."""
        if self.plan.holds_scores:
            return None
        pooled = np.sort(np.concatenate([pilot.out, pilot.in_]))
        spread = pooled[np.linspace(0, len(pooled) - 1, GRID).astype(np.int64)]
        needed = [t for bound in bounds for t in bound.thresholds]
        return np.unique(np.concatenate([[-np.inf], spread, needed]))

    def _evaluate(
        self, scorer: Scorer, grid: Floats | None, bounds: tuple[Bound, ...]
    ) -> tuple[Scores, dict[str, tuple[int, int]]]:
        ask = self.question
        watched = next((bound for bound in bounds if len(bound.thresholds) == 1), None)
        into = EvaluationScores(self.plan, grid, watch=watched.thresholds[0] if watched else None)

        def so_far() -> str:
            """The bound on the trials so far: to look at, not to stop on."""
            partial = into.so_far()
            if watched is None or partial is None:
                return ""
            found = watched.lower_bound(partial, delta=ask.delta, confidence=ask.share)
            return f"epsilon >= {found.epsilon:.3f} so far (claim {ask.claimed_epsilon:.3g})"

        work = EvaluationWork(ask.mechanism, ask.neighbours, self.seed, scorer, grid)
        self._execute(Stage.EVALUATION, work, into, so_far)
        return into.scores(), into.events()

    def _execute(self, stage: Stage, work: Work, into: Reduction, note: Callable[[], str] = str) -> None:
        execute(
            list(self.plan.chunks(stage)),
            work,
            into,
            store=self.store,
            n_jobs=self.n_jobs,
            workers=self.question.mechanism.parallel,
            reporter=self.reporter,
            note=note,
        )

    def _conclude(self, bounds: tuple[Bound, ...], scores: Scores, events: dict[str, tuple[int, int]]) -> AuditResult:
        ask, n = self.question, self.plan.evaluation
        found = tuple(bound.lower_bound(scores, delta=ask.delta, confidence=ask.share) for bound in bounds)
        best = max(found, key=lambda one: one.epsilon)
        p_value = min(b.p_value(scores, epsilon=ask.claimed_epsilon, delta=ask.delta) for b in bounds) * len(bounds)
        ceiling = max(one.ceiling for one in found)
        detectable = min(
            detectable_epsilon(b, claim=ask.claimed_epsilon, delta=ask.delta, confidence=ask.share, n_out=n, n_in=n)
            for b in bounds
        )
        truth = ask.mechanism.truth() if ask.on_worst_case else None
        return AuditResult(
            mechanism=label(ask.mechanism),
            relation=ask.neighbours.relation.value,
            attack=ask.attack_name,
            claim=ask.claimed_epsilon,
            claim_name=str(ask.claim),
            truth=None if truth is None else float(truth.epsilon(ask.delta)),
            delta=ask.delta,
            confidence=ask.confidence,
            bounds=found,
            p_value=min(1.0, p_value),
            detectable=detectable,
            trials=Trials(self.plan.per_side, self.plan.pilot, n),
            seed=self.seed,
            verdict=judge(bound=best.epsilon, claim=ask.claimed_epsilon, ceiling=ceiling),
            ledger=_ledger(ask, found, best),
            tally=_kept(scores, best),
            claim_curve=_sample(ask.claim, ask.claimed_epsilon),
            events=events,
            fingerprint=self.fingerprint,
        )


def _ledger(ask: _Question, found: tuple[LowerBound, ...], best: LowerBound) -> tuple[LedgerEntry, ...]:
    """What was looked at in this audit, and how each look is paid for."""
    learned = "trained on pilot trials only" if ask.attack.learns else "known output law, nothing learned"
    entries = [
        LedgerEntry("pair", "1, fixed beforehand", "none needed"),
        LedgerEntry("attack", f"1, {ask.attack_name}", learned),
    ]
    if len(found) > 1:
        names = ", ".join(one.method for one in found)
        entries.append(LedgerEntry("bounds", f"{len(found)}: {names}", f"Bonferroni over {len(found)}"))
    return (*entries, *best.ledger)


def _kept(scores: Scores, best: LowerBound) -> Tally:
    if isinstance(scores, PairScores):
        return scores.thinned(KEPT, keep=best.threshold)
    return scores.tally.thin(KEPT, keep=best.threshold)


def _sample(claim: Guarantee, epsilon: float) -> ClaimCurve:
    """101 points of the claimed trade-off curve, dense at both ends where large epsilons live, and privacy profile."""
    small = np.geomspace(1e-6, 0.018, 25)
    fpr = np.sort(np.concatenate([np.linspace(0.0, 1.0, 51), small, 1.0 - small]))
    grid = np.linspace(0.0, max(1.5 * epsilon, 0.5), 101)
    curves = (fpr, np.asarray(claim.tradeoff(fpr)), grid, np.asarray(claim.delta(grid)))
    return ClaimCurve(*(tuple(map(float, curve)) for curve in curves))
