"""Fitted uniform mixtures of product distributions: the common form of relaxed tables and generator networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ....core.arrays import Floats, Ints
from ....noise.queries.domain import Domain, check_memory
from ...base import Synthesised
from . import products

LARGEST = 2**24
"""Largest number of entries of one array during a fit; more runs are fitted in parts."""


class Mixture(Synthesised):
    """A table of r rows of weights for each run; its answers are means over rows of products of weights.

    Args:
        domain: domain of the records.
        total: number of records in each run, shape `(size,)`.
        columns: weights of attributes by their position in the domain, each `(size, r, n_values)`, >= 0. The other
            attributes are uniform and independent.

    If the weights of a row sum to 1 for each attribute, so do the answers of a marginal, divided by the total; if they
    do not ("spurious"), a record is still drawn in proportion to them, or uniformly if all are 0.
    """

    def __init__(self, domain: Domain, total: Floats, columns: Mapping[int, Floats]) -> None:
        self.domain, self.total, self.columns = domain, total, columns

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return expected counts, `(size, n_cells)`; raise `ParameterError` if they are too many for memory."""
        n_cells = self.domain.project(attributes).n_cells
        check_memory(self._shape[1] * len(self.total) * max(1, n_cells), f"the rows of the marginal of {attributes}")
        shares = products.answers([self._column(self.domain.index(name)) for name in attributes])
        return self.total[:, None] * shares

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return records in random order, shape `(size, n_rows, d)`.

        Each row of the mixture gives the same number of records, up to one, drawn from its product distribution.
        """
        size, n_mixed = self._shape
        places = (np.arange(n_rows) + rng.random((size, 1))) * (n_mixed / n_rows)
        rows = rng.permuted(np.minimum(places.astype(np.int64), n_mixed - 1), axis=1)
        return np.stack([_drawn(self._column(place), rows, rng) for place in range(len(self.domain.names))], axis=2)

    @property
    def _shape(self) -> tuple[int, int]:
        """Number of runs, and number of rows per run."""
        size, n_mixed = next(iter(self.columns.values())).shape[:2]
        return size, n_mixed

    def _column(self, place: int) -> Floats:
        if place in self.columns:
            return self.columns[place]
        n_values = self.domain.shape[place]
        return np.broadcast_to(np.float64(1.0 / n_values), (*self._shape, n_values))


def _drawn(column: Floats, rows: Ints, rng: np.random.Generator) -> Ints:
    """Return a value from the weights of each chosen row, in the shape of `rows`.

    All distribution functions are inverted at once.
    """
    size, n_mixed, n_values = column.shape
    sums = column.sum(axis=2, keepdims=True)
    shares = np.divide(column, sums, out=np.full_like(column, 1.0 / n_values), where=sums > 0.0)
    steps = np.cumsum(shares, axis=2)
    steps = np.minimum(steps / steps[:, :, -1:], 1.0).reshape(-1, n_values)
    chosen = (rows + n_mixed * np.arange(size)[:, None]).ravel()
    ladder = (steps + np.arange(len(steps))[:, None]).ravel()  # the steps of a row follow those of the row before
    indices = np.searchsorted(ladder, chosen + rng.random(chosen.size), side="right") - n_values * chosen
    return np.asarray(np.minimum(indices, n_values - 1).reshape(rows.shape))


def parts_of_runs(size: int, numbers_per_run: int) -> Iterator[slice]:
    """Yield slices of runs such that an array of `numbers_per_run` numbers per run stays within `LARGEST`."""
    step = max(1, LARGEST // max(1, numbers_per_run))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
