"""Base class of the matrix mechanisms with Laplace and with Gaussian noise.

    measurements = A x + noise,     answers = W A^+ measurements

x counts the records in each cell. The measurements are a separate mechanism, Laplace or Gaussian noise on a vector; the
answers are computed from the measurements only.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, unknown_law
from ...core.constraints import one_of_names
from ...core.errors import ParameterError
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.base import AdditiveNoise
from ...noise.queries.domain import Domain
from ...noise.queries.workload import Workload
from .errors import reconstruction
from .strategies import Strategy

VIEWS = ("answers", "measurements")
"""Parts of a release that can be observed."""


def sixteen_prefixes() -> Workload:
    """Return the workload of the numbers of records at or below each of sixteen values."""
    return Workload.prefixes(Domain((("value", 16),)))


class MatrixMechanism(Mechanism):
    """Base class of mechanisms that measure a strategy with noise and answer a workload by least squares.

    Attributes:
        norm: norm of the sensitivity that scales the noise.
        workload: the queries that are answered.
        strategy: the queries that are measured.
        view: the released output: "answers", or "measurements", which are at least as informative.
    """

    norm: ClassVar[float]
    workload: Workload
    strategy: Strategy
    view: Annotated[str, one_of_names(*VIEWS)]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))
        for name, kind in (("workload", Workload), ("strategy", Strategy)):
            if not isinstance(getattr(self, name), kind):
                value = getattr(self, name)
                raise ParameterError(argument=name, value=value, allowed=f"be a {kind.__name__}")
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

    @cached_property
    def noise(self) -> AdditiveNoise:
        """Mechanism that adds the noise to the vector of exact measurements."""
        return self._noise(self.noise_sensitivity, self.measured.n_answers)

    @abstractmethod
    def _noise(self, sensitivity: float, n_queries: int) -> AdditiveNoise:
        """Return the noise mechanism for vectors of this length and sensitivity."""

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
        noisy = self.noise.release(self._exact(self.measured, dataset), size, rng).values
        noisy = noisy.reshape(size, self.measured.n_answers)
        return Outputs(noisy if self.view == "measurements" else noisy @ self.reconstruction.T)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact; None if the law of the outputs is not known."""
        return None if self._readout is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`, through its linear readout."""
        if self._readout is None:
            raise unknown_law(self)
        matrix, queries = self._readout
        noisy = outputs.values if matrix is None else outputs.values @ matrix.T
        law = self._noise(self.noise_sensitivity, queries.n_answers)
        shape = (len(noisy),) if queries.n_answers == 1 else noisy.shape
        densities = law.log_density(Outputs(noisy.reshape(shape)), self._exact(queries, dataset))
        return np.asarray(densities, dtype=np.float64)

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
    def told(self) -> Workload:
        """Queries that the outputs determine, each with independent noise; the measured queries if unknown."""
        return self.measured if self._readout is None else self._readout[1]

    def worst_case(self) -> Neighbours:
        """Return the pair of at most one record on each side that changes the observed queries most."""
        before, after = self.told.furthest(self.relation, norm=self.norm)
        d0, d1 = (self._single_record(cell) for cell in (before, after))
        return Neighbours(d0, d1, self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        for side in (0, 1):
            self.workload.domain.records(neighbours.side(side))
        check_records(neighbours)
        return self

    def _moves(self) -> Floats:
        """Return the change of each observed query between the two sides of the worst case."""
        pair = self.worst_case()
        return np.asarray(self.told(pair.d1) - self.told(pair.d0))

    def _single_record(self, cell: int | None) -> NDArray[np.int64]:
        domain = self.workload.domain
        return domain.records_in(np.array([] if cell is None else [cell], dtype=np.int64))

    def _exact(self, queries: Workload, dataset: Dataset) -> Floats:
        """Return the exact answers in the form that `noise` expects: a scalar for one query."""
        answers = queries.of(self.workload.domain.histogram(self.workload.domain.records(dataset)))
        return answers if len(answers) > 1 else answers[0]
