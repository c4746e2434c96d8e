"""Singling out: descriptions made from rows of the table, narrow enough that no record fits by chance.

A description "in these columns the record is the row, or near it" has one to six random columns of a row. Categories
agree; the rank of a number or date, among all records, is within half a width of the row's. The width is the largest
at which the description fits 0.001 of the n records on average, if the columns were independent; a description without
such a width is not made. A record is singled out if a description fits it and no other record.

Descriptions that each fit one record on average single one out with probability 1/e, whatever the table (Cohen and
Nissim 2020, "Towards formalizing the GDPR's notion of singling out", PNAS 117), so that those of any table do, and real
records hardly differ from others. Those of Giomi et al. (2023, section 5.2), one-sided intervals that fit one row of
the table, are of this kind: this file departs from them.
"""

from __future__ import annotations

import numpy as np

from ....mechanisms.core import Bools, Floats, Ints, bisect_all

PER_ROW, MOST = 6, 60_000
"""Number of descriptions of each row, and of all rows."""
MAX_COLUMNS = 6
EXPECTED_MATCHES = 0.001
"""Mean number of records that a description fits by chance, if columns are independent."""
MAX_INTERVAL_SHARE = 0.2
"""Largest width, as a share of the records."""
_MAX_BLOCK_ENTRIES = 4_000_000
_BISECTIONS = 40
_WIDTH_TOLERANCE = 1e-12
_NO_VALUE = np.nan  # fits no record


def singled_out(records: Floats, rows: Floats, ordered: Bools, rng: np.random.Generator) -> Bools:
    """Return whether a description of a row fits each record and no other, `(n,)`; see `singling_columns`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> records, others = rng.normal(size=(2, 100, 4))
        >>> singled_out(records, np.vstack([records[:3], others]), np.ones(4, dtype=bool), rng).nonzero()[0].tolist()
        [0, 1, 2]
    """
    return np.asarray(singling_columns(records, rows, ordered, rng).any(axis=1))


def singling_columns(records: Floats, rows: Floats, ordered: Bools, rng: np.random.Generator) -> Bools:
    """Return the columns `(n, d)` of a description of a row that fits each record and no other; none without one.

    Of several such descriptions of a record it is one with the fewest columns.

    Args:
        records: `(n, d)` numbers; those of categories have no order.
        rows: `(m, d)` numbers of the rows.
        ordered: `(d,)` whether the numbers of a column have an order.
        rng: random generator that chooses rows and columns.
    """
    record_ranks, row_ranks, agree = _ranks(records, rows, ordered)
    row, column = _chosen(len(rows), rows.shape[1], rng)
    center, chance = row_ranks[row[:, None], column], agree[row[:, None], column]
    unused = np.cumsum(np.ones_like(column), axis=1) > rng.integers(1, column.shape[1] + 1, len(row))[:, None]
    width, narrow = _widths(chance, ordered[column], unused, EXPECTED_MATCHES / len(records))
    made = narrow & (unused | ~np.isnan(center)).all(axis=1)
    found, fewest = np.zeros(records.shape, dtype=np.bool_), np.full(len(records), column.shape[1] + 1)
    step = max(1, _MAX_BLOCK_ENTRIES // len(records))
    for start in range(0, len(row), step):
        block = np.flatnonzero(made[start : start + step]) + start
        fits = np.ones((len(block), len(records)), dtype=np.bool_)
        for place in range(column.shape[1]):
            used = np.flatnonzero(~unused[block, place])
            at = block[used]
            gap = np.abs(record_ranks.T[column[at, place]] - center[at, place, None])
            fits[used] &= gap <= 0.5 * width[at, place, None] + _WIDTH_TOLERANCE
        one = fits.sum(axis=1) == 1
        for description, record in zip(block[one], fits[one].argmax(axis=1), strict=True):
            used_columns = column[description][~unused[description]]
            if len(used_columns) < fewest[record]:
                fewest[record] = len(used_columns)
                found[record] = False
                found[record, used_columns] = True
    return found


def between_records(records: Ints, ordered: Bools, n_rows: int, rng: np.random.Generator) -> Floats:
    """Return rows made without a table `(n_rows, d)`: random categories, and numbers between those of records."""
    low, high = records.min(axis=0), records.max(axis=0)
    drawn = rng.integers(low, high + 1, size=(n_rows, records.shape[1]))
    return np.asarray(np.where(ordered, drawn - 0.5, drawn), dtype=np.float64)


def _ranks(records: Floats, rows: Floats, ordered: Bools) -> tuple[Floats, Floats, Floats]:
    """Return the ranks of records and rows as shares, and the chance that a record agrees with a row exactly.

    For an entry that at most one record has, the chance is that two records agree, which a pair more than observed
    keeps above 0: an entry seen once does not show how frequent it is.
    """
    n = len(records)
    record_ranks, row_ranks, agree = np.empty(records.shape), np.empty(rows.shape), np.empty(rows.shape)
    for column, is_ordered in enumerate(ordered):
        values, inverse, counts = np.unique(records[:, column], return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - 0.5 * counts) / n
        place = np.minimum(np.searchsorted(values, rows[:, column]), len(values) - 1)
        count = np.where(values[place] == rows[:, column], counts[place], 0)
        record_ranks[:, column] = ranks[inverse]
        if is_ordered:
            row_ranks[:, column] = np.interp(rows[:, column], values, ranks, left=_NO_VALUE, right=_NO_VALUE)
            pairs = float((counts * (counts - 1)).sum()) + 2.0
            agree[:, column] = np.where(count > 1, count / n, pairs / (n * (n - 1.0)))
        else:
            row_ranks[:, column] = np.where(count > 0, ranks[place], _NO_VALUE)
            agree[:, column] = np.maximum(count, 1) / n
    return record_ranks, row_ranks, agree


def _chosen(n_rows: int, d: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the row of each description, and columns in random order `(n_descriptions, at most 6)`."""
    row = np.repeat(np.arange(n_rows), PER_ROW)
    if len(row) > MOST:
        row = rng.choice(row, MOST, replace=False)
    order = np.argsort(rng.random((len(row), d)), axis=1)
    return row, order[:, :MAX_COLUMNS]


def _widths(chance: Floats, ordered: Bools, unused: Bools, target: float) -> tuple[Floats, Bools]:
    """Return the widths of each description, and whether it is as narrow as the target."""

    def mean_fit(log_width: Floats) -> Floats:
        each = np.where(ordered, np.maximum(log_width[:, None], log_chance), log_chance)
        return np.asarray(np.where(unused, 0.0, each).sum(axis=1))

    log_chance, log_target = np.log(chance), np.log(target)
    low, high = np.full(len(chance), np.log(_WIDTH_TOLERANCE)), np.full(len(chance), np.log(MAX_INTERVAL_SHARE))
    narrow = mean_fit(low) <= log_target
    widest, _ = bisect_all(lambda log_width: mean_fit(log_width) > log_target, low, high, steps=_BISECTIONS)
    return np.where(ordered, np.exp(widest)[:, None], 0.0), narrow
