"""Parts of a release over a geography: measured queries, invariants, structural zeros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...core.constraints import PositiveInt, check_fields, one_of_names
from ...core.errors import ParameterError, plural
from ...core.validation import whole
from ...noise.queries.domain import Domain
from .geography import LEVELS

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
    def of(cls, given: Any) -> LevelQuery:
        """Return the query, built from a dict of its options if necessary."""
        return given if isinstance(given, LevelQuery) else _made(cls, "queries", given)

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
    def of(cls, given: Any) -> Invariant:
        """Return the invariant, built from a dict of its options if necessary."""
        return given if isinstance(given, Invariant) else _made(cls, "invariants", given)

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


def where_of(given: Mapping[str, Iterable[int]] | Where) -> Where:
    """Return values of attributes in canonical form, from pairs or a dict, with a number for a list of one."""
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple((name, (values,) if isinstance(values, int) else tuple(values)) for name, values in pairs)


def members(domain: Domain, where: Where) -> NDArray[np.bool_]:
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
