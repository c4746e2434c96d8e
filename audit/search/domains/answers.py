"""Vectors of answers, on which mechanisms without a query are audited: neighbours lie within the sensitivity.

The patterns are those of Bichsel, Steffen, Bogunovic and Vechev (2021), after Ding, Wang, Wang, Zhang and Kifer (2018).
With s the sensitivity and d the length,

    A, B   one answer moves, down or up              1 vs 0     1 vs 2
    C, D   one moves one way, all others the other   up against down, down against up
    E      the first half moves up, the second down
    F, G   all move up, all down
    H      one half equals s, the other 0, and the halves are swapped

from answers that are all s, and from answers that are all 0. A direction is divided by its norm, so that the distance
of every pair is exactly the sensitivity; where the answers are counts and a step is not an integer, the pattern is left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ....mechanisms.core import Neighbours, ParameterError, Positive, PositiveInt, Relation, check_fields, number
from .base import SearchDomain
from .values import in_range, plain

NORMS = (1.0, 2.0, math.inf)
MAX_SENSITIVITIES = 100.0
"""Unbounded answers are drawn within this many sensitivities around 0."""


@dataclass(frozen=True)
class AnswerPair:
    """A pair of vectors: the answers of side 0, and the direction of side 1 from them, -1, 0 or 1 per answer."""

    base: tuple[float, ...]
    direction: tuple[int, ...]


@dataclass(frozen=True)
class AnswersDomain(SearchDomain[AnswerPair]):
    """Domain of vectors of answers.

    Args:
        length: number of answers; None if the dataset is one number.
        sensitivity: distance of neighbours, > 0.
        norm: norm of the distance: 1, 2 or infinity.
        low, high: range of each answer.
        counts: whether answers are whole numbers.

    Example:
        >>> domain = AnswersDomain(3, norm=1)
        >>> pair = domain.neighbours(next(domain.patterns(Relation.ADD_REMOVE)), Relation.ADD_REMOVE)
        >>> pair.d0, pair.d1
        (array([1., 1., 1.]), array([0., 1., 1.]))
    """

    length: PositiveInt | None = None
    sensitivity: Positive = 1.0
    norm: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    counts: bool = False

    records: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.norm not in NORMS:
            raise ParameterError(f"norm must be 1, 2 or inf, but is {self.norm!r}.", argument="norm")
        if self.counts and not float(self.sensitivity).is_integer():
            raise ParameterError(
                f"sensitivity of counts must be a whole number, but is {self.sensitivity!r}.", argument="sensitivity"
            )
        if not self.low + self.sensitivity <= self.high:
            raise ParameterError(
                f"range must be as wide as the sensitivity, {self.sensitivity:g}, but goes from {self.low:g} to "
                f"{self.high:g}.",
                argument="range",
            )

    def __str__(self) -> str:
        kind = f"{'counts' if self.counts else 'answers'}{in_range(self.low, self.high)}"
        length = "" if self.length is None else f" x {self.length}"
        return f"{kind}{length}; sensitivity {plain(self.sensitivity)}; norm {number(self.norm)}"

    @property
    def size(self) -> int:
        """Number of answers."""
        return 1 if self.length is None else self.length

    def neighbours(self, sketch: AnswerPair, relation: Relation) -> Neighbours:
        d0, d1 = np.array(sketch.base), self._moved(sketch)
        if self.length is None:
            return Neighbours(float(d0[0]), float(d1[0]), relation)
        return Neighbours(d0, d1, relation)

    def patterns(self, relation: Relation) -> Iterator[AnswerPair]:
        d, s = self.size, self.sensitivity
        half = d // 2
        first_half = (1,) * half + (0,) * (d - half)
        for base in ((s,) * d, (0.0,) * d):
            yield from self._allowed(AnswerPair(base, direction) for direction in self._directions())
            if half and base[0]:
                halves = tuple(s * entry for entry in first_half)
                yield from self._allowed([AnswerPair(halves, (-1,) * half + (1,) * (d - half))])

    def random(self, relation: Relation, rng: np.random.Generator) -> AnswerPair:
        low, high = (
            max(self.low, -MAX_SENSITIVITIES * self.sensitivity),
            min(self.high, MAX_SENSITIVITIES * self.sensitivity),
        )
        scale = 10.0 ** -float(rng.uniform(0.0, 2.0))
        base = tuple(self._inside(scale * value) for value in rng.uniform(low, high, self.size))
        return self._fitted(AnswerPair(base, self._random_direction(rng)), rng)

    def near(self, sketch: AnswerPair, relation: Relation, rng: np.random.Generator) -> AnswerPair:
        move = int(rng.integers(4))
        if move == 0:
            return self._fitted(replace(sketch, direction=self._random_direction(rng)), rng)
        step = self.sensitivity * float(rng.normal()) * 10.0 ** float(rng.uniform(-1.0, 1.0))
        at = int(rng.integers(self.size))
        if move == 1 and self.size > 1:
            base = tuple(self._inside(value + step * (i == at)) for i, value in enumerate(sketch.base))
        elif move == 2 and self.size > 1 and self.norm != 1.0:
            flipped = tuple(-entry if i == at else entry for i, entry in enumerate(sketch.direction))
            return self._fitted(replace(sketch, direction=flipped), rng)
        else:
            base = tuple(self._inside(value + step) for value in sketch.base)
        return self._fitted(replace(sketch, base=base), rng)

    def _directions(self) -> Iterator[tuple[int, ...]]:
        """Yield the directions of the patterns A to G, without repetitions."""
        d = self.size
        half, rest = d // 2, d - 1
        yield from ((-1, *(0,) * rest), (1, *(0,) * rest))
        if d > 1:
            yield from ((1, *(-1,) * rest), (-1, *(1,) * rest))
            yield (1,) * half + (-1,) * (d - half)
            yield from ((1,) * d, (-1,) * d)

    def _random_direction(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return a random direction: one answer, all of them, or some; with random signs."""
        d = self.size
        moved = np.zeros(d, dtype=np.int64)
        n = int((1, d, rng.integers(1, d, endpoint=True))[int(rng.integers(3))])
        moved[rng.permutation(d)[:n]] = rng.choice((-1, 1), n) if rng.random() < 0.5 else rng.choice((-1, 1))
        return tuple(int(entry) for entry in moved)

    def _moved(self, sketch: AnswerPair) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the answers of side 1."""
        direction = np.array(sketch.direction, dtype=np.float64)
        moved = np.array(sketch.base) + self.sensitivity * direction / np.linalg.norm(direction, ord=self.norm)
        return np.asarray(moved, dtype=np.float64)

    def _is_allowed(self, sketch: AnswerPair) -> bool:
        both = np.concatenate([sketch.base, self._moved(sketch)])
        fits = bool((both >= self.low).all() and (both <= self.high).all())
        return fits and (not self.counts or bool((both == np.round(both)).all()))

    def _allowed(self, sketches: Iterator[AnswerPair] | list[AnswerPair]) -> Iterator[AnswerPair]:
        return (sketch for sketch in sketches if self._is_allowed(sketch))

    def _inside(self, value: float) -> float:
        inside = min(max(float(value), self.low), self.high)
        return float(round(inside)) if self.counts else inside

    def _fitted(self, sketch: AnswerPair, rng: np.random.Generator) -> AnswerPair:
        """Return the pair, or one inside the domain: in the opposite direction, or with one answer moved."""
        if self._is_allowed(sketch):
            return sketch
        reversed_ = replace(sketch, direction=tuple(-entry for entry in sketch.direction))
        if self._is_allowed(reversed_):
            return reversed_
        at = int(rng.integers(self.size))
        up, down = (sketch.base[at] + step for step in (self.sensitivity, -self.sensitivity))
        start = sketch.base[at] if up <= self.high or down >= self.low else self.low
        sign = -1 if start + self.sensitivity > self.high else 1
        base = tuple(start if i == at else value for i, value in enumerate(sketch.base))
        return AnswerPair(base, tuple(sign * (i == at) for i in range(self.size)))
