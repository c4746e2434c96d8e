"""Private parameter learning: noisy counts for the tables of a Bayesian network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ....core import AddOrReplace, Dataset, Floats, Neighbours, OpenUnit, Positive, Relation
from ....noise.queries.domain import Domain, check_memory
from .laplace_statistics import LaplaceStatistics
from .network import BayesianNetwork


@dataclass(frozen=True)
class NoisyFamilyCounts(LaplaceStatistics):
    """Counts of each attribute with its parents, m tables, each cell plus Laplace noise.

    A record is counted in one cell of each table: under add_remove noise of scale 1 / epsilon_each makes a table
    epsilon_each-DP, under replace_one noise of scale 2 / epsilon_each. `network` turns an output into the means of
    Dirichlet posteriors, with negative counts set to 0, which is post-processing.

    (Bindschaedler, Shokri and Gunter 2017, section 3.)

    Args:
        domain: the attributes; may be a dict.
        parents: parents of each attribute by name, as in `BayesianNetwork`; None: the preceding attribute.
        order: the attributes, each after its parents; None: in the order of the domain.
        epsilon_each: epsilon of one table, > 0.
        delta: delta at which the claim is quoted, strictly between 0 and 1; far below 1 / n.
        relation: add_remove or replace_one.

    Guarantees:
        * (epsilon, delta)-DP by advanced composition of m tables, for each delta.
        * One cell of each table moves on `worst_case()`, or two under replace_one.

    Example:
        >>> mechanism = NoisyFamilyCounts({"x": 2, "y": 3}, epsilon_each=0.5)
        >>> mechanism.answers([[0, 2], [0, 1], [1, 2]])
        array([2., 1., 0., 1., 1., 0., 0., 1.])
    """

    domain: Any = field(default_factory=lambda: Domain((("x1", 2), ("x2", 2), ("x3", 2))))
    parents: Any = None
    order: tuple[str, ...] | None = None
    _: KW_ONLY
    epsilon_each: Positive = 0.5
    delta: OpenUnit = 1e-6
    relation: AddOrReplace = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        domain = Domain.of(self.domain)
        names = domain.names
        before = {name: (parent,) for parent, name in pairwise(names)}
        parents = before if self.parents is None else self.parents
        parents_by_name = parents if isinstance(parents, Mapping) else dict(zip(names, parents, strict=True))
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "parents", tuple(tuple(parents_by_name.get(name, ())) for name in names))
        object.__setattr__(self, "order", names if self.order is None else tuple(self.order))
        check_memory(sum(family.n_cells for family in self.families), "the tables of counts")

    @property
    def families(self) -> tuple[Domain, ...]:
        """Domain of each table: the parents, then the attribute."""
        return tuple(
            self.domain.project((*parents, name)) for name, parents in zip(self.domain.names, self.parents, strict=True)
        )

    @property
    def n_parts(self) -> int:
        """Number of tables: one per attribute."""
        return len(self.domain.names)

    @property
    def n_cells(self) -> int:
        """Number of cells of one table that a record can move: 1, or 2 under replace_one."""
        return 2 if self.relation is Relation.REPLACE_ONE else 1

    @property
    def scale(self) -> float:
        """Noise scale, `n_cells` / epsilon_each."""
        return self.n_cells / self.epsilon_each

    @property
    def n_moved(self) -> int:
        """Number of cells that the worst record moves."""
        return self.n_cells * self.n_parts

    @property
    def step(self) -> float:
        """Move of each of these cells, 1, in units of the scale."""
        return 1.0 / self.scale

    def answers(self, dataset: Dataset) -> Floats:
        """Return all tables concatenated, in the order of the domain, shape `(n_numbers,)`."""
        records = self.domain.records(dataset)
        tables = [
            np.bincount(self.domain.cells(records, family.names), minlength=family.n_cells) for family in self.families
        ]
        return np.concatenate(tables).astype(np.float64)

    def network(self, noisy: Floats) -> BayesianNetwork:
        """Return the network of one output, `(n_numbers,)`."""
        ends = np.cumsum([family.n_cells for family in self.families])[:-1]
        names, sizes = self.domain.names, self.domain.shape
        counts = {
            name: table.reshape(-1, n) for name, n, table in zip(names, sizes, np.split(noisy, ends), strict=True)
        }
        order = names if self.order is None else self.order
        return BayesianNetwork.from_counts(self.domain, order, dict(zip(names, self.parents, strict=True)), counts)

    def worst_case(self) -> Neighbours:
        """Return one record of all last values, which on side 0 is missing or has all first values."""
        d1 = np.array([self.domain.shape], dtype=np.int64) - 1
        d0 = d1[:0] if self.relation is Relation.ADD_REMOVE else np.zeros_like(d1)
        return Neighbours(d0, d1, self.relation)
