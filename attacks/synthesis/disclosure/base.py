"""What is disclosed about people by a synthetic table, and the interface of the attacks: read this first.

    Scene        the people that are attacked, the bystanders that they are to be told from, and others who are known
    Disclosure   released table -> whether the attack is right about each person

Whether an attack is right about a person depends on this person, the table and the bystanders, and on no other person
that is attacked. For a table that was made without them, it is then right about people who are independent draws
independently, which is what an interval over people rests on. Published counts (`guesses`) lack it where a guess is
right or wrong by all records together.

Reference: Giomi, Boenisch, Wehmeyer and Tasnadi (2023), "A unified framework for quantifying privacy risk in synthetic
data", PoPETs 2023 (2), for the three risks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.errors import ParameterError
from ....mechanisms.queries.domain import Domain

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scene:
    """Who is attacked, among whom.

    Args:
        people: `(n, d)` coded records of those attacked.
        bystanders: `(m, d)` records of others in the same data, from whom a person must be told; may be none.
        known: `(k, d)` records of others of the same population, whom the attacker knows and who are in no data; may be
            none.
    """

    people: Ints
    bystanders: Ints
    known: Ints


@dataclass(frozen=True)
class Disclosure(ABC):
    """An attack on the people behind a synthetic table. Subclasses are frozen dataclasses whose fields are the options.

    Args:
        domain: of tables and people; a dict of attribute -> number of values will do.
        ordered: attributes whose codes have an order, such as bins of age; the others are names of categories.
    """

    domain: Domain
    ordered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "ordered", self.names("ordered", self.ordered))

    @abstractmethod
    def right(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Whether the attack is right about each person of the scene, `(n,)`.

        Args:
            released: `(n_rows, d)` the synthetic table.
            scene: people, bystanders and others.
            rng: of the attack's own choices.
        """

    @abstractmethod
    def guessed(self, scene: Scene, rng: np.random.Generator) -> Bools:
        """The same, `(n,)`, for what is guessed without any release."""

    def guesses(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Which guesses are right as Giomi et al. (2023) count them: one a person, with nobody to be told from."""
        return self.right(released, replace(scene, bystanders=scene.bystanders[:0]), rng)

    def names(self, argument: str, given: Iterable[str]) -> tuple[str, ...]:
        """The names, checked: attributes of the domain, each once."""
        if isinstance(given, str):
            raise ParameterError(f"{argument} must be a list of names, such as ({given!r},).", argument=argument)
        names = tuple(given)
        for name in names:
            self.domain.index(name)
        if len(set(names)) < len(names):
            raise ParameterError(argument=argument, value=names, allowed="name each attribute once")
        return names

    def places(self, names: Iterable[str]) -> list[int]:
        """The columns of the attributes."""
        return [self.domain.index(name) for name in names]

    def scales(self, names: Iterable[str]) -> list[float | None]:
        """Largest distance of two codes of each ordered attribute; None for categories."""
        return [max(1, self.domain.shape[self.domain.index(n)] - 1) if n in self.ordered else None for n in names]
