"""TopDown with discrete Gaussian and with two-sided geometric noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from ....accounting import ConcentratedDP, PureMechanism
from ....accounting.numerics.binomial import response_logs
from ....core import Floats, Guarantee, ParameterError, Positive
from ....noise.discrete_gaussian import MAX_SIGMA, DiscreteGaussian
from ....noise.geometric import Geometric
from .base import TopDown
from .geography import LevelQuery

NOISE_DEVIATIONS = 9.0
"""Range of the noise, in standard deviations, that is enumerated for the exact curve."""


@dataclass(frozen=True)
class GaussianTopDown(TopDown):
    """TopDown with discrete Gaussian noise: noisy marginals at every level, and consistent integer tables.

    Each query is a marginal that is measured at every node of a level, with discrete Gaussian noise by its share of the
    budget. Invariants are published exactly. Tables are computed from both: for the nation by non-negative least
    squares, rounded to integers; then for the states, which add up to the nation; then for the counties. Structural
    zeros are impossible cells; they get no noise, and are 0 in the tables.

    Records are `(county, attribute, ...)`, coded, or a DataFrame with these columns.

    Args:
        rho: the claim, > 0.
        geography: number of counties of each state: a `Geography` or a list.
        domain: the attributes of a person; a `Domain` or a dict.
        structural_zeros: combinations of values that no record has; dicts such as {"relationship": [0, 1], "age": [0]}.
        queries: `LevelQuery`s or dicts, with the share of the budget of each.
        invariants: `Invariant`s or dicts: numbers that are published exactly; their kinds of people are nested or
            disjoint. One householder in each household is an invariant: the number of householders, if that of
            households is public.
        view: "measurements", with the invariants, which is everything that depends on the data; or "tables" of
            counties.
        relation: "replace_one" or "add_remove", for pairs that agree on the invariants.

    Raises:
        ParameterError: inconsistent options: invariants that contradict each other or the structural zeros, queries
            that the invariants determine; data that violate the values of an invariant.
        NeighboursError: a pair that differs in an invariant.

    Guarantees:
        * rho-zCDP for all pairs that agree on the invariants, and no guarantee for others, which are distinguished with
          certainty. A query of which the person changes c numbers by 1 (c = 2 under replace_one, 1 under add_remove)
          costs c / (2 sigma^2), and costs add up (Canonne, Kamath and Steinke 2020). The noise is scaled so that the
          person who changes queries with the largest total share, without changing an invariant, costs rho.
        * `exact_guarantee` is the curve of the measurements on that pair, up to 1e-16 in delta: the losses are whole
          multiples of one unit, and are convolved.
        * Tables are post-processing. They hold non-negative integers, and satisfy structural zeros, invariants and
          sums.

    References:
        Abowd et al. (2022), The 2020 census disclosure avoidance system TopDown algorithm, Harvard Data Science Review.

    Example:
        >>> mechanism = GaussianTopDown(0.5, view="tables")
        >>> people = [[0, 0, 1, 1, 0], [0, 2, 0, 1, 0], [1, 0, 2, 0, 1], [4, 0, 1, 1, 1]]  # county, relationship, ...
        >>> tables = mechanism.release(people, 3, np.random.default_rng(0)).values
        >>> tables.shape, bool((tables >= 0).all()), tables.sum(axis=2)[:, :2].sum(axis=1)
        ((3, 5, 36), True, array([3, 3, 3]))
    """

    omitted_probability: ClassVar[float] = math.exp(-0.5 * NOISE_DEVIATIONS**2)

    rho: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.standard_deviations) > MAX_SIGMA:
            raise ParameterError(
                f"rho = {self.rho!r} needs noise of standard deviation {max(self.standard_deviations):.3g}, and at "
                f"most {MAX_SIGMA:g} is drawn exactly. Choose a larger rho, or larger shares of the queries.",
                argument="rho",
                value=self.rho,
            )

    def _rho(self, query: LevelQuery) -> float:
        """Return the zCDP cost of a query for a person who changes it."""
        return self.rho * query.share / self.affected_shares

    def _sigma(self, query: LevelQuery) -> float:
        return math.sqrt(self.invariant_neighbours.n_changed_cells / (2.0 * self._rho(query)))

    def _noise(self, query: LevelQuery, n_queries: int) -> DiscreteGaussian:
        return DiscreteGaussian(self._sigma(query), n_queries=n_queries)

    def _log_changed_count(self, query: LevelQuery) -> Floats:
        """Return the log law on -reach, ..., reach + 1 of a number that goes from 0 to 1.

        The losses are (2 z - 1) / 2 sigma^2.
        """
        sigma = self._sigma(query)
        reach = math.ceil(NOISE_DEVIATIONS * sigma)
        law = -0.5 * (np.arange(-reach - 1.0, reach + 1.0) / sigma) ** 2
        return np.asarray(law - logsumexp(law))

    @property
    def standard_deviations(self) -> tuple[float, ...]:
        """Parameter sigma of each query; the discrete noise has a smaller standard deviation if sigma is below 1."""
        return tuple(self._sigma(query) for query in self.queries)

    def guarantee(self) -> Guarantee:
        """Return `ConcentratedDP(rho)`, for pairs that agree on the invariants."""
        return ConcentratedDP(self.rho, relation=self.relation)


@dataclass(frozen=True)
class GeometricTopDown(PureMechanism, TopDown):
    """TopDown with two-sided geometric noise, which satisfies pure DP.

    The mechanism is that of `GaussianTopDown`. A query of which the person changes c numbers, with the fraction s of
    the shares that one person can change together, gets noise of parameter exp(-epsilon s / c).

    Args:
        epsilon: the claim, > 0.
        geography, domain, structural_zeros, queries, invariants, view, relation: as for `GaussianTopDown`.

    Guarantees:
        * epsilon-DP for all pairs that agree on the invariants, and no guarantee for others (Ghosh, Roughgarden and
          Sundararajan 2012; the epsilons of changed numbers add up).
        * `exact_guarantee` is the exact curve of the measurements on the worst pair: the loss of each changed number
          takes one of two values of equal size and opposite sign.

    Example:
        >>> mechanism = GeometricTopDown(1.0)
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 9), round(mechanism.exact_guarantee().epsilon(0.01), 2)
        (1.0, 0.46)
    """

    epsilon: Positive

    def _rate(self, query: LevelQuery) -> float:
        return self.epsilon * query.share / (self.affected_shares * self.invariant_neighbours.n_changed_cells)

    def _noise(self, query: LevelQuery, n_queries: int) -> Geometric:
        return Geometric(self._rate(query), n_queries=n_queries)

    def _log_changed_count(self, query: LevelQuery) -> Floats:
        """Return the log law on two outcomes, at most the lower value or above it, with losses of equal size."""
        return response_logs(1, self._rate(query))

    @property
    def standard_deviations(self) -> tuple[float, ...]:
        """Standard deviation sqrt(2 a) / (1 - a) of the noise of each query."""
        rates = [self._rate(query) for query in self.queries]
        return tuple(math.sqrt(2.0) * math.exp(-0.5 * rate) / -math.expm1(-rate) for rate in rates)
