"""Linkage on quasi-identifiers: what stands in two tables brings the names of the one to the records of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.anonymity.table import check_columns
from ...mechanisms.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

Places = NDArray[np.int64]


def unique_share(table: pd.DataFrame, columns: Sequence[str]) -> float:
    """Share of records that no other record agrees with in all these columns.

    Args:
        table: one record a person.
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
    """The share of unique people where those of each place draw their values independently.

    Of N people in a place, one with the value v is unique with probability (1 - p_v)^(N - 1); the share is the mean
    over people: sum_N N sum_v p_v (1 - p_v)^(N - 1) / sum_N N (Golle 2006, section 2, for uniform birth dates).

    Args:
        sizes: `(n_places,)` people in each place, >= 1 somewhere.
        probabilities: `(n_values,)` of the values, such as birth date and sex together.

    Example:
        >>> round(expected_unique_share([8465], np.full(2 * 365 * 78, 1 / (2 * 365 * 78))), 3)
        0.862
    """
    places, p = np.asarray(sizes, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    if not places.size or not (places >= 0).all() or places.sum() <= 0:
        raise ParameterError(f"sizes must be numbers >= 0, one > 0 at least, but are {sizes!r}.", argument="sizes")
    if not p.size or not ((p >= 0) & (p <= 1)).all() or abs(p.sum() - 1.0) > 1e-9:
        raise ParameterError(
            f"probabilities must lie in [0, 1] and sum to 1, but sum to {p.sum():.6g}.", argument="probabilities"
        )
    distinct, times = np.unique(p, return_counts=True)
    with np.errstate(divide="ignore"):
        stay = np.exp(np.multiply.outer(np.maximum(places - 1.0, 0.0), np.log1p(-np.minimum(distinct, 1.0))))
    return float(places @ (np.nan_to_num(stay, nan=1.0) @ (distinct * times)) / places.sum())


def pigeonhole_share(table: pd.DataFrame, within: Sequence[str], n_values: ArrayLike) -> float:
    """Share of people whose group is no larger than the number of values that its people could have.

    So Sweeney (2000) counts: with no more people in a ZIP code and a band of ages than there are birth dates and sexes
    for them, all of them may be unique. They need not be: it is what is possible, `unique_share` is what is the case.

    Args:
        table: one record a person.
        within: columns of the group, such as ZIP code and band of ages.
        n_values: `(n_records,)` values that the people of each record's group could have.
    """
    check_columns(table, within, "within")
    possible = np.broadcast_to(np.asarray(n_values, dtype=np.float64), (len(table),))
    sizes = table.groupby(list(within), sort=False)[within[0]].transform("size")
    return float((np.asarray(sizes) <= possible).mean())


@dataclass(frozen=True, eq=False)
class Links:
    """Which named person each record of a release was linked to.

    Args:
        match: `(n_records,)` place in the register; -1 where there is no link.
        n_alike: `(n_records,)` people of the register who agree with the record: 0 nobody, 1 a link, more: one of them.
        n_named: people in the register.
    """

    match: Places
    n_alike: Places
    n_named: int

    @property
    def linked_share(self) -> float:
        """Share of records with a link."""
        return float((self.match >= 0).mean())

    def right(self, truth: ArrayLike) -> NDArray[np.bool_]:
        """`(n_records,)` which links are right.

        Args:
            truth: `(n_records,)` the person of each record as a place in the register; -1 for one who is not in it.
        """
        return np.asarray((self.match >= 0) & (self.match == np.asarray(truth)))

    @property
    def guessing_share(self) -> float:
        """Expected share of records that a guess among those alike names: 1 / n_alike, 0 where nobody is."""
        return float(np.where(self.n_alike > 0, 1.0 / np.maximum(self.n_alike, 1), 0.0).mean())


def link(release: pd.DataFrame, register: pd.DataFrame, on: Sequence[str]) -> Links:
    """Joins a release without names to a register with names, wherever exactly one named person agrees.

    A link is certain where the register holds everybody. Where it does not, the true person may be missing and somebody
    else alike: how often that is, `Links.right` says where the truth is known.

    Args:
        release: one record a row.
        register: one named person a row.
        on: the columns that both have.

    Raises:
        ParameterError: columns that one of them lacks, missing values, no records, or not a single value in common.

    Example:
        >>> import pandas as pd
        >>> visits = pd.DataFrame({"zip": [1, 1, 2], "sex": ["f", "m", "f"]})
        >>> voters = pd.DataFrame({"zip": [1, 2, 2, 1], "sex": ["f", "f", "f", "m"]})
        >>> links = link(visits, voters, ["zip", "sex"])
        >>> links.match.tolist(), links.n_alike.tolist()
        ([0, 3, -1], [1, 1, 2])
    """
    check_columns(release, on, "on")
    check_columns(register, on, "on")
    records, named = _keys(release, register, on)
    order = np.argsort(named, kind="stable")
    first = np.searchsorted(named, records, side="left", sorter=order)
    alike = np.searchsorted(named, records, side="right", sorter=order) - first
    if not alike.any():
        raise ParameterError(
            f"on must be columns in which release and register overlap, but no record agrees with anybody in "
            f"{', '.join(map(repr, on))}. Check that both write the values in the same way, or take coarser columns.",
            argument="on",
        )
    match = np.where(alike == 1, order[np.minimum(first, len(order) - 1)], -1)
    return Links(match.astype(np.int64), alike.astype(np.int64), len(register))


def _keys(release: pd.DataFrame, register: pd.DataFrame, on: Sequence[str]) -> tuple[Places, Places]:
    """One number a row, equal where all the columns agree."""
    import pandas as pd

    both = pd.concat([release[list(on)], register[list(on)]], ignore_index=True)
    keys: Places = both.groupby(list(on), sort=False).ngroup().to_numpy().astype(np.int64)
    return keys[: len(release)], keys[len(release) :]
