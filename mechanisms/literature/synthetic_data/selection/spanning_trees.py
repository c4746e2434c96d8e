"""Spanning trees drawn edge by edge by the exponential mechanism: Kruskal's algorithm with noisy choices, many at once.

Attributes are the nodes. In each round an edge is chosen among those that join two different components, with
probability proportional to exp(rate * score); after n - 1 rounds the chosen edges are a spanning tree.

    pairs            all edges
    draw             the edges that each run chose, round by round
    log_probability  log probability of such choices
    law              every possible sequence of choices, for few nodes

(McKenna, Miklau and Sheldon 2021, algorithm 3, "Selecting 2-way marginals".)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from ....core import Bools, Floats, Ints


def pairs(n_nodes: int) -> Ints:
    """Return all edges, shape `(n_nodes (n_nodes - 1) / 2, 2)`, the first end smaller than the second."""
    return np.stack(np.triu_indices(n_nodes, 1), axis=1).astype(np.int64)


def _start(size: int, n_nodes: int) -> Ints:
    """Return component labels with every node in a separate component, shape `(size, n_nodes)`."""
    return np.tile(np.arange(n_nodes), (size, 1))


def _joining(labels: Ints) -> Bools:
    """Return a mask of the edges that join two components, shape `(size, n_edges)`."""
    first, second = pairs(labels.shape[1]).T
    return np.asarray(labels[:, first] != labels[:, second])


def _merged(labels: Ints, chosen: Ints) -> Ints:
    """Return the labels after each run's chosen edge has joined its two components."""
    ends = np.take_along_axis(labels, pairs(labels.shape[1])[chosen], axis=1)
    return np.where(labels == ends[:, 1:], ends[:, :1], labels)


def draw(scores: Floats, rate: float, rng: np.random.Generator) -> Ints:
    """Return the choices of each run.

    Args:
        scores: score of each edge, in the order of `pairs`, shape `(size, n_edges)`.
        rate: epsilon of a round / (2 sensitivity).
        rng: the only source of randomness.

    Returns:
        The number of the edge chosen in each round, shape `(size, n_nodes - 1)`.
    """
    labels = _start(len(scores), _n_nodes_of(scores.shape[1]))
    chosen = np.empty((len(scores), labels.shape[1] - 1), dtype=np.int64)
    for round_ in range(chosen.shape[1]):
        noisy = rate * scores + rng.gumbel(size=scores.shape)
        chosen[:, round_] = np.argmax(np.where(_joining(labels), noisy, -np.inf), axis=1)
        labels = _merged(labels, chosen[:, round_])
    return chosen


def log_probability(scores: Floats, chosen: Ints, rate: float) -> Floats:
    """Return the log probability of the choices of each run, `(size,)`; -inf if they are not a spanning tree.

    Args:
        scores: see `draw`.
        chosen: result of `draw`.
        rate: see `draw`.
    """
    labels = _start(len(chosen), _n_nodes_of(scores.shape[1]))
    log_probs = np.zeros(len(chosen))
    for round_ in range(chosen.shape[1]):
        edge = chosen[:, round_]
        allowed = np.where(_joining(labels), rate * scores, -np.inf)
        log_probs += np.take_along_axis(allowed, edge[:, None], axis=1)[:, 0] - logsumexp(allowed, axis=1)
        labels = _merged(labels, edge)
    return log_probs


def law(n_nodes: int) -> Ints:
    """Return every possible sequence of choices, shape `(n_sequences, n_nodes - 1)`: 6 for 3 nodes, 96 for 4."""
    return np.array(list(_sequences(np.arange(n_nodes), n_nodes - 1)), dtype=np.int64).reshape(-1, n_nodes - 1)


def _sequences(labels: Ints, n_rounds: int) -> Iterator[tuple[int, ...]]:
    """Yield the possible choices if the components are `labels`, shape `(n_nodes,)`."""
    if not n_rounds:
        yield ()
        return
    for edge in np.flatnonzero(_joining(labels[None])[0]):
        after = _merged(labels[None], np.array([edge]))[0]
        for rest in _sequences(after, n_rounds - 1):
            yield (int(edge), *rest)


def _n_nodes_of(n_edges: int) -> int:
    """Return the number of nodes of a complete graph with this number of edges."""
    return (1 + math.isqrt(1 + 8 * n_edges)) // 2
