"""Subset counts with noise: Laplace, Gaussian, geometric. The budget is composed over all queries."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np

from ...accounting import ExactDP, GaussianDP, LaplaceDP, PureDP, self_composed
from ...accounting.numerics.binomial import response_logs
from ...core.arrays import Floats
from ...core.base import Dataset, Outputs
from ...core.constraints import Positive, check_fields
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.validation import positive
from ..additive.additive import AdditiveNoise
from ..additive.gaussian import Gaussian
from ..additive.laplace import Laplace
from ..discrete.geometric import Geometric
from .base import SubsetCounts, Subsets


class NoisySubsetCounts(SubsetCounts):
    """Exact counts plus independent noise, with the same law for every query."""

    @property
    @abstractmethod
    def noise(self) -> AdditiveNoise:
        """Mechanism that adds the noise to the vector of exact counts."""

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the noisy answers of `size` runs, `(size, n_queries)`."""
        outputs = self.noise.release(self._centre(dataset), size, rng)
        return Outputs(outputs.values.reshape(size, self.n_queries))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output, `(size,)`."""
        values = outputs.values[:, 0] if self.n_queries == 1 else outputs.values
        return self.noise.log_density(Outputs(values), self._centre(dataset))

    def _centre(self, dataset: Dataset) -> Floats:
        counts = self.counts(dataset)
        return counts[0] if self.n_queries == 1 else counts


@dataclass(frozen=True)
class PureSubsetCounts(NoisySubsetCounts):
    """Noise of scale proportional to most_queries / epsilon: one epsilon for all answers, and no delta."""

    epsilon: Positive
    n_records: int
    n_queries: int
    _: KW_ONLY
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None


@dataclass(frozen=True)
class LaplaceSubsetCounts(PureSubsetCounts):
    """Laplace noise on subset counts of a column of bits, with one epsilon for all of them.

    A record is in up to `most_queries` of the subsets, and changes each of these answers by 1: the noise of every
    answer has scale most_queries / epsilon. (Dwork, McSherry, Nissim and Smith 2006, proposition 1.)

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
        >>> mechanism.most_queries, mechanism.noise.scale
        (278, 278.0)
    """

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise of scale most_queries / epsilon."""
        return Laplace(self.epsilon, sensitivity=self.most_queries, n_queries=self.n_queries, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of most_queries answers, each of which moves by 1."""
        answer = LaplaceDP(self.epsilon / self.most_queries, relation=self.relation)
        return self_composed(answer, self.most_queries)


@dataclass(frozen=True)
class GeometricSubsetCounts(PureSubsetCounts):
    """Two-sided geometric noise on subset counts of a column of bits, with one epsilon for all of them.

    The analogue of `LaplaceSubsetCounts` in integers: Pr[Z = z] is proportional to exp(-epsilon |z| / most_queries).

    Args:
        epsilon, n_records, n_queries, share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * epsilon-DP under replace_one. (Ghosh, Roughgarden and Sundararajan 2012, for each answer.)
        * The claim is the whole exact curve: an answer that moves by 1 is a randomised response of epsilon /
          most_queries, and the composition of most_queries of them has a binomial law.

    Example:
        >>> mechanism = GeometricSubsetCounts(epsilon=1.0, n_records=10, n_queries=4)
        >>> mechanism.release(np.ones(10), 2, np.random.default_rng(0)).values.dtype.kind
        'i'
        >>> round(mechanism.guarantee().epsilon(0.0), 12), mechanism.guarantee().epsilon(0.1) < 0.9
        (1.0, True)
    """

    @cached_property
    def noise(self) -> Geometric:
        """Geometric noise of rate epsilon / most_queries."""
        return Geometric(self.epsilon, sensitivity=self.most_queries, n_queries=self.n_queries, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return the exact curve of most_queries randomised responses."""
        k, rate = self.most_queries, self.epsilon / self.most_queries
        law = response_logs(k, rate)
        return ExactDP.of_logs(law[::-1], law, relation=self.relation)


@dataclass(frozen=True)
class GaussianSubsetCounts(NoisySubsetCounts):
    """Gaussian noise on subset counts of a column of bits, given by its standard deviation or by (epsilon, delta).

    A record changes up to `most_queries` answers by 1, so that all answers together have L2 sensitivity
    sqrt(most_queries).

    Args:
        n_records, n_queries: as for `LaplaceSubsetCounts`.
        standard_deviation: standard deviation of the noise of each answer, > 0.
        epsilon, delta: target of all answers together, instead of the standard deviation.
        share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * mu-Gaussian DP with mu = sqrt(most_queries) / standard deviation, exactly (Dong, Roth and Su 2022).

    Example:
        >>> mechanism = GaussianSubsetCounts(n_records=100, n_queries=500, standard_deviation=4.0)
        >>> round(mechanism.guarantee().mu, 3)
        4.168
    """

    n_records: int
    n_queries: int
    _: KW_ONLY
    standard_deviation: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.standard_deviation is not None:
            if self.epsilon is not None or self.delta is not None:
                raise ParameterError("give either standard_deviation, or epsilon and delta, but not both.")
            positive(standard_deviation=self.standard_deviation)
        elif self.epsilon is None or self.delta is None:
            raise ParameterError("give standard_deviation, or epsilon and delta, such as epsilon=1.0, delta=1e-5.")
        super().__post_init__()
        _ = self.noise

    @cached_property
    def noise(self) -> Gaussian:
        """Gaussian noise for L2 sensitivity sqrt(most_queries)."""
        length = math.sqrt(self.most_queries)
        multiplier = None if self.standard_deviation is None else self.standard_deviation / length
        return Gaussian(
            self.epsilon,
            self.delta,
            noise_multiplier=multiplier,
            sensitivity=length,
            n_queries=self.n_queries,
            relation=self.relation,
        )

    def guarantee(self) -> GaussianDP:
        """Return `GaussianDP(mu)`, exact."""
        return GaussianDP(self.noise.mu, relation=self.relation).calibrated_at(self.delta)
