"""What an audit is asked: checked, complete, and nothing has run yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...attacks.base import Attack, Target
from ...attacks.canaries.base import Canary
from ...attacks.catalogue import choose
from ...mechanisms.base import KnownCurve, Mechanism, Neighbours, Workers
from ...mechanisms.errors import ParameterError
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.fingerprint import describe
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.label import label
from ..bounds.base import LedgerEntry, PairBound, PilotMissingError
from ..bounds.choose import BoundChoice, choose_bounds
from ..evidence.statement import Statement, check_claim
from ..trials.guards.independence import SHARE, independent_by_construction
from ..trials.options import versions
from ..trials.plan import TrialPlan, check_width, plan_trials
from ..trials.work import probe


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked, checked and complete; nothing has run yet.

    `again` says that it was asked before, and that a call of many runs raised then: see `one_at_a_time`.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    on_worst_case: bool
    attack_name: str
    attack: Attack
    bounds: tuple[PairBound, ...]
    statement: Statement
    stop: str | None = None
    again: bool = False

    @classmethod
    def ask(
        cls,
        mechanism: Mechanism | Callable[..., Any],
        neighbours: Neighbours | None,
        attack: str | Attack,
        bound: BoundChoice,
        delta: float | None,
        confidence: float,
        claim: Guarantee | None,
        stop: str | None = None,
        n_hypotheses: int = 1,
    ) -> Question:
        """Checks the arguments against each other and fills in the defaults."""
        _check_pair(neighbours)
        if claim is not None:
            check_claim(claim, delta)
        mechanism = _as_mechanism(mechanism, neighbours, claim)
        pair = mechanism.worst_case() if neighbours is None else neighbours
        mechanism = mechanism.fitted_to(pair)
        statement = Statement.about(
            mechanism,
            claim,
            delta=delta,
            confidence=confidence,
            n_hypotheses=n_hypotheses,
            relation=pair.relation,
        )
        name, chosen = choose(attack, Target(mechanism, pair))
        bounds: tuple[Any, ...] = choose_bounds(bound, stop=stop)
        question = cls(mechanism, pair, neighbours is None, name, chosen, bounds, statement, stop)
        for one in bounds:
            with suppress(PilotMissingError):  # what does not fit the claim is refused before anything runs
                one.fix(question.shared, None, (1, 1))
        return question

    @property
    def target(self) -> Target:
        """What is attacked."""
        return Target(self.mechanism, self.neighbours)

    @cached_property
    def guarded(self) -> bool:
        """Whether the independence of the trials is tested: that of other people's mechanisms is."""
        return not independent_by_construction(self.mechanism)

    @property
    def part(self) -> float:
        """What the test of independence leaves of the significance to the bounds; a second time, what it took.

        On the first trials a bound is wrong with probability at most 1 - SHARE of the significance, whatever those that
        raised would have shown, and with SHARE on those of the second time: together at most all of it.
        """
        if self.again:
            return SHARE
        return 1.0 - SHARE if self.guarded else 1.0

    @property
    def guard_significance(self) -> float:
        """At which the trials are taken to be dependent: its share of that of the family."""
        return SHARE * self.statement.significance / self.statement.n_hypotheses

    @cached_property
    def workers(self) -> Workers:
        """Which workers suit the mechanism."""
        return workers_of(self.mechanism)

    def one_at_a_time(self) -> Question | None:
        """The same once more, with each run in a call of its own; None where the runs are not made by calls of many."""
        if not isinstance(self.mechanism, FunctionMechanism) or self.mechanism.style != "many-runs":
            return None
        return replace(self, mechanism=self.mechanism.one_at_a_time(), again=True)

    @property
    def shared(self) -> Statement:
        """The statement of each of several bounds, so that all of them hold together (Bonferroni)."""
        return self.shared_at(self.part)

    def shared_at(self, part: float) -> Statement:
        """The same at another part of the significance."""
        return self.statement.shared(len(self.bounds), part)

    @property
    def strictest(self) -> Statement:
        """That of a bound which exceeds the claim so clearly that Holm refutes it first of all hypotheses."""
        return self.statement.shared(len(self.bounds) * self.statement.n_hypotheses, self.part)

    def exact_guarantee(self) -> Guarantee | None:
        """The exact curve of the pair, where it is known: of the worst case, or of any."""
        if self.on_worst_case:
            return self.mechanism.exact_guarantee()
        law = self.mechanism.output_law()
        return law.curve(self.neighbours) if isinstance(law, KnownCurve) else None

    def looks(self) -> tuple[LedgerEntry, ...]:
        """What was chosen before the trials, and how it is paid for."""
        learned = "trained on pilot trials only" if self.attack.minimum_pilot else "nothing learned from trials"
        raised = "2: a call of many runs raised, and all runs were made anew, one a call"
        again = (
            (LedgerEntry("audits", raised, f"{SHARE:.0%} of the significance for the second"),) if self.again else ()
        )
        return (
            *again,
            LedgerEntry("pair", "1, fixed beforehand", "no correction needed"),
            LedgerEntry("attack", f"1, {self.attack_name}", learned),
        )

    def plan(self, trials: int, seed: int) -> TrialPlan:
        """Cuts the trials into chunks; one extra run on its own stream shows how large an output is."""
        options = {
            "learns": self.attack.minimum_pilot > 0,
            "chooses": any(bound.needs_pilot for bound in self.bounds),
            "vectorised": self.mechanism.workers is Workers.THREADS,  # Python code makes its runs one by one
            "anytime": self.stop is not None,
        }
        plan_trials(trials, bytes_per_run=1, **options)  # refuses bad numbers of trials before anything runs
        one = probe(self.mechanism, self.neighbours, seed)
        size = np.asarray(getattr(one, "values", one)).nbytes
        check_width(size, self.attack.minimum_pilot > 0)
        return plan_trials(trials, bytes_per_run=size, **options)

    def describe(self, plan: TrialPlan, seed: int) -> dict[str, Any]:
        """Everything that determines the trials and what is reduced from them."""
        return {
            "mechanism": describe(self.mechanism),
            "neighbours": describe(self.neighbours),
            "attack": describe(self.attack),
            "bounds": describe(self.bounds),
            "delta": self.statement.delta,
            "confidence": self.statement.confidence,
            "plan": describe(plan),
            "independence": SHARE if self.guarded else "by construction",
            "seed": seed,
            **versions(),
        }


