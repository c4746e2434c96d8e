"""Graphical model of a tree that differs between runs, fitted for all runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from ...core.arrays import Floats, Ints
from ...core.constraints import Positive, PositiveInt, check_fields
from ...core.errors import ParameterError
from ...noise.queries.domain import Domain, check_memory
from ..base import Generator, Measured, Synthesised, n_runs
from .potentials import Likelihood, Parts, fit_potentials
from .tree_answers import TreeAnswers, Trees, answers_of

BLOCK = 2**21
"""Size of the blocks in which runs are fitted, in numbers; several arrays of this size are held at once."""


@dataclass(frozen=True)
class TreeModel(Generator):
    """Graphical model for measured attributes and pairs of attributes that are the edges of a tree, as chosen by MST.

    It maximises the likelihood of the answers over all distributions, by entropic mirror descent over the potentials of
    the tree (McKenna, Sheldon and Miklau 2019): `GraphicalModel` finds the same distribution for any marginals, one
    tree after another. In this class each run has a separate tree, and belief propagation follows the parents of each
    run through arrays, so thousands of different trees take no longer than as many runs of the same tree.

    Args:
        n_steps: maximum number of steps of mirror descent, >= 1.
        tolerance: a run ends once 25 steps increase its log likelihood by less than this, > 0.

    Raises:
        ParameterError: in `fit`, for a marginal of three attributes, noise that is not Gaussian, or pairs that form a
            cycle.

    Example:
        >>> from dpassay.mechanisms.synthetic_data import Measured
        >>> answers = np.array([[30.0, 0.0, 0.0, 10.0]])
        >>> fitted = TreeModel().fit(
        ...     Domain({"a": 2, "b": 2}), [Measured(("a", "b"), answers, 1.0)], np.random.default_rng(0)
        ... )
        >>> fitted.marginal(("a",)).round(1)
        array([[30., 10.]])
    """

    n_steps: PositiveInt = 1000
    tolerance: Positive = 1e-3

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)

    def fit(
        self, domain: Domain, measured: Sequence[Measured], rng: np.random.Generator, *, n_records: int | None = None
    ) -> TreeDistributions:
        if not measured or not (size := n_runs(measured)):
            raise ParameterError("measured must hold at least one marginal, but is empty.", argument="measured")
        total = _estimated(measured, size) if n_records is None else np.full(size, float(max(1, n_records)))
        return self._fit(domain, measured, total, rng)

    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> TreeDistributions:
        widest = max(domain.shape)
        per_run = len(domain.names) * widest * widest
        check_memory(len(total) * per_run, "the conditional distributions of all trees")
        trees, answers = answers_of(domain, measured, len(total))
        root_shares = np.empty((len(total), widest))
        conditionals = np.empty((len(total), len(domain.names) - 1, widest, widest))
        at_once = max(1, BLOCK // per_run)
        for start in range(0, len(total), at_once):
            runs = slice(start, start + at_once)
            root_shares[runs], conditionals[runs] = self._fitted(trees.of(runs), answers.of(runs), total[runs])
        return TreeDistributions(domain, total, trees, root_shares, conditionals)

    def _fitted(self, trees: Trees, answers: TreeAnswers, total: Floats) -> tuple[Floats, Floats]:
        """Return the distribution of the root and of each node given its parent: see `TreeDistributions`."""

        def marginals(potentials: Parts, runs: Ints) -> Parts:
            return beliefs(trees.of(runs), potentials)[0]

        likelihood = Likelihood(answers.measured(), total)
        potentials = fit_potentials(
            marginals, likelihood, answers.start(total), n_steps=self.n_steps, tolerance=self.tolerance
        )
        probabilities, conditionals = beliefs(trees, potentials)
        return probabilities[0], conditionals


def beliefs(trees: Trees, potentials: Parts) -> tuple[Parts, Floats]:
    """Return probabilities by belief propagation along the tree of each run.

    Messages pass from the leaves to the root, and back.

    Args:
        trees: tree of each run.
        potentials: of each node, `(size, width)`, then of each edge, `(size, width^2)`: parent, child.

    Returns:
        The probabilities of nodes and edges, in the same order; and those of each child given its parent, shape
        `(size, d - 1, width, width)`.
    """
    d = trees.nodes.shape[1]
    rows, width = np.arange(len(trees.nodes)), potentials[0].shape[1]
    upward = np.stack(potentials[:d], axis=1)
    conditionals = np.empty((len(rows), d - 1, width, width))
    for edge in range(d - 2, -1, -1):
        values = potentials[d + edge].reshape(-1, width, width) + upward[:, edge + 1, None, :]
        largest = values.max(axis=2, keepdims=True)
        weights = np.exp(values - largest)
        sums = weights.sum(axis=2, keepdims=True)
        conditionals[:, edge] = weights / sums
        upward[rows, trees.parents[:, edge]] += (largest + np.log(sums))[:, :, 0]
    nodes, edges = np.empty_like(upward), []
    nodes[:, 0] = softmax(upward[:, 0], axis=1)
    for edge in range(d - 1):
        joint = nodes[rows, trees.parents[:, edge]][:, :, None] * conditionals[:, edge]
        nodes[:, edge + 1] = joint.sum(axis=1)
        edges.append(joint.reshape(len(rows), -1))
    return [*nodes.transpose(1, 0, 2), *edges], conditionals


class TreeDistributions(Synthesised):
    """A distribution along a tree for each run.

    Args:
        domain: domain of the records.
        total: number of records in each run, shape `(size,)`.
        trees: tree of each run; its nodes are numbered from the root outwards.
        root: distribution of the first node, shape `(size, width)`, where `width` is the largest number of values.
        given: distribution of each other node given its parent, shape `(size, d - 1, width, width)`.
    """

    def __init__(self, domain: Domain, total: Floats, trees: Trees, root: Floats, given: Floats) -> None:
        self.domain, self.total = domain, total
        self._trees, self._root, self._given = trees, root, given

    def marginal(self, attributes: Sequence[str]) -> Floats:
        places = [self.domain.index(name) for name in attributes]
        shape = [self.domain.shape[place] for place in places]
        cells = np.array(list(product(*map(range, shape[:-1]))), dtype=np.int64)
        check_memory(len(self.total) * len(cells) * len(self.domain.names) * self._root.shape[1], "a marginal")
        joint = self._joint(places, cells)[:, :, : shape[-1]]
        return self.total[:, None] * joint.reshape(len(joint), -1)

    def _joint(self, places: Sequence[int], cells: Ints) -> Floats:
        """Return the joint probabilities of all attributes but the last, at `cells`, with each value of the last.

        The shape is `(size, n_cells, width)`.
        """
        rows, width = np.arange(len(self.total)), self._root.shape[1]
        d = self._given.shape[1] + 1
        below = np.ones((len(rows), d, len(cells), width))
        for place, values in zip(places, cells.T, strict=False):
            below[rows, self._trees.nodes[:, place]] *= np.arange(width) == values[:, None]
        messages = np.empty((len(rows), d - 1, len(cells), width))
        for edge in range(d - 2, -1, -1):
            messages[:, edge] = below[:, edge + 1] @ self._given[:, edge].transpose(0, 2, 1)
            below[rows, self._trees.parents[:, edge]] *= messages[:, edge]
        beliefs = np.empty_like(below)
        beliefs[:, 0] = below[:, 0] * self._root[:, None, :]
        for edge in range(d - 1):
            belief, message = beliefs[rows, self._trees.parents[:, edge]], messages[:, edge]
            outside = np.divide(belief, message, out=np.zeros_like(belief), where=message > 0)
            beliefs[:, edge + 1] = (outside @ self._given[:, edge]) * below[:, edge + 1]
        return beliefs[rows, self._trees.nodes[:, places[-1]]]

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return independent rows: the root, then every attribute given its parent."""
        rows = np.arange(len(self.total))[:, None]
        width = self._root.shape[1]
        drawn = np.empty((len(self.total), self._given.shape[1] + 1, n_rows), dtype=np.int64)
        drawn[:, 0] = _values(self._root, np.broadcast_to(rows, (len(rows), n_rows)), rng)
        for edge in range(self._given.shape[1]):
            parents = drawn[rows[:, 0], self._trees.parents[:, edge]]
            drawn[:, edge + 1] = _values(self._given[:, edge].reshape(-1, width), rows * width + parents, rng)
        return np.take_along_axis(drawn, self._trees.nodes[:, :, None], axis=1).transpose(0, 2, 1)


def _values(shares: Floats, lines: Ints, rng: np.random.Generator) -> Ints:
    """Return one value for each entry of `lines`, drawn from this line of `shares`, `(n_lines, width)`."""
    steps = np.cumsum(shares, axis=1)
    n_lines, width = shares.shape
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(steps / steps[:, -1:], nan=1.0)
    levels = np.minimum(rng.random(lines.shape), 1.0 - 1e-9)
    flat = (steps + np.arange(n_lines)[:, None]).ravel()
    places = np.searchsorted(flat, (levels + lines).ravel(), side="right")
    return np.asarray(places.reshape(lines.shape) - lines * width)


def _estimated(measured: Sequence[Measured], size: int) -> Floats:
    """Return `estimated_total` if different runs measured different marginals, shape `(size,)`."""
    sums, weights = np.zeros(size), np.zeros(size)
    for measurement in measured:
        runs = slice(None) if measurement.runs is None else measurement.runs
        weight = 1.0 / (measurement.answers.shape[1] * measurement.deviations**2)
        sums[runs] += weight * measurement.answers.sum(axis=1)
        weights[runs] += weight
    return np.maximum(1.0, sums / np.maximum(weights, np.finfo(np.float64).tiny))
