"""What an audit is asked: checked, complete, and nothing has run yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..attacks.base import Attack, Target
from ..attacks.canaries.base import Canary
from ..attacks.catalogue import choose
from ..mechanisms.base import Mechanism, Neighbours, Workers
from ..mechanisms.errors import AccountingError, ParameterError, RelationError
from ..mechanisms.external.function import FunctionMechanism
from ..mechanisms.fingerprint import describe
from ..mechanisms.guarantees.base import Guarantee
from ..mechanisms.label import label
from ..mechanisms.validation import whole
from .bounds.base import Bound, check_level
from .bounds.catalogue import catalogue as bounds_catalogue
from .games import BitScores, PairScores
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
SMALLEST_SIGNIFICANCE = 1e-11
"""What a confidence must leave to certainty."""


@dataclass(frozen=True, eq=False)
class Question:
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
    stop: str | None = None
    family: int = 1

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
        family: int = 1,
    ) -> Question:
        """Checks the arguments against each other and fills in the defaults."""
        _check_types(neighbours, claim)
        mechanism = _as_mechanism(mechanism, neighbours, claim)
        pair = mechanism.worst_case() if neighbours is None else neighbours
        mechanism = mechanism.fitted_to(pair)
        claim = mechanism.guarantee() if claim is None else claim
        if claim.relation is not None and claim.relation is not pair.relation:
            raise RelationError(
                f"the claim {claim} holds for relation {claim.relation.value!r}, the pair has {pair.relation.value!r}. "
                "An epsilon means different things under the two; give both the same relation."
            )
        delta = claim.default_delta if delta is None else delta
        if delta is None:
            raise ParameterError(f"delta must be given: {claim} promises a whole curve. Try delta=1e-5.")
        check_level(delta=delta, confidence=confidence)
        whole(1, family=family)
        if (1.0 - confidence) / family < SMALLEST_SIGNIFICANCE:
            raise ParameterError(
                f"confidence must be at most 1 - {SMALLEST_SIGNIFICANCE * family:g} over {family} audit(s), but is "
                f"{confidence!r}: p-values are computed down to 1e-12, and have to share what is left to certainty."
            )
        epsilon = float(claim.epsilon(delta))
        if not math.isfinite(epsilon):
            raise AccountingError(
                f"the claim {claim} is infinite at delta = {delta:g}; choose a larger delta, such as 1e-5."
            )
        name, chosen = choose(attack, Target(mechanism, pair))
        bounds = tuple(one.against(claim) for one in as_bounds(bound, stop))
        alone = neighbours is None
        return cls(mechanism, pair, alone, name, chosen, bounds, delta, confidence, claim, epsilon, stop, family)

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
        return SHARE * (1.0 - self.confidence) / self.family

    @cached_property
    def workers(self) -> Workers:
        """Which workers suit the mechanism; a function with a generator of its own stays in one process, as copies of
        that generator would all draw the same numbers."""
        seen = self.mechanism.first_runs if isinstance(self.mechanism, FunctionMechanism) else None
        return Workers.HERE if seen is not None and seen.generators else self.mechanism.workers

    @property
    def share(self) -> float:
        """The confidence of each of several bounds, so that all of them hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) * self.part / len(self.bounds)

    @property
    def strictest(self) -> float:
        """The confidence at which a bound has to exceed the claim to be the first that Holm refutes in its family."""
        return 1.0 - (1.0 - self.confidence) * self.part / (len(self.bounds) * self.family)

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
            "delta": self.delta,
            "confidence": self.confidence,
            "plan": describe(plan),
            "independence": SHARE if self.guarded else "by construction",
            "seed": seed,
            **versions(),
        }


def _check_types(neighbours: Any, claim: Any) -> None:
    """Refuses what is easily given in the place of a pair or of a claim."""
    if isinstance(neighbours, Canary):
        canary = label(neighbours)
        raise ParameterError(
            f"neighbours must be a pair, but is the canary {canary}. Make it a pair: {canary}.pair((X, y), learner)."
        )
    if neighbours is not None and not isinstance(neighbours, Neighbours):
        raise ParameterError(
            f"neighbours must be a pair such as Neighbours(d0, d1, 'add_remove'), but is a {type(neighbours).__name__}."
        )
    if claim is not None and not isinstance(claim, Guarantee):
        raise ParameterError(f"claim must be a guarantee, such as PureDP(1.0), but is {claim!r}.")


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