def _check_pair(neighbours: Any) -> None:
    """Refuses what is easily given in the place of a pair."""
    if isinstance(neighbours, Canary):
        canary = label(neighbours)
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
    thing: Mechanism | Callable[..., Any], neighbours: Neighbours | None, claim: Guarantee | None
) -> Mechanism:
    if isinstance(thing, Mechanism):
        return thing
    claim = check_function(thing, claim)
    if neighbours is None:
        raise ParameterError(
            f"neighbours must be given for a function such as {label(thing)}: nobody knows its worst case.",
            argument="neighbours",
        )
    return FunctionMechanism(thing, claim=claim, neighbours=neighbours)


def workers_of(mechanism: Mechanism) -> Workers:
    """Which workers suit a mechanism; a function with a generator of its own stays in one process, as copies of that
    generator would all draw the same numbers."""
    seen = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return Workers.HERE if seen is not None and seen.generators else mechanism.workers


def check_function(thing: Any, claim: Guarantee | None) -> Guarantee:
    """The claim; raises `ParameterError` where `thing` is no function, or has none."""
    if not callable(thing):
        raise ParameterError(
            f"mechanism must be a Mechanism or a function release(dataset, rng), but is {thing!r}.",
            argument="mechanism",
        )
    if isinstance(thing, type):
        raise ParameterError(
            f"mechanism is the class {thing.__name__}: give an instance, such as {thing.__name__}(...).",
            argument="mechanism",
        )
    if claim is None:
        raise ParameterError(
            f"claim must be given for a function such as {label(thing)}, for example claim=PureDP(1.0).",
            argument="claim",
        )
    return claim
