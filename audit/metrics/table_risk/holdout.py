"""Checks that the holdout is a random part of the pooled records, split off by the stated unit.

Null hypothesis: every split of the units, which are records unless a column names others, into real and holdout is
equally likely. A refusal is no finding.

overlap     Equal records in real and holdout: pairs of equal records across the split, over random splits.
columns     The number of real units with a category, or up to a bin, is hypergeometric. With Bonferroni's correction
            over all of them a random split is refused with probability at most `SPLIT_LEVEL`.
units       Rows of one account, person or place are alike, and all of them are real or all holdout if the split was by
            accounts. Where no unit is stated, the records whose nearest other record is of their own table are
            counted, and compared with random splits of the records, which leave nearest records as they are. Ties are
            broken at random. A split by rows is refused with probability at most .001.
"""

from __future__ import annotations

import numpy as np

from ....mechanisms.core import Bools, Floats, Ints, ParameterError, listed
from .successes import distances
from .tables import Tables, row_keys

OVERLAP_SPLITS = 9_999
SPLIT_LEVEL = 1e-6
"""Largest probability that a random split is refused because of the values of its columns."""
OVERLAP_LEVEL = 1e-3
"""A holdout is refused if at most this share of random splits has as many records in both tables."""
UNIT_SPLITS, UNIT_EXCEPTIONS = 1_999, 1
"""Random splits by rows, and the largest number with as many near records on one side at which units are presumed."""
_NEAR_OF, _NEAR_TO = 2_000, 20_000
"""Largest numbers of random records whose nearest record is looked for, and among which."""
_ROWS_OF_A_UNIT = 1.5
"""Smallest mean number of rows of each value of a column that may name units."""


def check_holdout(tables: Tables, *, by_row: bool) -> None:
    """Raise `ParameterError` if the holdout is another table again, or no random part of the pooled records.

    Args:
        tables: the tables.
        by_row: whether no unit is stated.
    """
    if tables.has_holdout:
        _check_apart(tables)
        _check_split(tables, by_row)


def _check_apart(tables: Tables) -> None:
    """Raise `ParameterError` if the holdout is another table again, or overlaps the real table."""
    pooled, synthetic = row_keys(
        np.hstack([tables.pooled.exact, tables.pooled.names]),
        np.hstack([tables.synthetic.exact, tables.synthetic.names]),
    )
    real, holdout = pooled[tables.real], pooled[~tables.real]
    for other, keys in (("real", real), ("synthetic", synthetic)):
        if np.array_equal(np.sort(keys), np.sort(holdout)):
            raise ParameterError(
                f"holdout must be records that the synthetic table was not made of, but has exactly the rows of "
                f"{other}: every difference would cancel. Pass other people of the same population.",
                argument="holdout",
            )
    shared = int(np.isin(holdout, real).sum())
    if shared >= 5 and _overlap_p_value(pooled, tables) <= OVERLAP_LEVEL:
        raise ParameterError(
            f"holdout must be records that the synthetic table was not made of, but {shared:,} of its {len(holdout):,} "
            "rows stand in real too, more than in random splits. Remove the people of real from it.",
            argument="holdout",
        )


def _check_split(tables: Tables, by_row: bool) -> None:
    """Raise `ParameterError` if a column or the nearest records show that the split is not random by the unit."""
    names = list(tables.domain)
    p_values = [_column_p_values(tables, column) for column in range(len(names))]
    smallest = [float(p.min()) for p in p_values]
    worst = int(np.argmin(smallest))
    refused = smallest[worst] * sum(map(len, p_values)) <= SPLIT_LEVEL
    kept = np.arange(len(names)) != worst if refused else np.ones(len(names), dtype=np.bool_)
    if by_row and kept.any() and _units_show(tables, kept):
        units = _may_name_units(tables)
        such = f", such as {listed(units, 'or')}" if units else ""
        raise ParameterError(
            "holdout seems to be split off by account, person, place or another unit of several rows, because more "
            "rows than in random splits (p <= 0.001) have their nearest row in their own table. Pass the column of the "
            f"unit{such}, as unit (--unit on the command line), so that units are compared; or split off single rows. "
            "If each row was drawn by itself, a column that numbers the rows of both tables is the unit.",
            argument="holdout",
        )
    if refused:
        unit = "If it was split off by account, person or place, pass the column that names these as unit. "
        raise ParameterError(
            f"holdout must be split off at random, but its entries in {names[worst]} differ from those of real "
            f"(p = {smallest[worst]:.1g}). {unit if by_row else ''}If the column numbers the rows or names the table, "
            "leave it out with ignore; otherwise pass other records of the same population, or no holdout.",
            argument="holdout",
        )


