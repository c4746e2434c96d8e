"""What an audit is asked: checked, complete, and nothing has run yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..attacks.base import Attack, Target
from ..attacks.canaries.base import Canary
from ..attacks.catalogue import choose
from ..mechanisms.base import Mechanism, Neighbours, Workers
from ..mechanisms.errors import ParameterError
from ..mechanisms.external.function import FunctionMechanism
from ..mechanisms.fingerprint import describe
from ..mechanisms.guarantees.base import Guarantee
from ..mechanisms.label import label
from .bounds.base import Bound
from .bounds.catalogue import catalogue as bounds_catalogue
from .evidence.scores import BitScores, PairScores
from .evidence.statement import Statement
from .trials.guards.independence import SHARE, independent_by_construction
from .trials.options import versions
from .trials.plan import TrialPlan, check_width, plan_trials
from .trials.work import probe

ANYTIME = "anytime"
"""The one rule for stopping early: at the first look that refutes the claim."""
AUTO_BOUND = {None: "joint-exact", ANYTIME: "betting"}
"""What the bound "auto" is for runs on a pair, by `stop`."""
AUTO_BITS = ("one-run-fdp", "one-run")
"""What it is for the bits of one run: with the claim's curve, and without."""
_GIVES = {PairScores: "the scores of runs on a pair of datasets", BitScores: "the bits of one run with many canaries"}


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked, checked and complete; nothing has run yet."""

    mechanism: Mechanism
    neighbours: Neighbours
    on_worst_case: bool
    attack_name: str
    attack: Attack
    bounds: tuple[Bound, ...]
    statement: Statement
    stop: str | None = None

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
        stop: str | None = None,
        n_hypotheses: int = 1,
    ) -> Question:
        """Checks the arguments against each other and fills in the defaults."""
        _check_pair(neighbours)
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
        bounds = tuple(one.against(statement.claim) for one in as_bounds(bound, stop))
        return cls(mechanism, pair, neighbours is None, name, chosen, bounds, statement, stop)

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
        """What the test of independence leaves of the significance to the bounds."""
        return 1.0 - SHARE if self.guarded else 1.0

    @property
    def guard_significance(self) -> float:
        """At which the trials are taken to be dependent: its share of that of the family."""
        return SHARE * self.statement.significance / self.statement.n_hypotheses

    @cached_property
    def workers(self) -> Workers:
        """Which workers suit the mechanism; a function with a generator of its own stays in one process, as copies of
        that generator would all draw the same numbers."""
        seen = self.mechanism.first_runs if isinstance(self.mechanism, FunctionMechanism) else None
        return Workers.HERE if seen is not None and seen.generators else self.mechanism.workers

    @property
    def shared(self) -> Statement:
        """The statement of each of several bounds, so that all of them hold together (Bonferroni)."""
        return self.statement.shared(len(self.bounds), self.part)

    @property
    def strictest(self) -> Statement:
        """That of a bound which exceeds the claim so clearly that Holm refutes it first of all hypotheses."""
        return self.statement.shared(len(self.bounds) * self.statement.n_hypotheses, self.part)

    def plan(self, trials: int, seed: int) -> TrialPlan:
        """Cuts the trials into chunks; one extra run on its own stream shows how large an output is."""
        options = {
            "learns": self.attack.minimum_pilot > 0,
            "chooses": any(bound.uses_pilot for bound in self.bounds),
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
            f"neighbours must be a pair, but is the canary {canary}. Make it a pair: {canary}.pair((X, y), learner)."
        )
    if neighbours is not None and not isinstance(neighbours, Neighbours):
        raise ParameterError(
            f"neighbours must be a pair such as Neighbours(d0, d1, 'add_remove'), but is a {type(neighbours).__name__}."
        )


def _as_mechanism(
    thing: Mechanism | Callable[..., Any], neighbours: Neighbours | None, claim: Guarantee | None
) -> Mechanism:
    if isinstance(thing, Mechanism):
        return thing
    if not callable(thing):
        raise ParameterError(f"mechanism must be a Mechanism or a function release(dataset, rng), but is {thing!r}.")
    if isinstance(thing, type):
        raise ParameterError(
            f"mechanism is the class {thing.__name__}: give an instance, such as {thing.__name__}(...)."
        )
    if neighbours is None:
        raise ParameterError(
            f"neighbours must be given for a function such as {label(thing)}: nobody knows its worst case."
        )
    if claim is None:
        raise ParameterError(
            f"claim must be given for a function such as {label(thing)}, for example claim=PureDP(1.0)."
        )
    return FunctionMechanism(thing, claim=claim, neighbours=neighbours)


def as_bounds(
    bound: str | Bound | Sequence[str | Bound], stop: str | None, reads: type = PairScores
) -> tuple[Bound, ...]:
    """The bounds that are meant, for what a game gives: `reads`.

    Raises:
        ParameterError: there are none, or one reads the scores of another game or cannot be used with `stop`.
    """
    if stop not in (None, ANYTIME):
        raise ParameterError(f'stop must be None or "{ANYTIME}", but is {stop!r}.')
    several: list[Any] = list(bound) if isinstance(bound, (list, tuple)) else [bound]
    if not several:
        raise ParameterError("bound must name at least one bound, but is an empty list. Try bound='auto'.")
    auto = AUTO_BITS if reads is BitScores else (AUTO_BOUND[stop],)
    names = [name for b in several for name in (auto if isinstance(b, str) and b == "auto" else (b,))]
    built = tuple(bounds_catalogue.build(b) if isinstance(b, str) else b for b in names)
    for one in built:
        if not isinstance(one, Bound):
            raise ParameterError(
                f"bound must be a name or a Bound, but is {one!r}. Known: {', '.join(bounds_catalogue)}."
            )
        if reads not in one.accepts:
            fitting = [name for name in bounds_catalogue if reads in bounds_catalogue.get(name).accepts]
            raise ParameterError(
                f"bound {one.name!r} does not read {_GIVES[reads]}. Those that do: {', '.join(fitting)}."
            )
        if stop and not one.anytime:
            raise ParameterError(
                f"bound {one.name!r} holds at a number of trials that was fixed beforehand, not at every look. "
                f'With stop="{stop}" use bound="{AUTO_BOUND[stop]}", or leave out stop.'
            )
    return built
