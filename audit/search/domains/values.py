"""Sets of possible records, or of single values.

telling   values to try first, the most revealing: extremes, zero, the middle; NaN, infinities and huge numbers where
          they belong to the domain
draw      a random value
near      a value close to another one
dataset   records as the dataset that a mechanism receives: an array of numbers, or a list
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core import Dataset, ParameterError, PositiveInt, check_fields, identity, whole
from .base import pick

OVERFLOWING = 1e300
"""Number that overflows when it is squared or added often."""
EXCEPTIONAL_NUMBERS = (math.nan, math.inf, -math.inf)
MAX_LOG10_DRAWN = 6.0
"""Unbounded numbers are drawn between 10^-3 and 10^6, with either sign."""
REPEAT_PROBABILITY = 0.25
"""Probability that a draw is one of the revealing values."""


class Values(ABC):
    """A set of values. Subclasses are frozen dataclasses."""

    @property
    @abstractmethod
    def telling(self) -> tuple[Any, ...]:
        """Values to try first, at least one, the most revealing first; extremes precede values between them."""

    @property
    @abstractmethod
    def blank(self) -> Any:
        """Blank record of side 0 under `zero_out`."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Any:
        """Draw a random value."""

    @abstractmethod
    def near(self, value: Any, rng: np.random.Generator) -> Any:
        """Draw a value close to `value`."""

    @abstractmethod
    def dataset(self, records: Sequence[Any]) -> Dataset:
        """Return these records as a dataset."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the text that `domain_from` parses."""

    def single(self, value: Any) -> Dataset:
        """Return one value as a dataset."""
        return value


def plain(number: float) -> str:
    """Return the shortest text of this number."""
    return repr(number).removesuffix(".0")


def in_range(low: float, high: float) -> str:
    """Return the text of a range, such as " 0..1"; empty without limits."""
    ends = ["" if math.isinf(end) else plain(end) for end in (low, high)]
    return f" {ends[0]}..{ends[1]}" if any(ends) else ""


def _check_range(low: float, high: float) -> None:
    if not low < high:  # also refuses NaN
        raise ParameterError(
            f"range must go from a smaller to a larger number, but goes from {low} to {high}. Write numbers 0..1.",
            argument="range",
        )


@dataclass(frozen=True)
class Numbers(Values):
    """Real numbers in [low, high].

    Args:
        low, high: the range; infinite where there is no limit.
        special: whether NaN and the infinities are included; None: only if there is no limit on either side.

    Example:
        >>> Numbers(0.0, 1.0).telling, Numbers(-1.0, 1.0, special=True).telling[:4]
        ((1.0, 0.0, 0.5), (1.0, -1.0, 0.0, nan))
    """

    low: float = -math.inf
    high: float = math.inf
    special: bool | None = None

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)

    def __str__(self) -> str:
        return f"numbers{in_range(self.low, self.high)}{'; nan' if self.special else ''}"

    @property
    def telling(self) -> tuple[float, ...]:
        low, high = self.low, self.high
        if math.isfinite(low) and math.isfinite(high):
            values = [high, low, 0.0, (low + high) / 2]
        else:
            values = [
                OVERFLOWING if math.isinf(high) else high,
                -OVERFLOWING if math.isinf(low) else low,
                1.0,
                0.0,
                -1.0,
            ]
        unique = list(dict.fromkeys(float(value) for value in values if low <= value <= high))
        open_ended = math.isinf(low) and math.isinf(high)
        return (*unique, *(EXCEPTIONAL_NUMBERS if (open_ended if self.special is None else self.special) else ()))

    @property
    def blank(self) -> float:
        return 0.0

    def draw(self, rng: np.random.Generator) -> float:
        if rng.random() < REPEAT_PROBABILITY:
            return float(pick(self.telling, rng))
        if math.isfinite(self.low) and math.isfinite(self.high):
            return float(rng.uniform(self.low, self.high))
        size = float(10.0 ** rng.uniform(-3.0, MAX_LOG10_DRAWN))
        if math.isfinite(self.low) or math.isfinite(self.high):
            return self.low + size if math.isfinite(self.low) else self.high - size
        return size if rng.random() < 0.5 else -size

    def near(self, value: float, rng: np.random.Generator) -> float:
        bounded = math.isfinite(self.low) and math.isfinite(self.high)
        if not math.isfinite(value) or abs(value) >= OVERFLOWING:
            return self.draw(rng)
        width = self.high - self.low if bounded else 1.0 + abs(value)
        moved = value + width * float(rng.normal()) * 10.0 ** -float(rng.uniform(0.0, 3.0))
        return float(min(max(moved, self.low), self.high))

    def dataset(self, records: Sequence[float]) -> Dataset:
        return np.array(records, dtype=np.float64)


