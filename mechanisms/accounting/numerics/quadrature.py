"""Nodes and weights of quadrature rules on consecutive pieces of an interval."""

from __future__ import annotations

import numpy as np

from ...core import Floats


def gauss_legendre(edges: Floats, n_nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of a quadrature with `n_nodes` in each panel between edges, shape `(..., n_edges)`."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    half = 0.5 * np.diff(edges)[..., None]
    nodes = 0.5 * (edges[..., :-1] + edges[..., 1:])[..., None] + half * x
    shape = (*edges.shape[:-1], half.shape[-2] * n_nodes)
    return nodes.reshape(shape), (half * w).reshape(shape)


def simpson(ends: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Simpson's rule, with an even number of `steps` between successive `ends`."""
    shares = np.arange(steps + 1) / steps
    weights = np.where(np.arange(steps + 1) % 2, 4.0, 2.0) / (3.0 * steps)
    weights[[0, -1]] /= 2.0
    lengths = np.diff(ends)[:, np.newaxis]
    return (ends[:-1, np.newaxis] + lengths * shares).ravel(), (lengths * weights).ravel()
