"""Uniform mixtures of product distributions, their marginals and gradients; the common form of RAP and GEM.

A table of r rows has, for each attribute, r vectors of weights over its values. Its answer for a cell of a marginal is
the mean over rows of the product of the weights of the cell's values. If the weights are probabilities, this is the
marginal of a uniform mixture of r product distributions; if one value has weight 1 in each vector, it is the marginal
of a table of records.

Axis 0 is the run: the weights of an attribute have shape `(size, r, n_values)`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ....core import Floats, Ints
from ....noise.queries.domain import Domain, check_memory
from ..base import FittedDistribution, Generator, NoisyMarginal
from .objective import LeastSquaresProblem


def _mixture_answers(columns: Sequence[Floats]) -> Floats:
    """Return the marginal of these attributes, shape `(size, n_cells)`, cells in C order.

    Args:
        columns: the weights of each attribute, each of shape `(size, r, n_values)`.
    """
    left, right = _halves(columns)
    table = left.transpose(0, 2, 1) @ right
    return np.asarray(table.reshape(len(table), -1) / left.shape[1])


def _mixture_gradients(columns: Sequence[Floats], weights: Floats) -> list[Floats]:
    """Return gradients of sum(weights * _mixture_answers(columns)) by each of the columns, in their shapes.

    Args:
        columns: see `_mixture_answers`.
        weights: shape `(size, n_cells)`.
    """
    left, right = _halves(columns)
    weight = weights.reshape(len(weights), left.shape[2], right.shape[2]) / left.shape[1]
    if len(columns) == 1:
        return [np.broadcast_to(weight.reshape(len(weight), 1, -1), columns[0].shape)]
    n_left = len(columns) // 2
    left_gradient, right_gradient = right @ weight.transpose(0, 2, 1), left @ weight
    return [*_unfolded(columns[:n_left], left_gradient), *_unfolded(columns[n_left:], right_gradient)]


def _halves(columns: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return products of the weights of the first attributes and of the others, for each row and cell of a half."""
    n_left = len(columns) // 2
    right = _product(columns[n_left:])
    return (_product(columns[:n_left]) if n_left else np.ones((*right.shape[:2], 1))), right


def _product(columns: Sequence[Floats]) -> Floats:
    """Return products of weights in each row, shape `(size, r, n_cells)`."""
    return reduce(lambda a, b: (a[..., :, None] * b[..., None, :]).reshape(*a.shape[:2], -1), columns)


def _unfolded(columns: Sequence[Floats], weight: Floats) -> list[Floats]:
    """Return gradients of sum(weight * _product(columns)) by each column."""
    if len(columns) == 1:
        return [weight]
    first, others = columns[0], _product(columns[1:])
    weight = weight.reshape(*first.shape, -1)
    first_gradient = np.einsum("srab,srb->sra", weight, others)
    return [first_gradient, *_unfolded(columns[1:], np.einsum("srab,sra->srb", weight, first))]


def through_softmax(probabilities: Floats, gradient: Floats) -> Floats:
    """Return the gradient by the logits, from the gradient by the probabilities."""
    return np.asarray(probabilities * (gradient - (gradient * probabilities).sum(axis=-1, keepdims=True)))


MAX_BLOCK_ENTRIES = 2**24
"""Largest number of entries of one array during a fit; more runs are fitted in parts."""


@dataclass(frozen=True)
class MixtureGenerator(Generator):
    """Base class of the generators that search mixtures of product distributions by gradients."""

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> FittedDistribution:
        problem = LeastSquaresProblem.of(domain, measured, total)
        n_values = [domain.shape[position] for position in problem.attributes]
        runs_of_parts = _parts_of_runs(problem.size, self._numbers_per_run(n_values))
        parts = [self._rows(problem.of_runs(runs), n_values, rng) for runs in runs_of_parts]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Mixture(domain, total, dict(zip(problem.attributes, columns, strict=True)))

    @abstractmethod
    def _numbers_per_run(self, n_values: Sequence[int]) -> int:
        """Return the size of the largest array of a run, for attributes with these numbers of values."""

    @abstractmethod
    def _rows(self, problem: LeastSquaresProblem, n_values: Sequence[int], rng: np.random.Generator) -> list[Floats]:
        """Return the fitted weights of each attribute, each `(size, r, n_values)`."""


