"""Answers to public subset counts on a secret column of bits, with Laplace, geometric or Gaussian noise.

The dataset is a column of n bits. A query is a subset of the records, and its exact answer is the number of ones in
it. The vector of all answers is A x, where A is the public `(m, n)` matrix of 0 and 1. Neighbours differ in one bit, so
that the answers to the queries that contain this record change by 1, all in one direction.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Dataset, Neighbours, example
from ...core.constraints import NonNegativeInt, OpenUnit, Positive, PositiveInt
from ...core.errors import NeighboursError, ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.base import NoisyQuery
from ...noise.gaussian import Gaussian
from ...noise.geometric import Geometric
from ...noise.laplace import LaplaceQuery

Subsets: TypeAlias = tuple[tuple[int, ...], ...]
"""A row of 0 and 1 for each query."""


def random_subsets(n_records: int, n_queries: int, *, share: float = 0.5, seed: int = 0) -> NDArray[np.int8]:
    """Draw a 0/1 matrix `(n_queries, n_records)`: each record is in each subset with probability `share`.

    Example:
        >>> random_subsets(5, 2, seed=1).tolist()
        [[0, 0, 1, 0, 1], [1, 0, 1, 0, 1]]
    """
    uniforms = np.random.default_rng(seed).random((n_queries, n_records))
    return (uniforms < share).astype(np.int8)


class SubsetCounts(RecordsMechanism):
    """Base class of mechanisms that answer `n_queries` subset counts of a column of bits.

    Attributes:
        n_records: length of the column.
        n_queries: number of queries.
        share: probability of each record to be in each of the random subsets.
        queries_seed: seed of the random subsets, which are public.
        queries: the subsets, instead of random ones.
    """

    relation: Relation = Relation.REPLACE_ONE
    n_records: PositiveInt
    n_queries: PositiveInt
    share: OpenUnit
    queries_seed: NonNegativeInt
    queries: Subsets | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.queries is not None:
            matrix = np.asarray(self.queries)
            if matrix.shape != (self.n_queries, self.n_records) or not np.isin(matrix, (0, 1)).all():
                raise ParameterError(
                    f"queries must be 0 and 1 in {plural(self.n_queries, 'row')} (n_queries) of {self.n_records} "
                    f"(n_records), but have shape {matrix.shape}.",
                    argument="queries",
                )
            object.__setattr__(self, "queries", tuple(tuple(row) for row in matrix.astype(int).tolist()))
        if self.n_moved == 0:
            raise ParameterError("queries must contain a record, but all of them are empty.", argument="queries")

    @cached_property
    def subsets(self) -> NDArray[np.int8]:
        """Public 0/1 matrix of the queries, `(n_queries, n_records)`."""
        if self.queries is not None:
            return np.array(self.queries, dtype=np.int8)
        return random_subsets(self.n_records, self.n_queries, share=self.share, seed=self.queries_seed)

    @cached_property
    def n_moved(self) -> int:
        """Largest number of queries that contain the same record: at most this many answers change, by 1 each.

        This number is the L1 sensitivity of all answers, and the square of the L2 sensitivity.
        """
        return int(self.subsets.sum(axis=0, dtype=np.int64).max())

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers, `(n_queries,)`; `ParameterError` unless `dataset` is a column of n_records bits."""
        bits = np.asarray(dataset)
        if bits.shape != (self.n_records,) or bits.dtype.kind not in "biuf" or not np.isin(bits, (0, 1)).all():
            shape = "" if bits.shape == (self.n_records,) else f", of shape {bits.shape}"
            shown = " ".join(f"{dataset!r}".split())[:60]
            raise ParameterError(
                f"a dataset must be a column of {plural(self.n_records, 'bit')} (n_records), 0 or 1, in one "
                f"dimension, but is {shown}{shape}.",
                argument="dataset",
            )
        return np.asarray(self.subsets @ bits.astype(np.float64))

    def worst_case(self) -> Neighbours:
        """Return a column of zeros, and one with a single 1 at a record that the most queries contain."""
        d0 = np.zeros(self.n_records, dtype=np.int64)
        d1 = d0.copy()
        d1[int(self.subsets.sum(axis=0, dtype=np.int64).argmax())] = 1
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.answers(dataset)

    def _check_pair(self, neighbours: Neighbours) -> None:
        super()._check_pair(neighbours)
        if np.count_nonzero(np.not_equal(neighbours.d0, neighbours.d1)) > 1:
            raise NeighboursError(
                "d0 and d1 differ in more than one place: queries name their records, so that neighbours differ in "
                "one bit.",
                argument=("d0", "d1"),
            )


