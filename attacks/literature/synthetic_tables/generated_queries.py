"""The generated-query attack: counts of synthetic rows that agree with the record on sets of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import Bools, Floats, ParameterError, PositiveInt, whole
from ...base import Target
from .base import LearnedAttack, Tables, differing
from .levels import Levels, agreeing

Query = tuple[int, ...]
"""Indices of the attributes on which rows must agree with the record."""


@dataclass(frozen=True, kw_only=True)
class GeneratedQueries(LearnedAttack):
    """Score of a table from the numbers of its rows that agree with the record on each of many sets of attributes.

    A generator that has learned from a record produces similar rows somewhat more often: rows with its sex, or its
    age and its town. The sets are drawn at random, the set of all attributes is one of them, and a classifier
    learns the weight of each count from pilot tables. Real values agree if they are in the same of ten bins.

    Args:
        n_queries: sets of attributes, >= 1; all sets of an order are used if they are not more than their share.
        orders: numbers of attributes of a set; each order has about equally many sets.
        model: "logistic", "boosting", "forest", "table" or "auto"; as for `Classifier`.

    Raises:
        ParameterError: no order, an order below 1, or an unknown model.
        AttackError: the pair or the outputs are not tables, or fewer than 30 pilot tables on a side.

    Guarantees:
        * only counts are used: the score does not depend on the order of the rows;
        * the sets depend only on the pair and `rng`, the weights also on pilot tables.

    References:
        Houssiau et al. (2022), "TAPAS: a toolbox for adversarial privacy auditing of synthetic data", targeted queries.

    Example:
        >>> from dpassay.mechanisms import Gaussian, Neighbours, Outputs
        >>> rng, table = np.random.default_rng(0), np.array([[0, 0], [1, 1], [0, 1]])
        >>> pair = Neighbours(table[1:], table, "add_remove")
        >>> draw = lambda data, size: Outputs(data[rng.integers(len(data), size=(size, 3))])
        >>> attack, target = GeneratedQueries(model="logistic"), Target(Gaussian(noise_multiplier=1.0), pair)
        >>> scorer = attack.fit(target, draw(pair.d0, 200), draw(pair.d1, 200), rng)
        >>> without, with_ = scorer.score(Outputs(np.array([[[1, 1], [1, 1]], [[0, 0], [1, 1]]])))
        >>> bool(with_ > without)
        True
    """

    n_queries: PositiveInt = 100
    orders: tuple[int, ...] = (1, 2, 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "orders", tuple(self.orders))
        if not self.orders:
            raise ParameterError(argument="orders", value=self.orders, allowed="hold at least one whole number")
        for order in self.orders:
            whole(1, orders=order)

    def features(self, target: Target, tables0: Tables, tables1: Tables, rng: np.random.Generator) -> AgreementCounts:
        only0, only1 = differing(target.neighbours)
        queries = draw_queries(only1.shape[1], self.n_queries, self.orders, rng)
        return AgreementCounts.of_records(np.concatenate([only1, only0]), (tables0, tables1), queries)


@dataclass(frozen=True, eq=False)
class AgreementCounts:
    """Features: for each record and set of attributes, the number of rows that agree with the record.

    Args:
        intervals: `(k, d, 2)` lowest and highest value that are treated as equal to the record's.
        queries: sets of attributes.
    """

    intervals: Floats
    queries: tuple[Query, ...]

    @classmethod
    def of_records(cls, records: Tables, tables: Iterable[Tables], queries: tuple[Query, ...]) -> AgreementCounts:
        """Return counts for `(k, d)` records; real values agree if they are in the same bin of `tables`."""
        levels = Levels.learn(records, *tables)
        intervals = [[levels.interval(value, j) for j, value in enumerate(record)] for record in records.tolist()]
        return cls(np.array(intervals), queries)

    def of(self, tables: Tables) -> Floats:
        """Return counts, `(size, k * n_queries)`."""
        return np.concatenate([self._counts(tables, of_record) for of_record in self.intervals], axis=1)

    def _counts(self, tables: Tables, intervals: Floats) -> Floats:
        """Return the counts of one record, `(size, n_queries)`.

        One bit per row and attribute; sets of attributes are combined by `and` of words of 64 rows.
        """
        used = sorted({column for query in self.queries for column in query})
        words = {column: _packed(agreeing(tables, intervals[column], column)) for column in used}
        counts = np.empty((len(tables), len(self.queries)))
        for index, query in enumerate(self.queries):
            both = words[query[0]]
            for column in query[1:]:
                both = both & words[column]
            np.sum(_count_ones(both), axis=1, out=counts[:, index], dtype=np.float64)
        return counts


_ONES = np.unpackbits(np.arange(2**16, dtype=np.uint16).view(np.uint8)).reshape(-1, 16).sum(axis=1).astype(np.uint8)


def _ones(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the number of ones of each 16 bits, along the last axis."""
    return np.asarray(_ONES[np.ascontiguousarray(words).view(np.uint16)])


_count_ones = getattr(np, "bitwise_count", _ones)
"""Numbers of ones, to be summed along the last axis; numpy counts them from 2.0 on."""


def draw_queries(d: int, n_queries: int, orders: Iterable[int], rng: np.random.Generator) -> tuple[Query, ...]:
    """Draw sets of attributes: all `d` together, then about equally many of each order, small orders first.

    Example:
        >>> draw_queries(3, 100, (1, 2), np.random.default_rng(0))
        ((0, 1, 2), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    queries: dict[Query, None] = {tuple(range(d)): None}
    possible = sorted({order for order in orders if order < d})
    for index, order in enumerate(possible):
        share = (n_queries - len(queries)) // (len(possible) - index)
        queries |= dict.fromkeys(_sets(d, order, share, rng))
    return tuple(queries)


def _sets(d: int, order: int, wanted: int, rng: np.random.Generator) -> Iterator[Query]:
    """Yield all sets of this order, or `wanted` random ones."""
    if comb(d, order) <= wanted:
        yield from combinations(range(d), order)
        return
    sets: set[Query] = set()
    while len(sets) < wanted:
        sets.add(tuple(sorted(rng.choice(d, order, replace=False).tolist())))
    yield from sorted(sets)


def _packed(bits: Bools) -> NDArray[np.uint64]:
    """Pack `(size, n_rows)` bits into words of 64, `(size, ceil(n_rows / 64))`."""
    packed = np.packbits(bits, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
