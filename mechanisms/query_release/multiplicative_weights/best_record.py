"""Search for a record that satisfies as many of the drawn queries as possible: exhaustive, or an integer programme.

A drawn query is a number from 0 to 2 m - 1: numbers below m are cells of marginals, "these attributes have these
values", and m + i is the complement of query i.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.constraints import Options
from ...noise.queries.domain import check_memory
from ...noise.queries.marginals import Marginals


@dataclass(frozen=True)
class BestRecord(Options):
    """Base class of solvers for marginals of binary attributes."""

    marginals: Marginals

    @abstractmethod
    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a best record for each row of drawn queries `(size, n_draws)`, shape `(size, n_attributes)`."""

    @property
    def width(self) -> int:
        """Entries per run in the largest array."""
        return 2 * self.marginals.n_answers

    def votes(self, drawn: NDArray[np.int64]) -> Floats:
        """Return the number of draws of each query minus that of its complement, `(size, m)`."""
        m = self.marginals.n_answers
        starts = 2 * m * np.arange(len(drawn))[:, None]
        counts = np.bincount((drawn + starts).ravel(), minlength=2 * m * len(drawn)).reshape(len(drawn), 2 * m)
        return np.asarray(counts[:, :m] - counts[:, m:], dtype=np.float64)

    def score(self, drawn: NDArray[np.int64], records: NDArray[np.int64]) -> Floats:
        """Return the total votes for the queries that each record satisfies, shape `(size,)`."""
        votes, rows, scores, first = self.votes(drawn), np.arange(len(records)), np.zeros(len(records)), 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            scores += votes[rows, first + self.marginals.domain.cells(records, names)]
            first += size
        return scores


@dataclass(frozen=True)
class AllRecords(BestRecord):
    """Exhaustive search over the records of the domain, for all runs at once; the first record in a tie."""

    @property
    def width(self) -> int:
        return max(super().width, self.marginals.domain.n_cells)

    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        best = (self.votes(drawn) @ self._matrix.T).argmax(axis=1)
        return self.marginals.domain.records_in(best)

    @cached_property
    def _matrix(self) -> Floats:
        """Indicator of the queries that each record satisfies, `(n_cells, m)`."""
        domain = self.marginals.domain
        check_memory(domain.n_cells * self.marginals.n_answers, "the answers of all records")
        records, indicators, first = domain.records_in(np.arange(domain.n_cells)), [], 0
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            indicators.append(np.eye(size)[domain.cells(records, names)])
            first += size
        return np.hstack(indicators)


@dataclass(frozen=True)
class BestRecordProgramme(BestRecord):
    """Integer programme by HiGHS of scipy, one run after the other, without an array of the size of the domain.

    The variables are a bit for each attribute, and a number z in [0, 1] for each drawn query. z is at most each literal
    of a query with positive votes, and at least the sum of the literals minus their number plus 1 for a query with
    negative votes. At the optimum z is 1 exactly if all literals hold.
    """

    def __call__(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        n_attributes = len(self.marginals.domain.shape)
        return np.array([self._best(votes) for votes in self.votes(drawn)], dtype=np.int64).reshape(-1, n_attributes)

    def _best(self, votes: Floats) -> NDArray[np.int64]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        queries = np.flatnonzero(votes)
        d, n = len(self.marginals.domain.shape), len(queries)
        if not n:
            return np.zeros(d, dtype=np.int64)
        rows, upper = [], []
        for position, query in enumerate(queries):
            for row, limit in _constraints(*self._literals[query], votes[query] > 0, d, n, position):
                rows.append(row)
                upper.append(limit)
        solution = milp(
            np.concatenate([np.zeros(d), -votes[queries]]),
            integrality=np.repeat([1, 0], [d, n]),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(np.array(rows), ub=np.array(upper)),
        )
        return np.asarray(np.round(solution.x[:d]), dtype=np.int64)

    @cached_property
    def _literals(self) -> list[tuple[list[int], list[int]]]:
        """Attributes of each query, and their required values."""
        domain, literals = self.marginals.domain, []
        for names, size in zip(self.marginals.marginals, self.marginals.sizes, strict=True):
            places = [domain.index(name) for name in names]
            values = domain.project(names).records_in(np.arange(size))
            literals += [(places, row) for row in values.tolist()]
        return literals


def _constraints(
    attributes: list[int], values: list[int], positive: bool, d: int, n: int, position: int
) -> list[tuple[Floats, float]]:
    """Return rows and upper limits that couple z[position] to its literals: x where the value is 1, else 1 - x."""
    signs = np.array([1.0 if value else -1.0 for value in values])
    if positive:  # z <= x, or z <= 1 - x
        constraints = []
        for attribute, sign in zip(attributes, signs, strict=True):
            row = np.zeros(d + n)
            row[attribute], row[d + position] = -sign, 1.0
            constraints.append((row, 0.0 if sign > 0 else 1.0))
        return constraints
    row = np.zeros(d + n)  # sum of literals - z <= k - 1
    row[attributes], row[d + position] = signs, -1.0
    return [(row, float(len(attributes) - 1 - np.count_nonzero(signs < 0)))]


SOLVERS: dict[str, type[BestRecord]] = {"all-records": AllRecords, "highs": BestRecordProgramme}
"""Solvers by name."""