@dataclass(frozen=True)
class LaplaceSubsetCounts(SubsetCounts, LaplaceQuery):
    """Laplace noise on subset counts of a column of bits, with one epsilon for all of them.

    A record is in up to `n_moved` of the subsets, and changes each of these answers by 1: the noise of every
    answer has scale n_moved / epsilon. (Dwork, McSherry, Nissim and Smith 2006, proposition 1.)

    Args:
        epsilon: the claim for all answers together, > 0.
        n_records: length of the column, >= 1.
        n_queries: number of queries, >= 1.
        share: probability of each record to be in each random subset, in (0, 1).
        queries_seed: seed of the random subsets, which are public.
        queries: the subsets, instead of random ones: n_queries rows of n_records 0 and 1.

    Guarantees:
        * epsilon-DP under replace_one, tight on a rare event: the orthant where all answers that move lie beyond both
          counts (see `orthant_probabilities`).
        * `exact_guarantee()` is exact up to the grid of the privacy-loss distribution (1e-4 in epsilon an answer).

    Example:
        >>> mechanism = LaplaceSubsetCounts(epsilon=1.0, n_records=100, n_queries=500)
        >>> mechanism.n_moved, mechanism.noise.scale
        (278, 278.0)
    """

    epsilon: Positive
    n_records: int
    n_queries: int
    _: KW_ONLY
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None


@dataclass(frozen=True)
class GeometricSubsetCounts(SubsetCounts, NoisyQuery):
    """Two-sided geometric noise on subset counts of a column of bits, with one epsilon for all of them.

    The analogue of `LaplaceSubsetCounts` in integers: Pr[Z = z] is proportional to exp(-epsilon |z| / n_moved).

    Args:
        epsilon, n_records, n_queries, share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * epsilon-DP under replace_one. (Ghosh, Roughgarden and Sundararajan 2012, for each answer.)
        * The claim is the whole exact curve: an answer that moves by 1 is a randomised response of epsilon /
          n_moved, and the composition of n_moved of them has a binomial law.

    Example:
        >>> mechanism = GeometricSubsetCounts(epsilon=1.0, n_records=10, n_queries=4)
        >>> mechanism.release(np.ones(10), 2, np.random.default_rng(0)).values.dtype.kind
        'i'
        >>> round(mechanism.guarantee().epsilon(0.0), 12), mechanism.guarantee().epsilon(0.1) < 0.9
        (1.0, True)
    """

    epsilon: Positive
    n_records: int
    n_queries: int
    _: KW_ONLY
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None

    @cached_property
    def noise(self) -> Geometric:
        """Geometric noise of rate epsilon / n_moved."""
        return Geometric(self.epsilon, sensitivity=self.n_moved, n_queries=self.n_queries, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return the exact curve of n_moved randomised responses."""
        return self.noise.unit_curve()


@dataclass(frozen=True)
class GaussianSubsetCounts(SubsetCounts, NoisyQuery):
    """Gaussian noise on subset counts of a column of bits, given by its standard deviation or by (epsilon, delta).

    A record changes up to `n_moved` answers by 1, so that all answers together have L2 sensitivity
    sqrt(n_moved).

    Args:
        n_records, n_queries: as for `LaplaceSubsetCounts`.
        standard_deviation: standard deviation of the noise of each answer, > 0.
        epsilon, delta: target of all answers together, instead of the standard deviation.
        share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * mu-Gaussian DP with mu = sqrt(n_moved) / standard deviation, exactly (Dong, Roth and Su 2022).

    Example:
        >>> mechanism = GaussianSubsetCounts(n_records=100, n_queries=500, standard_deviation=4.0)
        >>> round(mechanism.guarantee().mu, 3)
        4.168
    """

    _example = example(standard_deviation=3.0)

    n_records: int
    n_queries: int
    _: KW_ONLY
    standard_deviation: Positive | None = None
    epsilon: float | None = None
    delta: float | None = None
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.standard_deviation is not None:
            if self.epsilon is not None or self.delta is not None:
                raise ParameterError("give either standard_deviation, or epsilon and delta, but not both.")
        elif self.epsilon is None or self.delta is None:
            raise ParameterError("give standard_deviation, or epsilon and delta, such as epsilon=1.0, delta=1e-5.")
        _ = self.noise

    @cached_property
    def noise(self) -> Gaussian:
        """Gaussian noise for L2 sensitivity sqrt(n_moved)."""
        length = math.sqrt(self.n_moved)
        multiplier = None if self.standard_deviation is None else self.standard_deviation / length
        return Gaussian(
            self.epsilon,
            self.delta,
            noise_multiplier=multiplier,
            sensitivity=length,
            n_queries=self.n_queries,
            relation=self.relation,
        )

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(mu)`, exact."""
        return self.noise.guarantee()
