"""Matrix mechanism with Gaussian noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...accounting import GaussianDP
from ...core.arrays import Floats
from ...core.constraints import check_fields
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.gaussian import Gaussian
from ...noise.queries.workload import Workload
from .base import MatrixMechanism, sixteen_prefixes
from .strategies import Optimised, Strategy


@dataclass(frozen=True)
class GaussianMatrix(MatrixMechanism):
    """Matrix mechanism with Gaussian noise on a strategy of queries, and answers to the workload by least squares.

    The noise has the standard deviation noise multiplier * D, where D is the L2 sensitivity of the measured queries:
    the largest norm of a column of A under add_remove, the largest distance of two columns under replace_one.

    Args:
        epsilon, delta: the target guarantee, to which the noise is calibrated exactly.
        noise_multiplier: standard deviation / sensitivity, > 0; instead of epsilon and delta.
        workload: the linear queries that are answered.
        strategy: the queries that are measured; they must span the workload.
        view: "answers", or "measurements", from which the answers are computed.
        relation: the neighbouring relation.

    Raises:
        ParameterError: a strategy that does not span the workload, or a matrix too large for memory.

    Guarantees:
        * 1 / noise_multiplier-Gaussian DP, exactly for the measurements (Dong, Roth and Su 2022). The answers are
          equally informative if `rank(W) = rank(A)`.
        * `squared_error` is exact: sigma^2 ||W A^+||_F^2. (Li, Miklau, Hay, McGregor and Rastogi 2015.)
        * The answers are normal with covariance sigma^2 (W A^+)(W A^+)^T, of rank r = rank(W); their law is exact on
          the r-dimensional subspace of possible answers.

    Example:
        >>> mechanism = GaussianMatrix(1.0, 1e-5, workload=Workload.prefixes({"age": 64}))
        >>> mechanism.measured.matrix.shape, round(mechanism.squared_error)
        ((64, 64), 3928)
    """

    epsilon: float | None = None
    delta: float | None = None
    _: KW_ONLY
    noise_multiplier: float | None = None
    workload: Workload = field(default_factory=sixteen_prefixes)
    strategy: Strategy = field(default_factory=Optimised)
    view: str = "answers"
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self._unit
        super().__post_init__()

    @cached_property
    def _unit(self) -> Gaussian:
        """Noise mechanism for a number of sensitivity 1."""
        return Gaussian(self.epsilon, self.delta, noise_multiplier=self.noise_multiplier, relation=self.relation)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation sigma of the noise on each measurement."""
        return self._unit.standard_deviation * self.noise_sensitivity

    @property
    def noise_variance(self) -> float:
        """Variance sigma^2 of the noise on each measurement."""
        return self.standard_deviation**2

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(1 / noise multiplier)`."""
        return self._curve(self._unit.mu)

    def exact_guarantee(self) -> Guarantee:
        """Return `GaussianDP` of the change of the observed queries on the worst case, in standard deviations."""
        return self._curve(float(np.linalg.norm(self._moves())) / self.standard_deviation)

    def _curve(self, mu: float) -> Guarantee:
        return GaussianDP(mu, relation=self.relation).calibrated_at(self.delta)

    @cached_property
    def _answers_readout(self) -> tuple[Floats, Workload]:
        """Readout V^T A x + V^T noise of the answers, with W A^+ = U S V^T; that noise is independent too."""
        u, s, vt = np.linalg.svd(self.reconstruction, full_matrices=False)
        rank = int(np.linalg.matrix_rank(self.reconstruction))
        queries = Workload(self.workload.domain, vt[:rank] @ self.measured.matrix, name="readout of the answers")
        return (u[:, :rank] / s[:rank]).T, queries

    def _noise(self, sensitivity: float, n_queries: int) -> Gaussian:
        return replace(self._unit, sensitivity=sensitivity, n_queries=n_queries)
