"""A nation of states of counties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...queries.base import Floats
from ...queries.domain import Ints
from ...validation import one_of, whole

LEVELS = ("nation", "state", "county")
"""From the top down."""


@dataclass(frozen=True)
class Geography:
    """A nation of states of counties; nodes of a level are numbered from 0, counties through all states.

    Args:
        counties: how many each state has, >= 1; a list will do where a geography is asked for.

    Example:
        >>> geography = Geography((2, 3))
        >>> geography.n_nodes("county"), geography.of_counties("state")
        (5, array([0, 0, 1, 1, 1]))
        >>> geography.children("state", 1)
        array([2, 3, 4])
    """

    counties: tuple[int, ...]

    def __post_init__(self) -> None:
        given: Any = self.counties
        if isinstance(given, (str, int)) or not len(given):
            raise ParameterError(
                argument="geography",
                value=given,
                allowed="say how many counties each state has",
                advice="Give such as [2, 3]: two states.",
            )
        object.__setattr__(self, "counties", tuple(given))
        for state, n in enumerate(self.counties):
            whole(1, **{f"number of counties of state {state}": n})

    @classmethod
    def of(cls, given: Any) -> Geography:
        """The geography itself, or that of a list of numbers of counties."""
        return given if isinstance(given, Geography) else cls(given)

    @cached_property
    def _nodes(self) -> dict[str, Ints]:
        """The node of each level that holds each county, `(n_counties,)`."""
        n_counties = sum(self.counties)
        states = np.repeat(np.arange(len(self.counties)), self.counties)
        return dict(zip(LEVELS, (np.zeros(n_counties, np.int64), states, np.arange(n_counties)), strict=True))

    def of_counties(self, level: str) -> Ints:
        """The node of a level that holds each county, shape `(n_counties,)`."""
        one_of(LEVELS, level=level)
        return self._nodes[level]

    def n_nodes(self, level: str) -> int:
        """How many nodes a level has."""
        return int(self.of_counties(level)[-1]) + 1

    def children(self, level: str, node: int) -> Ints:
        """The nodes of the next level that lie in this one."""
        below = self.of_counties(LEVELS[LEVELS.index(level) + 1])
        return np.unique(below[self.of_counties(level) == node])

    def sums(self, counts: Floats, finer: str, level: str) -> Floats:
        """Counts of the nodes of a finer level, `(n_nodes, ...)`, summed to those of a level."""
        first = np.unique(self.of_counties(finer), return_index=True)[1]
        found = np.zeros((self.n_nodes(level), *counts.shape[1:]))
        np.add.at(found, self.of_counties(level)[first], counts)
        return found
