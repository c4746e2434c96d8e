"""Lists of records that differ in one record, and datasets that are a single value.

Under `add_remove` side 0 lacks the differing record, under `replace_one` side 0 has another record instead, under
`zero_out` a blank one. The patterns are the empty list and one record, extremes of the domain; then lists of identical
records (the differing record a duplicate of them), lists that alternate between the extremes, and random ones, short
and long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ....mechanisms.core import Neighbours, ParameterError, PositiveInt, Relation, check_fields, identity, whole
from .base import SearchDomain, pick
from .values import Values

N_DIFFERING_RECORDS = 3
"""Number of differing records that are tried with each list of common records."""
_MIXED_SEED = 0
"""Fixed seed of the lists of random records among the patterns."""


@dataclass(frozen=True)
class RecordPair:
    """Sketch of a pair of lists: the records that both sides share, and the differing ones.

    Args:
        common: records of both sides.
        record0, record1: the differing record on each side; `record0` is not used under `add_remove`.
        place: index of the differing record among the others.
    """

    common: tuple[Any, ...]
    record0: Any
    record1: Any
    place: int


@dataclass(frozen=True)
class Records(SearchDomain[RecordPair]):
    """Domain of lists of records.

    Args:
        of: the possible records.
        smallest, largest: number of records of the larger of the two datasets, 1 <= smallest <= largest.

    Example:
        >>> from dpassay.audit.search import Numbers
        >>> domain = Records(Numbers(0.0, 1.0))
        >>> pair = domain.neighbours(next(domain.patterns(Relation.ADD_REMOVE)), Relation.ADD_REMOVE)
        >>> pair.d0, pair.d1
        (array([], dtype=float64), array([1.]))
    """

    of: Values
    smallest: PositiveInt = 1
    largest: int = 10

    records: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.smallest, largest=self.largest)

    def __str__(self) -> str:
        size = str(self.largest) if self.smallest == self.largest else f"{self.smallest}..{self.largest}"
        return f"{self.of}; {size} records"

    def neighbours(self, sketch: RecordPair, relation: Relation) -> Neighbours:
        before, after = sketch.common[: sketch.place], sketch.common[sketch.place :]
        d1 = (*before, sketch.record1, *after)
        d0 = sketch.common if relation is Relation.ADD_REMOVE else (*before, sketch.record0, *after)
        return Neighbours(self.of.dataset(d0), self.of.dataset(d1), relation)

    def patterns(self, relation: Relation) -> Iterator[RecordPair]:
        critical = self._critical(relation)
        fill = self.of.telling[1 % len(self.of.telling)]
        min_common, max_common = self.smallest - 1, self.largest - 1
        for record0, record1 in critical:
            yield _last((fill,) * min_common, record0, record1)
        middle = max_common // 2
        sizes = (1, max_common, 2, max_common - 1, middle, middle + 1)  # odd and even
        lists = [list(self._lists(n)) for n in dict.fromkeys(sizes) if n > 0 and min_common <= n <= max_common]
        kinds = [(kind, pair) for kind in range(len(self.of.telling) + 2) for pair in critical[:N_DIFFERING_RECORDS]]
        for turn in range(len(lists)):  # each kind with one size, then each with the next size
            for at, (kind, (record0, record1)) in enumerate(kinds):
                yield _last(lists[(at + at // len(lists) + turn) % len(lists)][kind], record0, record1)
        for record0, record1 in critical[:1]:  # at the front, for mechanisms that depend on the order
            yield RecordPair((fill,) * max_common, record0, record1, 0)

    def random(self, relation: Relation, rng: np.random.Generator) -> RecordPair:
        size = int(rng.integers(self.smallest, self.largest, endpoint=True)) - 1
        common = tuple(self.of.draw(rng) for _ in range(size))
        return self._differing(_last(common, self._other(relation, rng), self.of.draw(rng)), relation, rng)

    def near(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        return self._differing(pick(self._moves(sketch), rng)(sketch, relation, rng), relation, rng)

    def _critical(self, relation: Relation) -> list[tuple[Any, Any]]:
        """Return the differing records of the two sides to try, the most revealing first."""
        telling = self.of.telling
        if relation is Relation.REPLACE_ONE:
            return list(combinations(telling, 2))[:12]
        blank = self.of.blank if relation is Relation.ZERO_OUT else None
        return [(blank, value) for value in telling if identity(value) != identity(blank)]

    def _lists(self, size: int) -> Iterator[tuple[Any, ...]]:
        """Yield lists of common records: identical, alternating, random."""
        telling, rng = self.of.telling, np.random.default_rng(_MIXED_SEED)
        for value in telling:
            yield (value,) * size
        yield tuple(telling[i % 2 % len(telling)] for i in range(size))
        yield tuple(self.of.draw(rng) for _ in range(size))

    def _other(self, relation: Relation, rng: np.random.Generator) -> Any:
        """Return the record of side 0 that replaces the differing record."""
        if relation is Relation.ADD_REMOVE:
            return None
        return self.of.blank if relation is Relation.ZERO_OUT else self.of.draw(rng)

    def _differing(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        """Return the pair, with a new record on side 1 if both sides have the same one."""
        for _ in range(20):
            if identity(sketch.record0) != identity(sketch.record1):
                break
            sketch = replace(sketch, record1=self.of.draw(rng))
        return sketch

    def _moves(self, sketch: RecordPair) -> list[Any]:
        """Return the changes that `near` may make to this pair."""
        moves = [self._move_record, self._move_record]
        if sketch.common:
            moves += [self._change_one, self._change_all, self._move_place]
        if len(sketch.common) + 1 < self.largest:
            moves.append(self._add)
        if len(sketch.common) + 1 > self.smallest and sketch.common:
            moves.append(self._remove)
        return moves

    def _move_record(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        """Change the differing record on one of the sides."""
        side0 = relation is Relation.REPLACE_ONE and rng.random() < 0.5
        moved = self._moved(sketch.record0 if side0 else sketch.record1, rng)
        return replace(sketch, record0=moved) if side0 else replace(sketch, record1=moved)

    def _moved(self, value: Any, rng: np.random.Generator) -> Any:
        return self.of.near(value, rng) if rng.random() < 0.7 else self.of.draw(rng)

    def _change_one(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        at = int(rng.integers(len(sketch.common)))
        changed = (*sketch.common[:at], self._moved(sketch.common[at], rng), *sketch.common[at + 1 :])
        return replace(sketch, common=changed)

    def _change_all(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        value = pick((self.of.draw(rng), sketch.record1, pick(sketch.common, rng)), rng)
        return replace(sketch, common=(value,) * len(sketch.common))

    def _move_place(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        return replace(sketch, place=int(rng.integers(len(sketch.common), endpoint=True)))

    def _add(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        """Add one record, or as many as allowed."""
        n_free = self.largest - 1 - len(sketch.common)
        n, duplicate = (1 if rng.random() < 0.5 else n_free), rng.random() < 0.5
        added = (sketch.record1,) * n if duplicate else tuple(self.of.draw(rng) for _ in range(n))
        return replace(sketch, common=(*sketch.common, *added))

    def _remove(self, sketch: RecordPair, relation: Relation, rng: np.random.Generator) -> RecordPair:
        at = int(rng.integers(len(sketch.common)))
        common = (*sketch.common[:at], *sketch.common[at + 1 :])
        return replace(sketch, common=common, place=min(sketch.place, len(common)))


def _last(common: tuple[Any, ...], record0: Any, record1: Any) -> RecordPair:
    """Return the pair with the differing record after the others."""
    return RecordPair(common, record0, record1, len(common))


@dataclass(frozen=True)
class ValuePair:
    """Sketch of a pair of single values."""

    value0: Any
    value1: Any


@dataclass(frozen=True)
class OneValue(SearchDomain[ValuePair]):
    """Domain of datasets that are a single value, as for local mechanisms: any two are neighbours.

    Args:
        of: the possible values.

    Example:
        >>> from dpassay.audit.search import Integers
        >>> list(OneValue(Integers(0, 2)).patterns(Relation.REPLACE_ONE))[0]
        ValuePair(value0=2, value1=0)
    """

    of: Values

    records: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{self.of}; one value"

    def neighbours(self, sketch: ValuePair, relation: Relation) -> Neighbours:
        return Neighbours(self.of.single(sketch.value0), self.of.single(sketch.value1), relation)

    def patterns(self, relation: Relation) -> Iterator[ValuePair]:
        if relation is Relation.ZERO_OUT:
            yield from (ValuePair(self.of.blank, value) for value in self.of.telling if value != self.of.blank)
        else:
            yield from (ValuePair(*pair) for pair in combinations(self.of.telling, 2))

    def random(self, relation: Relation, rng: np.random.Generator) -> ValuePair:
        value0 = self.of.blank if relation is Relation.ZERO_OUT else self.of.draw(rng)
        return ValuePair(value0, self._another(value0, rng))

    def near(self, sketch: ValuePair, relation: Relation, rng: np.random.Generator) -> ValuePair:
        value0 = sketch.value0
        if relation is not Relation.ZERO_OUT and rng.random() < 0.5:
            value0 = self.of.near(value0, rng)
        value1 = self.of.near(sketch.value1, rng)
        return ValuePair(value0, value1 if identity(value1) != identity(value0) else self._another(value0, rng))

    def _another(self, value0: Any, rng: np.random.Generator) -> Any:
        """Draw a value that is not `value0`; raise `ParameterError` after 100 failed draws."""
        for _ in range(100):
            value = self.of.draw(rng)
            if identity(value) != identity(value0):
                return value
        raise ParameterError(f"the domain must contain more values than {value0!r}.", argument="domain")
