"""Direct method: the best distribution over the whole domain; and systematic samples, batched over runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from ....core import Floats, Ints
from ....noise.queries.domain import Domain, check_memory
from ..base import FittedDistribution, NoisyMarginal
from .mirror_descent import MirrorDescentGenerator, Parts

MAX_BLOCK_ENTRIES = 2**22
"""Size of the blocks in which runs are fitted, in numbers; several arrays of this size are held at once."""


@dataclass(frozen=True)
class DirectGenerator(MirrorDescentGenerator):
    """Direct method: maximum likelihood of the answers over all distributions on the cells of the domain.

    A convex problem, solved by multiplicative weights (`mirror_descent`). Of all best distributions it finds the one
    with the largest entropy. It holds the whole domain in memory, and is therefore suited to few attributes;
    `GraphicalModel` finds the same distribution without holding the domain.

    Args:
        n_steps: maximum number of steps of multiplicative weights, >= 1.
        tolerance: a run ends once 25 steps increase its log likelihood by less than this, > 0.

    Example:
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
        >>> answers = np.array([[30.0, 10.0]])
        >>> fitted = DirectGenerator().fit(
        ...     Domain({"a": 2, "b": 2}), [NoisyMarginal(("a",), answers, 1.0)], np.random.default_rng(0)
        ... )
        >>> fitted.marginal(("a", "b")).round(3) + 0.0
        array([[15., 15.,  5.,  5.]])
    """

    deterministic: ClassVar[bool] = True
    holds_domain: ClassVar[bool] = True

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> Histograms:
        check_memory(
            len(total) * domain.n_cells,
            "distributions over the whole domain",
            advice="Use fewer attributes or runs, or a generator that does not list the domain: GraphicalModel.",
        )
        shares = np.empty((len(total), domain.n_cells))
        at_once = max(1, MAX_BLOCK_ENTRIES // domain.n_cells)
        for start in range(0, len(total), at_once):
            runs = np.arange(start, min(start + at_once, len(total)))
            shares[runs] = self._shares(domain, [measurement.of_runs(runs) for measurement in measured], total[runs])
        return Histograms(domain, total, shares)

    def _shares(self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats) -> Floats:
        """Return the fitted probability of each cell, shape `(size, n_cells)`."""
        projections = [Projection(domain, measurement.attributes) for measurement in measured]

        def shares(potentials: Parts) -> Floats:
            exponent = np.zeros((len(potentials[0]), *domain.shape))
            for projection, part in zip(projections, potentials, strict=True):
                exponent += projection.spread(part)
            return np.asarray(softmax(exponent.reshape(len(exponent), -1), axis=1))

        def marginals(potentials: Parts, _: Ints) -> Parts:
            probabilities = shares(potentials)
            return [projection.sums(probabilities) for projection in projections]

        start = [np.zeros_like(measurement.answers) for measurement in measured]
        return shares(self._potentials(marginals, measured, total, start))


class Projection:
    """Map between the cells of a domain and those of some of its attributes, in any order; axis 0 is the run."""

    def __init__(self, domain: Domain, attributes: Sequence[str]) -> None:
        places = [domain.index(name) for name in attributes]
        order = np.argsort(places)
        self._shape, self._sizes = domain.shape, tuple(domain.shape[position] for position in places)
        self._others = tuple(1 + axis for axis in range(len(domain.shape)) if axis not in places)
        self._to_domain = (0, *(1 + order).tolist())
        self._to_attributes = (0, *(1 + np.argsort(order)).tolist())
        self._kept = tuple(n if axis in places else 1 for axis, n in enumerate(domain.shape))

    def spread(self, marginal: Floats) -> Floats:
        """Return values of cells of the attributes, `(size, n_cells)`, in a shape that broadcasts over the domain."""
        return marginal.reshape(-1, *self._sizes).transpose(self._to_domain).reshape(-1, *self._kept)

    def log_sums(self, logs: Floats) -> Floats:
        """Return logarithms of sums of exponentials of `(size, *domain.shape)`: shape `(size, n_cells)`."""
        highest = logs.max(axis=self._others, keepdims=True)
        log_sums: Floats = np.log(np.exp(logs - highest).sum(axis=self._others, keepdims=True)) + highest
        return log_sums.squeeze(self._others).transpose(self._to_attributes).reshape(len(logs), -1)

    def sums(self, values: Floats) -> Floats:
        """Return sums of values of cells of the domain, `(size, domain.n_cells)`: shape `(size, n_cells)`."""
        summed: Floats = values.reshape(-1, *self._shape).sum(axis=self._others)
        return summed.transpose(self._to_attributes).reshape(len(values), -1)


class Histograms(FittedDistribution):
    """A distribution over the whole domain for each run.

    Args:
        domain: domain of the records.
        total: number of records in each run, shape `(size,)`.
        shares: probability of each cell, shape `(size, n_cells)`.
    """

    def __init__(self, domain: Domain, total: Floats, shares: Floats) -> None:
        self.domain, self.total, self.shares = domain, total, shares

    def marginal(self, attributes: Sequence[str]) -> Floats:
        return self.total[:, None] * Projection(self.domain, attributes).sums(self.shares)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return tables in which each cell has its expected number of rows, rounded up or down, in random order."""
        cells = systematic_sample(self.shares, n_rows, rng)
        return self.domain.records_in(rng.permuted(cells, axis=1))


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
