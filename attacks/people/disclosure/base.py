"""Disclosure about people by a synthetic table: the interface of the attacks. Read this first.

    PeopleGroups   the people under attack, the bystanders to distinguish them from, and other known people
    Disclosure     released table -> whether the attack is correct for each person

Whether an attack is correct for a person depends on this person, the table and the bystanders, and on no other person
under attack. For a table that was made without them, the results for people who are independent draws are then
independent, as an interval over people requires. Published counts (`published_correct`) are not independent if a guess
depends on all records together.

Reference: Giomi, Boenisch, Wehmeyer and Tasnadi (2023), "A unified framework for quantifying privacy risk in synthetic
data", PoPETs 2023 (2), for the three risks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ....mechanisms.core import Bools, Ints, Options, ParameterError
from ....mechanisms.noise.queries.domain import Domain


@dataclass(frozen=True, eq=False)
class PeopleGroups:
    """People under attack, bystanders, and other known people.

    Args:
        people: `(n, d)` coded records of the people under attack.
        bystanders: `(m, d)` records of others in the same data, from whom a person must be distinguished; may be empty.
        known: `(k, d)` records of others of the same population, known to the attacker and not in the data; may be
            empty.
    """

    people: Ints
    bystanders: Ints
    known: Ints


@dataclass(frozen=True)
class Disclosure(Options):
    """Base class of attacks on the people behind a synthetic table.

    Subclasses are frozen dataclasses whose fields are the options.

    Args:
        domain: domain of tables and people, or a dict of attribute -> number of values.
        ordered: attributes whose codes have an order, such as bins of age; the others are names of categories.
    """

    domain: Domain
    ordered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "ordered", self.names("ordered", self.ordered))

    @abstractmethod
    def correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return whether the attack is correct for each person under attack, `(n,)`.

        Args:
            released: `(n_rows, d)` the synthetic table.
            groups: people, bystanders and others.
            rng: random generator of the attack.
        """

    @abstractmethod
    def baseline_correct(self, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return whether a guess without any release is correct for each person, `(n,)`."""

    def correct_among(self, released: Ints, records: Ints, rng: np.random.Generator) -> Bools:
        """Return whether the attack is correct for each record, with all other records as its bystanders, `(n,)`.

        A symmetric function of the records: another order of them only reorders the result.
        """
        none = records[:0]
        return self.correct(released, PeopleGroups(records, none, none), rng)

    def published_correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return whether each guess is correct as in Giomi et al. (2023): one per person, without bystanders."""
        return self.correct(released, replace(groups, bystanders=groups.bystanders[:0]), rng)

    def names(self, argument: str, given: Iterable[str]) -> tuple[str, ...]:
        """Return the names, checked: attributes of the domain, each once."""
        if isinstance(given, str):
            raise ParameterError(f"{argument} must be a list of names, such as ({given!r},).", argument=argument)
        names = tuple(given)
        for name in names:
            self.domain.index(name)
        if len(set(names)) < len(names):
            raise ParameterError(argument=argument, value=names, allowed="name each attribute once")
        return names

    def places(self, names: Iterable[str]) -> list[int]:
        """Return the columns of the attributes."""
        return [self.domain.index(name) for name in names]

    def scales(self, names: Iterable[str]) -> list[float | None]:
        """Return the largest distance of two codes of each ordered attribute; None for categories."""
        return [max(1, self.domain.shape[self.domain.index(n)] - 1) if n in self.ordered else None for n in names]
