"""Generators that make a synthetic record of a seed record, with the probability of each.

    SeedGenerator         what a privacy test needs of one
    SeedBasedSynthesis    a Bayesian network that keeps some attributes of the seed and draws the others
    TableGenerator        any generator of few records, as a table of probabilities

Records are numbers of cells. Of an output, every generator here knows a few levels: at each of them Pr[output | seed]
is one number, and the records of a dataset are counted. So a test of thousands of outputs on a large dataset takes no
table of outputs by records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import Dataset
from ..errors import ParameterError
from ..queries.base import Floats
from ..queries.domain import Domain
from ..validation import whole
from .network import BayesianNetwork, Ints, chain


class SeedGenerator(ABC):
    """Draws a synthetic record y given a seed record d, and knows Pr[y | d]."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many different outputs there may be."""

    @abstractmethod
    def cells(self, dataset: Dataset) -> Ints:
        """The records of a dataset as cell numbers, shape `(n_records,)`; raises `ParameterError` for others."""

    @abstractmethod
    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        """One output for each of the seeds `(size,)`, shape `(size,)`."""

    @abstractmethod
    def log_levels(self, outputs: Ints) -> Floats:
        """log Pr[output | seed] at each of its levels, -inf where impossible: shape `(size, n_levels)`."""

    @abstractmethod
    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        """The level of each output from each seed, pair by pair, shape `(size,)`; -1 where it is impossible."""

    @abstractmethod
    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        """How many of the records `cells` `(n,)` stand at each level of each output, shape `(size, n_levels)`."""

    @abstractmethod
    def two_records(self) -> tuple[Dataset, Dataset]:
        """Datasets of one record each, whose outputs are as different as this generator makes them."""

    def log_probabilities(self, outputs: Ints, seeds: Ints) -> Floats:
        """log Pr[output | seed], pair by pair, shape `(size,)`."""
        level = self.levels(outputs, seeds)
        found = np.take_along_axis(self.log_levels(outputs), np.maximum(level, 0)[:, np.newaxis], axis=1)[:, 0]
        return np.where(level < 0, -np.inf, found)


