"""Gaussian noise on several counters of different sensitivities."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..accounting import GaussianDP
from ..core.arrays import Floats
from ..core.base import Data, Dataset, Mechanism, Neighbours, Outputs
from ..core.constraints import Positive
from ..core.errors import NeighboursError, ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..core.validation import non_negative


@dataclass(frozen=True)
class GaussianCounters(Mechanism):
    """Gaussian noise on several counters that share a budget equally.

    With m counters that can change, counter i gets noise of standard deviation sensitivity_i sqrt(m) / mu. (PrivCount,
    Jansen and Johnson 2016, with equal shares.) A counter of sensitivity 0 needs no noise, and takes no share.

    Args:
        mu: the claim, > 0.
        sensitivities: largest change of each counter between neighbours, >= 0, at least one of them > 0.
        relation: the neighbouring relation that the sensitivities hold for.

    Example:
        >>> counters = GaussianCounters(mu=1.0, sensitivities=(1.0, 0.0, 2.0))
        >>> counters.deviations.round(4).tolist()
        [1.4142, 0.0, 2.8284]
    """

    _dataset = Data.ANSWERS

    mu: Positive
    _: KW_ONLY
    sensitivities: tuple[float, ...] = (1.0, 1.0)
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sensitivities", tuple(self.sensitivities))
        for sensitivity in self.sensitivities:
            non_negative(sensitivities=sensitivity)
        if not any(self.sensitivities):
            raise ParameterError("sensitivities must hold a number > 0.", argument="sensitivities")

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the noise of each counter, shape `(n_counters,)`."""
        sensitivities = np.asarray(self.sensitivities, dtype=np.float64)
        return sensitivities * math.sqrt(np.count_nonzero(sensitivities)) / self.mu

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return noisy counters, shape `(size, n_counters)`."""
        counts = self.counts(dataset)
        return Outputs(counts + self.deviations * rng.standard_normal((size, counts.size)))

    def counts(self, dataset: Dataset) -> Floats:
        """Return the exact counters, shape `(n_counters,)`."""
        counts = np.asarray(dataset, dtype=np.float64)
        if counts.shape != (len(self.sensitivities),) or not np.isfinite(counts).all():
            raise ParameterError(
                f"a dataset must be a vector of {len(self.sensitivities)} finite counts, one for each sensitivity, but "
                f"has shape {counts.shape}.",
                argument="dataset",
            )
        return counts

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output, shape `(size,)`; -inf where a counter without noise is not exact."""
        errors = outputs.values - self.counts(dataset)
        noisy = self.deviations > 0.0
        z = errors[:, noisy] / self.deviations[noisy]
        density = -0.5 * (z**2).sum(axis=1) - np.log(self.deviations[noisy] * math.sqrt(2.0 * math.pi)).sum()
        return np.where((errors[:, ~noisy] == 0.0).all(axis=1), density, -math.inf)

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(mu)`: m counters of mu / sqrt(m) each."""
        return GaussianDP(self.mu, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return two datasets between which every counter changes by its sensitivity."""
        d0 = np.zeros(len(self.sensitivities))
        return Neighbours(d0, d0 + self.sensitivities, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        changes = np.abs(self.counts(neighbours.d1) - self.counts(neighbours.d0))
        if (changes > np.asarray(self.sensitivities) * (1.0 + 1e-12)).any():
            raise NeighboursError(
                f"the counters move by {changes.tolist()}, but the sensitivities are {list(self.sensitivities)}.",
                argument=("d0", "d1"),
            )