@dataclass(frozen=True)
class Integers(Values):
    """Integers from low to high.

    Example:
        >>> Integers(0, 10).telling
        (10, 0, 1, 5)
    """

    low: int = -(2**31)
    high: int = 2**31

    def __post_init__(self) -> None:
        whole(-(2**63), low=self.low, high=self.high)
        _check_range(self.low, self.high)

    def __str__(self) -> str:
        return f"integers{in_range(self.low, self.high)}"

    @property
    def telling(self) -> tuple[int, ...]:
        values = (self.high, self.low, 0, 1, (self.low + self.high) // 2)
        return tuple(dict.fromkeys(value for value in values if self.low <= value <= self.high))

    @property
    def blank(self) -> int:
        return 0

    def draw(self, rng: np.random.Generator) -> int:
        if rng.random() < REPEAT_PROBABILITY:
            return int(pick(self.telling, rng))
        return int(rng.integers(self.low, self.high, endpoint=True))

    def near(self, value: int, rng: np.random.Generator) -> int:
        width = max((self.high - self.low) * 10.0 ** -float(rng.uniform(0.0, 3.0)), 1.0)
        moved = value + round(width * float(rng.normal()))
        return int(min(max(moved, self.low), self.high))

    def dataset(self, records: Sequence[int]) -> Dataset:
        return np.array(records, dtype=np.int64)


@dataclass(frozen=True)
class Categories(Values):
    """Finite list of values, texts or others.

    Example:
        >>> Categories(("a", "b", "c")).telling
        ('a', 'b', 'c')
    """

    names: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if len(set(map(repr, self.names))) < max(2, len(self.names)):
            raise ParameterError(
                f"categories must be two or more different values, but are {list(self.names)!r}. Write categories a,b.",
                argument="names",
            )

    def __str__(self) -> str:
        return f"categories {','.join(map(str, self.names))}"

    @property
    def telling(self) -> tuple[Any, ...]:
        return self.names

    @property
    def blank(self) -> Any:
        raise ParameterError(
            "categories have no zero, which replaces a record under 'zero_out'. Search under 'replace_one'.",
            argument="relation",
        )

    def draw(self, rng: np.random.Generator) -> Any:
        return pick(self.names, rng)

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        return pick([name for name in self.names if name != value], rng)

    def dataset(self, records: Sequence[Any]) -> Dataset:
        return list(records)


@dataclass(frozen=True)
class Vectors(Values):
    """Vectors of `length` entries, each from `of`; a tuple as a value, a row of an array in a dataset.

    Example:
        >>> Vectors(Integers(0, 1), 3).telling
        ((1, 1, 1), (0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1))
    """

    of: Numbers | Integers
    length: PositiveInt

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.of, Numbers | Integers):
            raise ParameterError(
                f"vectors contain numbers or integers, but of is {type(self.of).__name__}. Write numbers 0..1 x 5.",
                argument="of",
            )

    def __str__(self) -> str:
        kind, _, options = str(self.of).partition(";")
        return f"{kind} x {self.length}{';' if options else ''}{options}"

    @property
    def telling(self) -> tuple[tuple[Any, ...], ...]:
        values, n = self.of.telling, self.length
        a, b = values[0], values[1]
        alternating = tuple((a, b)[i % 2] for i in range(n))
        vectors = [(a,) * n, (b,) * n, (a, *(b,) * (n - 1)), (b, *(a,) * (n - 1)), alternating]
        vectors += [(value, *(b,) * (n - 1)) for value in values[2:]]
        return tuple({identity(vector): vector for vector in vectors}.values())

    @property
    def blank(self) -> tuple[Any, ...]:
        return (self.of.blank,) * self.length

    def draw(self, rng: np.random.Generator) -> tuple[Any, ...]:
        if rng.random() < REPEAT_PROBABILITY:
            return tuple(pick(self.telling, rng))
        return tuple(self.of.draw(rng) for _ in range(self.length))

    def near(self, value: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
        if rng.random() < 0.5:
            return tuple(self.of.near(entry, rng) for entry in value)
        at = int(rng.integers(self.length))
        return (*value[:at], self.of.near(value[at], rng), *value[at + 1 :])

    def dataset(self, records: Sequence[tuple[Any, ...]]) -> Dataset:
        flat = [entry for record in records for entry in record]
        return self.of.dataset(flat).reshape(len(records), self.length)

    def single(self, value: tuple[Any, ...]) -> Dataset:
        return self.of.dataset(value)
