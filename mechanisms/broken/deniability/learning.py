"""Wrong on purpose: a generator that is learned with noise on most of its statistics, and none on the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Outputs
from ...deniability.parameters import NoisyCounts
from ...deniability.parts import LaplaceParts
from ...deniability.structure import NoisyEntropies
from ...errors import ParameterError
from ...guarantees import ExactDP
from ...guarantees.base import Guarantee
from ...noise.laplace import laplace_log_density


class _NoiseMissing(LaplaceParts):
    """Some numbers are released as they are."""

    correct: bool

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> Self:
        """The correct twin, with the same options."""
        changed: Any = self
        made: Self = replace(changed, correct=True)
        return made

    def bare(self) -> slice:
        """The numbers without noise."""
        raise NotImplementedError

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """As the correct twin, but for the numbers without noise."""
        outputs = super().release(dataset, size, rng)
        if not self.correct:
            outputs.values[:, self.bare()] = self.statistics(dataset)[self.bare()]
        return outputs

    def output_law(self) -> LogDensity | None:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of the noisy numbers, shape `(size,)`; -inf where one without noise is another."""
        exact = self.statistics(dataset)
        noise = np.subtract(outputs.values, exact, dtype=np.float64)
        impossible = np.zeros(len(noise), dtype=bool) if self.correct else noise[:, self.bare()].any(axis=1)
        log = laplace_log_density(noise, self.scale)
        if not self.correct:
            log[:, self.bare()] = np.where(impossible[:, np.newaxis], -np.inf, 0.0)
        return np.asarray(log.sum(axis=1))

    def exact_guarantee(self) -> Guarantee | None:
        """None holds: the numbers without noise tell the sides apart in every run."""
        return super().exact_guarantee() if self.correct else ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)


@dataclass(frozen=True)
class PairsWithoutNoise(_NoiseMissing, NoisyEntropies):
    """Broken: structure learning that adds noise to the entropies of attributes, and forgets those of pairs.

    The slip: the noise is added where the entropies of single attributes are computed, and pairs are computed
    elsewhere. The claim counts them all. One record changes the exact entropy of a pair: no epsilon holds.

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
        """The pairs."""
        return slice(len(self.domain.names), None)


@dataclass(frozen=True)
class RootsWithoutNoise(_NoiseMissing, NoisyCounts):
    """Broken: parameter learning that adds noise to conditional tables, and not to the counts of the first attribute.

    The slip: the noise stands in the loop over parents, and an attribute without parents never enters it. The claim
    counts all tables. A histogram without noise holds the number of records: no epsilon holds.

    Args:
        domain, parents, order, epsilon_each, delta, relation: as for `NoisyCounts`.
        correct: True for the correct twin.

    Example:
        >>> RootsWithoutNoise().exact_guarantee().epsilon(0.5)
        inf
    """

    correct: bool = False

    def bare(self) -> slice:
        """The table of the first attribute without parents."""
        sizes = [family.n_cells for family in self.families]
        place = next(place for place, of_it in enumerate(self.parents) if not of_it)
        return slice(sum(sizes[:place]), sum(sizes[: place + 1]))