class Mixture(FittedDistribution):
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
        shares = _mixture_answers([self._column(self.domain.index(name)) for name in attributes])
        return self.total[:, None] * shares

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return records in random order, shape `(size, n_rows, d)`.

        Each row of the mixture gives the same number of records, up to one, drawn from its product distribution.
        """
        size, n_mixed = self._shape
        places = (np.arange(n_rows) + rng.random((size, 1))) * (n_mixed / n_rows)
        rows = rng.permuted(np.minimum(places.astype(np.int64), n_mixed - 1), axis=1)
        return np.stack(
            [_drawn(self._column(position), rows, rng) for position in range(len(self.domain.names))], axis=2
        )

    @property
    def _shape(self) -> tuple[int, int]:
        """Number of runs, and number of rows per run."""
        size, n_mixed = next(iter(self.columns.values())).shape[:2]
        return size, n_mixed

    def _column(self, position: int) -> Floats:
        if position in self.columns:
            return self.columns[position]
        n_values = self.domain.shape[position]
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


def _parts_of_runs(size: int, numbers_per_run: int) -> Iterator[slice]:
    """Yield slices of runs such that an array of `numbers_per_run` numbers per run stays within `MAX_BLOCK_ENTRIES`."""
    step = max(1, MAX_BLOCK_ENTRIES // max(1, numbers_per_run))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


_KEEPS_MEAN, _KEEPS_SQUARE, _TINY = 0.9, 0.999, 1e-12


def adam(
    start: Sequence[Floats],
    gradients: Callable[[Sequence[Floats]], Sequence[Floats]],
    *,
    steps: int,
    rate: float,
    low: float | None = None,
    high: float | None = None,
) -> list[Floats]:
    """Return the parameters after `steps` steps of Adam, whose rate falls from `rate` to 0 along a cosine.

    (Kingma and Ba 2015, algorithm 1: gradient descent with steps scaled for each coordinate.)
    All operations act on each coordinate separately, so runs in the same array do not affect each other.

    Args:
        start: arrays of initial parameters; they are not modified.
        gradients: function from parameters to the gradients of the loss, one array for each array of parameters.
        steps: number of steps, >= 0.
        rate: the length of the first step in each coordinate.
        low, high: the range to which the parameters are clipped after each step; None: unbounded.
    """
    parameters = [np.array(array) for array in start]
    means, squares = ([np.zeros_like(array) for array in parameters] for _ in range(2))
    for step in range(1, steps + 1):
        length = 0.5 * rate * (1.0 + math.cos(math.pi * (step - 1) / steps)) / (1.0 - _KEEPS_MEAN**step)
        scale = 1.0 / math.sqrt(1.0 - _KEEPS_SQUARE**step)
        for array, gradient, mean, square in zip(parameters, gradients(parameters), means, squares, strict=True):
            mean += (1.0 - _KEEPS_MEAN) * (gradient - mean)
            square += (1.0 - _KEEPS_SQUARE) * (gradient**2 - square)
            array -= length * mean / (scale * np.sqrt(square) + _TINY)
            if low is not None or high is not None:
                np.clip(array, low, high, out=array)
    return parameters


def error_gradients(problem: LeastSquaresProblem, columns: Sequence[Floats]) -> list[Floats]:
    """Return half the gradient of the squared error by the weights of each attribute of the problem, in order."""
    column_of = {position: k for k, position in enumerate(problem.attributes)}
    gradients = [np.zeros_like(column) for column in columns]
    for k, region in enumerate(problem.regions):
        region_columns = [columns[column_of[position]] for position in region]
        for position, part in zip(
            region, _mixture_gradients(region_columns, problem.slopes(k, _mixture_answers(region_columns))), strict=True
        ):
            gradients[column_of[position]] += part
    return gradients
