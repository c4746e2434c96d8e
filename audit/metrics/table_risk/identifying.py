"""Columns by which a row of the table identifies a record: by these alone it is nearer to it than to any other one.

A copy identifies its record by every column in which no other record has the value; a near copy by those in which no
other record is as near to the row. The fewest columns are named: one where one is enough, the column that is enough for
the most records first; else columns are added one by one, each the one that leaves the fewest other records as near.
"""

from __future__ import annotations

import numpy as np

from ....attacks.people.disclosure.nearest_rows import MAX_BLOCK_DISTANCES
from ....mechanisms.core import Bools, Floats, Ints
from .successes import distances
from .tables import Tables

_EQUAL_TOLERANCE = 1e-12


def nearest_rows(tables: Tables, records: Ints) -> Ints:
    """Return the row `(n,)` of the table that is nearest to each pooled record, by all columns."""
    blocks = distances(tables.pooled[records], tables.synthetic)
    return np.concatenate([distance.argmin(axis=1) for _, distance in blocks])


def identifying_columns(tables: Tables, records: Ints, rows: Ints) -> Bools:
    """Return the columns `(n, d)` by which a row identifies each record; none where all columns do not.

    Args:
        tables: the tables.
        records: `(n,)` indices of pooled records.
        rows: `(n,)` row of the table for each of them.
    """
    d = len(tables.domain)
    step = max(1, MAX_BLOCK_DISTANCES // (d * len(tables.real)))
    blocks = [slice(start, start + step) for start in range(0, len(records), step)]
    as_near = [_as_near(_by_column(tables, rows[block]), tables, records[block]) for block in blocks]
    order = np.argsort([-(counts == 0).sum() for counts in np.concatenate(as_near).T], kind="stable")
    found = np.zeros((len(records), d), dtype=np.bool_)
    for block, counts in zip(blocks, as_near, strict=True):
        one = (counts == 0)[:, order]
        single = one.any(axis=1)
        found[np.flatnonzero(single) + block.start, order[one.argmax(axis=1)[single]]] = True
        more = np.flatnonzero(~single) + block.start
        if len(more):
            found[more] = _added(_by_column(tables, rows[more]), tables, records[more], order)
    return found


def _by_column(tables: Tables, rows: Ints) -> Floats:
    """Return the distance `(d, n, n_pooled)` of each row to each pooled record, by each column."""
    each = np.eye(len(tables.domain), dtype=np.bool_)
    chosen = tables.synthetic[rows]
    return np.stack(
        [
            np.concatenate([part for _, part in distances(tables.part(chosen, one), tables.part(tables.pooled, one))])
            for one in each
        ]
    )


def _as_near(distance: Floats, tables: Tables, records: Ints) -> Ints:
    """Return the number `(n, d)` of other records that are at least as near to the row as the record, by column."""
    own = distance[:, np.arange(len(records)), records]
    other = tables.unit != tables.unit[records, None]
    return np.asarray(((distance <= own[:, :, None] + _EQUAL_TOLERANCE) & other).sum(axis=2).T)


def _added(distance: Floats, tables: Tables, records: Ints, order: Ints) -> Bools:
    """Return columns `(n, d)`, added one by one until no other record is as near; none where all are not enough."""
    n, d = len(records), len(distance)
    used, done, total = np.zeros((n, d), dtype=np.bool_), np.zeros(n, dtype=np.bool_), np.zeros(distance.shape[1:])
    for _ in range(d):
        left = _as_near(total + distance, tables, records)
        left[used] = len(tables.real) + 1
        best = order[left[:, order].argmin(axis=1)]
        best_left = left[np.arange(n), best]
        go_on = np.flatnonzero(~done)
        used[go_on, best[go_on]] = True
        total[go_on] += distance[best[go_on], go_on]
        done |= best_left == 0
    used[~done] = False
    return used


__all__ = ["identifying_columns", "nearest_rows"]
