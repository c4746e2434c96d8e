"""Graphical model of a tree that differs between runs, fitted for all runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import softmax

from ....core import Bools, Floats, Ints, ParameterError
from ....noise.queries.domain import Domain, check_memory
from ..base import FittedDistribution, NoisyMarginal, n_runs
from .mirror_descent import MirrorDescentGenerator, Parts

MAX_BLOCK_ENTRIES = 2**21
"""Size of the blocks in which runs are fitted, in numbers; several arrays of this size are held at once."""


@dataclass(frozen=True)
class TreeModel(MirrorDescentGenerator):
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
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
        >>> answers = np.array([[30.0, 0.0, 0.0, 10.0]])
        >>> fitted = TreeModel().fit(
        ...     Domain({"a": 2, "b": 2}), [NoisyMarginal(("a", "b"), answers, 1.0)], np.random.default_rng(0)
        ... )
        >>> fitted.marginal(("a",)).round(1)
        array([[30., 10.]])
    """

    deterministic: ClassVar[bool] = True

    def fit(
        self,
        domain: Domain,
        measured: Sequence[NoisyMarginal],
        rng: np.random.Generator,
        *,
        n_records: int | None = None,
    ) -> TreeDistributions:
        if not measured or not (size := n_runs(measured)):
            raise ParameterError("measured must hold at least one marginal, but is empty.", argument="measured")
        return self._fit(domain, measured, self._total(measured, size, n_records), rng)

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> TreeDistributions:
        widest = max(domain.shape)
        per_run = len(domain.names) * widest * widest
        check_memory(len(total) * per_run, "the conditional distributions of all trees")
        trees, answers = _answers_of(domain, measured, len(total))
        root_shares = np.empty((len(total), widest))
        conditionals = np.empty((len(total), len(domain.names) - 1, widest, widest))
        at_once = max(1, MAX_BLOCK_ENTRIES // per_run)
        for start in range(0, len(total), at_once):
            runs = slice(start, start + at_once)
            root_shares[runs], conditionals[runs] = self._fitted(trees.of(runs), answers.of(runs), total[runs])
        return TreeDistributions(domain, total, trees, root_shares, conditionals)

    def _fitted(self, trees: Trees, answers: TreeAnswers, total: Floats) -> tuple[Floats, Floats]:
        """Return the distribution of the root and of each node given its parent: see `TreeDistributions`."""

        def marginals(potentials: Parts, runs: Ints) -> Parts:
            return beliefs(trees.of(runs), potentials)[0]

        potentials = self._potentials(marginals, answers.measured(), total, answers.start(total))
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


class TreeDistributions(FittedDistribution):
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
        shape = [self.domain.shape[position] for position in places]
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
        for position, values in zip(places, cells.T, strict=False):
            below[rows, self._trees.nodes[:, position]] *= np.arange(width) == values[:, None]
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


_FLOOR = 0.05
"""Smallest initial value of a cell, as a share of the standard deviation of its noise: a zero would stay zero."""

Runs = slice | Ints


class Trees(NamedTuple):
    """Tree of each run, with nodes numbered from the root outwards.

    Args:
        nodes: the number of the node of each attribute, shape `(size, d)`.
        parents: the parent of node i + 1, which has a smaller number: shape `(size, d - 1)`.
    """

    nodes: Ints
    parents: Ints

    def of(self, runs: Runs) -> Trees:
        """Return the trees of some of the runs."""
        return Trees(self.nodes[runs], self.parents[runs])


class TreeAnswers(NamedTuple):
    """Measurements at the nodes and edges of the tree; a missing measurement has precision 0.

    Args:
        nodes: noisy counts of each node, shape `(size, d, width)`.
        edges: noisy counts of each edge, `(size, d - 1, width, width)`, the parent first.
        node_precisions: 1 / variance of the noise, `(size, d)`.
        edge_precisions: 1 / variance of the noise, `(size, d - 1)`.
        exists: mask of the values that each node has, `(size, d, width)`.
    """

    nodes: Floats
    edges: Floats
    node_precisions: Floats
    edge_precisions: Floats
    exists: Bools

    def of(self, runs: Runs) -> TreeAnswers:
        """Return the answers of some of the runs."""
        nodes, edges, node_precisions, edge_precisions = (part[runs] for part in self[:4])
        return TreeAnswers(nodes, edges, node_precisions, edge_precisions, self.exists[runs])

    def measured(self) -> list[NoisyMarginal]:
        """Return each node, then each edge, as one measured marginal; infinite noise marks missing measurements."""
        with np.errstate(divide="ignore"):
            nodes, edges = 1.0 / np.sqrt(self.node_precisions), 1.0 / np.sqrt(self.edge_precisions)
        flat = self.edges.reshape(*self.edges.shape[:2], -1)
        return [
            *(NoisyMarginal((f"node {i}",), self.nodes[:, i], nodes[:, i]) for i in range(nodes.shape[1])),
            *(NoisyMarginal((f"edge {i}",), flat[:, i], edges[:, i]) for i in range(edges.shape[1])),
        ]

    def start(self, total: Floats) -> Parts:
        """Return initial potentials, in the order of `measured`.

        They make each child follow its parent as in the answers for their edge.
        """
        nodes = np.where(self.exists, 0.0, -np.inf)
        root = self._shares(self.nodes[:, 0], self.node_precisions[:, 0], total)
        nodes[:, 0] = np.where(self.exists[:, 0], np.log(root), -np.inf)
        potentials = list(nodes.transpose(1, 0, 2))
        for edge in range(self.edges.shape[1]):
            joint = self._shares(self.edges[:, edge], self.edge_precisions[:, edge], total)
            exists = self.exists[:, edge + 1, None, :]
            conditional = joint / np.where(exists, joint, 0.0).sum(axis=2, keepdims=True)
            potentials.append(np.log(conditional).reshape(len(total), -1))
        return potentials

    @staticmethod
    def _shares(answers: Floats, precision: Floats, total: Floats) -> Floats:
        """Return positive shares near the answers; uniform shares if nothing was measured."""
        cells = (slice(None), *([None] * (answers.ndim - 1)))
        floor = _FLOOR / np.sqrt(np.where(precision > 0, precision, 1.0))[cells]
        return np.where((precision > 0)[cells], np.maximum(answers, floor), 1.0) / total[cells]


def _answers_of(domain: Domain, measured: Sequence[NoisyMarginal], size: int) -> tuple[Trees, TreeAnswers]:
    """Return the tree of each run and its answers; repeated measurements are averaged.

    Attributes that no chosen pair links become children of the first one, by an edge without measurements.

    Raises:
        ParameterError: a marginal of more than two attributes, noise that is not Gaussian, or a cycle.
    """
    d, width = len(domain.names), max(domain.shape)
    all_runs = np.arange(size)
    placed = [(_places(domain, measurement), measurement.run_numbers, measurement) for measurement in measured]
    linked = np.zeros((size, d, d), dtype=np.bool_)
    for places, runs, _ in placed:
        if len(places) == 2:
            linked[runs, places[0], places[1]] = linked[runs, places[1], places[0]] = True
    trees = _trees(linked)
    nodes, edges = np.zeros((size, d, width)), np.zeros((size, d - 1, width, width))
    node_precisions, edge_precisions = np.zeros((size, d)), np.zeros((size, d - 1))
    for places, runs, measurement in placed:
        counts = np.zeros((len(runs), *[width] * len(places)))
        counts[(slice(None), *(slice(domain.shape[position]) for position in places))] = measurement.answers.reshape(
            len(runs), *(domain.shape[position] for position in places)
        )
        numbers = trees.nodes[runs[:, None], places]
        if len(places) == 1:
            _average(nodes, node_precisions, runs, numbers[:, 0], counts, measurement.deviations)
            continue
        turned = numbers[:, 0] > numbers[:, 1]
        counts[turned] = counts[turned].transpose(0, 2, 1)
        _average(edges, edge_precisions, runs, numbers.max(axis=1) - 1, counts, measurement.deviations)
    exists = np.zeros((size, d, width), dtype=np.bool_)
    exists[all_runs[:, None], trees.nodes] = np.arange(width) < np.array(domain.shape)[:, None]
    return trees, TreeAnswers(nodes, edges, node_precisions, edge_precisions, exists)


def _places(domain: Domain, measurement: NoisyMarginal) -> list[int]:
    """Return the positions of the attributes of a marginal, after checking that a tree can represent it."""
    if len(measurement.attributes) > 2 or measurement.noise != "gaussian":
        raise ParameterError(
            "a tree needs attributes and pairs of attributes, measured with Gaussian noise, but "
            f"{measurement.attributes!r} has {len(measurement.attributes)} attributes, measured with "
            f"{measurement.noise} noise. Use another generator, such as a graphical model.",
            argument="measured",
        )
    return [domain.index(name) for name in measurement.attributes]


def _average(answers: Floats, precisions: Floats, runs: Ints, places: Ints, counts: Floats, deviations: Floats) -> None:
    """Add noisy counts to the precision-weighted average at the given places, in place."""
    new = 1.0 / deviations**2
    total = precisions[runs, places] + new
    share = (new / total)[(slice(None), *([None] * (counts.ndim - 1)))]
    answers[runs, places] += share * (counts - answers[runs, places])
    precisions[runs, places] = total


def _trees(linked: Bools) -> Trees:
    """Return trees built from the first attribute outwards.

    Args:
        linked: mask of the attribute pairs that each run links, shape `(size, d, d)`, symmetric.
    """
    size, d, _ = linked.shape
    rows = np.arange(size)
    nodes, parents = np.zeros((size, d), dtype=np.int64), np.zeros((size, d - 1), dtype=np.int64)
    reached = np.tile(np.arange(d) == 0, (size, 1))
    n_links = np.zeros(size)
    for node in range(1, d):
        open_ = linked & reached[:, :, None] & ~reached[:, None, :]
        first = np.argmax(open_.reshape(size, -1), axis=1)
        has_link = open_.reshape(size, -1)[rows, first]
        child = np.where(has_link, first % d, np.argmin(reached, axis=1))
        parents[:, node - 1] = np.where(has_link, nodes[rows, first // d], 0)
        nodes[rows, child] = node
        reached[rows, child] = True
        n_links += has_link
    if (linked.sum(axis=(1, 2)) > 2 * n_links).any():
        raise ParameterError(
            "the measured pairs must be the edges of a tree, but form a cycle. Use another generator, such as a "
            "graphical model.",
            argument="measured",
        )
    return Trees(nodes, parents)
