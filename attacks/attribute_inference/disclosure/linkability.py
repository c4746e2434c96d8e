"""Linkability: two parties know different attributes of the same people, and a table links their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ....mechanisms.core.arrays import Bools, Ints
from ....mechanisms.core.constraints import PositiveInt
from ....mechanisms.core.errors import ParameterError
from .base import Disclosure, Scene
from .gower import neighbours


@dataclass(frozen=True)
class Linkability(Disclosure):
    """Attack that links two records if they share one of their nearest rows of the table.

    The attack is correct for a person whose two records are linked, if the first is linked to no record of a bystander:
    an attack that links all records has linked none. Without the release, one of the records is guessed at random.

    Args:
        first: attributes that the first party knows.
        second: attributes that the second party knows; none of the first party's.
        n_neighbours: number of nearest rows on each side, >= 1; rows as near as the last one are included.

    References:
        Giomi et al. (2023), section 5.3, who count a person as linked regardless of other people.

    Example:
        >>> table = np.array([[0, 0], [1, 1], [2, 2]])
        >>> attack = Linkability({"a": 3, "b": 3}, first=["a"], second=["b"])
        >>> empty = np.empty((0, 2), dtype=np.int64)
        >>> attack.right(table, Scene(np.array([[2, 2], [1, 1], [1, 0]]), table[:1], empty), np.random.default_rng(0))
        array([ True,  True, False])
        >>> attack.right(table, Scene(np.array([[2, 2], [1, 1]]), table[1:], empty), np.random.default_rng(0))
        array([False, False])
    """

    _: KW_ONLY
    first: tuple[str, ...]
    second: tuple[str, ...]
    n_neighbours: PositiveInt = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for argument in ("first", "second"):
            names = self.names(argument, getattr(self, argument))
            object.__setattr__(self, argument, names)
            if not names:
                raise ParameterError(argument=argument, value=names, allowed="name at least one attribute")
        both = sorted(set(self.first) & set(self.second))
        if both:
            raise ParameterError(
                argument="second",
                value=self.second,
                allowed="have no attribute of the first party",
                advice=f"Both know {', '.join(both)}, which links people without any table.",
            )

    def right(self, released: Ints, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return a mask of the people who are linked, and to no bystander."""
        linked = np.zeros(len(scene.people), dtype=np.bool_)
        others = self._near_any(released, scene.bystanders)
        sides = (self._near(names, released, scene.people) for names in (self.first, self.second))
        for (block, near), (_, other) in zip(*sides, strict=True):
            linked[block] = (near & other).any(axis=1) & ~(near & others).any(axis=1)
        return linked

    def guessed(self, scene: Scene, rng: np.random.Generator) -> Bools:
        """Return successes of a random guess among the person's own record and those of all bystanders."""
        return np.asarray(rng.integers(len(scene.bystanders) + 1, size=len(scene.people)) == 0)

    def _near(self, names: tuple[str, ...], rows: Ints, records: Ints) -> Iterator[tuple[slice, Bools]]:
        places = self.places(names)
        return neighbours(records[:, places], rows[:, places], self.scales(names), self.n_neighbours)

    def _near_any(self, rows: Ints, bystanders: Ints) -> Bools:
        """Return a mask `(n_rows,)` of the rows that are among the nearest of some bystander's second record."""
        near_any = np.zeros(len(rows), dtype=np.bool_)
        for _, near in self._near(self.second, rows, bystanders):
            near_any |= near.any(axis=0)
        return near_any
