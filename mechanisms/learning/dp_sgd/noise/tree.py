"""Noise of tree aggregation: noise on the nodes of a binary tree over the steps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import solve_triangular

from ....core import Floats, one_of_names
from .base import CorrelatedNoise

Node = tuple[int, int]
"""Steps first, ..., end - 1."""


@dataclass(frozen=True)
class TreeNoise(CorrelatedNoise):
    """Tree aggregation, the noise of DP-FTRL: each prefix sum is estimated from the noisy nodes of a binary tree.

    A node is the sum of the steps k 2^h + 1, ..., (k + 1) 2^h with independent noise. Prefix sums and their differences
    are a Gaussian vector with covariance L L^T, so C = L^-1, and the accounting is that of what is released. For
    `estimate` "complete" it is that of all nodes, with floor(log2 steps) + 1 of them on each step; the other two
    estimates release less.

    Args:
        estimate: of a prefix sum. "nodes": the sum of the largest nodes that fit, at most one of each size (Dwork,
            Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011). "online": the same nodes, each averaged with the
            nodes below it by inverse variance (Honaker 2015; Kairouz et al. 2021, Appendix B). "complete": least
            squares from all nodes, later ones too; the law is that of L Z, which is drawn step by step (Denisov et al.
            2022).

    References:
        Kairouz, McMahan, Song, Thakkar, Thakurta, Xu (2021), "Practical and private (deep) learning without sampling
        or shuffling".

    Example:
        >>> round(TreeNoise(estimate="nodes").prefix_error(8, error="max"), 4) == round(12 ** 0.5, 4)
        True
    """

    _: KW_ONLY
    estimate: Annotated[str, one_of_names("online", "nodes", "complete")] = "online"

    def matrix(self, steps: int) -> Floats:
        nodes = _tree_nodes(steps)
        if self.estimate == "complete":
            inside = np.array([_indicator(steps, *node) for node in nodes])
            gradients = np.linalg.pinv(inside)
        else:
            weights = _own_weights if self.estimate == "nodes" else _online_weights
            index = {node: i for i, node in enumerate(nodes)}
            sums = [np.sum([weights(node, index) for node in _dyadic_nodes(t)], axis=0) for t in range(1, steps + 1)]
            gradients = np.diff(sums, axis=0, prepend=0.0)
        lower = np.linalg.cholesky(gradients @ gradients.T)
        return np.tril(solve_triangular(lower, np.eye(steps), lower=True))


def _tree_nodes(steps: int) -> list[Node]:
    """Return the complete nodes of the binary tree over the steps, the single steps first."""
    sizes = [1 << h for h in range(steps.bit_length())]
    return [(first, first + size) for size in sizes for first in range(0, steps - size + 1, size)]


def _dyadic_nodes(t: int) -> list[Node]:
    """Return the nodes whose sum is the prefix of t steps, the largest first."""
    bits = [1 << h for h in reversed(range(t.bit_length())) if t >> h & 1]
    ends = np.cumsum(bits).tolist()
    return [(end - size, end) for size, end in zip(bits, ends, strict=True)]


def _indicator(steps: int, first: int, end: int) -> Floats:
    return ((np.arange(steps) >= first) & (np.arange(steps) < end)).astype(np.float64)


def _own_weights(node: Node, index: dict[Node, int]) -> Floats:
    """Return the weights of all nodes in the estimate of `node` by itself."""
    return np.asarray(np.eye(1, len(index), index[node])[0])


def _online_weights(node: Node, index: dict[Node, int]) -> Floats:
    """Return the weights of all nodes in the estimate of `node` from itself and the nodes below it.

    An estimate of variance v_h at height h averages the node, of variance 1, and the sum of two estimates of variance
    v_(h-1) each: v_h = 1 / (1 + 1 / (2 v_(h-1))), v_0 = 1.
    """
    first, end = node
    if end - first == 1:
        return _own_weights(node, index)
    middle = (first + end) // 2
    below = _online_weights((first, middle), index) + _online_weights((middle, end), index)
    share = 1.0 / (1.0 + float(below @ below))
    return np.asarray((1.0 - share) * _own_weights(node, index) + share * below)
