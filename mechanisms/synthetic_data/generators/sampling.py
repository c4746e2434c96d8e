"""Tables drawn from probabilities, batched over runs: systematic samples, with counts as expected up to rounding."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats, Ints


def systematic_sample(shares: Floats, n_rows: int, rng: np.random.Generator) -> Ints:
    """Return the cells of `n_rows` rows in each run, in ascending order: shape `(size, n_rows)`.

    Cell c appears n_rows * share times on average, with an error below one: the distribution function is
    read at (u + i) / n_rows with one uniform u per run, which is systematic sampling.

    Args:
        shares: probability of each cell, shape `(size, n_cells)`.
    """
    steps = np.cumsum(shares, axis=1)
    steps /= steps[:, -1:]
    runs = np.arange(len(shares), dtype=np.float64)[:, None]
    levels = (rng.random((len(shares), 1)) + np.arange(n_rows)) / n_rows
    indices = np.searchsorted((steps + runs).ravel(), (np.minimum(levels, 1.0 - 1e-12) + runs).ravel(), side="right")
    cells: Ints = indices.reshape(len(shares), n_rows) - np.arange(len(shares))[:, None] * shares.shape[1]
    return np.clip(cells, 0, shares.shape[1] - 1)


def sampled_given(shares: Floats, given: Ints, rng: np.random.Generator) -> Ints:
    """Return a cell for each row, given a code of the row: systematic samples, one per code, in random order.

    Args:
        shares: probabilities of code and cell together, shape `(size, n_codes, n_cells)`.
        given: code of each row, shape `(size, n_rows)`.

    Returns:
        Cells, shape `(size, n_rows)`. Among k rows with the same code, cell c appears k times its conditional
        probability on average, with an error below one.
    """
    size, n_codes, n_cells = shares.shape
    steps = np.cumsum(shares.reshape(-1, n_cells) + 1e-300, axis=1)
    steps = (steps / steps[:, -1:] + np.arange(size * n_codes)[:, None]).ravel()
    groups = (given + n_codes * np.arange(size)[:, None]).ravel()
    order = np.lexsort((rng.random(len(groups)), groups))
    counts = np.bincount(groups, minlength=size * n_codes)
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    levels = (rank + np.repeat(rng.random(len(counts)), counts)) / np.repeat(counts, counts)
    sorted_groups = groups[order]
    indices = np.searchsorted(steps, np.minimum(levels, 1.0 - 1e-9) + sorted_groups, side="right")
    cells = np.empty(len(groups), dtype=np.int64)
    cells[order] = np.clip(indices - sorted_groups * n_cells, 0, n_cells - 1)
    return cells.reshape(given.shape)
