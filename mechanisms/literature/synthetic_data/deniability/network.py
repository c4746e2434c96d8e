"""A Bayesian network over coded attributes: each attribute has a distribution given its parents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....core import Floats, Ints, ParameterError
from ....noise.queries.domain import Domain


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BayesianNetwork:
    """Bayesian network: Pr[x_1, ..., x_m] = product over attributes of Pr[x_i | values of its parents].

    Args:
        domain: the attributes.
        order: the names of the attributes, each after its parents.
        parents: names of the parents of each attribute, by its name; an attribute that is left out has none.
        tables: by name, Pr[value | parents], `(values of the parents in nested loops, values)` or any shape of as many
            numbers; each row sums to 1 within 1e-9.

    Raises:
        ParameterError: `order` does not list all attributes, a parent comes later, a table has another size, or
            a row is not a distribution.

    Example:
        >>> rain = BayesianNetwork(
        ...     Domain({"rain": 2, "wet": 2}),
        ...     order=("rain", "wet"),
        ...     parents={"wet": ("rain",)},
        ...     tables={"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.0, 1.0]]},
        ... )
        >>> np.exp(rain.log_conditionals(np.array([[0, 1], [1, 1]])).sum(axis=1)).round(2)
        array([0.08, 0.2 ])
    """

    domain: Domain
    order: tuple[str, ...]
    parents: tuple[tuple[str, ...], ...]
    tables: tuple[Floats, ...]

    def __init__(
        self,
        domain: Domain | Mapping[str, int],
        order: Sequence[str],
        parents: Mapping[str, Sequence[str]],
        tables: Mapping[str, ArrayLike],
    ) -> None:
        known = Domain.of(domain)
        if sorted(order) != sorted(known.names):
            raise ParameterError(argument="order", value=tuple(order), allowed="list every attribute of domain once")
        parent_names = tuple(tuple(parents.get(name, ())) for name in known.names)
        for name, own_parents in zip(known.names, parent_names, strict=True):
            before = tuple(order)[: tuple(order).index(name)]
            if not set(own_parents) <= set(before) or len(set(own_parents)) < len(own_parents):
                raise ParameterError(
                    f"parents of {name!r} must be distinct attributes that come before it in order, {before!r}, but "
                    f"are {own_parents!r}.",
                    argument="parents",
                )
        object.__setattr__(self, "domain", known)
        object.__setattr__(self, "order", tuple(order))
        object.__setattr__(self, "parents", parent_names)
        arrays = tuple(self._table(name, tables) for name in known.names)
        object.__setattr__(self, "tables", arrays)

    def _table(self, name: str, tables: Mapping[str, ArrayLike]) -> Floats:
        index = self.domain.index(name)
        n_rows = math.prod(self.domain.project(self.parents[index]).shape) if self.parents[index] else 1
        n_values = self.domain.shape[index]
        table = np.array(tables.get(name, ()), dtype=np.float64)
        if table.size != n_rows * n_values:
            raise ParameterError(
                f"the table of {name!r} must have {n_rows} x {n_values} numbers, but has {table.size}.",
                argument="tables",
            )
        table = table.reshape(n_rows, n_values)
        if not (np.all(table >= 0.0) and np.all(np.abs(table.sum(axis=1) - 1.0) <= 1e-9)):
            raise ParameterError(f"each row of the table of {name!r} must be a distribution.", argument="tables")
        table /= table.sum(axis=1, keepdims=True)
        table.flags.writeable = False
        return table

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Column of each attribute, in the network's order."""
        return tuple(self.domain.index(name) for name in self.order)

    @property
    def n_edges(self) -> int:
        """Number of parents of all attributes together."""
        return sum(map(len, self.parents))

    def rows(self, records: Ints, position: int) -> Ints:
        """Return the row of the table of column `position` for each of the records `(n, m)`."""
        if not self.parents[position]:
            return np.zeros(len(records), dtype=np.int64)
        return self.domain.cells(records, self.parents[position])

    def log_conditionals(self, records: Ints) -> Floats:
        """Return log Pr[value | parents] of each attribute, columns in the network's order: shape `(n, m)`."""
        log_probabilities = np.empty(records.shape)
        with np.errstate(divide="ignore"):
            for at, position in enumerate(self.places):
                log_probabilities[:, at] = np.log(
                    self.tables[position][self.rows(records, position), records[:, position]]
                )
        return log_probabilities

    def resample(self, seeds: Ints, n_kept: Ints, rng: np.random.Generator) -> Ints:
        """Return records that keep the first `n_kept` `(n,)` attributes of `seeds` `(n, m)`, in the network's order.

        The other attributes are drawn, each given its parents in the new record. Shape `(n, m)`.
        """
        records = seeds.copy()
        for at, position in enumerate(self.places):
            new = np.flatnonzero(n_kept <= at)
            steps = np.cumsum(self.tables[position], axis=1)[self.rows(records[new], position), :-1]
            records[new, position] = (steps <= rng.random(len(new))[:, np.newaxis]).sum(axis=1)
        return records

    def sample(self, n: int, rng: np.random.Generator) -> Ints:
        """Return `n` records drawn from the network, shape `(n, m)`."""
        empty = np.zeros((n, len(self.order)), dtype=np.int64)
        return self.resample(empty, np.zeros(n, dtype=np.int64), rng)

    @classmethod
    def from_counts(
        cls, domain: Domain, order: Sequence[str], parents: Mapping[str, Sequence[str]], counts: Mapping[str, Floats]
    ) -> BayesianNetwork:
        """Return the network whose tables are means of Dirichlet posteriors: (count + 1) / (sum of counts + values).

        Args:
            counts: by name, `(values of the parents, values)`; negative ones, due to noise, count as 0.
        """
        tables = {}
        for name, table in counts.items():
            smooth = np.maximum(table, 0.0) + 1.0
            tables[name] = smooth / smooth.sum(axis=-1, keepdims=True)
        return cls(domain, order, parents, tables)

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, BayesianNetwork) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.domain, self.order, self.parents, tuple(table.tobytes() for table in self.tables)

    def __repr__(self) -> str:
        return f"BayesianNetwork({len(self.order)} attributes, {self.n_edges} edges)"


def markov_chain(n_attributes: int = 4, *, same: float = 0.7) -> BayesianNetwork:
    """Return binary attributes x1, x2, ...; each equals its predecessor with probability `same`."""
    names = [f"x{i + 1}" for i in range(n_attributes)]
    table = [[same, 1.0 - same], [1.0 - same, same]]
    return BayesianNetwork(
        Domain(tuple((name, 2) for name in names)),
        order=names,
        parents={name: (before,) for before, name in pairwise(names)},
        tables={name: table if i else [0.5, 0.5] for i, name in enumerate(names)},
    )
