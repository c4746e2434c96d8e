"""Base class of intentionally broken statistics with Laplace noise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ..accounting.broken import BrokenPureDP
from ..accounting.kinds.two_laws import two_laplaces
from ..accounting.numerics.laplace import log_laplace
from ..core import Dataset, Flag, Floats, Guarantee, Outputs, ParameterError, Positive, RecordsMechanism, Relation
from .laplace import draw_laplace
from .queries.base import numbers_of


@dataclass(frozen=True)
class BrokenStatistic(BrokenPureDP, RecordsMechanism):
    """Broken: base class of the broken statistics, itself correct.

    Args:
        epsilon: the claim, > 0.
        correct: True for the correct twin.
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    correct: Flag = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    @abstractmethod
    def statistic(self, dataset: Dataset) -> float | Floats:
        """Return the released value without the noise: a number, or a vector."""

    @property
    def sensitivity(self) -> float:
        """Declared sensitivity."""
        return 1.0

    def noise_scale(self, dataset: Dataset) -> float:
        """Return the scale of the Laplace noise, >= 0: sensitivity / epsilon, on every dataset in a correct release."""
        return self.sensitivity / self.epsilon

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy numbers, shape `(size,)`."""
        values = draw_laplace(self.noise_scale(dataset), (size,), rng)
        values += self.statistic(dataset)
        return Outputs(values)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        values = outputs.values.astype(np.float64, copy=False)
        return log_laplace(values, float(self.statistic(dataset)), self.noise_scale(dataset))

    def exact_guarantee(self) -> Guarantee | None:
        pair = self.worst_case()
        laws = ((float(self.statistic(d)), self.noise_scale(d)) for d in (pair.d0, pair.d1))
        (centre0, scale0), (centre1, scale1) = laws
        return two_laplaces(centre0, scale0, centre1, scale1, self.relation)


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
