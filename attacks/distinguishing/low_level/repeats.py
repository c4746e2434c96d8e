"""Exact values that the pilot contains: a value that recurs on one side only reveals that side.

Continuous noise never repeats. Noise from few random bits does, and so does a hash with few salts or a raw value that
leaks now and then: of 65,536 values per side, 20,000 pilot runs show a quarter, none of them on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import NO_NAMES, Floats, Ints, OutputNames
from ....mechanisms.core.output_names import MAX_SHOWN_NUMBERS
from .rules import Levels, column_of

Keys = NDArray[np.uint64]

MIN_LEVEL_RUNS = 16
"""Smallest number of pilot runs of a value that is a separate level."""
MAX_LEVELS = 4_096
"""Largest number of values that are separate levels, the most frequent ones."""
FIRST_CLASS = 10_000
"""Levels from this number on are classes of rarer values."""
N_COUNT_CLASSES = 8
"""Number of classes of counts of one side: 0, 1, 2 to 3, 4 to 7, 8 to 15, ..."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """Rule that sorts outputs by how often the pilot contains exactly this value on each side.

    Args:
        coordinate: index of the coordinate; None for the whole output.
        keys: `(n_keys,)` digests of the values of the pilot, sorted.
        counts: `(2, n_keys)` counts on side 0 and on side 1.
        own: `(n_keys,)` level of a frequent value, -1 for others.
        values: each frequent value; of a whole output, its first numbers, one more than are shown.
    """

    coordinate: int | None
    keys: Keys
    counts: Ints
    own: Levels
    values: Floats

    @classmethod
    def learn(cls, rows: Floats, sides: Ints, coordinate: int | None) -> Repeats | None:
        """Learn from `(n, n_coordinates)` rows of the pilot and their `(n,)` sides; None if no value occurs twice."""
        keys, first, index = np.unique(_keys(rows, coordinate), return_index=True, return_inverse=True)
        if len(keys) == len(rows):
            return None
        counts = np.array([np.bincount(index[sides == side], minlength=len(keys)) for side in (0, 1)])
        total = counts.sum(axis=0)
        frequent = np.flatnonzero(total >= MIN_LEVEL_RUNS)
        frequent = np.sort(frequent[np.argsort(-total[frequent], kind="stable")[:MAX_LEVELS]])
        own = np.full(len(keys), -1, dtype=np.int64)
        own[frequent] = np.arange(len(frequent))
        at = first[frequent]
        values = rows[at, : MAX_SHOWN_NUMBERS + 1] if coordinate is None else rows[at, coordinate]
        return cls(coordinate, keys, counts, own, values)

    def levels(self, rows: Floats) -> Levels:
        """Return the level of the value, if frequent in the pilot, else the class of its counts."""
        return self.levels_left_out(rows, None)

    def levels_left_out(self, rows: Floats, sides: Ints | None) -> Levels:
        """Return the levels of pilot rows of these sides, each without that row: the level of a fresh row."""
        row_keys = _keys(rows, self.coordinate)
        index = np.searchsorted(self.keys, row_keys).clip(max=len(self.keys) - 1)
        counts = np.where(self.keys[index] == row_keys, self.counts[:, index], 0)
        own = np.where(counts.any(axis=0), self.own[index], -1)
        if sides is not None:
            counts[sides, np.arange(len(rows))] -= 1
        out, in_ = np.frexp(counts.astype(np.float64))[1].clip(max=N_COUNT_CLASSES - 1).astype(np.int64)
        classes = FIRST_CLASS + N_COUNT_CLASSES * out + in_
        return np.where(own >= 0, own, classes)

    def describe(self, level: int, names: OutputNames = NO_NAMES) -> str:
        subject = names.name(self.coordinate)
        if level < FIRST_CLASS:
            return f"{subject} is {self._shown(self.values[level], names)} exactly"
        times = [_times(count_class) for count_class in divmod(level - FIRST_CLASS, N_COUNT_CLASSES)]
        return f"{subject} occurred {times[0]} on side 0 of the pilot and {times[1]} on side 1"

    def _shown(self, value: Floats, names: OutputNames) -> str:
        if np.size(value) == 1:
            return names.value(self.coordinate, float(value.item()))
        if value.size <= MAX_SHOWN_NUMBERS:
            return names.row(value)
        return f"{NO_NAMES.row(value[:MAX_SHOWN_NUMBERS])[:-1]}, ...]"


def _times(count_class: int) -> str:
    if count_class < 2:
        return ("never", "once")[count_class]
    fewest = 2 ** (count_class - 1)
    return f"{fewest} times or more" if count_class == N_COUNT_CLASSES - 1 else f"{fewest} to {2 * fewest - 1} times"


def _keys(rows: Floats, coordinate: int | None) -> Keys:
    """Return a digest of each value: its bits, mixed over the coordinates."""
    if coordinate is not None or rows.shape[1] == 1:
        return np.ascontiguousarray(column_of(rows, coordinate)).view(np.uint64)
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        mixed ^= np.ascontiguousarray(column).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)  # an odd factor, so that the map modulo 2^64 is one-to-one
        mixed ^= mixed >> np.uint64(29)
    return mixed
