"""Linkage on quasi-identifiers: columns common to two tables link the names of one to the records of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Bools, Ints, ParameterError
from ....mechanisms.literature.synthetic_data.anonymity.grouped_table import check_columns

if TYPE_CHECKING:
    import pandas as pd


def unique_share(table: pd.DataFrame, columns: Sequence[str]) -> float:
    """Return the share of records with which no other record agrees in all these columns.

    Args:
        table: one record per person.
        columns: the quasi-identifiers.

    Raises:
        ParameterError: no records, columns that are missing or have missing values.

    Example:
        >>> import pandas as pd
        >>> unique_share(pd.DataFrame({"zip": [1, 1, 2, 2], "sex": ["f", "f", "f", "m"]}), ["zip", "sex"])
        0.5
    """
    check_columns(table, columns, "columns")
    return float(1.0 - table.duplicated(list(columns), keep=False).mean())


def expected_unique_share(sizes: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the expected share of unique people if the people of each place draw their values independently.

    Of N people in a place, one with the value v is unique with probability (1 - p_v)^(N - 1); the share is the mean
    over people: sum_N N sum_v p_v (1 - p_v)^(N - 1) / sum_N N (Golle 2006, section 2, for uniform birth dates).

    Args:
        sizes: `(n_places,)` people in each place, >= 1 somewhere.
        probabilities: `(n_values,)` probabilities of the values, such as birth date and sex together.

    Example:
        >>> round(expected_unique_share([8465], np.full(2 * 365 * 78, 1 / (2 * 365 * 78))), 3)
        0.862
    """
    places, p = np.asarray(sizes, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    if not places.size or not (places >= 0).all() or places.sum() <= 0:
        raise ParameterError(f"sizes must be numbers >= 0, at least one > 0, but are {sizes!r}.", argument="sizes")
    if not p.size or not ((p >= 0) & (p <= 1)).all() or abs(p.sum() - 1.0) > 1e-9:
        raise ParameterError(
            f"probabilities must lie in [0, 1] and sum to 1, but sum to {p.sum():.6g}.", argument="probabilities"
        )
    distinct, multiplicity = np.unique(p, return_counts=True)
    with np.errstate(divide="ignore"):
        p_unique = np.exp(np.multiply.outer(np.maximum(places - 1.0, 0.0), np.log1p(-np.minimum(distinct, 1.0))))
    return float(places @ (np.nan_to_num(p_unique, nan=1.0) @ (distinct * multiplicity)) / places.sum())


def pigeonhole_share(table: pd.DataFrame, within: Sequence[str], n_values: ArrayLike) -> float:
    """Return the share of people whose group is no larger than the number of values that its people could have.

    This is the count of Sweeney (2000): if a ZIP code and an age band have no more people than there are birth dates
    and sexes for them, all of them may be unique. They need not be: this share is possible, `unique_share` is actual.

    Args:
        table: one record per person.
        within: columns of the group, such as ZIP code and band of ages.
        n_values: `(n_records,)` values that the people of each record's group could have.
    """
    check_columns(table, within, "within")
    possible = np.broadcast_to(np.asarray(n_values, dtype=np.float64), (len(table),))
    sizes = table.groupby(list(within), sort=False)[within[0]].transform("size")
    return float((np.asarray(sizes) <= possible).mean())


@dataclass(frozen=True, eq=False)
class Links:
    """Links from the records of a release to named people.

    Args:
        match: `(n_records,)` index in the register; -1 if there is no link.
        n_matching: `(n_records,)` number of people of the register who agree with the record; 1 is a link.
        n_named: people in the register.
    """

    match: Ints
    n_matching: Ints
    n_named: int

    @property
    def linked_share(self) -> float:
        """Share of records with a link."""
        return float((self.match >= 0).mean())

    def correct(self, truth: ArrayLike) -> Bools:
        """Return a mask `(n_records,)` of the correct links.

        Args:
            truth: `(n_records,)` index of each record's person in the register; -1 if not in it.
        """
        return np.asarray((self.match >= 0) & (self.match == np.asarray(truth)))

    @property
    def guessing_share(self) -> float:
        """Expected share of records identified by a guess among matching people: 1 / n_matching, or 0 without any."""
        return float(np.where(self.n_matching > 0, 1.0 / np.maximum(self.n_matching, 1), 0.0).mean())


def link(release: pd.DataFrame, register: pd.DataFrame, on: Sequence[str]) -> Links:
    """Join a release without names to a register with names, wherever exactly one named person agrees.

    A link is certain if the register contains every person. Otherwise the true person may be missing while another
    person agrees; `Links.correct` measures this if the truth is known.

    Args:
        release: one record per row.
        register: one named person per row.
        on: the columns that both have.

    Raises:
        ParameterError: columns that one of them lacks, missing values, no records, or no common value.

    Example:
        >>> import pandas as pd
        >>> visits = pd.DataFrame({"zip": [1, 1, 2], "sex": ["f", "m", "f"]})
        >>> voters = pd.DataFrame({"zip": [1, 2, 2, 1], "sex": ["f", "f", "f", "m"]})
        >>> links = link(visits, voters, ["zip", "sex"])
        >>> links.match.tolist(), links.n_matching.tolist()
        ([0, 3, -1], [1, 1, 2])
    """
    check_columns(release, on, "on")
    check_columns(register, on, "on")
    records, register_keys = _keys(release, register, on)
    order = np.argsort(register_keys, kind="stable")
    first = np.searchsorted(register_keys, records, side="left", sorter=order)
    n_matching = np.searchsorted(register_keys, records, side="right", sorter=order) - first
    if not n_matching.any():
        raise ParameterError(
            f"on must be columns in which release and register overlap, but no record agrees with any person in "
            f"{', '.join(map(repr, on))}. Check that both write the values in the same way, or take coarser columns.",
            argument="on",
        )
    match = np.where(n_matching == 1, order[np.minimum(first, len(order) - 1)], -1)
    return Links(match.astype(np.int64), n_matching.astype(np.int64), len(register))


def _keys(release: pd.DataFrame, register: pd.DataFrame, on: Sequence[str]) -> tuple[Ints, Ints]:
    """Return one number per row, equal where all the columns agree."""
    import pandas as pd

    both = pd.concat([release[list(on)], register[list(on)]], ignore_index=True)
    keys: Ints = both.groupby(list(on), sort=False).ngroup().to_numpy().astype(np.int64)
    return keys[: len(release)], keys[len(release) :]
