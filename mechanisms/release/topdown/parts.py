"""What a release over a geography is made of: measured queries, invariants, structural zeros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, plural
from ...queries.domain import Domain
from ...validation import one_of, whole
from .geography import LEVELS

Where = tuple[tuple[str, tuple[int, ...]], ...]
"""Attributes, and the values of each that are meant."""


@dataclass(frozen=True)
class LevelQuery:
    """A marginal that is measured at every node of a level.

    Args:
        level: "nation", "state" or "county".
        attributes: of the marginal; none for the number of people.
        share: of the budget, a whole number >= 1: parts of the sum of all shares.

    Example:
        >>> LevelQuery("state", ("age", "sex"), share=2)
        LevelQuery(level='state', attributes=('age', 'sex'), share=2)
    """

    level: str
    attributes: tuple[str, ...] = ()
    share: int = 1

    def __post_init__(self) -> None:
        one_of(LEVELS, level=self.level)
        whole(1, share=self.share)
        object.__setattr__(self, "attributes", tuple(self.attributes))

    @classmethod
    def of(cls, given: Any) -> LevelQuery:
        """The query itself, or the one of a dict."""
        return given if isinstance(given, LevelQuery) else _made(cls, "queries", given)

    def __str__(self) -> str:
        return f"{' and '.join(self.attributes) or 'the number of people'} of each {self.level}"


@dataclass(frozen=True)
class Invariant:
    """Numbers that are published exactly: how many people of a kind each node of a level has.

    Args:
        level: "nation", "state" or "county".
        where: the values of attributes that make up the kind; nothing for all people.
        values: the number at each node, where a law or another release fixes it; None takes what the data hold.

    Example:
        >>> print(Invariant("county", {"relationship": [0]}))
        people with relationship 0 of each county
    """

    level: str
    where: Where = ()
    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        one_of(LEVELS, level=self.level)
        object.__setattr__(self, "where", where_of(self.where))
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
            for value in self.values or ():
                whole(0, **{"value of an invariant": value})

    @classmethod
    def of(cls, given: Any) -> Invariant:
        """The invariant itself, or the one of a dict."""
        return given if isinstance(given, Invariant) else _made(cls, "invariants", given)

    @property
    def kind(self) -> str:
        """Who is counted, in words."""
        return "people" + self._with

    @property
    def _with(self) -> str:
        return f" with {_words(self.where)}" if self.where else ""

    def counted(self, n: float) -> str:
        """A number of those who are counted, in words."""
        return plural(int(n), "person", "people") + self._with

    def __str__(self) -> str:
        return f"{self.kind} of each {self.level}"


def where_of(given: Mapping[str, Iterable[int]] | Where) -> Where:
    """Values of attributes, in one form; a dict will do, and a number for a list of one."""
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple((name, (values,) if isinstance(values, int) else tuple(values)) for name, values in pairs)


def members(domain: Domain, where: Where) -> NDArray[np.bool_]:
    """Which cells of a domain have these values, shape `(n_cells,)`.

    Example:
        >>> members(Domain({"sex": 2, "age": 3}), (("age", (0, 2)),))
        array([ True, False,  True,  True, False,  True])
    """
    records = domain.records_in(np.arange(domain.n_cells))
    found = np.ones(domain.n_cells, dtype=bool)
    for name, values in where:
        place = domain.index(name)
        wrong = [value for value in values if not 0 <= value < domain.shape[place]]
        if wrong or not values:
            raise ParameterError(
                f"the values of {name!r} must be whole numbers from 0 to {domain.shape[place] - 1}, at least one, but "
                f"are {list(values)}.",
                argument="where",
                value=values,
            )
        found &= np.isin(records[:, place], values)
    return found


def _words(where: Where) -> str:
    return " and ".join(f"{name} {' or '.join(map(str, values))}" for name, values in where)


def _made(cls: type, argument: str, given: Any) -> Any:
    """An object of a dict of its options."""
    try:
        return cls(**given)
    except TypeError:
        fields = ", ".join(cls.__dataclass_fields__)  # type: ignore[attr-defined]
        raise ParameterError(
            argument=argument, value=given, allowed=f"be a list of {cls.__name__} or of dicts of {fields}"
        ) from None
