"""Matrix mechanism with Laplace and with Gaussian noise.

    measurements = A x + noise,     answers = W A^+ measurements

x counts the records in each cell. The measurements are a separate mechanism, Laplace or Gaussian noise on a vector; the
answers are computed from the measurements only.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from ....accounting import GaussianDP, LaplaceDP, LaplaceVectorDP
from ....core.arrays import Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs, example, unknown_law
from ....core.constraints import Positive, check_fields, instance_of, one_of_names
from ....core.errors import ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.base import AdditiveNoise
from ....noise.gaussian import Gaussian
from ....noise.laplace import Laplace
from ....noise.queries.domain import Domain
from ....noise.queries.workload import Workload
from ..error_bounds import reconstruction
from .strategies import OptimisedStrategy, Strategy

VIEWS = ("answers", "measurements")
"""Parts of a release that can be observed."""


def _sixteen_prefixes() -> Workload:
    """Return the workload of the numbers of records at or below each of sixteen values."""
    return Workload.prefixes(Domain((("value", 16),)))


class MatrixMechanism(RecordsMechanism):
    """Base class of mechanisms that measure a strategy with noise and answer a workload by least squares.

    Attributes:
        norm: norm of the sensitivity that scales the noise.
        workload: the queries that are answered.
        strategy: the queries that are measured.
        view: the released output: "answers", or "measurements", which are at least as informative.
    """

    norm: ClassVar[float]
    workload: Annotated[Workload, instance_of(Workload, "Workload.identity({'age': 4})")]
    strategy: Annotated[Strategy, instance_of(Strategy, "IdentityStrategy()")]
    view: Annotated[str, one_of_names(*VIEWS)]

    def __post_init__(self) -> None:
        super().__post_init__()
        for subject, queries in (("the strategy", self.measured), ("the workload", self.workload)):
            if queries.sensitivity(self.relation, norm=self.norm) == 0.0:
                raise ParameterError(
                    f"{subject} is public under {self.relation.value!r}: {queries} never changes, and needs no noise. "
                    "Use relation='add_remove'.",
                    argument="relation",
                )
        _ = self.reconstruction

    @cached_property
    def measured(self) -> Workload:
        """Measured queries A."""
        return self.strategy.queries(self.workload, norm=self.norm)

    @cached_property
    def reconstruction(self) -> Floats:
        """Matrix W A^+ from measurements to answers, shape `(n_answers, n_measured)`."""
        return reconstruction(self.workload, self.measured)

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the measured queries, which scales the noise."""
        return self.measured.sensitivity(self.relation, norm=self.norm)

    @property
    @abstractmethod
    def noise(self) -> AdditiveNoise:
        """Mechanism that adds the noise to the vector of exact measurements."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Variance of the noise of each measurement."""

    @property
    def query_errors(self) -> Floats:
        """Expected squared error of each answer, shape `(n_answers,)`."""
        return np.asarray(self.noise_variance * (self.reconstruction**2).sum(axis=1))

    @property
    def squared_error(self) -> float:
        """Total expected squared error of all answers."""
        return float(self.query_errors.sum())

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return answers, shape `(size, n_answers)`, or measurements, `(size, n_measured)`."""
        noisy = self.noise.add_to(self._exact(self.measured, dataset), size, rng)
        return noisy if self.view == "measurements" else Outputs(noisy.values @ self.reconstruction.T)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact; None if the law of the outputs is not known."""
        return None if self._readout is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`, through its linear readout."""
        if self._readout is None:
            raise unknown_law(self)
        matrix, queries = self._readout
        noisy = outputs.values if matrix is None else outputs.values @ matrix.T
        return self.noise.log_density_around(self._exact(queries, dataset), Outputs(noisy))

    @property
    def _readout(self) -> tuple[Floats | None, Workload] | None:
        """Matrix from outputs to queries with the noise of `noise`, and these queries; None if none is known.

        The readout loses no information: the outputs are a function of it.
        """
        if self.view == "measurements":
            return None, self.measured
        return self._answers_readout

    @cached_property
    def _answers_readout(self) -> tuple[Floats, Workload] | None:
        """Readout of answers that determine all measurements: the measurements."""
        if np.linalg.matrix_rank(self.reconstruction) < self.measured.n_answers:
            return None
        return np.asarray(np.linalg.pinv(self.reconstruction), dtype=np.float64), self.measured

    @property
    def observed_queries(self) -> Workload:
        """Queries that the outputs determine, each with independent noise; the measured queries if unknown."""
        return self.measured if self._readout is None else self._readout[1]

    def worst_case(self) -> Neighbours:
        """Return the pair of at most one record on each side that changes the observed queries most."""
        before, after = self.observed_queries.furthest(self.relation, norm=self.norm)
        d0, d1 = (self._single_record(cell) for cell in (before, after))
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.workload.domain.records(dataset)

    def _worst_case_change(self) -> Floats:
        """Return the change of each observed query between the two sides of the worst case."""
        pair = self.worst_case()
        return np.asarray(self.observed_queries(pair.d1) - self.observed_queries(pair.d0))

    def _single_record(self, cell: int | None) -> Ints:
        domain = self.workload.domain
        return domain.records_in(np.array([] if cell is None else [cell], dtype=np.int64))

    def _exact(self, queries: Workload, dataset: Dataset) -> Floats:
        """Return the exact answers to the measured queries, or to their readout, shape `(n_answers,)`."""
        return queries.of(self.workload.domain.histogram(self.workload.domain.records(dataset)))


@dataclass(frozen=True)
class LaplaceMatrixMechanism(MatrixMechanism):
    """Matrix mechanism with Laplace noise on a strategy of queries, and answers to the workload by least squares.

    The noise has the scale b = D / epsilon, where D is the L1 sensitivity of the measured queries: the largest L1 norm
    of a column of A under add_remove, the largest L1 distance of two columns under replace_one.

    Args:
        epsilon: the claim, > 0.
        workload: the linear queries that are answered.
        strategy: the queries that are measured; they must span the workload.
        view: "answers", or "measurements", from which the answers are computed; an audit should use these.
        relation: the neighbouring relation.

    Raises:
        ParameterError: a strategy that does not span the workload, or a matrix too large for memory.

    Guarantees:
        * epsilon-DP: by the measurements (Dwork, McSherry, Nissim and Smith 2006), of which the answers are a function.
        * `squared_error` is exact: 2 b^2 ||W A^+||_F^2. (Li, Miklau, Hay, McGregor and Rastogi 2015.)
        * The law of the outputs is exact for measurements, and for answers that determine the measurements; for other
          answers it is not known.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.matrix import IdentityStrategy
        >>> ranges = Workload.ranges({"age": 64})
        >>> round(LaplaceMatrixMechanism(1.0, workload=ranges, strategy=IdentityStrategy()).squared_error)
        91520
        >>> round(LaplaceMatrixMechanism(1.0, workload=ranges).squared_error)
        64589
    """

    _example = example(view="measurements")

    epsilon: Positive
    _: KW_ONLY
    workload: Workload = field(default_factory=_sixteen_prefixes)
    strategy: Strategy = field(default_factory=OptimisedStrategy)
    view: str = "answers"
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 1.0

    @property
    def noise_variance(self) -> float:
        """Variance 2 b^2 of the noise on each measurement."""
        return 2.0 * (self.noise_sensitivity / self.epsilon) ** 2

    def guarantee(self) -> Guarantee:
        """Return `LaplaceDP(epsilon)`: the worst change of the measurements is a change of one of them by D."""
        return LaplaceDP(self.epsilon, relation=self.relation, exact=False)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the measurements on the worst case; None if the law of the answers is unknown."""
        if self.output_law() is None:
            return None
        scale = self.noise_sensitivity / self.epsilon
        return LaplaceVectorDP((np.abs(self._worst_case_change()) / scale).tolist(), relation=self.relation)

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise for the vector of exact measurements."""
        sensitivity, n_queries = self.noise_sensitivity, self.measured.n_answers
        return Laplace(self.epsilon, sensitivity=sensitivity, n_queries=n_queries, relation=self.relation)


@dataclass(frozen=True)
class GaussianMatrixMechanism(MatrixMechanism):
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
        >>> mechanism = GaussianMatrixMechanism(1.0, 1e-5, workload=Workload.prefixes({"age": 64}))
        >>> mechanism.measured.matrix.shape, round(mechanism.squared_error)
        ((64, 64), 3928)
    """

    _example = example(noise_multiplier=2.0)

    epsilon: float | None = None
    delta: float | None = None
    _: KW_ONLY
    noise_multiplier: float | None = None
    workload: Workload = field(default_factory=_sixteen_prefixes)
    strategy: Strategy = field(default_factory=OptimisedStrategy)
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
        return self._curve(float(np.linalg.norm(self._worst_case_change())) / self.standard_deviation)

    def _curve(self, mu: float) -> Guarantee:
        return GaussianDP(mu, relation=self.relation).calibrated_at(self.delta)

    @cached_property
    def _answers_readout(self) -> tuple[Floats, Workload]:
        """Readout V^T A x + V^T noise of the answers, with W A^+ = U S V^T; that noise is independent too."""
        u, s, vt = np.linalg.svd(self.reconstruction, full_matrices=False)
        rank = int(np.linalg.matrix_rank(self.reconstruction))
        queries = Workload(self.workload.domain, vt[:rank] @ self.measured.matrix, name="readout of the answers")
        return (u[:, :rank] / s[:rank]).T, queries

    @cached_property
    def noise(self) -> Gaussian:
        """Gaussian noise for the vector of exact measurements."""
        return replace(self._unit, sensitivity=self.noise_sensitivity, n_queries=self.measured.n_answers)
