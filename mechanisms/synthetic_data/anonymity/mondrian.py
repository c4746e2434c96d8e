"""k-anonymous tables, by cuts at medians of the data and by bands that are fixed in advance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.errors import ParameterError
from ...core.validation import whole
from .table import Coding, GroupedTable, Places, numbered

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
    coding = Coding.of(table, quasi_identifiers)
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

    def allowed(rows: Places) -> bool:
        return len(rows) >= k and (diversity == 1 or len(np.unique(values[rows])) >= diversity)

    parts = _partition(numbers, allowed)
    lower = np.array([numbers[rows].min(axis=0) for rows in parts])
    upper = np.array([numbers[rows].max(axis=0) for rows in parts])
    group = np.empty(len(table), dtype=np.int64)
    for index, rows in enumerate(parts):
        group[rows] = index
    return GroupedTable(coding, lower, upper, group, values, names)


def banded(table: pd.DataFrame, edges: Mapping[str, Sequence[float]], sensitive: str) -> GroupedTable:
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
        >>> banded(people, {"age": [30, 40, 50, 60]}, "illness").to_frame()["age"].tolist()
        ['30-39', '30-39', '50-59', '50-59']
    """
    coding = Coding.of(table, list(edges))
    numbers = coding.numbers(table)
    values, names = numbered(table, sensitive)
    bands = np.column_stack([band_of(numbers[:, j], name, edges[name]) for j, name in enumerate(coding.columns)])
    distinct, group = np.unique(bands, axis=0, return_inverse=True)
    ends = [np.asarray(edges[name], dtype=np.float64) for name in coding.columns]
    lower = np.column_stack([end[distinct[:, j]] for j, end in enumerate(ends)])
    upper = np.column_stack([end[distinct[:, j] + 1] - 1 for j, end in enumerate(ends)])
    return GroupedTable(coding, lower, upper, group.ravel(), values, names)


def band_of(column: Floats, name: str, edges: Sequence[float]) -> Places:
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


def _partition(numbers: Floats, allowed: Callable[[Places], bool]) -> list[Places]:
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


def _lower_half(column: Floats) -> NDArray[np.bool_]:
    """Return a mask of the lower side of the most balanced cut; all True if there is a single value."""
    ordered = np.sort(column)
    cuts = np.flatnonzero(np.diff(ordered) > 0.0)
    if not len(cuts):
        return np.ones(len(column), dtype=np.bool_)
    best = cuts[np.abs(cuts + 1 - len(column) / 2).argmin()]
    return np.asarray(column <= ordered[best])
