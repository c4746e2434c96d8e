"""Intentionally broken histograms: their domain is taken from the data, or their threshold is too low."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ....accounting import LaplaceDP
from ....accounting.broken import Broken, certain_leak
from ....accounting.numerics.laplace import laplace_log_density
from ....core import Bools, Dataset, Flag, Floats, Guarantee, Neighbours, Outputs, ParameterError, Relation, at_least
from ....noise.broken_statistic import BrokenStatistic, numbers
from ....noise.laplace import draw_laplace
from ..stability_histogram import StabilityHistogram


@dataclass(frozen=True)
class DomainFromData(BrokenStatistic):
    """Broken: a histogram over the categories that are present in the data.

    A category of a single record is listed if and only if the record is present: epsilon is infinite, at every
    delta below 1. The correct twin lists all categories of the public domain.

    Args:
        epsilon: the claim, > 0.
        n_categories: size of the public domain 0, 1, ..., >= 3.
        correct: True for the correct twin.

    Example:
        >>> broken = DomainFromData(epsilon=1.0)
        >>> broken.release(broken.worst_case().d0, 1, np.random.default_rng(0)).values.round(1)
        array([[2.7, 1.5, 0. ]])
        >>> broken.exact_guarantee().epsilon(0.0), broken.twin().exact_guarantee().epsilon(0.0)
        (inf, 1.0)
    """

    cause = (
        "The categories are computed from the private data; each gets its count plus Laplace(1 / epsilon), and the "
        "others are missing from the answer (here: exactly 0)."
    )
    source = "vanderschaarlab/synthcity #278 (three classes become two); alan-turing-institute/reprosyn #38."

    n_categories: Annotated[int, at_least(3)] = 3

    def counts(self, dataset: Dataset) -> Floats:
        """Return the number of records of each category, shape `(n_categories,)`."""
        values = numbers(dataset)
        if not np.all((values >= 0) & (values < self.n_categories) & (values == np.floor(values))):
            raise ParameterError(
                f"the dataset must be whole numbers from 0 to {self.n_categories - 1}, but is {dataset!r}.",
                argument="dataset",
            )
        return np.bincount(values.astype(np.int64), minlength=self.n_categories).astype(np.float64)

    def listed(self, dataset: Dataset) -> Bools:
        """Return a mask of the categories in the answer, shape `(n_categories,)`."""
        return np.ones(self.n_categories, dtype=np.bool_) if self.correct else self.counts(dataset) > 0

    def statistic(self, dataset: Dataset) -> Floats:
        """Return the counts of the categories that are listed."""
        return self.counts(dataset)[self.listed(dataset)]

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` histograms, shape `(size, n_categories)`; 0 for categories that are not listed."""
        values = draw_laplace(self.noise_scale(dataset), (size, self.n_categories), rng)
        values += self.counts(dataset)
        values[:, ~self.listed(dataset)] = 0.0
        return Outputs(values)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where another set is listed."""
        listed = self.listed(dataset)
        noise = outputs.values.astype(np.float64) - self.counts(dataset)
        density = np.where(listed, laplace_log_density(noise, self.noise_scale(dataset)), 0.0).sum(axis=1)
        return np.where(((outputs.values != 0.0) == listed).all(axis=1), density, -np.inf)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of a complete leak; for the twin, the curve of one count that changes by 1."""
        if self.correct:
            return LaplaceDP(self.epsilon, self.relation)
        return certain_leak(self.relation)

    def worst_case(self) -> Neighbours:
        """Return records (0, 1, 0), and on side 1 the only record of category 2."""
        return Neighbours(np.array([0, 1, 0]), np.array([0, 1, 0, 2]), self.relation)


@dataclass(frozen=True)
class HistogramAtThreshold(Broken, StabilityHistogram):
    """Broken: a stability-based histogram that lists counts equal to the threshold.

    A category of a single record is listed with probability a^(T-1) / (1 + a), e^(epsilon / s) times the
    probability that the threshold was chosen for. At epsilon 1 and delta 0.05 that is 0.0989, or 0.0511 for
    replace_one; at delta 1e-6 and replace_one it is 8.5e-7 and the claim holds, since the threshold is rounded up.

    Args:
        correct: True for the correct twin.

    Example:
        >>> broken = HistogramAtThreshold(epsilon=1.0, delta=0.05, relation="replace_one")
        >>> round(broken.unique_probability, 7), round(broken.twin().unique_probability, 7)
        (0.0510946, 0.0309904)
    """

    cause = "Counts are compared with the threshold by >= in place of >."
    source = "Constructed; a fault in `StabilityHistogram`."

    delta: float = 0.05
    _: KW_ONLY
    case: str = "unique"
    relation: Relation = Relation.ADD_REMOVE
    correct: Flag = False

    @property
    def _least_listed(self) -> int:
        return self.threshold + (1 if self.correct else 0)
