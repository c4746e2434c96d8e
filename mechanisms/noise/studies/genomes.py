"""Synthetic genomes: people whose columns are correlated within blocks that are inherited together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.constraints import PositiveInt, UnitInterval, check_fields
from .populations import Population, Uniform


@dataclass(frozen=True, kw_only=True)
class Genomes:
    """Synthetic genomes: blocks of columns, in which nearby columns are in linkage disequilibrium.

    Every column has its frequency in `population`; inside a block a person's column j follows one uniform number U_j:
    the column is 1 where U_j is below its frequency. U_j equals U_(j-1) with probability `linkage`, and is drawn
    independently otherwise. Blocks are independent. Each column has the marginal law of a population without linkage,
    and columns of a block are positively correlated, the more so the closer they are.

    Args:
        block: number of columns of a block, >= 1.
        linkage: probability that a column is inherited with the previous one, in [0, 1]; 0: all are independent.
        population: population that gives the frequencies.

    Example:
        >>> people = Genomes(block=10, linkage=0.9, population=Uniform(low=0.4, high=0.6)).people(
        ...     2_000, 20, np.random.default_rng(0))
        >>> near, far = (float(np.corrcoef(people[:, 4], people[:, j])[0, 1]) for j in (5, 15))
        >>> near > 0.5, abs(far) < 0.15
        (True, True)
    """

    block: PositiveInt = 20
    linkage: UnitInterval = 0.9
    population: Population = field(default_factory=Uniform)

    def __post_init__(self) -> None:
        check_fields(self)

    def frequencies(self, n_attributes: int) -> Floats:
        """Return the frequency of each column, shape `(n_attributes,)`."""
        return self.population.frequencies(n_attributes)

    def people(self, n_people: int, n_attributes: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw `n_people` independent people, shape `(n_people, n_attributes)`."""
        frequencies = self.frequencies(n_attributes)
        rows = np.empty((n_people, n_attributes), dtype=np.uint8)
        current = np.empty(n_people)
        for j in range(n_attributes):
            fresh = rng.random(n_people)
            linked = (rng.random(n_people) < self.linkage) & bool(j % self.block)
            current = np.where(linked, current, fresh)
            rows[:, j] = current < frequencies[j]
        return rows
