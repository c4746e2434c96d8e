"""Populations: the public frequency of a 1 in each column.

Constant   the same frequency in every column
Uniform    frequencies that are uniform between two numbers
Tardos     frequencies of fingerprinting codes: mostly near 0 or 1
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Floats
from ...core.constraints import NonNegativeInt, OpenUnit, Options, PositiveInt, UnitInterval, check_fields
from ...core.errors import ParameterError, plural
from ...core.registry import Catalogue


def check_frequencies(frequencies: ArrayLike, name: str = "frequencies") -> Floats:
    """Return `frequencies` as an array `(n_attributes,)`; raise `ParameterError` unless all lie in [0, 1]."""
    values = np.asarray(frequencies, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ParameterError(
            f"{name} must have one number per column, shape (n_attributes,), but have shape {values.shape}.",
            argument=name,
        )
    invalid = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
    if invalid.size:
        raise ParameterError(
            f"{name} must lie in [0, 1], but that of column {invalid[0]} is {values[invalid[0]]} ("
            f"{plural(invalid.size, 'column')} in total). Give the shares of people with a 1, not counts or "
            "percentages.",
            argument=name,
            value=float(values[invalid[0]]),
        )
    return values


class Population(Options):
    """Law of people whose columns are independent, each 1 with its public frequency; subclasses are dataclasses."""

    seed: int

    @abstractmethod
    def frequencies(self, n_attributes: int) -> Floats:
        """Return the frequencies of the first columns, shape `(n_attributes,)`; they depend on the options only."""

    def people(self, n_people: int, n_attributes: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw `n_people` independent people, shape `(n_people, n_attributes)`."""
        return draw_people(self.frequencies(n_attributes), n_people, rng)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 0])


def draw_people(frequencies: Floats, n_people: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw independent people with independent columns, shape `(n_people, n_attributes)`, in blocks of rows."""
    rows = np.empty((n_people, len(frequencies)), dtype=np.uint8)
    step = max(1, 4_000_000 // len(frequencies))
    for start in range(0, n_people, step):
        part = rows[start : start + step]
        np.less(rng.random(part.shape, dtype=np.float32), frequencies, out=part, casting="unsafe")
    return rows


@dataclass(frozen=True, kw_only=True)
class ConstantFrequencies(Population):
    """Population with the same frequency in every column.

    Args:
        value: frequency, strictly between 0 and 1.
        seed: seed of the target person.

    Example:
        >>> ConstantFrequencies(value=0.5).frequencies(3).tolist()
        [0.5, 0.5, 0.5]
    """

    value: OpenUnit = 0.5
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def frequencies(self, n_attributes: int) -> Floats:
        return np.full(n_attributes, self.value)


@dataclass(frozen=True, kw_only=True)
class Uniform(Population):
    """Population with frequencies uniform on [low, high], like common variants of a genome.

    Args:
        low, high: 0 <= low < high <= 1.
        seed: seed of the frequencies and of the target person.

    Example:
        >>> Uniform().frequencies(3).round(3).tolist() == Uniform().frequencies(9)[:3].round(3).tolist()
        True
    """

    low: UnitInterval = 0.05
    high: UnitInterval = 0.95
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise ParameterError(f"low must be below high, but they are {self.low} and {self.high}.", argument="low")

    def frequencies(self, n_attributes: int) -> Floats:
        return self._rng().uniform(self.low, self.high, n_attributes)


@dataclass(frozen=True, kw_only=True)
class Tardos(Population):
    """Population with the frequencies of Tardos' fingerprinting code: p = sin^2 r, r uniform, t <= p <= 1 - t.

    The density is proportional to 1 / sqrt(p (1 - p)). With weights 1 / sqrt(p (1 - p)) every strategy of a coalition
    whose word keeps the bits that all its members share reveals a member (Tardos 2003): accurate means of such data
    cannot be published with privacy.

    Args:
        coalition: c, largest number of members, >= 1: t = 1 / (300 c).
        seed: seed of the frequencies and of the target person.

    References:
        Tardos (2003), "Optimal probabilistic fingerprint codes", section 2 (the cutoff 1 / (300 c)).

    Example:
        >>> p = Tardos(coalition=10).frequencies(10_000)
        >>> bool(p.min() >= 1 / 3000), round(float((p < 0.1).mean()), 1)  # (2 / pi) arcsin(sqrt(0.1)) = 0.205
        (True, 0.2)
    """

    coalition: PositiveInt = 10
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def frequencies(self, n_attributes: int) -> Floats:
        margin = math.asin(math.sqrt(1.0 / (300.0 * self.coalition)))
        return np.asarray(np.sin(self._rng().uniform(margin, math.pi / 2.0 - margin, n_attributes)) ** 2)


populations = Catalogue(
    "population",
    {
        "constant": "dpassay.mechanisms.noise.studies.populations:ConstantFrequencies",
        "uniform": "dpassay.mechanisms.noise.studies.populations:Uniform",
        "tardos": "dpassay.mechanisms.noise.studies.populations:Tardos",
    },
)