@dataclass(frozen=True)
class SeedBasedSynthesis(SeedGenerator):
    """Keeps the first m - omega attributes of the seed, in the order of a network, and draws the others from it.

    Each drawn attribute follows its table given its parents, as kept or as drawn before. omega is uniform on
    `resampled`, for each output anew. (Bindschaedler, Shokri and Gunter 2017, section 3.)

    All records that agree with the output y on what was kept make it with the same probability, whatever else they
    are. With several omega, the probability depends on the number of first attributes on which a record agrees:

        Pr[y | d] = mean over omega of [d agrees with y on the first m - omega] product of Pr[y_i | parents in y]

    Args:
        network: the distribution, public or privately learned.
        resampled: the values of omega, distinct whole numbers from 0 to m.

    Example:
        >>> generator = SeedBasedSynthesis(chain(3), resampled=(1,))
        >>> y = generator.network.domain.cells(np.array([[0, 1, 1], [0, 1, 1]]))
        >>> seeds = generator.network.domain.cells(np.array([[0, 1, 0], [0, 0, 1]]))
        >>> np.exp(generator.log_probabilities(y, seeds)).round(6)
        array([0.7, 0. ])
    """

    network: BayesianNetwork = field(default_factory=chain)
    resampled: tuple[int, ...] = (2, 3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resampled", tuple(sorted(self.resampled)))
        whole(0, **{f"resampled[{i}]": omega for i, omega in enumerate(self.resampled)})
        m = len(self.network.order)
        if not self.resampled or len(set(self.resampled)) < len(self.resampled) or self.resampled[-1] > m:
            raise ParameterError(
                argument="resampled", value=self.resampled, allowed=f"hold distinct whole numbers from 0 to {m}"
            )
        self.network.domain.cells(np.zeros((0, m), dtype=np.int64))  # refuses cells too many to be numbered

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.network.domain

    @property
    def n_outputs(self) -> int:
        """The cells of the domain."""
        return self.domain.n_cells

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """How many attributes are kept, one number a level, increasing."""
        return tuple(len(self.network.order) - omega for omega in reversed(self.resampled))

    @cached_property
    def _rest(self) -> Ints:
        """Cells of the attributes that are not kept, at each level."""
        shape = [self.domain.shape[place] for place in self.network.places]
        return np.array([np.prod(shape[kept:], dtype=np.int64) for kept in self.kept])

    def cells(self, dataset: Dataset) -> Ints:
        return self.domain.cells(self.domain.records(dataset))

    def _prefixes(self, cells: Ints) -> Ints:
        """What is kept of each record at each level, as one number, shape `(n, n_levels)`."""
        keys = self.domain.cells(self.domain.records_in(cells), self.network.order)
        return np.asarray(keys[:, np.newaxis] // self._rest)

    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        kept = np.array(self.kept)[rng.integers(len(self.kept), size=len(seeds))]
        return self.domain.cells(self.network.resample(self.domain.records_in(seeds), kept, rng))

    def log_levels(self, outputs: Ints) -> Floats:
        each = self.network.log_conditionals(self.domain.records_in(outputs))
        drawn = np.cumsum(np.column_stack([each, np.zeros(len(each))])[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.logaddexp.accumulate(drawn[:, self.kept], axis=1) - np.log(len(self.kept)))

    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        return np.asarray((self._prefixes(outputs) == self._prefixes(seeds)).sum(axis=1) - 1)

    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        known = np.sort(self.domain.cells(self.domain.records_in(cells), self.network.order))
        wanted = self._prefixes(outputs)
        found = np.zeros((len(outputs), len(self.kept) + 1))
        for level, rest in enumerate(self._rest):
            prefixes = known // rest
            found[:, level] = np.searchsorted(prefixes, wanted[:, level], side="right")
            found[:, level] -= np.searchsorted(prefixes, wanted[:, level], side="left")
        return found[:, :-1] - found[:, 1:]

    def two_records(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All first values; and the last value of the first attribute of the order that has two."""
        first = np.zeros((1, len(self.network.order)), dtype=np.int64)
        other = first.copy()
        place = next((place for place in self.network.places if self.domain.shape[place] > 1), 0)
        other[0, place] = self.domain.shape[place] - 1
        return first, other


@dataclass(frozen=True, eq=False)
class TableGenerator(SeedGenerator):
    """Any generator of few records: row d holds Pr[y | d] of all outputs y.

    Args:
        probabilities: `(n_seeds, n_outputs)`; each row sums to 1 within 1e-9.

    A dataset is an array `(n_records,)` of whole numbers below n_seeds.

    Example:
        >>> TableGenerator([[0.5, 0.5], [0.0, 1.0]]).counts(np.array([1]), np.array([0, 0, 1]))
        array([[2., 1.]])
    """

    probabilities: NDArray[np.float64] | Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        table: ArrayLike = np.array(self.probabilities, dtype=np.float64)
        given = np.asarray(table)
        if given.ndim != 2 or not (np.all(given >= 0.0) and np.all(np.abs(given.sum(axis=1) - 1.0) <= 1e-9)):
            raise ParameterError("probabilities must be a table whose rows sum to 1.", argument="probabilities")
        object.__setattr__(self, "probabilities", given)

    @property
    def table(self) -> Floats:
        """The probabilities."""
        return np.asarray(self.probabilities)

    @property
    def n_outputs(self) -> int:
        return int(self.table.shape[1])

    def cells(self, dataset: Dataset) -> Ints:
        return Domain((("record", len(self.table)),)).records(np.asarray(dataset).reshape(-1, 1))[:, 0]

    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        steps = np.cumsum(self.table, axis=1)[:, :-1]
        return np.asarray((steps[seeds] <= rng.random(len(seeds))[:, np.newaxis]).sum(axis=1))

    def log_levels(self, outputs: Ints) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.table.T[outputs]))

    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        return np.where(self.table[seeds, outputs] > 0.0, seeds, -1)

    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        histogram = np.bincount(cells, minlength=len(self.table)).astype(np.float64)
        return np.where(self.table.T[outputs] > 0.0, histogram, 0.0)

    def two_records(self) -> tuple[Ints, Ints]:
        """The first record and the last."""
        return np.array([0]), np.array([len(self.table) - 1])