def _column_p_values(tables: Tables, column: int) -> Floats:
    """Return the two-sided p-value of each category, or of each bin and all below, over splits of the units."""
    from scipy.stats import hypergeom

    name, codes = list(tables.domain)[column], tables.pooled.codes[:, column]
    units, first, number = np.unique(tables.unit, return_index=True, return_inverse=True)
    real, size = tables.real[first], tables.domain[name]
    if name in tables.ordered:
        lowest = np.full(len(units), size - 1)
        np.minimum.at(lowest, number.ravel(), codes)
        counts, of_real = (np.cumsum(np.bincount(of, minlength=size)) for of in (lowest, lowest[real]))
    else:
        pairs = np.unique(np.column_stack([number.ravel(), codes]), axis=0)
        counts, of_real = (np.bincount(of, minlength=size) for of in (pairs[:, 1], pairs[real[pairs[:, 0]], 1]))
    law = hypergeom(len(units), counts, int(real.sum()))
    return np.asarray(2.0 * np.minimum(law.cdf(of_real), law.sf(of_real - 1)))


def _units_show(tables: Tables, columns: Bools) -> bool:
    """Return whether nearest records are of the same table more often than in random splits by rows."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(tables.real))[:_NEAR_TO]
    records, real = tables.part(tables.pooled, columns)[order], tables.real[order]
    of = min(len(order), _NEAR_OF)
    nearest = np.empty(of, dtype=np.int64)
    for block, distance in distances(records[:of], records):
        mine = np.arange(of)[block]
        distance[np.arange(len(mine)), mine] = np.inf
        nearest[block] = distance.argmin(axis=1)

    def same_side(labels: Bools) -> int:
        return int((labels[:of] == labels[nearest]).sum())

    observed, as_many = same_side(real), 0
    for _ in range(UNIT_SPLITS):
        as_many += same_side(rng.permutation(real)) >= observed
        if as_many > UNIT_EXCEPTIONS:
            return False
    return True


def _may_name_units(tables: Tables) -> list[str]:
    """Return the columns with several rows of each value, none of which is in both tables."""
    identifiers = [column.name for column in tables.columns if column.kind == "identifier"]
    columns = dict(zip([*tables.domain, *identifiers], [*tables.pooled.exact.T, *tables.pooled.names.T], strict=True))
    found = []
    for name, values in columns.items():
        real, holdout = np.unique(values[tables.real]), np.unique(values[~tables.real])
        n_values = len(real) + len(holdout)
        if n_values * _ROWS_OF_A_UNIT <= len(values) and not np.isin(real, holdout).any() and n_values > 2:
            found.append(name)
    return found


def _overlap_p_value(keys: Ints, tables: Tables) -> float:
    """Return the share of random splits of the units with at least as many pairs of equal rows across the split."""
    values, counts = np.unique(keys, return_counts=True)
    rows = np.flatnonzero(np.isin(keys, values[counts > 1]))
    group = np.unique(keys[rows], return_inverse=True)[1].ravel()
    totals = np.bincount(group)
    _, first, unit = np.unique(tables.unit, return_index=True, return_inverse=True)
    real, unit_of = tables.real[first], unit.ravel()[rows]
    rng = np.random.default_rng(0)

    def across(labels: Bools) -> int:
        mine = np.bincount(group, weights=labels[unit_of])
        return int((mine * (totals - mine)).sum())

    observed, as_many, n_splits = across(real), 0, max(1_000, min(OVERLAP_SPLITS, 20_000_000 // len(keys)))
    for _ in range(n_splits):
        as_many += across(rng.permutation(real)) >= observed
    return (1 + as_many) / (1 + n_splits)
