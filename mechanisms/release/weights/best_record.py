"""The record that answers yes to as many of the drawn queries as any: by looking at all, or by an integer programme.

A drawn query is a number from 0 to 2 m - 1: those below m are cells of marginals, "these attributes have these values",
and m + i is the complement of query i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...queries.base import Floats
from ...queries.domain import check_memory
from ...queries.marginals import Marginals


@dataclass(frozen=True)
class BestRecord(ABC):
    """A solver for marginals of binary attributes."""

    marginals: Marginals

    @abstractmethod
    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """A best record for each row of drawn queries `(size, n_draws)`, shape `(size, n_attributes)`."""

    @property
    def width(self) -> int:
        """Numbers a run in the largest array."""
        return 2 * self.marginals.n_answers

    def votes(self, drawn: NDArray[np.int64]) -> Floats:
        """How often each query was drawn, less how often its complement was: `(size, m)`."""
        m = self.marginals.n_answers
        starts = 2 * m * np.arange(len(drawn))[:, None]
        counts = np.bincount((drawn + starts).ravel(), minlength=2 * m * len(drawn)).reshape(len(drawn), 2 * m)
        return np.asarray(counts[:, :m] - counts[:, m:], dtype=np.float64)

    def score(self, drawn: NDArray[np.int64], records: NDArray[np.int64]) -> Floats:
        """Votes for the queries that each record answers with yes, shape `(size,)`."""
        votes, rows, found, first = self.votes(drawn), np.arange(len(records)), np.zeros(len(records)), 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            found += votes[rows, first + self.marginals.domain.cells(records, names)]
            first += size
        return found


@dataclass(frozen=True)
class AllRecords(BestRecord):
    """Looks at every record of the domain, for all runs at once; of equally good ones it takes the first."""

    @property
    def width(self) -> int:
        return max(super().width, self.marginals.domain.n_cells)

    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        best = (self.votes(drawn) @ self._matrix.T).argmax(axis=1)
        return self.marginals.domain.records_in(best)

    @cached_property
    def _matrix(self) -> Floats:
        """Which queries each record answers with yes, `(n_cells, m)`."""
        domain = self.marginals.domain
        check_memory(domain.n_cells * self.marginals.n_answers, "the answers of all records")
        records, found, first = domain.records_in(np.arange(domain.n_cells)), [], 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            found.append(np.eye(size)[domain.cells(records, names)])
            first += size
        return np.hstack(found)


@dataclass(frozen=True)
class IntegerProgramme(BestRecord):
    """scipy's HiGHS, one run after the other: nothing of the size of the domain is held.

    A bit for each attribute, and a number z in [0, 1] for each query that was drawn, which is at most each literal of
    the query where yes counts for it, and at least their sum less their number plus 1 where it counts against it. At
    the optimum z is 1 exactly where all literals hold.
    """

    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        n_attributes = len(self.marginals.domain.shape)
        return np.array([self._best(votes) for votes in self.votes(drawn)], dtype=np.int64).reshape(-1, n_attributes)

    def _best(self, votes: Floats) -> NDArray[np.int64]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        asked = np.flatnonzero(votes)
        d, n = len(self.marginals.domain.shape), len(asked)
        if not n:
            return np.zeros(d, dtype=np.int64)
        rows, upper = [], []
        for place, query in enumerate(asked):
            for row, limit in _constraints(*self._literals[query], votes[query] > 0, d, n, place):
                rows.append(row)
                upper.append(limit)
        found = milp(
            np.concatenate([np.zeros(d), -votes[asked]]),
            integrality=np.repeat([1, 0], [d, n]),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(np.array(rows), ub=np.array(upper)),
        )
        return np.asarray(np.round(found.x[:d]), dtype=np.int64)

    @cached_property
    def _literals(self) -> list[tuple[list[int], list[int]]]:
        """The attributes of each query, and the values that it asks for."""
        domain, found = self.marginals.domain, []
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            places = [domain.index(name) for name in names]
            values = domain.project(names).records_in(np.arange(size))
            found += [(places, row) for row in values.tolist()]
        return found


def _constraints(
    places: list[int], values: list[int], wanted: bool, d: int, n: int, place: int
) -> list[tuple[Floats, float]]:
    """Rows and upper limits that tie z[place] to its literals: x where the value is 1, else 1 - x."""
    signs = np.array([1.0 if value else -1.0 for value in values])
    if wanted:  # z <= x, or z <= 1 - x
        found = []
        for attribute, sign in zip(places, signs, strict=True):
            row = np.zeros(d + n)
            row[attribute], row[d + place] = -sign, 1.0
            found.append((row, 0.0 if sign > 0 else 1.0))
        return found
    row = np.zeros(d + n)  # sum of literals - z <= k - 1
    row[places], row[d + place] = signs, -1.0
    return [(row, float(len(places) - 1 - np.count_nonzero(signs < 0)))]


SOLVERS: dict[str, type[BestRecord]] = {"all-records": AllRecords, "highs": IntegerProgramme}
"""By name."""
