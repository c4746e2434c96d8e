"""Parts of a release over a geography: the geography, measured queries, invariants, structural zeros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ....core import Bools, Floats, Ints, ParameterError, PositiveInt, check_fields, one_of, one_of_names, plural, whole
from ....noise.queries.domain import Domain

LEVELS = ("nation", "state", "county")
"""Levels from the top down."""


@dataclass(frozen=True)
class Geography:
    """Nation of states of counties; nodes of a level are numbered from 0, counties through all states.

    Args:
        counties: number of counties of each state, >= 1; a list is accepted wherever a geography is expected.

    Example:
        >>> geography = Geography((2, 3))
        >>> geography.n_nodes("county"), geography.of_counties("state")
        (5, array([0, 0, 1, 1, 1]))
        >>> geography.children("state", 1)
        array([2, 3, 4])
    """

    counties: tuple[int, ...]

    def __post_init__(self) -> None:
        counties: Any = self.counties
        if isinstance(counties, (str, int)) or not len(counties):
            raise ParameterError(
                argument="geography",
                value=counties,
                allowed="list the number of counties of each state",
                advice="Give, for example, [2, 3] for two states.",
            )
        object.__setattr__(self, "counties", tuple(counties))
        for state, n in enumerate(self.counties):
            whole(1, **{f"number of counties of state {state}": n})

    @classmethod
    def of(cls, value: Any) -> Geography:
        """Return the geography, built from a list of numbers of counties if necessary."""
        return value if isinstance(value, Geography) else cls(value)

    @cached_property
    def _nodes(self) -> dict[str, Ints]:
        """Nodes of each level that hold the counties, `(n_counties,)`."""
        n_counties = sum(self.counties)
        states = np.repeat(np.arange(len(self.counties)), self.counties)
        return dict(zip(LEVELS, (np.zeros(n_counties, np.int64), states, np.arange(n_counties)), strict=True))

    def of_counties(self, level: str) -> Ints:
        """Return the node of a level that holds each county, shape `(n_counties,)`."""
        one_of(LEVELS, level=level)
        return self._nodes[level]

    def n_nodes(self, level: str) -> int:
        """Return the number of nodes of a level."""
        return int(self.of_counties(level)[-1]) + 1

    def children(self, level: str, node: int) -> Ints:
        """Return the nodes of the next level that belong to this node."""
        below = self.of_counties(LEVELS[LEVELS.index(level) + 1])
        return np.unique(below[self.of_counties(level) == node])

    def sums(self, counts: Floats, finer: str, level: str) -> Floats:
        """Return the sums at a level of counts at the nodes of a finer level, `(n_nodes, ...)`."""
        first = np.unique(self.of_counties(finer), return_index=True)[1]
        totals = np.zeros((self.n_nodes(level), *counts.shape[1:]))
        np.add.at(totals, self.of_counties(level)[first], counts)
        return totals


Where = tuple[tuple[str, tuple[int, ...]], ...]
"""Attributes, and the selected values of each."""


@dataclass(frozen=True)
class LevelQuery:
    """Marginal that is measured at every node of a level.

    Args:
        level: "nation", "state" or "county".
        attributes: attributes of the marginal; none for the number of people.
        share: share of the budget, a whole number >= 1, relative to the sum of all shares.

    Example:
        >>> LevelQuery("state", ("age", "sex"), share=2)
        LevelQuery(level='state', attributes=('age', 'sex'), share=2)
    """

    level: Annotated[str, one_of_names(*LEVELS)]
    attributes: tuple[str, ...] = ()
    share: PositiveInt = 1

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "attributes", tuple(self.attributes))

    @classmethod
    def of(cls, value: Any) -> LevelQuery:
        """Return the query, built from a dict of its options if necessary."""
        return value if isinstance(value, LevelQuery) else _made(cls, "queries", value)

    def __str__(self) -> str:
        return f"{' and '.join(self.attributes) or 'the number of people'} of each {self.level}"


@dataclass(frozen=True)
class Invariant:
    """Exactly published numbers of people of a kind at each node of a level.

    Args:
        level: "nation", "state" or "county".
        where: the values of attributes that define the kind; empty for all people.
        values: the number at each node, if a law or another release fixes it; None for the numbers in the data.

    Example:
        >>> print(Invariant("county", {"relationship": [0]}))
        people with relationship 0 of each county
    """

    level: Annotated[str, one_of_names(*LEVELS)]
    where: Where = ()
    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "where", where_of(self.where))
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
            for value in self.values or ():
                whole(0, **{"value of an invariant": value})

    @classmethod
    def of(cls, value: Any) -> Invariant:
        """Return the invariant, built from a dict of its options if necessary."""
        return value if isinstance(value, Invariant) else _made(cls, "invariants", value)

    @property
    def kind(self) -> str:
        """Description of the people that are counted."""
        return "people" + self._with

    @property
    def _with(self) -> str:
        return f" with {_words(self.where)}" if self.where else ""

    def counted(self, n: float) -> str:
        """Return a description of `n` people of the kind."""
        return plural(int(n), "person", "people") + self._with

    def __str__(self) -> str:
        return f"{self.kind} of each {self.level}"


def where_of(condition: Mapping[str, Iterable[int]] | Where) -> Where:
    """Return values of attributes in canonical form, from pairs or a dict, with a number for a list of one."""
    pairs = condition.items() if isinstance(condition, Mapping) else condition
    return tuple((name, (values,) if isinstance(values, int) else tuple(values)) for name, values in pairs)


def members(domain: Domain, where: Where) -> Bools:
    """Return the mask of the cells of a domain that have these values, shape `(n_cells,)`.

    Example:
        >>> members(Domain({"sex": 2, "age": 3}), (("age", (0, 2)),))
        array([ True, False,  True,  True, False,  True])
    """
    records = domain.records_in(np.arange(domain.n_cells))
    mask = np.ones(domain.n_cells, dtype=bool)
    for name, values in where:
        position = domain.index(name)
        wrong = [value for value in values if not 0 <= value < domain.shape[position]]
        if wrong or not values:
            raise ParameterError(
                f"the values of {name!r} must be whole numbers from 0 to {domain.shape[position] - 1}, at least one, "
                f"but are {list(values)}.",
                argument="where",
                value=values,
            )
        mask &= np.isin(records[:, position], values)
    return mask


def _words(where: Where) -> str:
    return " and ".join(f"{name} {' or '.join(map(str, values))}" for name, values in where)


def _made(cls: type, argument: str, options: Any) -> Any:
    """Return an object built from a dict of its options."""
    try:
        return cls(**options)
    except TypeError:
        fields = ", ".join(cls.__dataclass_fields__)  # type: ignore[attr-defined]
        raise ParameterError(
            argument=argument, value=options, allowed=f"be a list of {cls.__name__} or of dicts of {fields}"
        ) from None
