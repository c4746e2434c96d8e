"""Spanning trees drawn edge by edge by the exponential mechanism: Kruskal's algorithm with noisy choices, many at once.

Attributes are the nodes. In each round an edge is chosen among those that join two different components, with
probability proportional to exp(rate * score); after n - 1 rounds the chosen edges are a spanning tree.

    pairs            all edges
    draw             the edges that each run chose, round by round
    log_probability  of such choices
    law              the probability of every sequence of choices, where there are few

(McKenna, Miklau and Sheldon 2021, algorithm 3, "Selecting 2-way marginals".)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def pairs(n_nodes: int) -> Ints:
    """All edges, shape `(n_nodes (n_nodes - 1) / 2, 2)`, the first end smaller than the second."""
    return np.stack(np.triu_indices(n_nodes, 1), axis=1).astype(np.int64)


def _start(size: int, n_nodes: int) -> Ints:
    """Every node a component of its own: a label a node, shape `(size, n_nodes)`."""
    return np.tile(np.arange(n_nodes), (size, 1))


def _joining(labels: Ints) -> NDArray[np.bool_]:
    """Which edges join two components, shape `(size, n_edges)`."""
    first, second = pairs(labels.shape[1]).T
    return np.asarray(labels[:, first] != labels[:, second])


def _merged(labels: Ints, chosen: Ints) -> Ints:
    """The labels after each run's chosen edge has joined its two components."""
    ends = np.take_along_axis(labels, pairs(labels.shape[1])[chosen], axis=1)
    return np.where(labels == ends[:, 1:], ends[:, :1], labels)


def draw(scores: Floats, rate: float, rng: np.random.Generator) -> Ints:
    """Choices of each run.

    Args:
        scores: of each edge, in the order of `pairs`, shape `(size, n_edges)`.
        rate: epsilon of a round / (2 sensitivity).
        rng: the only source of randomness.

    Returns:
        The number of the edge chosen in each round, shape `(size, n_nodes - 1)`.
    """
    labels = _start(len(scores), n_nodes_of(scores.shape[1]))
    chosen = np.empty((len(scores), labels.shape[1] - 1), dtype=np.int64)
    for one_round in range(chosen.shape[1]):
        noisy = rate * scores + rng.gumbel(size=scores.shape)
        chosen[:, one_round] = np.argmax(np.where(_joining(labels), noisy, -np.inf), axis=1)
        labels = _merged(labels, chosen[:, one_round])
    return chosen


def log_probability(scores: Floats, chosen: Ints, rate: float) -> Floats:
    """Log probability of the choices of each run, shape `(size,)`; -inf where they are no spanning tree.

    Args:
        scores: as for `draw`.
        chosen: as `draw` returns them.
        rate: as for `draw`.
    """
    labels = _start(len(chosen), n_nodes_of(scores.shape[1]))
    found = np.zeros(len(chosen))
    for one_round in range(chosen.shape[1]):
        edge = chosen[:, one_round]
        allowed = np.where(_joining(labels), rate * scores, -np.inf)
        found += np.take_along_axis(allowed, edge[:, None], axis=1)[:, 0] - logsumexp(allowed, axis=1)
        labels = _merged(labels, edge)
    return found


def law(n_nodes: int) -> Ints:
    """Every sequence of choices that is possible, shape `(n_sequences, n_nodes - 1)`: 3 nodes have 6, 4 have 96."""
    return np.array(list(_sequences(np.arange(n_nodes), n_nodes - 1)), dtype=np.int64).reshape(-1, n_nodes - 1)


def _sequences(labels: Ints, n_rounds: int) -> Iterator[tuple[int, ...]]:
    """The choices that may follow where the components are `labels`, shape `(n_nodes,)`."""
    if not n_rounds:
        yield ()
        return
    for edge in np.flatnonzero(_joining(labels[None])[0]):
        after = _merged(labels[None], np.array([edge]))[0]
        for rest in _sequences(after, n_rounds - 1):
            yield (int(edge), *rest)


def n_nodes_of(n_edges: int) -> int:
    """The number of nodes that have so many edges among them."""
    return (1 + math.isqrt(1 + 8 * n_edges)) // 2
