"""Grouped tables with differential privacy: noisy counts in cells that are fixed in advance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Floats
from ...core.errors import ParameterError
from ...core.relation import Relation
from ...noise.geometric import Geometric
from ...noise.queries.counts import Histogram
from .mondrian import band_of
from .table import Places, check_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GeneralizedCells:
    """Cells of bands of the quasi-identifiers, with a count for each sensitive value, all fixed before any data.

    Args:
        edges: for each quasi-identifier, a column of whole numbers, the starts of the bands and the end of the last.
        sensitive: the sensitive column.
        values: all possible sensitive values.

    Example:
        >>> import pandas as pd
        >>> cells = GeneralizedCells({"age": [30, 50, 70]}, "illness", ("asthma", "flu"))
        >>> people = pd.DataFrame({"age": [31, 34, 52], "illness": ["flu", "flu", "asthma"]})
        >>> cells.records(people).tolist(), cells.mechanism(1.0).answers(cells.records(people)).tolist()
        ([1, 1, 2], [0.0, 2.0, 1.0, 0.0])
    """

    edges: Mapping[str, Sequence[float]]
    sensitive: str
    values: tuple[Any, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of bands of each quasi-identifier."""
        return tuple(len(edges) - 1 for edges in self.edges.values())

    @property
    def n_cells(self) -> int:
        return int(np.prod(self.shape))

    def cell(self, people: pd.DataFrame) -> Places:
        """Return the cell of each person, `(n_people,)`; raise `ParameterError` for one outside the edges."""
        check_columns(people, list(self.edges), "people")
        bands = [band_of(people[name].to_numpy(dtype=np.float64), name, ends) for name, ends in self.edges.items()]
        return np.asarray(np.ravel_multi_index(tuple(bands), self.shape), dtype=np.int64)

    def records(self, table: pd.DataFrame) -> Places:
        """Return the records for `mechanism`: the index of the count of each person, `(n_records,)`."""
        check_columns(table, [self.sensitive], "sensitive")
        index = {value: i for i, value in enumerate(self.values)}
        unknown = sorted({str(value) for value in table[self.sensitive]} - {str(value) for value in self.values})
        if unknown:
            raise ParameterError(
                f"values must list all values of {self.sensitive!r}, but lack {', '.join(unknown)}.",
                argument="values",
            )
        sensitive = np.array([index[value] for value in table[self.sensitive]], dtype=np.int64)
        return self.cell(table) * len(self.values) + sensitive

    def mechanism(self, epsilon: float, relation: Relation | str = Relation.ADD_REMOVE) -> Geometric:
        """Return all counts with geometric noise: epsilon-DP, as a person is in one count, or moves two if replaced."""
        n_counts = self.n_cells * len(self.values)
        query = Histogram(edges=tuple(range(n_counts + 1)))
        relation = Relation.of(relation)
        return Geometric(
            epsilon,
            sensitivity=int(query.sensitivity(relation)),
            n_queries=n_counts,
            query=query,
            relation=relation,
        )

    def table(self, counts: ArrayLike) -> Floats:
        """Return one output of `mechanism` as a table, `(n_cells, n_values)`."""
        return np.asarray(counts, dtype=np.float64).reshape(self.n_cells, len(self.values))
