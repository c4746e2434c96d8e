"""GUM: a table updated a few records at a time until it has the target marginals.

(Zhang, Wang, Li, Honorio, Backes, He, Chen and Zhang 2021, PrivSyn.) Axis 0 of a table is the run:
`(size, n_rows, d)`, whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core import Floats, Ints


def fitted_table(
    start: Ints, regions: Sequence[tuple[int, ...]], targets: Sequence[Floats], *, sweeps: int, rng: np.random.Generator
) -> Ints:
    """Return the table after `sweeps` rounds of updates towards each marginal in turn.

    The fraction of the deficit that one update moves falls from 1 in the first sweep to 1 / sweeps in the last;
    otherwise updates of one marginal would disturb the others forever.

    Args:
        start: shape `(size, n_rows, d)`.
        regions: the columns of each marginal, ascending.
        targets: for each marginal the target shares, `(size, *shape)`, summing to 1 in each run.
        sweeps: number of rounds.
        rng: source of randomness.
    """
    table = start.copy()
    for step in range(sweeps):
        for region, target in zip(regions, targets, strict=True):
            update(table, region, target, 1.0 - step / sweeps, rng)
    return table


def update(table: Ints, region: tuple[int, ...], target: Floats, share: float, rng: np.random.Generator) -> None:
    """Move the fraction `share` of the deficit of one marginal, in place: records leave cells that hold too many.

    The records that leave are chosen at random. With probability 1/2 such a record becomes a copy of a record of its
    new cell ("duplicate"); otherwise, and if that cell is empty, it keeps its other attributes ("replace").
    """
    size, n_rows, d = table.shape
    shape, records = target.shape[1:], table.reshape(-1, d)
    n_cells = int(np.prod(shape))
    cell = np.ravel_multi_index(tuple(records[:, a] for a in region), shape)
    cell += np.repeat(n_cells * np.arange(size), n_rows)  # number the cells of all runs consecutively
    order = np.argsort(cell + rng.random(len(cell)))  # by cell, in random order within it
    counts = np.bincount(cell, minlength=size * n_cells)
    first = np.cumsum(counts) - counts
    leave, enter = _moves(n_rows * target.reshape(size, n_cells) - counts.reshape(size, n_cells), share, rng)
    leaving = order[np.arange(len(order)) - first[cell[order]] < leave.ravel()[cell[order]]]
    leaving = leaving[np.argsort(leaving // n_rows + rng.random(len(leaving)))]  # by run, in random order within it
    entered = np.repeat(np.arange(size * n_cells), enter.ravel())
    chosen = first[entered] + (rng.random(len(entered)) * counts[entered]).astype(np.int64)
    copied = (counts[entered] > 0) & (rng.random(len(entered)) < 0.5)
    records[leaving[copied]] = records[order[chosen[copied]]]
    records[leaving[:, None], list(region)] = np.stack(np.unravel_index(entered % n_cells, shape), axis=1)


def _moves(missing: Floats, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return how many records leave and enter each cell; in each run both numbers have the same sum.

    Args:
        missing: target count - count, shape `(size, n_cells)`, with sum 0 in each run.
        share: fraction of `missing` to move; the numbers are whole, with this mean up to less than one record per run.
    """
    total = np.floor(share * np.maximum(missing, 0.0).sum(axis=1, keepdims=True) * (1.0 + 1e-12))
    leave, enter = (_rounded(np.maximum(sign * missing, 0.0), total, rng) for sign in (-1.0, 1.0))
    return leave, enter


def _rounded(amounts: Floats, total: Floats, rng: np.random.Generator) -> Ints:
    """Return whole numbers proportional to the amounts, with the given sum in each run, by systematic sampling."""
    steps = np.cumsum(amounts, axis=1)
    steps *= np.divide(total, steps[:, -1:], out=np.zeros_like(total), where=steps[:, -1:] > 0.0)
    steps[:, -1:] = total
    return np.diff(np.floor(steps + rng.random((len(steps), 1))), axis=1, prepend=0.0).astype(np.int64)


def independent_table(shares: Sequence[Floats], n_rows: int, rng: np.random.Generator) -> Ints:
    """Return a table whose columns have these shares, up to rounding, in independent random orders.

    Args:
        shares: shares of each attribute, shape `(size, n_values)`, summing to 1 in each run.
        n_rows: number of records.
        rng: source of randomness.
    """
    columns = []
    for share in shares:
        size, n_values = share.shape
        counts = _rounded(share, np.full((size, 1), float(n_rows)), rng)
        ordered = np.repeat(np.tile(np.arange(n_values), size), counts.ravel()).reshape(size, n_rows)
        columns.append(rng.permuted(ordered, axis=1))
    return np.stack(columns, axis=2)
