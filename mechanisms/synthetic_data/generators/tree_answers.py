"""Measured attributes and pairs of attributes as the nodes and edges of a tree, which differs between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats, Ints
from ...core.errors import ParameterError
from ...noise.queries.domain import Domain
from ..base import Measured
from .potentials import Parts

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
    exists: NDArray[np.bool_]

    def of(self, runs: Runs) -> TreeAnswers:
        """Return the answers of some of the runs."""
        nodes, edges, node_precisions, edge_precisions = (part[runs] for part in self[:4])
        return TreeAnswers(nodes, edges, node_precisions, edge_precisions, self.exists[runs])

    def measured(self) -> list[Measured]:
        """Return each node, then each edge, as one measured marginal; infinite noise marks missing measurements."""
        with np.errstate(divide="ignore"):
            nodes, edges = 1.0 / np.sqrt(self.node_precisions), 1.0 / np.sqrt(self.edge_precisions)
        flat = self.edges.reshape(*self.edges.shape[:2], -1)
        return [
            *(Measured((f"node {i}",), self.nodes[:, i], nodes[:, i]) for i in range(nodes.shape[1])),
            *(Measured((f"edge {i}",), flat[:, i], edges[:, i]) for i in range(edges.shape[1])),
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


def answers_of(domain: Domain, measured: Sequence[Measured], size: int) -> tuple[Trees, TreeAnswers]:
    """Return the tree of each run and its answers; repeated measurements are averaged.

    Attributes that no chosen pair links become children of the first one, by an edge without measurements.

    Raises:
        ParameterError: a marginal of more than two attributes, noise that is not Gaussian, or a cycle.
    """
    d, width = len(domain.names), max(domain.shape)
    all_runs = np.arange(size)
    placed = [
        (_places(domain, measurement), all_runs if measurement.runs is None else measurement.runs, measurement)
        for measurement in measured
    ]
    linked = np.zeros((size, d, d), dtype=np.bool_)
    for places, runs, _ in placed:
        if len(places) == 2:
            linked[runs, places[0], places[1]] = linked[runs, places[1], places[0]] = True
    trees = _trees(linked)
    nodes, edges = np.zeros((size, d, width)), np.zeros((size, d - 1, width, width))
    node_precisions, edge_precisions = np.zeros((size, d)), np.zeros((size, d - 1))
    for places, runs, measurement in placed:
        counts = np.zeros((len(runs), *[width] * len(places)))
        counts[(slice(None), *(slice(domain.shape[place]) for place in places))] = measurement.answers.reshape(
            len(runs), *(domain.shape[place] for place in places)
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


def _places(domain: Domain, measurement: Measured) -> list[int]:
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


def _trees(linked: NDArray[np.bool_]) -> Trees:
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
