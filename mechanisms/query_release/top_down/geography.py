"""Geography of a nation: states and counties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.errors import ParameterError
from ...core.validation import one_of, whole

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
    def of(cls, given: Any) -> Geography:
        """Return the geography, built from a list of numbers of counties if necessary."""
        return given if isinstance(given, Geography) else cls(given)

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
