"""Populations, with the public frequency of a 1 in each column, and studies of people drawn from them.

ConstantFrequencies   the same frequency in every column
Uniform               frequencies that are uniform between two numbers
Tardos                frequencies of fingerprinting codes: mostly near 0 or 1
Genomes               columns that are correlated, in blocks
Study                 people of a population who are drawn again in every run, with or without one target person
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Floats, Ints
from ...core.constraints import NonNegativeInt, OpenUnit, Options, PositiveInt, UnitInterval
from ...core.errors import ParameterError, plural
from ...core.registry import Catalogue, named_in


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


@named_in("dpassay.mechanisms.literature.studies.populations:populations")
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
        super().__post_init__()
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

    def frequencies(self, n_attributes: int) -> Floats:
        margin = math.asin(math.sqrt(1.0 / (300.0 * self.coalition)))
        return np.asarray(np.sin(self._rng().uniform(margin, math.pi / 2.0 - margin, n_attributes)) ** 2)


@dataclass(frozen=True, kw_only=True)
class Genomes(Options):
    """Synthetic genomes: blocks of columns, in which nearby columns are in linkage disequilibrium.

    Every column has its frequency in `population`; inside a block a person's column j follows one uniform number U_j:
    the column is 1 where U_j is below its frequency. U_j equals U_(j-1) with probability `linkage`, and is drawn
    independently otherwise. Blocks are independent. Each column has the marginal law of a population without linkage,
    and columns of a block are positively correlated, the more so the closer they are.

    Args:
        block: number of columns of a block, >= 1.
        linkage: probability that a column is inherited with the previous one, in [0, 1]; 0: all are independent.
        population: population that gives the frequencies.

    Example:
        >>> people = Genomes(block=10, linkage=0.9, population=Uniform(low=0.4, high=0.6)).people(
        ...     2_000, 20, np.random.default_rng(0))
        >>> near, far = (float(np.corrcoef(people[:, 4], people[:, j])[0, 1]) for j in (5, 15))
        >>> near > 0.5, abs(far) < 0.15
        (True, True)
    """

    block: PositiveInt = 20
    linkage: UnitInterval = 0.9
    population: Population = field(default_factory=Uniform)

    def frequencies(self, n_attributes: int) -> Floats:
        """Return the frequency of each column, shape `(n_attributes,)`."""
        return self.population.frequencies(n_attributes)

    def people(self, n_people: int, n_attributes: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw `n_people` independent people, shape `(n_people, n_attributes)`."""
        frequencies = self.frequencies(n_attributes)
        rows = np.empty((n_people, n_attributes), dtype=np.uint8)
        current = np.empty(n_people)
        for j in range(n_attributes):
            fresh = rng.random(n_people)
            linked = (rng.random(n_people) < self.linkage) & bool(j % self.block)
            current = np.where(linked, current, fresh)
            rows[:, j] = current < frequencies[j]
        return rows


def check_people(people: ArrayLike, n_attributes: int, name: str = "people") -> NDArray[Any]:
    """Return `people` as an array `(n_people, n_attributes)` of zeros and ones; else raise `ParameterError`."""
    rows = np.asarray(people)
    if rows.ndim != 2 or rows.shape[1] != n_attributes:
        raise ParameterError(
            f"{name} must have one row per person and {plural(n_attributes, 'column')}, but have shape {rows.shape}.",
            argument=name,
        )
    if rows.size and (rows.dtype.kind not in "biuf" or not _binary(rows)):
        raise ParameterError(
            f"{name} must hold zeros and ones only. Make two columns of an attribute with three values.", argument=name
        )
    return rows


def _binary(rows: NDArray[Any]) -> bool:
    if rows.dtype.kind == "b":
        return True
    if rows.dtype.kind == "u":
        return bool(rows.max() <= 1)
    step = max(1, 4_000_000 // max(1, rows.shape[1]))
    return all(np.isin(rows[start : start + step], (0, 1)).all() for start in range(0, len(rows), step))


@dataclass(frozen=True, eq=False)
class Study:
    """Dataset that is drawn again in every run: people of a population and, optionally, one target person.

    In a dataset of `ColumnMeans`, `person` is one of its n records and the n - 1 others are fresh non-members; without
    a person all n are. A pair with and without the person differs in one record, which is replaced by that of a random
    non-member: any trade-off curve that holds for each fixed pair of neighbours holds for the average over
    non-members, as it is convex.

    Args:
        frequencies: frequency of a 1 in each column among non-members, shape `(n_attributes,)`, in [0, 1]; columns are
            independent.
        person: a row of zeros and ones, shape `(n_attributes,)`; None: all are non-members.

    Example:
        >>> Study([0.5, 0.2], person=[1, 0])
        Study(2 attributes, with the person)
    """

    frequencies: Floats
    person: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", check_frequencies(self.frequencies))
        if self.person is not None:
            row = np.asarray(self.person)
            if row.shape != self.frequencies.shape:
                raise ParameterError(
                    f"person must have one entry per column, shape {self.frequencies.shape}, but has {row.shape}.",
                    argument="person",
                )
            object.__setattr__(
                self, "person", check_people(row[None], len(self.frequencies), "person")[0].astype(np.uint8)
            )

    def __repr__(self) -> str:
        members = "non-members only" if self.person is None else "with the person"
        return f"Study({len(self.frequencies)} attributes, {members})"

    def n_non_members(self, n_records: int) -> int:
        """Return the number of non-members among `n_records`."""
        return n_records - (self.person is not None)

    def counts(self, n_records: int, size: int, rng: np.random.Generator) -> Ints:
        """Draw the ones in each column of `size` studies of `n_records` people, shape `(size, n_attributes)`."""
        ones = rng.binomial(self.n_non_members(n_records), self.frequencies, size=(size, len(self.frequencies)))
        if self.person is not None:
            ones += self.person
        return ones


populations = Catalogue(
    "population",
    "dpassay.mechanisms.literature.studies",
    {
        "constant": "populations:ConstantFrequencies",
        "uniform": "populations:Uniform",
        "tardos": "populations:Tardos",
    },
)
