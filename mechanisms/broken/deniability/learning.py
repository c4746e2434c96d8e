"""Intentionally broken learning of a generator: some of its statistics have no noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...core.base import Dataset, LogDensity, Outputs
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...noise.additive.laplace import laplace_log_density
from ...synthetic_data.deniability.laplace_statistics import LaplaceStatistics
from ...synthetic_data.deniability.parameters import NoisyFamilyCounts
from ...synthetic_data.deniability.structure import NoisyEntropies


class _NoiseMissing(LaplaceStatistics):
    """Base class: some of the released numbers have no noise."""

    correct: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> Self:
        """Return the correct twin, with the same options."""
        broken: Any = self
        twin: Self = replace(broken, correct=True)
        return twin

    def bare(self) -> slice:
        """Return the slice of the numbers without noise."""
        raise NotImplementedError

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of the correct twin, with exact values for the numbers without noise."""
        outputs = super().release(dataset, size, rng)
        if not self.correct:
            outputs.values[:, self.bare()] = self.statistics(dataset)[self.bare()]
        return outputs

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of the noisy numbers, shape `(size,)`; -inf where one without noise is not exact."""
        exact = self.statistics(dataset)
        noise = np.subtract(outputs.values, exact, dtype=np.float64)
        impossible = np.zeros(len(noise), dtype=bool) if self.correct else noise[:, self.bare()].any(axis=1)
        log = laplace_log_density(noise, self.scale)
        if not self.correct:
            log[:, self.bare()] = np.where(impossible[:, np.newaxis], -np.inf, 0.0)
        return np.asarray(log.sum(axis=1))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak: the numbers without noise distinguish the sides in every run."""
        return super().exact_guarantee() if self.correct else ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)


@dataclass(frozen=True)
class PairsWithoutNoise(_NoiseMissing, NoisyEntropies):
    """Broken: structure learning that adds noise to the entropies of attributes, but not to those of pairs.

    Bug: the noise is added where the entropies of single attributes are computed, and pairs are computed elsewhere.
    The claim counts them all. One record changes the exact entropy of a pair: epsilon is infinite.

    Args:
        domain, n_records, epsilon_each, delta: as for `NoisyEntropies`.
        view, max_parents, max_cells: as for `NoisyEntropies`; the view is "entropies".
        correct: True for the correct twin.

    Example:
        >>> PairsWithoutNoise().exact_guarantee().epsilon(0.5)
        inf
    """

    correct: bool = False

    def bare(self) -> slice:
        """Return the slice of the pairs."""
        return slice(len(self.domain.names), None)


@dataclass(frozen=True)
class RootsWithoutNoise(_NoiseMissing, NoisyFamilyCounts):
    """Broken: parameter learning that adds noise to conditional tables, but not to the counts of the first attribute.

    Bug: the noise is drawn in the loop over parents, which is empty for an attribute without parents. The claim counts
    all tables. A histogram without noise leaks the number of records: epsilon is infinite.

    Args:
        domain, parents, order, epsilon_each, delta, relation: as for `NoisyFamilyCounts`.
        correct: True for the correct twin.

    Example:
        >>> RootsWithoutNoise().exact_guarantee().epsilon(0.5)
        inf
    """

    correct: bool = False

    def bare(self) -> slice:
        """Return the slice of the table of the first attribute without parents."""
        sizes = [family.n_cells for family in self.families]
        root = next(attribute for attribute, parents in enumerate(self.parents) if not parents)
        return slice(sum(sizes[:root]), sum(sizes[: root + 1]))
