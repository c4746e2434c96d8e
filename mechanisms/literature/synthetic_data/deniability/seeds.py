"""Generators that draw a synthetic record from a seed record, with the probability of each output.

    SeedGenerator         the interface that a privacy test needs
    SeedBasedSynthesis    a Bayesian network that keeps some attributes of the seed and draws the others

Records are cell numbers. For each output, every generator in this module has a few levels: at each level Pr[output |
seed] is one number, and the records of a dataset at this level are counted. So a test of thousands of outputs on a
large dataset needs no table of outputs by records.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....core import Dataset, Floats, Ints, Options, ParameterError, named_in, whole
from ....noise.queries.domain import Domain
from .network import BayesianNetwork, markov_chain


@named_in("dpassay.mechanisms.literature.synthetic_data.catalogue:generators")
class SeedGenerator(Options):
    """Generator of a synthetic record y given a seed record d, with known Pr[y | d]."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of possible outputs."""

    @abstractmethod
    def cells(self, dataset: Dataset) -> Ints:
        """Return the records of a dataset as cell numbers, shape `(n_records,)`; raise `ParameterError` for others."""

    @abstractmethod
    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        """Return one output for each of the seeds `(size,)`, shape `(size,)`."""

    @abstractmethod
    def log_levels(self, outputs: Ints) -> Floats:
        """Return log Pr[output | seed] at each level of an output, -inf if impossible: shape `(size, n_levels)`."""

    @abstractmethod
    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        """Return the level of each output from each seed, pair by pair, shape `(size,)`; -1 if it is impossible."""

    @abstractmethod
    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        """Return the number of records `cells` `(n,)` at each level of each output, shape `(size, n_levels)`."""

    @abstractmethod
    def two_records(self) -> tuple[Dataset, Dataset]:
        """Return two datasets of one record each, whose outputs differ as much as this generator allows."""

    def log_probabilities(self, outputs: Ints, seeds: Ints) -> Floats:
        """Return log Pr[output | seed], pair by pair, shape `(size,)`."""
        level = self.levels(outputs, seeds)
        log_probabilities = np.take_along_axis(self.log_levels(outputs), np.maximum(level, 0)[:, np.newaxis], axis=1)[
            :, 0
        ]
        return np.where(level < 0, -np.inf, log_probabilities)


@dataclass(frozen=True)
class SeedBasedSynthesis(SeedGenerator):
    """Generator that keeps the first m - omega attributes of the seed, in a network's order, and draws the others.

    Each drawn attribute follows its table given its parents, kept or already drawn. For each output omega is drawn
    uniformly from `resampled`. (Bindschaedler, Shokri and Gunter 2017, section 3.)

    All records that agree with the output y on the kept attributes produce y with the same probability, whatever their
    other values. With several omega, the probability depends on the number of first attributes on which they agree:

        Pr[y | d] = mean over omega of [d agrees with y on the first m - omega] product of Pr[y_i | parents in y]

    Args:
        network: the distribution, public or privately learned.
        resampled: the values of omega, distinct whole numbers from 0 to m.

    Example:
        >>> generator = SeedBasedSynthesis(markov_chain(3), resampled=(1,))
        >>> y = generator.network.domain.cells(np.array([[0, 1, 1], [0, 1, 1]]))
        >>> seeds = generator.network.domain.cells(np.array([[0, 1, 0], [0, 0, 1]]))
        >>> np.exp(generator.log_probabilities(y, seeds)).round(6)
        array([0.7, 0. ])
    """

    network: BayesianNetwork = field(default_factory=markov_chain)
    resampled: tuple[int, ...] = (2, 3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resampled", tuple(sorted(self.resampled)))
        whole(0, **{f"resampled[{i}]": omega for i, omega in enumerate(self.resampled)})
        m = len(self.network.order)
        if not self.resampled or len(set(self.resampled)) < len(self.resampled) or self.resampled[-1] > m:
            raise ParameterError(
                argument="resampled", value=self.resampled, allowed=f"hold distinct whole numbers from 0 to {m}"
            )
        self.network.domain.cells(np.zeros((0, m), dtype=np.int64))  # refuses a domain with too many cells to number

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.network.domain

    @property
    def n_outputs(self) -> int:
        """Number of cells of the domain."""
        return self.domain.n_cells

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Number of kept attributes at each level, increasing."""
        return tuple(len(self.network.order) - omega for omega in reversed(self.resampled))

    @cached_property
    def _rest(self) -> Ints:
        """Number of cells of the attributes that are not kept, at each level."""
        shape = [self.domain.shape[position] for position in self.network.places]
        return np.array([np.prod(shape[n_kept:], dtype=np.int64) for n_kept in self.kept])

    def cells(self, dataset: Dataset) -> Ints:
        return self.domain.cells(self.domain.records(dataset))

    def _prefixes(self, cells: Ints) -> Ints:
        """Return the kept attributes of each record at each level, as one number, shape `(n, n_levels)`."""
        keys = self.domain.cells(self.domain.records_in(cells), self.network.order)
        return np.asarray(keys[:, np.newaxis] // self._rest)

    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        n_kept = np.array(self.kept)[rng.integers(len(self.kept), size=len(seeds))]
        return self.domain.cells(self.network.resample(self.domain.records_in(seeds), n_kept, rng))

    def log_levels(self, outputs: Ints) -> Floats:
        log_conditionals = self.network.log_conditionals(self.domain.records_in(outputs))
        drawn = np.cumsum(np.column_stack([log_conditionals, np.zeros(len(log_conditionals))])[:, ::-1], axis=1)[
            :, ::-1
        ]
        return np.asarray(np.logaddexp.accumulate(drawn[:, self.kept], axis=1) - np.log(len(self.kept)))

    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        return np.asarray((self._prefixes(outputs) == self._prefixes(seeds)).sum(axis=1) - 1)

    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        sorted_records = np.sort(self.domain.cells(self.domain.records_in(cells), self.network.order))
        output_prefixes = self._prefixes(outputs)
        n_matching = np.zeros((len(outputs), len(self.kept) + 1))
        for level, rest in enumerate(self._rest):
            prefixes = sorted_records // rest
            n_matching[:, level] = np.searchsorted(prefixes, output_prefixes[:, level], side="right")
            n_matching[:, level] -= np.searchsorted(prefixes, output_prefixes[:, level], side="left")
        return n_matching[:, :-1] - n_matching[:, 1:]

    def two_records(self) -> tuple[Ints, Ints]:
        """Return two records: all first values; and the last value of the first attribute with several values."""
        first = np.zeros((1, len(self.network.order)), dtype=np.int64)
        other = first.copy()
        position = next((position for position in self.network.places if self.domain.shape[position] > 1), 0)
        other[0, position] = self.domain.shape[position] - 1
        return first, other
