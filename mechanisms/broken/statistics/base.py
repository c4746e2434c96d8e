"""Base class of the broken statistics: a number computed from records, plus Laplace noise of a computed scale.

Each has the option `correct`: True for the same release on the same pair without the bug, so that an audit of both
shows the effect of the bug. Where the bug is in the arithmetic, the noise is calibrated correctly for the claim.

    statistic     the released number without the noise
    noise_scale   scale of the noise; in a correct release it does not depend on the data
    worst_case    a pair on which the bug shows
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...accounting import PureDP
from ...accounting.kinds.two_laws import log_laplace, two_laplaces
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.additive.laplace import draw_laplace
from ...noise.queries.base import numbers_of


@dataclass(frozen=True)
class BrokenStatistic(Mechanism):
    """Broken: base class of the broken statistics, itself correct.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    correct: bool = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    @abstractmethod
    def statistic(self, dataset: Dataset) -> float | Floats:
        """Return the released value without the noise: a number, or a vector."""

    @abstractmethod
    def noise_scale(self, dataset: Dataset) -> float:
        """Return the scale of the Laplace noise on this dataset, >= 0; 0 for no noise."""

    def twin(self) -> Self:
        """Return the correct twin, with the same options."""
        return replace(self, correct=True)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy numbers, shape `(size,)`."""
        values = draw_laplace(self.noise_scale(dataset), (size,), rng)
        values += self.statistic(dataset)
        return Outputs(values)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        values = outputs.values.astype(np.float64, copy=False)
        return log_laplace(values, float(self.statistic(dataset)), self.noise_scale(dataset))

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`."""
        pair = self.worst_case()
        laws = ((float(self.statistic(d)), self.noise_scale(d)) for d in (pair.d0, pair.d1))
        (centre0, scale0), (centre1, scale1) = laws
        return two_laplaces(centre0, scale0, centre1, scale1, self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_records(neighbours)
        return self


def numbers(dataset: Dataset) -> Floats:
    """Return one number per record, shape `(n_records,)`; raise `ParameterError` for anything else."""
    try:
        return numbers_of(dataset, None)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"the dataset must be numbers of shape (n_records,), but {error}. Give one number per record.",
            argument="dataset",
        ) from error
