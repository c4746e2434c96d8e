"""Attacks by the nearest rows of the table, in Gower's distance (1971): linkability, and attribute inference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ....mechanisms.core import AttackError, Bools, Floats, Ints, NonNegativeInt, ParameterError, PositiveInt
from ..base import LABEL_COLUMN, AttributeInference, Sensitive
from ..imputation import Imputation
from .base import Disclosure, PeopleGroups

MAX_BLOCK_DISTANCES = 4_000_000
"""Number of distances computed at once."""
_DISTANCE_TOLERANCE = 1e-9


def distances(records: Ints, rows: Ints, scales: Sequence[float | None]) -> Floats:
    """Return sums over columns `(n, n_rows)` of |a - b| / scale, or of a != b if the scale is None.

    The scale is that of the public domain: a scale estimated from the data depends on outliers.

    Example:
        >>> distances(np.array([[0, 3]]), np.array([[0, 3], [1, 3], [0, 0]]), [None, 4.0]).tolist()
        [[0.0, 1.0, 0.75]]
    """
    from scipy.spatial.distance import cdist

    total = np.zeros((len(records), len(rows)))
    ordered = [column for column, scale in enumerate(scales) if scale is not None]
    if ordered:
        units = np.array([scale for scale in scales if scale is not None])
        total += cdist(records[:, ordered] / units, rows[:, ordered] / units, "cityblock")
    differ = np.zeros(total.shape, dtype=np.int16)
    for column in set(range(len(scales))).difference(ordered):
        differ += records[:, column, None].astype(np.int32) != rows[None, :, column].astype(np.int32)
    total += differ
    return total


def neighbours(records: Ints, rows: Ints, scales: Sequence[float | None], k: int) -> Iterator[tuple[slice, Bools]]:
    """Yield blocks of records with masks `(block, n_rows)` of the k nearest rows of each record.

    Rows as near as the k-th are all neighbours: the order of rows has no meaning.
    """
    last = min(k, len(rows)) - 1
    step = max(1, MAX_BLOCK_DISTANCES // len(rows))
    for start in range(0, len(records), step):
        block = slice(start, min(start + step, len(records)))
        distance = distances(records[block], rows, scales)
        limit = distance.min(axis=1) if last == 0 else np.partition(distance, last, axis=1)[:, last]
        yield block, distance <= limit[:, None] + _DISTANCE_TOLERANCE


@dataclass(frozen=True)
class Linkability(Disclosure):
    """Attack that links two records if they share one of their nearest rows of the table.

    The attack is correct for a person whose two records are linked, if the first is linked to no record of a bystander:
    an attack that links all records has linked none. Without the release, one of the records is guessed at random.

    Args:
        first: attributes that the first party knows.
        second: attributes that the second party knows; none of the first party's.
        n_neighbours: number of nearest rows on each side, >= 1; rows as near as the last one are included.

    References:
        Giomi et al. (2023), section 5.3, who count a person as linked regardless of other people.

    Example:
        >>> table = np.array([[0, 0], [1, 1], [2, 2]])
        >>> attack = Linkability({"a": 3, "b": 3}, first=["a"], second=["b"])
        >>> empty = np.empty((0, 2), dtype=np.int64)
        >>> groups = PeopleGroups(np.array([[2, 2], [1, 1], [1, 0]]), table[:1], empty)
        >>> attack.correct(table, groups, np.random.default_rng(0))
        array([ True,  True, False])
        >>> attack.correct(table, PeopleGroups(np.array([[2, 2], [1, 1]]), table[1:], empty), np.random.default_rng(0))
        array([False, False])
    """

    _: KW_ONLY
    first: tuple[str, ...]
    second: tuple[str, ...]
    n_neighbours: PositiveInt = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for argument in ("first", "second"):
            names = self.names(argument, getattr(self, argument))
            object.__setattr__(self, argument, names)
            if not names:
                raise ParameterError(argument=argument, value=names, allowed="name at least one attribute")
        both = sorted(set(self.first) & set(self.second))
        if both:
            raise ParameterError(
                argument="second",
                value=self.second,
                allowed="have no attribute of the first party",
                advice=f"Both know {', '.join(both)}, which links people without any table.",
            )

    def correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        linked = np.zeros(len(groups.people), dtype=np.bool_)
        others = self._near_any(released, groups.bystanders)
        sides = (self._near(names, released, groups.people) for names in (self.first, self.second))
        for (block, near), (_, other) in zip(*sides, strict=True):
            linked[block] = (near & other).any(axis=1) & ~(near & others).any(axis=1)
        return linked

    def baseline_correct(self, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return successes of a random guess among the person's own record and those of all bystanders."""
        return np.asarray(rng.integers(len(groups.bystanders) + 1, size=len(groups.people)) == 0)

    def _near(self, names: tuple[str, ...], rows: Ints, records: Ints) -> Iterator[tuple[slice, Bools]]:
        places = self.places(names)
        return neighbours(records[:, places], rows[:, places], self.scales(names), self.n_neighbours)

    def _near_any(self, rows: Ints, bystanders: Ints) -> Bools:
        """Return a mask `(n_rows,)` of the rows that are among the nearest of some bystander's second record."""
        near_any = np.zeros(len(rows), dtype=np.bool_)
        for _, near in self._near(self.second, rows, bystanders):
            near_any |= near.any(axis=0)
        return near_any


