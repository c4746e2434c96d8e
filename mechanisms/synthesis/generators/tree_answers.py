"""Measured attributes and pairs of attributes as the nodes and edges of a tree, another one in each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...queries.domain import Domain
from ..base import Floats, Ints, Measured
from .potentials import Parts

_FLOOR = 0.05
"""Cells start with at least this share of the standard deviation of their noise: what starts at zero stays there."""

Runs = slice | Ints


class Trees(NamedTuple):
    """The tree of each run, its nodes numbered from the root outwards.

    Args:
        nodes: the number of the node of each attribute, shape `(size, d)`.
        parents: the node that node i + 1 hangs on, which has a smaller number: shape `(size, d - 1)`.
    """

    nodes: Ints
    parents: Ints

    def of(self, runs: Runs) -> Trees:
        """Those of some of the runs."""
        return Trees(self.nodes[runs], self.parents[runs])


class Answers(NamedTuple):
    """What was measured, in the places of the tree; what was not has precision 0.

    Args:
        nodes: noisy counts of each node, shape `(size, d, width)`.
        edges: of each edge, `(size, d - 1, width, width)`, the parent first.
        node_precisions: 1 / variance of the noise, `(size, d)`.
        edge_precisions: `(size, d - 1)`.
        exists: which values each node has, `(size, d, width)`.
    """

    nodes: Floats
    edges: Floats
    node_precisions: Floats
    edge_precisions: Floats
    exists: NDArray[np.bool_]

    def of(self, runs: Runs) -> Answers:
        """Those of some of the runs."""
        nodes, edges, node_precisions, edge_precisions = (part[runs] for part in self[:4])
        return Answers(nodes, edges, node_precisions, edge_precisions, self.exists[runs])

    def measured(self) -> list[Measured]:
        """Each node, then each edge, as one measured marginal; with infinite noise where it was not measured."""
        with np.errstate(divide="ignore"):
            nodes, edges = 1.0 / np.sqrt(self.node_precisions), 1.0 / np.sqrt(self.edge_precisions)
        flat = self.edges.reshape(*self.edges.shape[:2], -1)
        return [
            *(Measured((f"node {i}",), self.nodes[:, i], nodes[:, i]) for i in range(nodes.shape[1])),
            *(Measured((f"edge {i}",), flat[:, i], edges[:, i]) for i in range(edges.shape[1])),
        ]

    def start(self, total: Floats) -> Parts:
        """Potentials, in the order of `measured`, that make each child follow its parent as in the answers for their
        edge."""
        nodes = np.where(self.exists, 0.0, -np.inf)
        root = self._shares(self.nodes[:, 0], self.node_precisions[:, 0], total)
        nodes[:, 0] = np.where(self.exists[:, 0], np.log(root), -np.inf)
        found = list(nodes.transpose(1, 0, 2))
        for edge in range(self.edges.shape[1]):
            joint = self._shares(self.edges[:, edge], self.edge_precisions[:, edge], total)
            exists = self.exists[:, edge + 1, None, :]
            given = joint / np.where(exists, joint, 0.0).sum(axis=2, keepdims=True)
            found.append(np.log(given).reshape(len(total), -1))
        return found

    @staticmethod
    def _shares(answers: Floats, precision: Floats, total: Floats) -> Floats:
        """Positive shares near the answers; even ones where nothing was measured."""
        cells = (slice(None), *([None] * (answers.ndim - 1)))
        floor = _FLOOR / np.sqrt(np.where(precision > 0, precision, 1.0))[cells]
        return np.where((precision > 0)[cells], np.maximum(answers, floor), 1.0) / total[cells]


def answers_of(domain: Domain, measured: Sequence[Measured], size: int) -> tuple[Trees, Answers]:
    """The tree of each run and its answers; what was measured twice is averaged.

    Attributes that no chosen pair links hang on the first one, by an edge that nothing is known of.

    Raises:
        ParameterError: a marginal of more than two attributes, noise that is not Gaussian, or a cycle.
    """
    d, width = len(domain.names), max(domain.shape)
    everywhere = np.arange(size)
    placed = [(_places(domain, one), everywhere if one.runs is None else one.runs, one) for one in measured]
    linked = np.zeros((size, d, d), dtype=np.bool_)
    for places, runs, _ in placed:
        if len(places) == 2:
            linked[runs, places[0], places[1]] = linked[runs, places[1], places[0]] = True
    trees = _trees(linked)
    nodes, edges = np.zeros((size, d, width)), np.zeros((size, d - 1, width, width))
    node_precisions, edge_precisions = np.zeros((size, d)), np.zeros((size, d - 1))
    for places, runs, one in placed:
        counts = np.zeros((len(runs), *[width] * len(places)))
        counts[(slice(None), *(slice(domain.shape[place]) for place in places))] = one.answers.reshape(
            len(runs), *(domain.shape[place] for place in places)
        )
        at = trees.nodes[runs[:, None], places]
        if len(places) == 1:
            _average(nodes, node_precisions, runs, at[:, 0], counts, one.deviations)
            continue
        turned = at[:, 0] > at[:, 1]
        counts[turned] = counts[turned].transpose(0, 2, 1)
        _average(edges, edge_precisions, runs, at.max(axis=1) - 1, counts, one.deviations)
    exists = np.zeros((size, d, width), dtype=np.bool_)
    exists[everywhere[:, None], trees.nodes] = np.arange(width) < np.array(domain.shape)[:, None]
    return trees, Answers(nodes, edges, node_precisions, edge_precisions, exists)


def _places(domain: Domain, one: Measured) -> list[int]:
    """The places of the attributes of a marginal, after checking that a tree can have it."""
    if len(one.attributes) > 2 or one.noise != "gaussian":
        raise ParameterError(
            f"a tree takes attributes and pairs of attributes, measured with Gaussian noise, but {one.attributes!r} "
            f"has {len(one.attributes)} attributes, measured with {one.noise} noise. Take another generator, such as a "
            "graphical model.",
            argument="measured",
        )
    return [domain.index(name) for name in one.attributes]


def _average(answers: Floats, precisions: Floats, runs: Ints, places: Ints, counts: Floats, deviations: Floats) -> None:
    """Takes noisy counts into the average of what was measured in the same place."""
    new = 1.0 / deviations**2
    total = precisions[runs, places] + new
    share = (new / total)[(slice(None), *([None] * (counts.ndim - 1)))]
    answers[runs, places] += share * (counts - answers[runs, places])
    precisions[runs, places] = total


def _trees(linked: NDArray[np.bool_]) -> Trees:
    """Trees from the first attribute outwards.

    Args:
        linked: which attributes each run links, shape `(size, d, d)`, symmetric.
    """
    size, d, _ = linked.shape
    rows = np.arange(size)
    nodes, parents = np.zeros((size, d), dtype=np.int64), np.zeros((size, d - 1), dtype=np.int64)
    reached = np.tile(np.arange(d) == 0, (size, 1))
    n_links = np.zeros(size)
    for node in range(1, d):
        open_ = linked & reached[:, :, None] & ~reached[:, None, :]
        first = np.argmax(open_.reshape(size, -1), axis=1)
        found = open_.reshape(size, -1)[rows, first]
        child = np.where(found, first % d, np.argmin(reached, axis=1))
        parents[:, node - 1] = np.where(found, nodes[rows, first // d], 0)
        nodes[rows, child] = node
        reached[rows, child] = True
        n_links += found
    if (linked.sum(axis=(1, 2)) > 2 * n_links).any():
        raise ParameterError(
            "the measured pairs must be the edges of a tree, but form a cycle. Take another generator, such as a "
            "graphical model.",
            argument="measured",
        )
    return Trees(nodes, parents)
