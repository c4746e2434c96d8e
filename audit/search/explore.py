"""Exploration of a domain: patterns first, then random pairs and steps from the best pair so far.

The choice of pairs needs no statistical guarantee: the winner is confirmed on fresh trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from ...mechanisms.core import Mechanism, Neighbours, NeighboursError, ParameterError, Relation, identity
from .domains.base import SearchDomain
from .result import Look

MAX_PATTERN_SHARE = 2 / 3
"""Largest share of the looks for patterns."""
RANDOM_SHARE = 0.3
"""Share of the steps that draw a new pair instead of changing the best one."""
FINALISTS, RERUN_FACTOR = 3, 4
"""Number of best pairs that are screened again, and the factor on their trials: corrects for lucky first looks."""
WITH_FINAL = 2 * FINALISTS * RERUN_FACTOR
"""Smallest number of looks with a second screening of the best pairs."""
MAX_FRUITLESS_STEPS = 50
"""Number of consecutive sketches that are repeated or skipped after which the domain counts as exhausted."""


@dataclass(frozen=True)
class SkipReason:
    """Reason why a pair was skipped: the kind, and the full message."""

    reason: str
    detail: str


Asked = Callable[[Neighbours, int], tuple[Look, ...] | SkipReason]
"""Function that audits a pair briefly under every attack, with this factor on the number of trials."""


def first_pair(mechanism: Mechanism, domain: SearchDomain[Any]) -> Neighbours:
    """Return the first pattern that the mechanism accepts; raise `NeighboursError` if it accepts none."""
    refused: Exception | None = None
    for sketch in domain.patterns(mechanism.relation):
        pair = domain.neighbours(sketch, mechanism.relation)
        try:
            mechanism.bind(pair)
        except ParameterError as error:
            refused = refused or error
        else:
            return pair
    raise NeighboursError(
        f"the mechanism accepts no pattern of the domain {domain}; the first was refused: {refused}", argument="domain"
    )


@dataclass
class Walk:
    """A walk through a domain, with a budget.

    Args:
        domain, relation: the domain to explore, and the relation of its pairs.
        ask: audits a pair briefly.
        rng: chooses random pairs and steps.
        n_looks: budget of looks; a pair needs one per attack.
        n_attacks: number of looks per pair.
        enough: p-value of a look at which the walk stops.
        looks: in the order in which they were made.
        pairs: the screened pairs.
        skipped: numbers of skipped pairs, by the reason.
    """

    domain: SearchDomain[Any]
    relation: Relation
    ask: Asked
    rng: np.random.Generator
    n_looks: int
    n_attacks: int
    enough: float
    looks: list[Look] = field(default_factory=list, init=False)
    pairs: list[Neighbours] = field(default_factory=list, init=False)
    skipped: Counter[str] = field(default_factory=Counter, init=False)
    _sketches: list[Any] = field(default_factory=list, init=False)
    _first_skip: SkipReason | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._final = FINALISTS * RERUN_FACTOR * self.n_attacks if self.n_looks >= WITH_FINAL * self.n_attacks else 0
        self._n_pairs = max(1, (self.n_looks - self._final) // self.n_attacks)

    def run(self) -> None:
        """Screen pairs until the budget is used up, a look is significant enough, or the domain is exhausted.

        Raises:
            NeighboursError: no pair could be audited.
        """
        fruitless = 0
        for sketch in self._new_sketches():
            pair = self.domain.neighbours(sketch, self.relation)
            fruitless = 0 if self._screen(pair) else fruitless + 1
            if fruitless == 0:
                self.pairs.append(pair)
                self._sketches.append(sketch)
            if fruitless > MAX_FRUITLESS_STEPS or len(self.pairs) == self._n_pairs or self._is_clear():
                break
        if not self.pairs:
            reason = (
                "it contains none"
                if self._first_skip is None
                else f"the first was {self._first_skip.reason}: {self._first_skip.detail}"
            )
            raise NeighboursError(
                f"no pair of the domain {self.domain} could be audited; {reason}\nDeclare the domain that the "
                "mechanism accepts.",
                argument="domain",
            )
        if self._final and not self._is_clear():
            for index in self._best(FINALISTS):
                self._screen(self.pairs[index], index, RERUN_FACTOR)

    def _screen(self, pair: Neighbours, index: int | None = None, times: int = 1) -> bool:
        """Audit a pair briefly; return False if it is skipped."""
        outcome = self.ask(pair, times)
        if isinstance(outcome, SkipReason):
            self.skipped[outcome.reason] += 1
            self._first_skip = self._first_skip or outcome
            return False
        candidate = len(self.pairs) if index is None else index
        self.looks += (replace(look, candidate=candidate) for look in outcome)
        return True

    def _is_clear(self) -> bool:
        """Return whether the p-value of a look is small enough to stop."""
        return self.enough > 0.0 and any(look.p_value <= self.enough for look in self.looks)

    def _best(self, n: int) -> list[int]:
        """Return the indices of the best pairs so far."""
        order = sorted(self.looks, key=lambda look: (-look.epsilon, look.p_value, look.candidate))
        return list(dict.fromkeys(look.candidate for look in order))[:n]

    def _new_sketches(self) -> Iterator[Any]:
        """Yield sketches of pairs, each once."""
        identities, repeats = set(), 0
        for sketch in self._proposed():
            known = identity(sketch)
            repeats = repeats + 1 if known in identities else 0
            if repeats > MAX_FRUITLESS_STEPS:
                return
            if not repeats:
                identities.add(known)
                yield sketch

    def _proposed(self) -> Iterator[Any]:
        """Yield patterns, then without end random pairs and steps from the best."""
        for sketch in islice(self.domain.patterns(self.relation), 20 * self._n_pairs):
            if len(self.pairs) >= MAX_PATTERN_SHARE * self._n_pairs:
                break
            yield sketch
        while True:
            if not self._sketches or self.rng.random() < RANDOM_SHARE:
                yield self.domain.random(self.relation, self.rng)
            else:
                yield self.domain.near(self._sketches[self._best(1)[0]], self.relation, self.rng)
