"""A table without names, published in groups of people who look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..queries.base import Floats

if TYPE_CHECKING:
    import pandas as pd

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coding:
    """How quasi-identifiers are written as numbers: as they are, or by their place among the values that occur.

    Args:
        columns: names.
        categories: for each column the values that are no numbers, in order; None for numbers.
    """

    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def of(cls, table: pd.DataFrame, columns: Sequence[str]) -> Coding:
        """The coding of a table; see `check_columns` for what is refused."""
        check_columns(table, columns, "quasi_identifiers")
        found = [None if table[name].dtype.kind in "iufb" else tuple(sorted(set(table[name]))) for name in columns]
        return cls(tuple(columns), tuple(found))

    def numbers(self, table: pd.DataFrame) -> Floats:
        """Shape `(n_records, n_columns)`; NaN for a value that did not occur."""
        check_columns(table, self.columns, "people")
        each = []
        for name, known in zip(self.columns, self.categories, strict=True):
            column = table[name]
            if known is not None:
                column = column.map({value: place for place, value in enumerate(known)})
            each.append(np.asarray(column, dtype=np.float64))
        return np.column_stack(each)


@dataclass(frozen=True, eq=False)
class GroupedTable:
    """What is published: for each group the intervals that its people lie in, and the sensitive values that they have.

    Args:
        coding: of the quasi-identifiers.
        lower, upper: `(n_groups, n_columns)` ends of the intervals, both included.
        group: `(n_records,)` the group of each record.
        sensitive: `(n_records,)` numbers of the sensitive values.
        values: the sensitive values, in the order of their numbers.

    Which record of a group has which value is not published, and nothing here reads it.
    """

    coding: Coding
    lower: Floats
    upper: Floats
    group: Places
    sensitive: Places
    values: tuple[Any, ...]

    @property
    def n_groups(self) -> int:
        return len(self.lower)

    @property
    def sizes(self) -> Places:
        """`(n_groups,)` people in each group; the smallest is the k of k-anonymity."""
        return np.bincount(self.group, minlength=self.n_groups)

    @property
    def k(self) -> int:
        """The k of k-anonymity (Sweeney 2002): every group has k people at least."""
        return int(self.sizes.min())

    @property
    def counts(self) -> Places:
        """`(n_groups, n_values)` people of each group with each sensitive value."""
        found = np.zeros((self.n_groups, len(self.values)), dtype=np.int64)
        np.add.at(found, (self.group, self.sensitive), 1)
        return found

    @property
    def diversity(self) -> int:
        """The l of distinct l-diversity (Machanavajjhala et al. 2007): every group has l sensitive values at least."""
        return int((self.counts > 0).sum(axis=1).min())

    @property
    def entropy_diversity(self) -> float:
        """The l of entropy l-diversity, definition 4.1 there: e^(the smallest entropy of a group)."""
        shares = self.counts / self.sizes[:, None]
        entropy = -(shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)
        return float(np.exp(entropy.min()))

    @property
    def constant_groups(self) -> NDArray[np.bool_]:
        """`(n_groups,)` whether all people of a group have the same sensitive value: whoever knows that somebody is in
        it knows the value."""
        return np.asarray((self.counts > 0).sum(axis=1) == 1)

    @property
    def constant_share(self) -> float:
        """Share of people whose group has a single sensitive value."""
        return float(self.sizes[self.constant_groups].sum() / len(self.group))

    def locate(self, people: pd.DataFrame) -> Places:
        """The group that each person would be in, by the quasi-identifiers; -1 where the intervals of none hold them,
        or those of several.

        Args:
            people: has the columns of the quasi-identifiers.

        Returns:
            Shape `(n_people,)`.
        """
        places = self.coding.numbers(people)
        found = np.empty(len(places), dtype=np.int64)
        step = max(1, 2**22 // max(1, self.lower.size))
        for start in range(0, len(places), step):  # so that memory does not grow with people times groups
            here = places[start : start + step, None, :]
            inside = ((here >= self.lower) & (here <= self.upper)).all(axis=2)
            found[start : start + step] = np.where(inside.sum(axis=1) == 1, inside.argmax(axis=1), -1)
        return found

    def to_frame(self) -> pd.DataFrame:
        """The table as people read it: intervals as text, and one row a record, in the order of groups and values."""
        import pandas as pd

        order = np.lexsort((self.sensitive, self.group))
        shown: dict[str, Any] = {}
        for j, (name, known) in enumerate(zip(self.coding.columns, self.coding.categories, strict=True)):
            texts = [_interval(a, b, known) for a, b in zip(self.lower[:, j], self.upper[:, j], strict=True)]
            shown[name] = np.array(texts, dtype=object)[self.group[order]]
        shown["sensitive"] = np.array(self.values, dtype=object)[self.sensitive[order]]
        return pd.DataFrame(shown)


def numbered(table: pd.DataFrame, sensitive: str) -> tuple[Places, tuple[Any, ...]]:
    """The sensitive column as numbers, and its values in order."""
    check_columns(table, [sensitive], "sensitive")
    values = tuple(sorted(set(table[sensitive])))
    number = {value: place for place, value in enumerate(values)}
    return np.array([number[value] for value in table[sensitive]], dtype=np.int64), values


def check_columns(table: pd.DataFrame, columns: Sequence[str], argument: str) -> None:
    """Raises `ParameterError` unless the table has records, all these columns, and no value is missing in them."""
    if isinstance(columns, str) or not columns:
        raise ParameterError(
            f"{argument} must name at least one column, in a list, but is {columns!r}.", argument=argument
        )
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ParameterError(
            f"{argument} must be columns of the table, which lacks {', '.join(map(repr, missing))}: it has "
            f"{', '.join(map(repr, table.columns))}.",
            argument=argument,
        )
    if not len(table):
        raise ParameterError("the table must have at least one record, but is empty.", argument="table")
    holes = [name for name in columns if table[name].isna().any()]
    if holes:
        raise ParameterError(
            f"{argument} must have no missing values, but column {holes[0]!r} has {int(table[holes[0]].isna().sum())}. "
            "Drop these records, or give them a value of their own.",
            argument=argument,
        )


def _interval(lower: float, upper: float, categories: tuple[Any, ...] | None) -> str:
    ends = [lower, upper] if categories is None else [categories[int(lower)], categories[int(upper)]]
    first, last = (f"{end:g}" if isinstance(end, float) else str(end) for end in ends)
    return first if lower == upper else f"{first}-{last}"
