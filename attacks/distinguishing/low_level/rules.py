"""Rules that sort outputs into levels by their representation, not by their size.

A privacy leak may be where no smooth function of an output detects it: in the finest bit of a float (Mironov, 2012;
Haney et al., 2022), in the number of decimals, in the last decimal, in an order or an equality of coordinates. A rule
gives each output a level, a whole number; `describe` returns the meaning of a level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ....mechanisms.core import NO_NAMES, Floats, Ints, OutputNames, number

Levels = Ints

NO_LEVEL = 10_000
"""Level of outputs to which a rule does not apply."""
COARSEST, FINEST = -6, 12
"""Powers of ten of the last decimal that are distinguished: from millions to 10^-12."""
MAX_VISIBLE_DECIMAL = 2.0**40
"""Whole numbers below this limit have a visible last decimal; above, the rounding of floats hides it."""
DECIMAL_TOLERANCE = 2.0**-50
"""Relative distance within which a number equals a decimal, after one or two additions."""
N_BINS = 32
MAX_ORDERED_COORDINATES = 5
"""Number of coordinates whose order is a level: 120 orders."""


class LevelRule(Protocol):
    """Interface of a rule, which sorts outputs into levels."""

    def levels(self, rows: Floats) -> Levels:
        """Return the level of each of `(size, n_coordinates)` rows."""
        ...

    def describe(self, level: int, names: OutputNames = NO_NAMES) -> str:
        """Describe an output of this level."""
        ...


@dataclass(frozen=True)
class Granularity:
    """Rule on the largest power of two that divides a coordinate: 2^e for an odd multiple of 2^e.

    Args:
        coordinate: index of the coordinate; None if there is only one.
        by_size: whether numbers of different sizes, 2^k <= |x| < 2^(k+1), have different levels.
    """

    coordinate: int | None
    by_size: bool = False

    def levels(self, rows: Floats) -> Levels:
        """Return e, or 4,000 k + e by size; see `describe`."""
        column = column_of(rows, self.coordinate)
        size, granularity = _parts(column)
        level = granularity if not self.by_size else 4_000 * size + granularity
        return np.where(column == 0.0, 4_000 * NO_LEVEL, level)

    def describe(self, level: int, names: OutputNames = NO_NAMES) -> str:
        if level == 4_000 * NO_LEVEL:
            return f"{names.name(self.coordinate)} is 0"
        if not self.by_size:
            return f"{names.name(self.coordinate)} is an odd multiple of 2^{level}"
        size = (level + 2_000) // 4_000
        odd = f"is an odd multiple of 2^{level - 4_000 * size}"
        return f"{names.name(self.coordinate)} {odd} and its size is from 2^{size} to 2^{size + 1}"


def _parts(column: Floats) -> tuple[Levels, Levels]:
    """Return k with 2^k <= |x| < 2^(k+1), and e with x an odd multiple of 2^e; undefined for zeros."""
    mantissa, exponent = np.frexp(np.abs(column))
    mantissa_bits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((mantissa_bits & -mantissa_bits).astype(np.float64))[1].astype(np.int64) - 1
    size = exponent.astype(np.int64) - 1
    return size, size - 52 + lowest


@dataclass(frozen=True)
class Decimals:
    """Rule on the number of decimals of a coordinate, and the last decimal."""

    coordinate: int | None

    def levels(self, rows: Floats) -> Levels:
        """Return 10 k + digit for a last decimal of 10^-k; `NO_LEVEL` if there are too many decimals to tell."""
        column = np.abs(column_of(rows, self.coordinate))
        levels = np.full(len(column), NO_LEVEL, dtype=np.int64)
        undecided = np.arange(len(column))
        for places in range(COARSEST, FINEST + 1):
            shifted = column[undecided] * 10.0**places if places >= 0 else column[undecided] / 10.0**-places
            rounded = np.rint(shifted)
            short = (shifted < MAX_VISIBLE_DECIMAL) & (np.abs(shifted - rounded) <= DECIMAL_TOLERANCE * shifted)
            levels[undecided[short]] = 10 * places + rounded[short].astype(np.int64) % 10
            undecided = undecided[~short & (shifted < MAX_VISIBLE_DECIMAL)]
        return levels

    def describe(self, level: int, names: OutputNames = NO_NAMES) -> str:
        if level == NO_LEVEL:
            return f"{names.name(self.coordinate)} has more decimals than {FINEST}"
        places, digit = divmod(level, 10)
        if places < 0:
            return f"{names.name(self.coordinate)} is a multiple of 10^{-places}"
        if places == 0:
            return f"the last digit of {names.name(self.coordinate)}, a whole number, is {digit}"
        return f"{names.name(self.coordinate)} has {places} decimal{'s' * (places > 1)}, and the last is {digit}"


@dataclass(frozen=True, eq=False)
class RowStatistic:
    """Rule on a number computed from all coordinates, cut at quantiles of the pilot if it has many values.

    Args:
        name: key in `ROW_STATISTICS`.
        edges: increasing; the level is the number of edges at or below the statistic.
    """

    name: str
    edges: Floats

    @classmethod
    def learn(cls, name: str, rows: Floats) -> RowStatistic:
        """Learn the edges: the values, if they are few, else quantiles."""
        values = ROW_STATISTICS[name][0](rows)
        edges = np.unique(values)
        if len(edges) > 4 * N_BINS:
            edges = np.unique(np.quantile(values, np.arange(1, N_BINS) / N_BINS, method="inverted_cdf"))
        return cls(name, edges)

    def levels(self, rows: Floats) -> Levels:
        return np.searchsorted(self.edges, ROW_STATISTICS[self.name][0](rows), side="right").astype(np.int64)

    def describe(self, level: int, names: OutputNames = NO_NAMES) -> str:
        low = f"{number(self.edges[level - 1])} <= " if level else ""
        high = f" < {number(self.edges[level])}" if level < len(self.edges) else ""
        return f"{low}{ROW_STATISTICS[self.name][1]}{high}"


def _order(rows: Floats) -> Floats:
    """Return a code of the order of the first few coordinates."""
    ranks = np.argsort(rows[:, :MAX_ORDERED_COORDINATES], axis=1, kind="stable")
    return np.asarray(ranks @ float(MAX_ORDERED_COORDINATES) ** np.arange(ranks.shape[1]))


def _gaps(rows: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.diff(np.sort(rows, axis=1), axis=1)


def _autocorrelation(rows: Floats) -> Floats:
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    spread = np.maximum((centred**2).sum(axis=1), 1e-12)
    return np.asarray((centred[:, 1:] * centred[:, :-1]).sum(axis=1) / spread)


ROW_STATISTICS: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "largest": (lambda rows: rows.argmax(axis=1).astype(np.float64), "the index of the largest coordinate"),
    "smallest": (lambda rows: rows.argmin(axis=1).astype(np.float64), "the index of the smallest coordinate"),
    "order": (_order, "the code of the order of the coordinates"),
    "distinct": (
        lambda rows: 1.0 + (_gaps(rows) > 0.0).sum(axis=1, dtype=np.float64),
        "the number of distinct coordinates",
    ),
    "ties": (
        lambda rows: (rows[:, 1:] == rows[:, :-1]).sum(axis=1, dtype=np.float64),
        "the number of coordinates that equal the one before",
    ),
    "ascents": (
        lambda rows: (rows[:, 1:] > rows[:, :-1]).sum(axis=1, dtype=np.float64),
        "the number of coordinates above the one before",
    ),
    "zeros": (lambda rows: (rows == 0.0).sum(axis=1, dtype=np.float64), "the number of zeros"),
    "negatives": (lambda rows: (rows < 0.0).sum(axis=1, dtype=np.float64), "the number of negative coordinates"),
    "gap": (lambda rows: _gaps(rows).min(axis=1), "the smallest gap between two coordinates"),
    "autocorrelation": (_autocorrelation, "the correlation of each coordinate with the one before"),
}
"""Name -> statistic of `(size, n_coordinates)` rows of two coordinates or more, and its description."""


def rules_for(rows: Floats, *, most_coordinates: int, bits: bool) -> list[LevelRule]:
    """Return the rules to try on outputs like `rows`, `(n, n_coordinates)` pilot outputs of both sides.

    Args:
        most_coordinates: largest number of coordinates with separate rules, the first ones.
        bits: whether rules on the low bits of floats are included.
    """
    rules: list[LevelRule] = []
    for coordinate in coordinates_of(rows, most_coordinates):
        rules.append(Decimals(coordinate))
        if bits:
            rules += [Granularity(coordinate), Granularity(coordinate, by_size=True)]
    if rows.shape[1] > 1:
        rules += [RowStatistic.learn(name, rows) for name in ROW_STATISTICS]
    return rules


def coordinates_of(rows: Floats, limit: int) -> list[int | None]:
    """Return the first coordinates, at most `limit`; None if there is only one."""
    return [None] if rows.shape[1] == 1 else list(range(min(rows.shape[1], limit)))


def column_of(rows: Floats, coordinate: int | None) -> Floats:
    """Return the given coordinate, or the only one."""
    return rows[:, coordinate or 0]
