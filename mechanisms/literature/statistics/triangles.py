"""Number of triangles of a graph, with noise scaled to a private bound on the local sensitivity."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from ...accounting import ApproximateDP
from ...accounting.numerics.laplace import laplace_log_cdf
from ...accounting.numerics.quadrature import gauss_legendre
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import OpenUnit, Positive, at_least
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.laplace import draw_laplace
from .laplace_choice import LaplaceChoiceDP

MIN_SENSITIVITY_BOUND = 1.0
"""Smallest bound on the local sensitivity."""
PIECES, NODES = 60, 8
"""Pieces on each side of the kink, and nodes per piece, of the quadrature over the bound."""


@dataclass(frozen=True)
class TriangleCount(RecordsMechanism):
    """Privately bounded local sensitivity: a noisy bound on the local sensitivity, and noise scaled to this bound.

    The number of triangles moves by the number of common neighbours of the two ends of the edge that is added or
    removed: up to n - 2 in the worst graph, but few in most. The largest such number over all pairs of vertices, the
    local sensitivity, itself moves by at most 1. Hence

        bound  = max(1, local sensitivity + Laplace(2 / epsilon) + (2 / epsilon) ln(1 / (2 delta)))
        count  = triangles + Laplace(2 bound / epsilon)

    and both are released. (Karwa, Raskhodnikova, Smith and Yaroslavtsev 2011; Vadhan 2017, section 3.4.)

    Args:
        epsilon, delta: the claim; epsilon > 0, 0 < delta < 1.
        n_vertices: number of vertices, public, >= 3. A dataset is an array `(n_edges, 2)` of vertex numbers, each edge
            once.

    Guarantees:
        * (epsilon, delta)-DP when an edge is added or removed: the bound takes epsilon / 2 and is below the local
          sensitivity with probability at most delta; otherwise the count takes at most epsilon / 2.
        * `exact_guarantee()` integrates over the bound, with an error of about 1e-5 in delta.

    Example:
        >>> mechanism = TriangleCount(epsilon=1.0, delta=1e-3, n_vertices=4)
        >>> square = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
        >>> mechanism.triangles(square), mechanism.local_sensitivity(square)
        (0, 2)
    """

    _dataset = Data.OTHER

    epsilon: Positive = 1.0
    delta: OpenUnit = 1e-3
    _: KW_ONLY
    n_vertices: Annotated[int, at_least(3)] = 8
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def adjacency(self, dataset: Dataset) -> Floats:
        """Return the symmetric matrix of 0 and 1, shape `(n_vertices, n_vertices)`."""
        edges = np.asarray(dataset).reshape(-1, 2)
        matrix = np.zeros((self.n_vertices, self.n_vertices))
        inside = edges.size == 0 or (edges.min() >= 0 and edges.max() < self.n_vertices)
        if not inside or np.any(edges[:, 0] == edges[:, 1]):
            raise ParameterError(
                f"an edge must join two of the vertices 0 to {self.n_vertices - 1}, but the dataset is {dataset!r}.",
                argument="dataset",
            )
        matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1.0
        if matrix.sum() != 2 * len(edges):
            raise ParameterError("an edge occurs twice in the dataset: list each edge once.", argument="dataset")
        return matrix

    def triangles(self, dataset: Dataset) -> int:
        """Return the number of triangles."""
        matrix = self.adjacency(dataset)
        return round(float(np.trace(matrix @ matrix @ matrix)) / 6.0)

    def local_sensitivity(self, dataset: Dataset) -> int:
        """Return the largest number of common neighbours of two vertices."""
        matrix = self.adjacency(dataset)
        common = matrix @ matrix
        np.fill_diagonal(common, 0.0)
        return int(common.max())

    @property
    def margin(self) -> float:
        """Amount added to the noisy local sensitivity: max(0, (2 / epsilon) ln(1 / (2 delta)))."""
        return max(0.0, 2.0 / self.epsilon * math.log(0.5 / self.delta))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` pairs of a bound and a noisy count, shape `(size, 2)`."""
        centre = self.local_sensitivity(dataset) + self.margin
        bounds = np.maximum(MIN_SENSITIVITY_BOUND, centre + draw_laplace(2.0 / self.epsilon, (size,), rng))
        counts = self.triangles(dataset) + draw_laplace(2.0 / self.epsilon, (size,), rng) * bounds
        return Outputs(np.column_stack([bounds, counts]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output, `(size,)`; a log probability for the smallest bound."""
        bounds, counts = np.asarray(outputs.values, dtype=np.float64).T
        rate, deviation = self.epsilon / 2.0, bounds - self.local_sensitivity(dataset) - self.margin
        log_bound = np.where(
            bounds > MIN_SENSITIVITY_BOUND,
            math.log(rate / 2.0) - rate * np.abs(deviation),
            laplace_log_cdf(rate * deviation),
        )
        scale = np.maximum(MIN_SENSITIVITY_BOUND, bounds) / rate
        density = log_bound - np.abs(counts - self.triangles(dataset)) / scale - np.log(2.0 * scale)
        return np.where(bounds >= MIN_SENSITIVITY_BOUND, density, -np.inf)

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return two vertices joined to all others; on side 1 the two are also joined to each other.

        Every other vertex then closes a triangle; no edge moves the count further.
        """
        others = np.arange(2, self.n_vertices)
        edges = np.array([(end, other) for end in (0, 1) for other in others])
        return Neighbours(edges, np.concatenate([edges, [[0, 1]]]), self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`, by quadrature over the bound."""
        pair = self.worst_case()
        centres = [self.local_sensitivity(d) + self.margin for d in (pair.d0, pair.d1)]
        bounds, widths = self._nodes(max(centres))
        rate = self.epsilon / 2.0
        logs = []
        for centre in centres:
            inside = np.log(widths) - rate * np.abs(bounds - centre)
            log_atom, log_rest = laplace_log_cdf(
                rate * np.array([MIN_SENSITIVITY_BOUND - centre, centre - MIN_SENSITIVITY_BOUND])
            )
            logs.append(np.append(inside + (log_rest - logsumexp(inside)), log_atom))
        moved = abs(self.triangles(pair.d1) - self.triangles(pair.d0))
        distances = moved * rate / np.append(bounds, MIN_SENSITIVITY_BOUND)
        return LaplaceChoiceDP.of_logs(logs[0], logs[1], distances, self.relation)

    def _nodes(self, centre: float) -> tuple[Floats, Floats]:
        """Return Gauss-Legendre nodes and weights on pieces of [1, far], split at the kink of the density."""
        far = centre + 80.0 / self.epsilon
        cuts = np.concatenate(
            [np.linspace(MIN_SENSITIVITY_BOUND, centre, PIECES + 1), np.linspace(centre, far, PIECES + 1)[1:]]
        )
        return gauss_legendre(cuts, NODES)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.adjacency(dataset)