@dataclass(frozen=True)
class AttributeDisclosure(Disclosure):
    """Guess of the most frequent value among the rows nearest in the known attributes.

    Args:
        secret: the attribute to infer.
        given: known attributes of a person; empty: all others.
        n_neighbours: nearest rows, >= 1; rows as near as the last one are included. Of equally frequent values the
            lowest code is guessed.
        within: largest error of a correct guess, in codes; above 0 only if the secret is ordered.
        attack: another attack on tables, of `dpassay.attacks.literature.attributes`, such as `CorrectAttribution()`;
            None: nearest rows, by Gower's distance.
        baseline: attack without the release.

    References:
        Giomi et al. (2023), section 5.4, whose baseline guesses the value of a random row: weaker than the most
        frequent value, and than an imputation from the known attributes (Jayaraman and Evans 2022).

    Example:
        >>> table = np.array([[0, 0, 1], [1, 0, 0], [2, 2, 1]])
        >>> attack = AttributeDisclosure({"a": 3, "b": 3, "c": 2}, secret="c")
        >>> empty = np.empty((0, 3), dtype=np.int64)
        >>> groups = PeopleGroups(np.array([[2, 2, 1], [1, 0, 1]]), empty, empty)
        >>> attack.correct(table, groups, np.random.default_rng(0))
        array([ True, False])
    """

    _: KW_ONLY
    secret: str
    given: tuple[str, ...] = ()
    n_neighbours: PositiveInt = 1
    within: NonNegativeInt = 0
    attack: AttributeInference | None = None
    baseline: AttributeInference = field(default_factory=Imputation)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names("secret", [self.secret])
        attributes = self.names("given", self.given) or tuple(name for name in self.domain.names if name != self.secret)
        object.__setattr__(self, "given", attributes)
        if self.secret in attributes or not attributes:
            raise ParameterError(argument="given", value=attributes, allowed="name some attributes, and not the secret")
        if self.within and self.secret not in self.ordered:
            raise ParameterError(
                f"within must be 0 if the secret is a category: {self.secret!r} is not among ordered.",
                argument="within",
            )
        if self.domain.shape[self.domain.index(self.secret)] < 2:
            raise ParameterError(argument="secret", value=self.secret, allowed="have two values or more")

    def correct(self, released: Ints, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        if self.attack is None:
            return self._close(self._nearest(released, groups.people), groups.people)
        return self._by(self.attack, self._people(released), groups)

    def baseline_correct(self, groups: PeopleGroups, rng: np.random.Generator) -> Bools:
        """Return a mask of the people whose value the baseline guesses; raise `AttackError` if no people are known."""
        return self._by(self.baseline, None, groups)

    def _nearest(self, rows: Ints, people: Ints) -> Ints:
        places, values = self.places(self.given), rows[:, self.domain.index(self.secret)]
        one_hot = np.eye(self.domain.shape[self.domain.index(self.secret)])[values]
        guesses = np.empty(len(people), dtype=np.int64)
        scales = self.scales(self.given)
        for block, nearest in neighbours(people[:, places], rows[:, places], scales, self.n_neighbours):
            guesses[block] = (nearest @ one_hot).argmax(axis=1)
        return guesses

    def _by(self, attack: AttributeInference, released: object, groups: PeopleGroups) -> Bools:
        if not len(groups.known):
            raise AttackError("others of the population must be known, to learn from. Give known=, records of them.")
        known = self._people(groups.known)
        counts = np.bincount(known[1], minlength=self.domain.shape[self.domain.index(self.secret)])
        secret = Sensitive(LABEL_COLUMN, np.arange(len(counts)), counts / counts.sum())
        return self._close(attack.guess(released, self._people(groups.people), secret, known), groups.people)

    def _people(self, records: Ints) -> tuple[Floats, Ints]:
        """Return the known attributes as numbers (one-hot for categories, codes if ordered), and the secret."""
        columns = []
        for name in self.given:
            codes, n_values = records[:, self.domain.index(name)], self.domain.shape[self.domain.index(name)]
            columns.append(codes[:, None] / n_values if name in self.ordered else np.eye(n_values)[codes])
        return np.hstack(columns), records[:, self.domain.index(self.secret)]

    def _close(self, guess: Ints, people: Ints) -> Bools:
        return np.asarray(np.abs(guess - people[:, self.domain.index(self.secret)]) <= self.within)
