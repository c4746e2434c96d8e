"""Which pairs of a domain are looked at: patterns first, then random ones and steps from the best so far.

Nothing here needs to be valid: whatever it prefers, the winner is confirmed on fresh trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ...mechanisms.base import Mechanism, Neighbours
from ...mechanisms.errors import NeighboursError, ParameterError
from ...mechanisms.fingerprint import identity
from ...mechanisms.relation import Relation
from .domains.base import Domain
from .result import Look

PATTERNS = 2 / 3
"""Share of the looks, at most, that goes to patterns."""
RANDOM = 0.3
"""Share of the steps that draw a new pair instead of changing the best one."""
FINALISTS, AGAIN = 3, 4
"""So many of the best pairs are looked at once more, with so many times the trials: the first looks favour luck."""
WITH_FINAL = 2 * FINALISTS * AGAIN
"""Looks from which on there is a final."""
TIRED = 50
"""Sketches in a row that were looked at before, or were skipped, after which the domain is exhausted."""


@dataclass(frozen=True)
class Skip:
    """Why a pair was not looked at: the kind of reason, and all of it."""

    reason: str
    detail: str


Asked = Callable[[Neighbours, int], tuple[Look, ...] | Skip]
"""Looks at a pair, under every attack, with this many times the trials."""


def first_pair(mechanism: Mechanism, domain: Domain[Any]) -> Neighbours:
    """The first pattern that the mechanism accepts; raises `NeighboursError` where it accepts none."""
    refused: Exception | None = None
    for sketch in domain.patterns(mechanism.relation):
        pair = domain.neighbours(sketch, mechanism.relation)
        try:
            mechanism.fitted_to(pair)
        except ParameterError as error:
            refused = refused or error
        else:
            return pair
    raise NeighboursError(
        f"the mechanism accepts no pattern of the domain {domain}; the first was refused: {refused}",
        argument="domain",
    )


class Walk:
    """A walk through a domain, with a budget.

    Args:
        domain, relation: where.
        ask: looks at a pair.
        rng: chooses random pairs and steps.
        n_looks: that are paid for; a pair under several attacks costs as many.
        n_attacks: looks that a pair costs.
        enough: p-value of a look from which on no more are made.

    Attributes:
        looks: in the order in which they were made.
        pairs: that were looked at.
        skipped: pairs that were not, by the reason.
    """

    def __init__(
        self,
        domain: Domain[Any],
        relation: Relation,
        ask: Asked,
        rng: np.random.Generator,
        *,
        n_looks: int,
        n_attacks: int,
        enough: float,
    ) -> None:
        self._domain, self._relation, self._ask, self._rng = domain, relation, ask, rng
        self._enough = enough
        self._final = FINALISTS * AGAIN * n_attacks if n_looks >= WITH_FINAL * n_attacks else 0
        self._n_pairs = max(1, (n_looks - self._final) // n_attacks)
        self.looks: list[Look] = []
        self.pairs: list[Neighbours] = []
        self.skipped: Counter[str] = Counter()
        self._sketches: list[Any] = []
        self._first: Skip | None = None

    def run(self) -> None:
        """Looks until the budget is used up, a look is clear enough, or nothing new is found.

        Raises:
            NeighboursError: not one pair could be looked at.
        """
        fruitless = 0
        for sketch in self._unseen():
            pair = self._domain.neighbours(sketch, self._relation)
            fruitless = 0 if self._looked(pair) else fruitless + 1
            if fruitless == 0:
                self.pairs.append(pair)
                self._sketches.append(sketch)
            if fruitless > TIRED or len(self.pairs) == self._n_pairs or self._is_clear():
                break
        if not self.pairs:
            why = (
                "it holds none" if self._first is None else f"the first was {self._first.reason}: {self._first.detail}"
            )
            raise NeighboursError(
                f"no pair of the domain {self._domain} could be looked at; {why}\nDeclare the domain that the "
                "mechanism takes.",
                argument="domain",
            )
        if self._final and not self._is_clear():
            for place in self._best(FINALISTS):
                self._looked(self.pairs[place], place, AGAIN)

    def _looked(self, pair: Neighbours, place: int | None = None, times: int = 1) -> bool:
        """Whether the pair could be looked at."""
        found = self._ask(pair, times)
        if isinstance(found, Skip):
            self.skipped[found.reason] += 1
            self._first = self._first or found
            return False
        candidate = len(self.pairs) if place is None else place
        self.looks += (replace(look, candidate=candidate) for look in found)
        return True

    def _is_clear(self) -> bool:
        """Whether a look refutes the claim beyond doubt."""
        return self._enough > 0.0 and any(look.p_value <= self._enough for look in self.looks)

    def _best(self, n: int) -> list[int]:
        """Places of the best pairs so far."""
        order = sorted(self.looks, key=lambda look: (-look.epsilon, look.p_value, look.candidate))
        return list(dict.fromkeys(look.candidate for look in order))[:n]

    def _unseen(self) -> Iterator[Any]:
        """Sketches of pairs, each once."""
        seen, repeats = set(), 0
        for sketch in self._proposed():
            known = identity(sketch)
            repeats = repeats + 1 if known in seen else 0
            if repeats > TIRED:
                return
            if not repeats:
                seen.add(known)
                yield sketch

    def _proposed(self) -> Iterator[Any]:
        """Patterns, then for ever random pairs and steps from the best."""
        for sketch in islice(self._domain.patterns(self._relation), 20 * self._n_pairs):
            if len(self.pairs) >= PATTERNS * self._n_pairs:
                break
            yield sketch
        while True:
            if not self._sketches or self._rng.random() < RANDOM:
                yield self._domain.random(self._relation, self._rng)
            else:
                yield self._domain.near(self._sketches[self._best(1)[0]], self._relation, self._rng)


__all__ = ["Skip", "Walk", "first_pair"]
