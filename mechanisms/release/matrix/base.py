"""What both kinds of noise share.

    measurements = A x + noise,     answers = W A^+ measurements

x counts the records in each cell. The measurements are a mechanism of their own, Laplace or Gaussian noise on a vector;
the answers are worked out from them and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, unknown_law
from ...errors import ParameterError
from ...noise.additive import AdditiveNoise
from ...queries.base import Floats
from ...queries.domain import Domain
from ...queries.workload import Workload
from ...records import check_records
from ...relation import Relation
from ...validation import one_of
from .errors import reconstruction
from .strategies import Strategy

VIEWS = ("answers", "measurements")
"""What is seen of a release."""


def sixteen_prefixes() -> Workload:
    """How many records lie at or below each of sixteen values."""
    return Workload.prefixes(Domain((("value", 16),)))


class MatrixMechanism(Mechanism):
    """Noisy measurements of a strategy, and least squares.

    Attributes:
        norm: of the sensitivity that the noise is scaled to.
        workload: what is asked.
        strategy: what is measured for it.
        view: what is released: "answers", or "measurements", which say at least as much.
    """

    norm: ClassVar[float]
    workload: Workload
    strategy: Strategy
    view: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        one_of(VIEWS, view=self.view)
        for name, kind in (("workload", Workload), ("strategy", Strategy)):
            if not isinstance(getattr(self, name), kind):
                value = getattr(self, name)
                raise ParameterError(argument=name, value=value, allowed=f"be a {kind.__name__}")
        for what, queries in (("what the strategy measures", self.measured), ("the workload", self.workload)):
            if queries.sensitivity(self.relation, norm=self.norm) == 0.0:
                raise ParameterError(
                    f"{what} is public under {self.relation.value!r}: {queries} never moves, and needs no noise. Take "
                    "relation='add_remove'.",
                    argument="relation",
                )
        _ = self.reconstruction

    @cached_property
    def measured(self) -> Workload:
        """The queries that are measured, A."""
        return self.strategy.queries(self.workload, norm=self.norm)

    @cached_property
    def reconstruction(self) -> Floats:
        """W A^+, which makes answers of measurements, shape `(n_answers, n_measured)`."""
        return reconstruction(self.workload, self.measured)

    @cached_property
    def noise_sensitivity(self) -> float:
        """What the noise is scaled to: the sensitivity of the measured queries."""
        return self.measured.sensitivity(self.relation, norm=self.norm)

    @cached_property
    def noise(self) -> AdditiveNoise:
        """The mechanism that the measurements go through: a vector in, a noisy vector out."""
        return self._noise(self.noise_sensitivity, self.measured.n_answers)

    @abstractmethod
    def _noise(self, sensitivity: float, n_queries: int) -> AdditiveNoise:
        """Noise for vectors of this length and sensitivity."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Of each measurement."""

    @property
    def query_errors(self) -> Floats:
        """Expected squared error of each answer, shape `(n_answers,)`."""
        return np.asarray(self.noise_variance * (self.reconstruction**2).sum(axis=1))

    @property
    def squared_error(self) -> float:
        """Expected squared error of all answers together."""
        return float(self.query_errors.sum())

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Answers, shape `(size, n_answers)`, or measurements, `(size, n_measured)`."""
        noisy = self.noise.release(self._exact(self.measured, dataset), size, rng).values
        noisy = noisy.reshape(size, self.measured.n_answers)
        return Outputs(noisy if self.view == "measurements" else noisy @ self.reconstruction.T)

    def output_law(self) -> LogDensity | None:
        """Its own, see `log_density`; None where no `readout` is known."""
        return None if self._readout is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each output under `dataset`, shape `(size,)`: that of what is read from it."""
        if self._readout is None:
            raise unknown_law(self)
        matrix, told = self._readout
        noisy = outputs.values if matrix is None else outputs.values @ matrix.T
        law = self._noise(self.noise_sensitivity, told.n_answers)
        shape = (len(noisy),) if told.n_answers == 1 else noisy.shape
        found = law.log_density(Outputs(noisy.reshape(shape)), self._exact(told, dataset))
        return np.asarray(found, dtype=np.float64)

    @property
    def _readout(self) -> tuple[Floats | None, Workload] | None:
        """A matrix that turns outputs into queries with the noise of `noise`, and these queries; None where none is
        known. Nothing is lost: the outputs can be worked out from what is read."""
        if self.view == "measurements":
            return None, self.measured
        return self._answers_readout

    @cached_property
    def _answers_readout(self) -> tuple[Floats, Workload] | None:
        """Of answers that tell all measurements: these."""
        if np.linalg.matrix_rank(self.reconstruction) < self.measured.n_answers:
            return None
        return np.asarray(np.linalg.pinv(self.reconstruction), dtype=np.float64), self.measured

    @property
    def told(self) -> Workload:
        """The queries that the outputs tell, each with independent noise; those measured, where that is not known."""
        return self.measured if self._readout is None else self._readout[1]

    def worst_case(self) -> Neighbours:
        """The record, or the two records, that move what the outputs tell furthest, and no others."""
        before, after = self.told.furthest(self.relation, norm=self.norm)
        d0, d1 = (self._alone(cell) for cell in (before, after))
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        for side in (0, 1):
            self.workload.domain.records(neighbours.side(side))
        check_records(neighbours)
        return self

    def _moves(self) -> Floats:
        """How far the worst case moves each query that is told, in units of the scale of the noise at sensitivity 1."""
        pair = self.worst_case()
        return np.asarray(self.told(pair.d1) - self.told(pair.d0))

    def _alone(self, cell: int | None) -> NDArray[np.int64]:
        domain = self.workload.domain
        return domain.records_in(np.array([] if cell is None else [cell], dtype=np.int64))

    def _exact(self, queries: Workload, dataset: Dataset) -> Floats:
        """The exact answers, as `noise` takes them: a number for one."""
        answers = queries.of(self.workload.domain.histogram(self.workload.domain.records(dataset)))
        return answers if len(answers) > 1 else answers[0]
