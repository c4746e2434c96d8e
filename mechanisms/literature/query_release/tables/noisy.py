"""Tables of noisy counts: differentially private, with integer noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from ....core.arrays import Bools, Floats, Ints
from ....core.base import Dataset, Neighbours, example
from ....core.constraints import Positive
from ....core.errors import ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.base import NoisyQuery
from ....noise.geometric import Geometric
from .domain import CensusDomain, group
from .statistics import GroupCount
from .table_set import TableSet, census_tables


@dataclass(frozen=True)
class NoisyTables(NoisyQuery, RecordsMechanism):
    """Every published count plus independent two-sided geometric noise; all cells of a person share epsilon.

    Pr[Z = z] is proportional to a^|z| with a = e^(-epsilon / s), where s is the largest number of counts in which two
    types of people differ: the L1 sensitivity when a person is replaced, computed over all pairs of types. The number
    of people in the dataset is public under this relation.

    Args:
        epsilon: the claim, > 0.
        tables: the published tables: only counts, of which at least one separates two types, and no suppression.

    Guarantees:
        * epsilon-DP under `replace_one` (Ghosh, Roughgarden and Sundararajan 2012).
        * The whole curve is exact: for each of the t <= s counts that differ, only two outcomes matter, at most the
          smaller count or above it, and more such counts give more information.

    Example:
        >>> mechanism = NoisyTables(epsilon=1.0)
        >>> mechanism.sensitivity, round(mechanism.guarantee().epsilon(0.0), 9)
        (10, 1.0)
    """

    _example = example(
        tables=TableSet(
            CensusDomain((("sex", ("female", "male")), ("block", ("A", "B"))), ages=(0, 99)),
            (
                GroupCount(group(block="A")),
                GroupCount(group(sex="female", block="A")),
                GroupCount(group(ages=(0, 17))),
            ),
        )
    )

    epsilon: Positive
    _: KW_ONLY
    tables: TableSet = field(default_factory=lambda: census_tables(n_blocks=1))
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        other = [str(s) for s in self.tables.statistics if not isinstance(s, GroupCount)]
        if other or self.tables.threshold > 1:
            unsupported = other[0] if other else f"a threshold of {self.tables.threshold}"
            raise ParameterError(
                f"tables must hold only counts and suppress none, but have {unsupported}: publish noisy counts, and "
                "compute the rest from them.",
                argument="tables",
            )
        if self.sensitivity == 0:
            raise ParameterError("tables must separate two types of people, but separate none.", argument="tables")

    @cached_property
    def in_cells(self) -> Bools:
        """Mask of the types in each count, shape `(n_counts, n_types)`."""
        return np.array([self.tables.members[s.people] for s in self.tables.statistics])

    @cached_property
    def _farthest(self) -> tuple[int, int, int]:
        """Two types that differ in the most counts, and the number of these counts."""
        rows, type_index = np.unique(self.in_cells.T, axis=0, return_index=True)
        membership = rows.astype(np.int64)
        sizes = membership.sum(axis=1)
        n_different = sizes[:, None] + sizes[None, :] - 2 * membership @ membership.T
        first, second = np.unravel_index(int(n_different.argmax()), n_different.shape)
        return int(type_index[first]), int(type_index[second]), int(n_different.max())

    @property
    def sensitivity(self) -> int:
        """Largest number s of counts in which two people can differ."""
        return self._farthest[2]

    @cached_property
    def noise(self) -> Geometric:
        """Noise mechanism that is applied to all counts."""
        return Geometric(
            self.epsilon, sensitivity=self.sensitivity, n_queries=len(self.tables.statistics), relation=self.relation
        )

    @property
    def n_moved(self) -> int:
        """Largest number of counts that one person can change by 1: the sensitivity."""
        return self.sensitivity

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact counts, shape `(n_counts,)`; a number if there is one count."""
        counts = np.asarray(self.in_cells @ self.tables.domain.histogram(dataset), dtype=np.float64)
        return counts if len(counts) > 1 else np.asarray(counts[0])

    def guarantee(self) -> Guarantee:
        """Return the exact curve of s counts that move by 1: the number that point to side 1 is binomial."""
        return self.noise.unit_curve()

    def worst_case(self) -> Neighbours:
        """Return a pair of one person each, of two types that differ in s counts."""
        types: Ints = self.tables.domain.every_type
        first, second, _ = self._farthest
        return Neighbours(types[[first]], types[[second]], self.relation)
