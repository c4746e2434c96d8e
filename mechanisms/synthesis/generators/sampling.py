"""Tables drawn from probabilities, batched over runs: systematic samples, with counts as expected but for rounding."""

from __future__ import annotations

import numpy as np

from ..base import Floats, Ints


def systematic_sample(shares: Floats, n_rows: int, rng: np.random.Generator) -> Ints:
    """Cells of `n_rows` rows in each run, in ascending order: shape `(size, n_rows)`.

    Cell c appears n_rows * share times on average, and never more than one away from that: the distribution function is
    read at (u + i) / n_rows with one uniform u a run, which is systematic sampling.

    Args:
        shares: probability of each cell, shape `(size, n_cells)`.
    """
    steps = np.cumsum(shares, axis=1)
    steps /= steps[:, -1:]
    runs = np.arange(len(shares), dtype=np.float64)[:, None]
    wanted = (rng.random((len(shares), 1)) + np.arange(n_rows)) / n_rows
    found = np.searchsorted((steps + runs).ravel(), (np.minimum(wanted, 1.0 - 1e-12) + runs).ravel(), side="right")
    cells: Ints = found.reshape(len(shares), n_rows) - np.arange(len(shares))[:, None] * shares.shape[1]
    return np.clip(cells, 0, shares.shape[1] - 1)


def sampled_given(shares: Floats, given: Ints, rng: np.random.Generator) -> Ints:
    """A cell for each row, given a code that the row has already: systematic samples, one a code, in random order.

    Args:
        shares: probabilities of code and cell together, shape `(size, n_codes, n_cells)`.
        given: code of each row, shape `(size, n_rows)`.

    Returns:
        Cells, shape `(size, n_rows)`. Among k rows of one code, cell c appears k times its conditional probability on
        average, and never more than one away from that.
    """
    size, n_codes, n_cells = shares.shape
    steps = np.cumsum(shares.reshape(-1, n_cells) + 1e-300, axis=1)
    steps = (steps / steps[:, -1:] + np.arange(size * n_codes)[:, None]).ravel()
    groups = (given + n_codes * np.arange(size)[:, None]).ravel()
    order = np.lexsort((rng.random(len(groups)), groups))
    counts = np.bincount(groups, minlength=size * n_codes)
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    inside = (rank + np.repeat(rng.random(len(counts)), counts)) / np.repeat(counts, counts)
    sorted_groups = groups[order]
    found = np.searchsorted(steps, np.minimum(inside, 1.0 - 1e-9) + sorted_groups, side="right")
    cells = np.empty(len(groups), dtype=np.int64)
    cells[order] = np.clip(found - sorted_groups * n_cells, 0, n_cells - 1)
    return cells.reshape(given.shape)
