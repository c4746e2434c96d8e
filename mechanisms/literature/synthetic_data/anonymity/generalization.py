"""Generalisation of quasi-identifiers: k-anonymous groups, fixed bands, and noisy counts in fixed bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ....core import Bools, Floats, Ints, ParameterError, Relation, whole
from ....noise.geometric import Geometric
from ....noise.queries.counts import Histogram
from .grouped_table import GroupedTable, QuasiIdentifierCoding, check_columns, numbered

if TYPE_CHECKING:
    import pandas as pd


def mondrian(
    table: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive: str, *, k: int, diversity: int = 1
) -> GroupedTable:
    """Return groups of at least k people by strict multidimensional partitioning.

    This is the algorithm of LeFevre, DeWitt and Ramakrishnan (2006). Starting with all people, a group is cut in two at
    the median of the quasi-identifier with the largest range in it, relative to its range in the whole table, or
    between the two distinct values nearest to this median; if a side would be too small, the next quasi-identifier is
    tried, and a group that cannot be cut is published with the intervals that its people actually span.

    The table satisfies k-anonymity (Sweeney 2002) but not differential privacy: the published intervals depend on each
    person.

    Args:
        table: one record per person.
        quasi_identifiers: columns that others also know, numbers or names; names are ordered alphabetically.
        sensitive: column that is published with the groups.
        k: minimum number of people in a group, from 1 to the number of records.
        diversity: minimum number of different sensitive values in a group (distinct l-diversity).

    Raises:
        ParameterError: columns are missing or have missing values, k is larger than the table, or diversity is larger
            than the number of sensitive values.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 34, 52, 58], "illness": ["flu", "flu", "asthma", "flu"]})
        >>> mondrian(people, ["age"], "illness", k=2).to_frame()
             age sensitive
        0  31-34       flu
        1  31-34       flu
        2  52-58    asthma
        3  52-58       flu
    """
    whole(1, k=k, diversity=diversity)
    coding = QuasiIdentifierCoding.of(table, quasi_identifiers)
    numbers = coding.numbers(table)
    values, names = numbered(table, sensitive)
    if k > len(table):
        raise ParameterError(
            f"k must be at most the number of records, {len(table)}, but is {k}. Take a smaller k or a larger table.",
            argument="k",
        )
    if diversity > len(names):
        raise ParameterError(
            f"diversity must be at most the number of different values of {sensitive!r}, {len(names)}, but is "
            f"{diversity}.",
            argument="diversity",
        )

    def allowed(rows: Ints) -> bool:
        return len(rows) >= k and (diversity == 1 or len(np.unique(values[rows])) >= diversity)

    parts = _partition(numbers, allowed)
    lower = np.array([numbers[rows].min(axis=0) for rows in parts])
    upper = np.array([numbers[rows].max(axis=0) for rows in parts])
    group = np.empty(len(table), dtype=np.int64)
    for index, rows in enumerate(parts):
        group[rows] = index
    return GroupedTable(coding, lower, upper, group, values, names)


def global_recoding(table: pd.DataFrame, edges: Mapping[str, Sequence[float]], sensitive: str) -> GroupedTable:
    """Return groups by bands that are fixed in advance: ages in decades, regions of ZIP codes (global recoding).

    Args:
        table: one record per person.
        edges: for each quasi-identifier, a column of whole numbers, the starts of the bands: band i is edges[i] to
            edges[i + 1] - 1. Increasing; the last number is the end of the last band.
        sensitive: column that is published with the groups.

    Raises:
        ParameterError: columns are missing, edges do not increase, or a record lies outside them.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 34, 52, 58], "illness": ["flu", "flu", "asthma", "flu"]})
        >>> global_recoding(people, {"age": [30, 40, 50, 60]}, "illness").to_frame()["age"].tolist()
        ['30-39', '30-39', '50-59', '50-59']
    """
    coding = QuasiIdentifierCoding.of(table, list(edges))
    numbers = coding.numbers(table)
    values, names = numbered(table, sensitive)
    bands = np.column_stack([_band_of(numbers[:, j], name, edges[name]) for j, name in enumerate(coding.columns)])
    distinct, group = np.unique(bands, axis=0, return_inverse=True)
    ends = [np.asarray(edges[name], dtype=np.float64) for name in coding.columns]
    lower = np.column_stack([end[distinct[:, j]] for j, end in enumerate(ends)])
    upper = np.column_stack([end[distinct[:, j] + 1] - 1 for j, end in enumerate(ends)])
    return GroupedTable(coding, lower, upper, group.ravel(), values, names)


def _band_of(column: Floats, name: str, edges: Sequence[float]) -> Ints:
    """Return the band of each value, `(n,)`; `edges` are the starts of the bands and the end of the last."""
    ends = np.asarray(edges, dtype=np.float64)
    if ends.ndim != 1 or len(ends) < 2 or not np.all(np.diff(ends) > 0):
        raise ParameterError(
            f"edges must be at least two increasing numbers for each column, but those of {name!r} are {edges!r}.",
            argument="edges",
        )
    bands = np.searchsorted(ends, column, side="right") - 1
    if (bands < 0).any() or (bands >= len(ends) - 1).any():
        raise ParameterError(
            f"edges must hold all records, but those of {name!r} go from {ends[0]:g} to {ends[-1] - 1:g}, and its "
            f"values from {column.min():g} to {column.max():g}.",
            argument="edges",
        )
    return np.asarray(bands, dtype=np.int64)


def _partition(numbers: Floats, allowed: Callable[[Ints], bool]) -> list[Ints]:
    """Return the records of each group after all allowed cuts."""
    spread = np.ptp(numbers, axis=0)
    spread[spread == 0.0] = 1.0
    waiting, done = [np.arange(len(numbers))], []
    while waiting:
        rows = waiting.pop()
        for column in np.argsort(-np.ptp(numbers[rows], axis=0) / spread, kind="stable"):
            low = _lower_half(numbers[rows, column])
            sides = rows[low], rows[~low]
            if allowed(sides[0]) and allowed(sides[1]):
                waiting += sides[::-1]
                break
        else:
            done.append(rows)
    return done


def _lower_half(column: Floats) -> Bools:
    """Return a mask of the lower side of the most balanced cut; all True if there is a single value."""
    ordered = np.sort(column)
    cuts = np.flatnonzero(np.diff(ordered) > 0.0)
    if not len(cuts):
        return np.ones(len(column), dtype=np.bool_)
    best = cuts[np.abs(cuts + 1 - len(column) / 2).argmin()]
    return np.asarray(column <= ordered[best])


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

    def cell(self, people: pd.DataFrame) -> Ints:
        """Return the cell of each person, `(n_people,)`; raise `ParameterError` for one outside the edges."""
        check_columns(people, list(self.edges), "people")
        bands = [_band_of(people[name].to_numpy(dtype=np.float64), name, ends) for name, ends in self.edges.items()]
        return np.asarray(np.ravel_multi_index(tuple(bands), self.shape), dtype=np.int64)

    def records(self, table: pd.DataFrame) -> Ints:
        """Return the records for `mechanism`: the index of the count of each person, `(n_records,)`."""
        check_columns(table, [self.sensitive], "sensitive")
        index = {value: i for i, value in enumerate(self.values)}
        unknown = sorted({str(value) for value in table[self.sensitive]} - {str(value) for value in self.values})
        if unknown:
            raise ParameterError(
                f"values must list all values of {self.sensitive!r}, but lack {', '.join(unknown)}.", argument="values"
            )
        sensitive = np.array([index[value] for value in table[self.sensitive]], dtype=np.int64)
        return self.cell(table) * len(self.values) + sensitive

    def mechanism(self, epsilon: float, relation: Relation | str = Relation.ADD_REMOVE) -> Geometric:
        """Return all counts with geometric noise: epsilon-DP, as a person is in one count, or moves two if replaced."""
        n_counts = self.n_cells * len(self.values)
        query = Histogram(edges=tuple(range(n_counts + 1)))
        relation = Relation.of(relation)
        return Geometric(
            epsilon, sensitivity=int(query.sensitivity(relation)), n_queries=n_counts, query=query, relation=relation
        )

    def table(self, counts: ArrayLike) -> Floats:
        """Return one output of `mechanism` as a table, `(n_cells, n_values)`."""
        return np.asarray(counts, dtype=np.float64).reshape(self.n_cells, len(self.values))
