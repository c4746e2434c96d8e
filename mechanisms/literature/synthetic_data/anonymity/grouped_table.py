"""A table without names, published in groups of people with the same generalised quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core import Bools, Floats, Ints, ParameterError, parameter_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class QuasiIdentifierCoding:
    """Numerical coding of quasi-identifiers: numbers stay as they are, others become their rank among the values.

    Args:
        columns: names of the columns.
        categories: for each column the sorted values if they are not numbers; None for numbers.
    """

    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def of(cls, table: pd.DataFrame, columns: Sequence[str]) -> QuasiIdentifierCoding:
        """Return the coding of a table; see `check_columns` for the conditions."""
        check_columns(table, columns, "quasi_identifiers")
        categories = [None if table[name].dtype.kind in "iufb" else tuple(sorted(set(table[name]))) for name in columns]
        return cls(tuple(columns), tuple(categories))

    def numbers(self, table: pd.DataFrame) -> Floats:
        """Return the codes, shape `(n_records, n_columns)`; NaN for a value that did not occur."""
        check_columns(table, self.columns, "people")
        codes = []
        for name, known in zip(self.columns, self.categories, strict=True):
            column = table[name]
            if known is not None:
                column = column.map({value: code for code, value in enumerate(known)})
            codes.append(np.asarray(column, dtype=np.float64))
        return np.column_stack(codes)


@dataclass(frozen=True, eq=False)
class GroupedTable:
    """Published table: for each group the intervals that contain its people, and their sensitive values.

    Args:
        coding: coding of the quasi-identifiers.
        lower, upper: `(n_groups, n_columns)` ends of the intervals, both included.
        group: `(n_records,)` the group of each record.
        sensitive: `(n_records,)` numbers of the sensitive values.
        values: the sensitive values, in the order of their numbers.

    The pairing of records and sensitive values within a group is not published, and no method uses it.
    """

    coding: QuasiIdentifierCoding
    lower: Floats
    upper: Floats
    group: Ints
    sensitive: Ints
    values: tuple[Any, ...]

    @property
    def n_groups(self) -> int:
        return len(self.lower)

    @property
    def sizes(self) -> Ints:
        """`(n_groups,)` number of people in each group; the smallest is the k of k-anonymity."""
        return np.bincount(self.group, minlength=self.n_groups)

    @property
    def k(self) -> int:
        """Parameter k of k-anonymity (Sweeney 2002): every group has at least k people."""
        return int(self.sizes.min())

    @property
    def counts(self) -> Ints:
        """`(n_groups, n_values)` number of people of each group with each sensitive value."""
        counts = np.zeros((self.n_groups, len(self.values)), dtype=np.int64)
        np.add.at(counts, (self.group, self.sensitive), 1)
        return counts

    @property
    def diversity(self) -> int:
        """Parameter l of distinct l-diversity (Machanavajjhala et al. 2007): each group has at least l values."""
        return int((self.counts > 0).sum(axis=1).min())

    @property
    def entropy_diversity(self) -> float:
        """Parameter l of entropy l-diversity (definition 4.1 there): e^(smallest entropy of a group)."""
        shares = self.counts / self.sizes[:, None]
        entropy = -(shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)
        return float(np.exp(entropy.min()))

    @property
    def constant_groups(self) -> Bools:
        """`(n_groups,)` mask of the groups in which all people have the same sensitive value.

        For such a group, membership alone reveals the value.
        """
        return np.asarray((self.counts > 0).sum(axis=1) == 1)

    @property
    def constant_share(self) -> float:
        """Share of people whose group has a single sensitive value."""
        return float(self.sizes[self.constant_groups].sum() / len(self.group))

    def locate(self, people: pd.DataFrame) -> Ints:
        """Return the group of each person by the quasi-identifiers; -1 if no group or several groups match.

        Args:
            people: has the columns of the quasi-identifiers.

        Returns:
            Shape `(n_people,)`.
        """
        codes = self.coding.numbers(people)
        groups = np.empty(len(codes), dtype=np.int64)
        step = max(1, 2**22 // max(1, self.lower.size))
        for start in range(0, len(codes), step):  # in batches, to bound the memory for people times groups
            batch = codes[start : start + step, None, :]
            inside = ((batch >= self.lower) & (batch <= self.upper)).all(axis=2)
            groups[start : start + step] = np.where(inside.sum(axis=1) == 1, inside.argmax(axis=1), -1)
        return groups

    def to_frame(self) -> pd.DataFrame:
        """Return the table in readable form: intervals as text, one row per record, sorted by group and value."""
        import pandas as pd

        order = np.lexsort((self.sensitive, self.group))
        columns: dict[str, Any] = {}
        for j, (name, known) in enumerate(zip(self.coding.columns, self.coding.categories, strict=True)):
            texts = [_interval(a, b, known) for a, b in zip(self.lower[:, j], self.upper[:, j], strict=True)]
            columns[name] = np.array(texts, dtype=object)[self.group[order]]
        columns["sensitive"] = np.array(self.values, dtype=object)[self.sensitive[order]]
        return pd.DataFrame(columns)


def numbered(table: pd.DataFrame, sensitive: str) -> tuple[Ints, tuple[Any, ...]]:
    """Return the sensitive column as numbers, and its values in order."""
    check_columns(table, [sensitive], "sensitive")
    values = tuple(sorted(set(table[sensitive])))
    number = {value: code for code, value in enumerate(values)}
    return np.array([number[value] for value in table[sensitive]], dtype=np.int64), values


def check_columns(table: pd.DataFrame, columns: Sequence[str], argument: str) -> None:
    """Raise `ParameterError` unless the table has records and all these columns, without missing values."""
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
            "Drop these records, or give them a separate value.",
            argument=argument,
        )


def _interval(lower: float, upper: float, categories: tuple[Any, ...] | None) -> str:
    ends = [lower, upper] if categories is None else [categories[int(lower)], categories[int(upper)]]
    first, last = (f"{parameter_text(end)}" if isinstance(end, float) else str(end) for end in ends)
    return first if lower == upper else f"{first}-{last}"
