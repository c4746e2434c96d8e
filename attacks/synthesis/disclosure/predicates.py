"""Descriptions of people: conjunctions of intervals of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ....mechanisms.queries.domain import Domain
from .base import Bools, Ints

_TRIES = 20
"""Batches of random descriptions that are tried; each has as many as are wanted, at least 1,000."""
_BLOCK = 20_000_000


@dataclass(frozen=True, eq=False)
class Predicates:
    """Descriptions "low <= code <= high in every attribute"; whoever has them all is matched.

    Args:
        low, high: `(m, d)` codes, ends included; 0 and the last code where an attribute does not matter.

    Example:
        >>> young_or_rich = Predicates(np.array([[0, 0], [0, 2]]), np.array([[0, 2], [4, 2]]))
        >>> young_or_rich.matches(np.array([[0, 2], [3, 2], [0, 1]])).astype(int).tolist()
        [[1, 0, 1], [1, 1, 0]]
    """

    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, places: Ints | Bools | slice) -> Self:
        return type(self)(self.low[places], self.high[places])

    def matches(self, records: Ints) -> Bools:
        """`(m, n)` which description fits which record."""
        found = np.ones((len(self), len(records)), dtype=np.bool_)
        matter = (self.low > 0) | (self.high < records.max(axis=0, initial=0))
        for column in np.flatnonzero(matter.any(axis=0)):
            codes = records[None, :, column]
            found &= (self.low[:, column, None] <= codes) & (codes <= self.high[:, column, None])
        return found

    def counts(self, records: Ints) -> Ints:
        """`(m,)` how many records each description fits."""
        step = max(1, _BLOCK // max(1, len(records)))
        parts = [self[i : i + step].matches(records).sum(axis=1) for i in range(0, len(self), step)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def distinct(self) -> Self:
        """Each description once, in the order in which they came."""
        _, first = np.unique(np.hstack([self.low, self.high]), axis=0, return_index=True)
        return self[np.sort(first)]

    def and_also(self, other: Self) -> Self:
        """These and others, each once."""
        return type(self)(np.vstack([self.low, other.low]), np.vstack([self.high, other.high])).distinct()

    @classmethod
    def everybody(cls, domain: Domain, m: int) -> Self:
        """m descriptions that say nothing."""
        return cls(np.zeros((m, len(domain.shape)), dtype=np.int64), np.tile(np.array(domain.shape) - 1, (m, 1)))

    @classmethod
    def rare(cls, domain: Domain, table: Ints, ordered: list[int], m: int, rng: np.random.Generator) -> Self:
        """Values that one row has, and lowest and highest values that one row reaches: at most m, in random order."""
        ends: list[tuple[int, int, int]] = []
        for column, n_values in enumerate(domain.shape):
            codes, counts = np.unique(table[:, column], return_counts=True)
            ends += [(column, lone, lone) for lone in codes[counts == 1]]
            if column in ordered and counts[0] == 1:
                ends.append((column, 0, codes[0]))
            if column in ordered and counts[-1] == 1:
                ends.append((column, codes[-1], n_values - 1))
        found, each = cls.everybody(domain, len(ends)), np.arange(len(ends))
        columns, low, high = np.reshape(ends, (-1, 3)).astype(np.int64).T
        found.low[each, columns], found.high[each, columns] = low, high
        found = found.distinct()
        return found[rng.permutation(len(found))[:m]]

    @classmethod
    def of_rows(
        cls, domain: Domain, table: Ints, ordered: list[int], n_columns: int, m: int, rng: np.random.Generator
    ) -> Self:
        """Some columns of random rows, if they fit this row and no other of the table: at most m, each once.

        Categories are those of the row; ordered codes are at least the row's where it lies above the median of the
        table, else at most the row's.
        """
        middle, found = np.median(table, axis=0), cls.everybody(domain, 0)
        for _ in range(_TRIES):
            size = max(1_000, m)
            rows = table[rng.integers(len(table), size=size)]
            tried = cls.everybody(domain, size)
            chosen = _columns(len(domain.shape), n_columns, size, rng)
            low, high = rows.copy(), rows.copy()
            for column in ordered:
                above = rows[:, column] > middle[column]
                high[above, column] = domain.shape[column] - 1
                low[~above, column] = 0
            tried = cls(np.where(chosen, low, tried.low), np.where(chosen, high, tried.high)).distinct()
            found = found.and_also(tried[tried.counts(table) == 1])
            if len(found) >= m:
                break
        return found[:m]

    @classmethod
    def random(cls, domain: Domain, ordered: list[int], n_columns: int, m: int, rng: np.random.Generator) -> Self:
        """Random codes of the domain in random columns, with a random side of those that have an order."""
        shape, size = np.array(domain.shape), (m, len(domain.shape))
        codes, side = rng.integers(shape, size=size), rng.integers(3, size=size)
        side[:, np.setdiff1d(np.arange(size[1]), ordered)] = 0
        chosen, every = _columns(size[1], n_columns, m, rng), cls.everybody(domain, m)
        return cls(np.where(chosen & (side != 1), codes, every.low), np.where(chosen & (side != 2), codes, every.high))


def _columns(d: int, n_columns: int, size: int, rng: np.random.Generator) -> Bools:
    """`(size, d)` n_columns different ones each."""
    return np.argsort(np.argsort(rng.random((size, d)), axis=1), axis=1) < n_columns
