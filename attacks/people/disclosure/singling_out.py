"""Singling out: descriptions of people as intervals of codes, and the search for one that matches one person."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Self

import numpy as np

from ....mechanisms.core import Bools, Ints, ParameterError, PositiveInt, one_of_names
from ....mechanisms.noise.queries.domain import Domain
from .base import Disclosure, PeopleGroups

_MAX_BATCHES = 20
"""Number of batches of random descriptions that are tried, each of the requested number, at least 1,000."""
_MAX_BLOCK_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class Predicates:
    """Descriptions "low <= code <= high in every attribute".

    Args:
        low, high: `(m, d)` codes, ends included; 0 and the last code for an unrestricted attribute.

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
        """Return a mask `(m, n)` of the records that each description matches."""
        matched = np.ones((len(self), len(records)), dtype=np.bool_)
        restricted = (self.low > 0) | (self.high < records.max(axis=0, initial=0))
        for column in np.flatnonzero(restricted.any(axis=0)):
            codes = records[None, :, column]
            matched &= (self.low[:, column, None] <= codes) & (codes <= self.high[:, column, None])
        return matched

    def counts(self, records: Ints) -> Ints:
        """Return the number of records that each description matches, `(m,)`."""
        step = max(1, _MAX_BLOCK_ENTRIES // max(1, len(records)))
        parts = [self[i : i + step].matches(records).sum(axis=1) for i in range(0, len(self), step)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def distinct(self) -> Self:
        """Return each description once, in the original order."""
        _, first = np.unique(np.hstack([self.low, self.high]), axis=0, return_index=True)
        return self[np.sort(first)]

    def and_also(self, other: Self) -> Self:
        """Return these and other descriptions, each once."""
        return type(self)(np.vstack([self.low, other.low]), np.vstack([self.high, other.high])).distinct()

    @classmethod
    def matching_all(cls, domain: Domain, m: int) -> Self:
        """Return m descriptions that match every record."""
        return cls(np.zeros((m, len(domain.shape)), dtype=np.int64), np.tile(np.array(domain.shape) - 1, (m, 1)))

    @classmethod
    def rare(cls, domain: Domain, table: Ints, ordered: list[int], m: int, rng: np.random.Generator) -> Self:
        """Return rare values and rare extremes, attained by one row of the table only: at most m, in random order."""
        ends: list[tuple[int, int, int]] = []
        for column, n_values in enumerate(domain.shape):
            codes, counts = np.unique(table[:, column], return_counts=True)
            ends += [(column, code, code) for code in codes[counts == 1]]
            if column in ordered and counts[0] == 1:
                ends.append((column, 0, codes[0]))
            if column in ordered and counts[-1] == 1:
                ends.append((column, codes[-1], n_values - 1))
        descriptions, index = cls.matching_all(domain, len(ends)), np.arange(len(ends))
        columns, low, high = np.reshape(ends, (-1, 3)).astype(np.int64).T
        descriptions.low[index, columns], descriptions.high[index, columns] = low, high
        descriptions = descriptions.distinct()
        return descriptions[rng.permutation(len(descriptions))[:m]]

    @classmethod
    def of_rows(
        cls, domain: Domain, table: Ints, ordered: list[int], n_columns: int, m: int, rng: np.random.Generator
    ) -> Self:
        """Return m descriptions of some columns of random rows that match only this row of the table, each once.

        Categories are those of the row; ordered codes are at least the row's if it is above the median of the
        table, else at most the row's. Fewer than m are returned if not enough are found.
        """
        middle, descriptions = np.median(table, axis=0), cls.matching_all(domain, 0)
        for _ in range(_MAX_BATCHES):
            size = max(1_000, m)
            rows = table[rng.integers(len(table), size=size)]
            candidates = cls.matching_all(domain, size)
            selected = _columns(len(domain.shape), n_columns, size, rng)
            low, high = rows.copy(), rows.copy()
            for column in ordered:
                above = rows[:, column] > middle[column]
                high[above, column] = domain.shape[column] - 1
                low[~above, column] = 0
            candidates = cls(
                np.where(selected, low, candidates.low), np.where(selected, high, candidates.high)
            ).distinct()
            descriptions = descriptions.and_also(candidates[candidates.counts(table) == 1])
            if len(descriptions) >= m:
                break
        return descriptions[:m]

    @classmethod
    def random(cls, domain: Domain, ordered: list[int], n_columns: int, m: int, rng: np.random.Generator) -> Self:
        """Return random codes of the domain in random columns, with a random direction for ordered attributes."""
        shape, size = np.array(domain.shape), (m, len(domain.shape))
        codes, side = rng.integers(shape, size=size), rng.integers(3, size=size)
        side[:, np.setdiff1d(np.arange(size[1]), ordered)] = 0
        selected, unrestricted = _columns(size[1], n_columns, m, rng), cls.matching_all(domain, m)
        return cls(
            np.where(selected & (side != 1), codes, unrestricted.low),
            np.where(selected & (side != 2), codes, unrestricted.high),
        )


def _columns(d: int, n_columns: int, size: int, rng: np.random.Generator) -> Bools:
    """Return a mask `(size, d)` of n_columns distinct columns each."""
    return np.argsort(np.argsort(rng.random((size, d)), axis=1), axis=1) < n_columns


DESCRIPTION_KINDS = ("univariate", "multivariate")


@dataclass(frozen=True)
class SinglingOut(Disclosure):
    """Attack that guesses: a description that matches one row of the table matches one person of the data.

    A person is singled out if one of the descriptions matches the person and no bystander. Without the release, as many
    random descriptions are tried.

    Args:
        kind: "univariate", rare and extreme values of one attribute; "multivariate", some attributes of random rows.
        n_predicates: largest number of descriptions made from a table, >= 1. With more, more match a person by
            chance: the baselines use equally many.
        n_columns: number of attributes in a multivariate description, from 1 to all.

    References:
        Giomi et al. (2023), section 5.2, for the descriptions; Cohen and Nissim (2020), "Towards formalizing the GDPR's
        notion of singling out": a description that matches a share w of the population singles out with probability
        n w (1 - w)^(n - 1), which is 1/e at w = 1/n and needs no release.

    Example:
        >>> table = np.array([[0, 0], [0, 1], [1, 0]])
        >>> attack = SinglingOut({"a": 2, "b": 2}, n_columns=2)
        >>> empty = np.empty((0, 2), dtype=np.int64)
        >>> attack.correct(table, PeopleGroups(np.array([[1, 0], [1, 1]]), table[:2], empty), np.random.default_rng(0))
        array([ True, False])
    """

    _: KW_ONLY
    kind: Annotated[str, one_of_names(*DESCRIPTION_KINDS)] = "multivariate"
    n_predicates: PositiveInt = 1_000
    n_columns: PositiveInt = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_columns > len(self.domain.names):
            raise ParameterError(
                argument="n_columns", value=self.n_columns, allowed=f"be at most {len(self.domain.names)}, all columns"
            )

    def correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        return _singled_out(self.predicates(released, rng), groups)

    def baseline_correct(self, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        return _singled_out(self.random_predicates(rng), groups)

    def published_correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return a mask of the descriptions that match exactly one of the people, `(n_descriptions,)`.

        These are not independent draws, because they concern the same people.
        """
        return np.asarray(self.predicates(released, rng).counts(groups.people) == 1)

    def predicates(self, released: Ints, rng: np.random.Generator) -> Predicates:
        """Return the descriptions made from a table."""
        ordered = self.places(self.ordered)
        if self.kind == "univariate":
            return Predicates.rare(self.domain, released, ordered, self.n_predicates, rng)
        return Predicates.of_rows(self.domain, released, ordered, self.n_columns, self.n_predicates, rng)

    def random_predicates(self, rng: np.random.Generator) -> Predicates:
        """Return equally many random descriptions, made from the domain only."""
        n_columns = 1 if self.kind == "univariate" else self.n_columns
        return Predicates.random(self.domain, self.places(self.ordered), n_columns, self.n_predicates, rng)


def _singled_out(predicates: Predicates, groups: PeopleGroups) -> Bools:
    unmatched = predicates[predicates.counts(groups.bystanders) == 0]
    return np.asarray(unmatched.matches(groups.people).any(axis=0))
