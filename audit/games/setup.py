"""The setup of an audit: all arguments, checked and complete, before any run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...attacks.base import Attack, Target
from ...attacks.canaries.base import Canary
from ...attacks.catalogue import AttackChoice, choose
from ...mechanisms.adapters.command import Command
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.source import source_of
from ...mechanisms.core import Guarantee, KnownCurve, Mechanism, Neighbours, Tier, Workers, display_name, percent
from ...mechanisms.core.errors import ParameterError
from ...mechanisms.core.fingerprint import describe, fingerprint
from ...mechanisms.tiers import tier_of
from ..bounds.base import LedgerEntry, PairBound, PilotMissingError
from ..bounds.bits.guessing import n_shares
from ..bounds.catalogue import BoundChoice, choose_bounds
from ..evidence.statement import Statement, check_claim
from ..trials.independence import FALSE_ALARM_SHARE, independent_by_construction
from ..trials.options import versions
from ..trials.plan import LEAST_PILOT, TrialPlan, check_width, plan_trials
from ..trials.work import probe


@dataclass(frozen=True, eq=False)
class AuditSetup:
    """The checked and complete arguments of an audit, before any run.

    `is_second_audit` is True after a call with many runs raised in a first audit: see `one_at_a_time`.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    on_worst_case: bool
    attack_name: str
    attack: Attack
    bounds: tuple[PairBound, ...]
    statement: Statement
    tier: Tier
    stop: str | None = None
    is_second_audit: bool = False

    @classmethod
    def of(
        cls,
        mechanism: Mechanism | Callable[..., Any],
        neighbours: Neighbours | None,
        attack: AttackChoice,
        bound: BoundChoice,
        delta: float | None,
        confidence: float,
        claim: Guarantee | None,
        stop: str | None = None,
        n_hypotheses: int = 1,
    ) -> AuditSetup:
        """Check the arguments against each other and fill in the defaults."""
        _check_pair(neighbours)
        if claim is not None:
            check_claim(claim, delta)
        mechanism = _as_mechanism(mechanism, neighbours, claim)
        pair = mechanism.worst_case() if neighbours is None else neighbours
        mechanism = mechanism.bind(pair)
        statement = Statement.about(
            mechanism, claim, delta=delta, confidence=confidence, n_hypotheses=n_hypotheses, relation=pair.relation
        )
        name, chosen = choose(attack, Target(mechanism, pair))
        bounds: tuple[Any, ...] = choose_bounds(bound, stop=stop)
        setup = cls(
            mechanism, pair, neighbours is None, name, chosen, bounds, statement, tier_of(mechanism, claim), stop
        )
        for b in bounds:
            with suppress(PilotMissingError):  # options that do not fit the claim are refused before any run
                b.fix(setup.shared, None, (1, 1))
        return setup

    @property
    def target(self) -> Target:
        """Target of the attack."""
        return Target(self.mechanism, self.neighbours)

    @cached_property
    def guarded(self) -> bool:
        """True if the independence of the trials is tested, as for user code."""
        return not independent_by_construction(self.mechanism)

    @property
    def significance_share(self) -> float:
        """Share of the significance for the bounds: 1 - s if independence is tested, s (1 - s) in a second audit.

        Here s is `FALSE_ALARM_SHARE`. In the first audit a bound is wrong with probability at most 1 - s of the
        significance, whatever the calls that raised would have shown, in the second audit with s (1 - s), and where
        calls do not answer with s^2 (see `no_answer`): together at most the whole significance.
        """
        if self.is_second_audit:
            return FALSE_ALARM_SHARE * (1.0 - FALSE_ALARM_SHARE)
        return 1.0 - FALSE_ALARM_SHARE if self.guarded else 1.0

    @property
    def guard_significance(self) -> float:
        """Significance level of the test of independence: its share of the significance per hypothesis."""
        return FALSE_ALARM_SHARE * self.statement.significance / self.statement.n_hypotheses

    @cached_property
    def workers(self) -> Workers:
        """Kind of workers for the mechanism."""
        return workers_of(self.mechanism)

    def one_at_a_time(self) -> AuditSetup | None:
        """Return the setup with one run per call, for a second audit; None if runs are not made many per call."""
        if not isinstance(self.mechanism, FunctionMechanism) or self.mechanism.style != "many-runs":
            return None
        return replace(self, mechanism=self.mechanism.one_at_a_time(), is_second_audit=True)

    @property
    def shared(self) -> Statement:
        """Statement for each of several bounds, such that all of them hold simultaneously (Bonferroni)."""
        return self.shared_at(self.significance_share)

    def shared_at(self, significance_share: float) -> Statement:
        """Return the statement for each bound at another share of the significance."""
        return self.statement.shared(n_shares(self.bounds), significance_share)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the pair, if it is known; None otherwise."""
        if self.on_worst_case:
            return self.mechanism.exact_guarantee()
        known = self.mechanism if isinstance(self.mechanism, KnownCurve) else self.mechanism.output_law()
        return known.curve(self.neighbours) if isinstance(known, KnownCurve) else None

    def looks(self) -> tuple[LedgerEntry, ...]:
        """Return the ledger entries on choices before the trials."""
        learned = "trained on pilot trials only" if self.attack.minimum_pilot else "not trained on trials"
        raised = "2: a call with many runs raised, and all runs were repeated, one per call"
        audits = LedgerEntry("audits", raised, f"{percent(FALSE_ALARM_SHARE)} of the significance for the second")
        return (
            *((audits,) if self.is_second_audit else ()),
            LedgerEntry("pair", "1, fixed beforehand", "no correction needed"),
            LedgerEntry("attack", f"1, {self.attack_name}", learned),
        )

    @property
    def code_digest(self) -> str:
        """SHA-256 of a description of the audited code: of a function, of a mechanism, or of the files of a program."""
        code = self.mechanism.function if isinstance(self.mechanism, FunctionMechanism) else self.mechanism
        return fingerprint([describe(code), code.files if isinstance(code, Command) else []])

    @property
    def own_generator(self) -> bool:
        """True for a function that has a generator of its own, which another build may start in the same state."""
        source = source_of(self.mechanism.function) if isinstance(self.mechanism, FunctionMechanism) else None
        return source is not None and source.generators

    def plan(
        self, trials: int, seed: int, minutes: float | None = None, *, bets: bool = False
    ) -> tuple[TrialPlan, float]:
        """Return the plan of chunks, and the seconds of one extra run, which measures the size of an output.

        `bets` are fixed on a pilot. With a time limit, it takes a quarter of the time at most, but has 50 runs a side
        at least.
        """
        options = {
            "learns": self.attack.minimum_pilot > 0,
            "chooses": bets or any(bound.needs_pilot for bound in self.bounds),
            "vectorised": self.mechanism.workers is Workers.THREADS,  # Python code makes its runs one by one
            "anytime": self.stop is not None,
        }
        plan_trials(trials, bytes_per_run=1, **options)  # refuses bad numbers of trials before any run
        output, seconds = probe(self.mechanism, self.neighbours, seed)
        size = np.asarray(getattr(output, "values", output)).nbytes
        check_width(size, self.attack.minimum_pilot > 0)
        plan = plan_trials(trials, bytes_per_run=size, **options)
        if minutes is not None:
            fitting = int(60.0 * minutes / (2 * 4 * max(seconds, 1e-9)))
            plan = replace(plan, pilot=min(plan.pilot, max(fitting, LEAST_PILOT)))
        return plan, seconds

    def describe(self, plan: TrialPlan, seed: int) -> dict[str, Any]:
        """Return everything that determines the trials and their reduction."""
        return {
            "mechanism": describe(self.mechanism),
            "neighbours": describe(self.neighbours),
            "attack": describe(self.attack),
            "bounds": describe(self.bounds),
            "delta": self.statement.delta,
            "confidence": self.statement.confidence,
            "plan": describe(plan),
            "independence": FALSE_ALARM_SHARE if self.guarded else "by construction",
            "seed": seed,
            **versions(),
        }


def _check_pair(neighbours: Any) -> None:
    """Raise `ParameterError` unless `neighbours` is a pair or None."""
    if isinstance(neighbours, Canary):
        canary = display_name(neighbours)
        raise ParameterError(
            f"neighbours must be a pair, but is the canary {canary}. Make it a pair: {canary}.pair((X, y), learner).",
            argument="neighbours",
        )
    if neighbours is not None and not isinstance(neighbours, Neighbours):
        raise ParameterError(
            "neighbours must be a pair such as Neighbours(d0, d1, 'add_remove'), "
            f"but is a {type(neighbours).__name__}.",
            argument="neighbours",
        )


def _as_mechanism(
    mechanism: Mechanism | Callable[..., Any], neighbours: Neighbours | None, claim: Guarantee | None
) -> Mechanism:
    if isinstance(mechanism, Mechanism):
        return mechanism
    claim = check_function(mechanism, claim)
    if neighbours is None:
        raise ParameterError(
            f"neighbours must be given for a function such as {display_name(mechanism)}: its worst case is unknown. "
            "For example neighbours=Neighbours([1, 0], [1, 0, 1], 'add_remove').",
            argument="neighbours",
        )
    return FunctionMechanism(mechanism, claim=claim, neighbours=neighbours)


def workers_of(mechanism: Mechanism) -> Workers:
    """Return the kind of workers for a mechanism.

    A function with its own generator stays in one process: copies of the generator would all draw the same numbers.
    """
    first_runs = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return Workers.THIS_PROCESS if first_runs is not None and first_runs.generators else mechanism.workers


def check_function(function: Any, claim: Guarantee | None) -> Guarantee:
    """Return the claim; raise `ParameterError` if `function` is not a function or the claim is missing."""
    if not callable(function):
        raise ParameterError(
            f"mechanism must be a Mechanism or a function release(dataset, rng), but is {function!r}."
            + " Give its method: thing.release." * callable(getattr(function, "release", None)),
            argument="mechanism",
        )
    if isinstance(function, type):
        raise ParameterError(
            f"mechanism is the class {function.__name__}: give an instance, such as {function.__name__}(...).",
            argument="mechanism",
        )
    if claim is None:
        raise ParameterError(
            f"claim must be given for a function such as {display_name(function)}, for example claim=PureDP(1.0).",
            argument="claim",
        )
    return claim
