"""Random datasets of people from a public population, with or without one target person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Floats
from ...core.errors import ParameterError, plural
from .populations import check_frequencies


def check_people(people: ArrayLike, n_attributes: int, name: str = "people") -> NDArray[Any]:
    """Return `people` as an array `(n_people, n_attributes)` of zeros and ones; else raise `ParameterError`."""
    rows = np.asarray(people)
    if rows.ndim != 2 or rows.shape[1] != n_attributes:
        raise ParameterError(
            f"{name} must have one row per person and {plural(n_attributes, 'column')}, but have shape {rows.shape}.",
            argument=name,
        )
    if rows.size and (rows.dtype.kind not in "biuf" or not _binary(rows)):
        raise ParameterError(
            f"{name} must hold zeros and ones only. Make two columns of an attribute with three values.", argument=name
        )
    return rows


def _binary(rows: NDArray[Any]) -> bool:
    if rows.dtype.kind == "b":
        return True
    if rows.dtype.kind == "u":
        return bool(rows.max() <= 1)
    step = max(1, 4_000_000 // max(1, rows.shape[1]))
    return all(np.isin(rows[start : start + step], (0, 1)).all() for start in range(0, len(rows), step))


@dataclass(frozen=True, eq=False)
class Study:
    """Dataset that is drawn again in every run: people of a population and, optionally, one target person.

    In a dataset of `ColumnMeans`, `person` is one of its n records and the n - 1 others are fresh non-members; without
    a person all n are. A pair with and without the person differs in one record, which is replaced by that of a random
    non-member: any trade-off curve that holds for each fixed pair of neighbours holds for the average over
    non-members, as it is convex.

    Args:
        frequencies: frequency of a 1 in each column among non-members, shape `(n_attributes,)`, in [0, 1]; columns are
            independent.
        person: a row of zeros and ones, shape `(n_attributes,)`; None: all are non-members.

    Example:
        >>> Study([0.5, 0.2], person=[1, 0])
        Study(2 attributes, with the person)
    """

    frequencies: Floats
    person: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", check_frequencies(self.frequencies))
        if self.person is not None:
            row = np.asarray(self.person)
            if row.shape != self.frequencies.shape:
                raise ParameterError(
                    f"person must have one entry per column, shape {self.frequencies.shape}, but has {row.shape}.",
                    argument="person",
                )
            object.__setattr__(
                self, "person", check_people(row[None], len(self.frequencies), "person")[0].astype(np.uint8)
            )

    def __repr__(self) -> str:
        members = "non-members only" if self.person is None else "with the person"
        return f"Study({len(self.frequencies)} attributes, {members})"

    def strangers(self, n_records: int) -> int:
        """Return the number of non-members among `n_records`."""
        return n_records - (self.person is not None)

    def counts(self, n_records: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the ones in each column of `size` studies of `n_records` people, shape `(size, n_attributes)`."""
        ones = rng.binomial(self.strangers(n_records), self.frequencies, size=(size, len(self.frequencies)))
        if self.person is not None:
            ones += self.person
        return ones
