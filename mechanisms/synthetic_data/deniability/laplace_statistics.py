"""Statistics of a table, each with Laplace noise and a small epsilon, accounted for by advanced composition."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...accounting import PureDP, compose
from ...accounting.kinds.profile import ProfileGuarantee
from ...combinators.repeated import Repeated
from ...core.arrays import Floats
from ...core.base import Dataset, Mechanism, Neighbours, Outputs
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...noise.laplace import Laplace, draw_laplace, laplace_log_density


class LaplaceStatistics(Mechanism):
    """Release of `n_parts` statistics with `epsilon_each` each; claim of Dwork, Rothblum and Vadhan (2010).

    With slack delta the claim is epsilon_each sqrt(2 n_parts ln(1 / delta)) + n_parts epsilon_each (e^epsilon_each
    - 1), or n_parts epsilon_each if that is less.
    """

    epsilon_each: float
    delta: float

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """Number of statistics."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale of the noise of each number."""

    @property
    @abstractmethod
    def moved(self) -> tuple[int, float]:
        """Number of numbers that the worst record moves, and the move of each in units of the scale."""

    @abstractmethod
    def statistics(self, dataset: Dataset) -> Floats:
        """Return all numbers without noise, shape `(n_numbers,)`."""

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` vectors of noisy numbers, shape `(size, n_numbers)`."""
        exact = self.statistics(dataset)
        return Outputs(draw_laplace(self.scale, (size, len(exact)), rng) + exact)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        noise = np.subtract(outputs.values, self.statistics(dataset), dtype=np.float64)
        return np.asarray(laplace_log_density(noise, self.scale).sum(axis=1))

    def guarantee(self) -> Guarantee:
        """Return the advanced composition of `n_parts` times `PureDP(epsilon_each)`, quoted at delta."""
        parts = [PureDP(self.epsilon_each, self.relation)] * self.n_parts
        composed = compose(parts, accounting="advanced", form="drv10")
        return composed.calibrated_at(self.delta) if isinstance(composed, ProfileGuarantee) else composed

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of `worst_case()`, of the numbers that move; exact up to a grid of 1e-4 in epsilon."""
        n, shift = self.moved
        return Repeated(Laplace(shift, relation=self.relation), n).exact_guarantee()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        for side in (0, 1):
            self.statistics(neighbours.side(side))
        check_records(neighbours)
        return self
