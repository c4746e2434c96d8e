"""Number of edges of a graph whose vertices are people: exact up to a maximum degree, of bounded sensitivity beyond."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours
from ...core.constraints import Positive, PositiveInt
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.base import NoisyQuery
from ...noise.laplace import Laplace


@dataclass(frozen=True)
class RestrictedEdgeCount(NoisyQuery):
    """Restricted sensitivity: the number of edges, extended from graphs of degree at most k to all, plus Laplace noise.

    Adding or removing a vertex with all its edges can change n - 1 edges, but at most k on graphs of degree at most k.
    This is the restricted sensitivity of the count. The extension has the same sensitivity on all graphs:

        maximise sum of x_e  subject to  0 <= x_e <= 1,  sum of x_e over the edges e of v <= k for every vertex v

    It equals the number of edges if the degree is at most k, and is never larger; a vertex adds at most k. (Blocki,
    Blum, Datta and Sheffet 2013 define the sensitivity; Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013,
    section 4.1, give the extension.)

    Args:
        epsilon: the claim, > 0.
        max_degree: k, >= 1; public. A dataset is a symmetric matrix of 0 and 1, shape `(n_vertices, n_vertices)`.

    Guarantees:
        * epsilon-DP when a vertex is added or removed, on every graph; the bound on the degree only affects accuracy.
          Attained by a vertex with k edges.

    Example:
        >>> mechanism = RestrictedEdgeCount(epsilon=1.0, max_degree=2)
        >>> triangle, star = 1 - np.eye(3, dtype=int), np.zeros((6, 6), dtype=int)
        >>> star[0, 1:] = star[1:, 0] = 1
        >>> mechanism.extension(triangle), mechanism.extension(star)  # which have 3 and 5 edges
        (3.0, 2.0)
    """

    _dataset = Data.OTHER

    epsilon: Positive = 1.0
    _: KW_ONLY
    max_degree: PositiveInt = 3
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    n_moved: ClassVar[int] = 1

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise for sensitivity `max_degree`."""
        return Laplace(self.epsilon, sensitivity=self.max_degree, relation=self.relation)

    def answers(self, dataset: Dataset) -> Floats:
        """Return the extended number of edges, shape `()`."""
        return np.asarray(self.extension(dataset))

    def extension(self, dataset: Dataset) -> float:
        """Return the value of the linear program, to 1e-9."""
        matrix = _checked(dataset)
        ends = np.argwhere(np.triu(matrix, 1))
        if matrix.sum(axis=0).max(initial=0) <= self.max_degree:
            return float(len(ends))
        incidence = np.zeros((len(matrix), len(ends)))
        for column in (0, 1):
            incidence[ends[:, column], np.arange(len(ends))] = 1.0
        limits = np.full(len(matrix), float(self.max_degree))
        solved = linprog(-np.ones(len(ends)), A_ub=incidence, b_ub=limits, bounds=(0.0, 1.0), method="highs")
        return round(-float(solved.fun), 9) + 0.0

    def guarantee(self) -> Guarantee:
        """Return `LaplaceDP(epsilon)`, which is exact."""
        return self.noise.guarantee()

    def worst_case(self) -> Neighbours:
        """Return `max_degree` vertices without edges, and on side 1 a further vertex that is joined to all of them."""
        d1 = np.zeros((self.max_degree + 1, self.max_degree + 1), dtype=np.int64)
        d1[-1, :-1] = d1[:-1, -1] = 1
        return Neighbours(d1[:-1, :-1].copy(), d1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        small, large = sorted((_checked(neighbours.d0), _checked(neighbours.d1)), key=len)
        rests = (np.delete(np.delete(large, i, axis=0), i, axis=1) for i in range(len(large)))
        if len(large) != len(small) + 1 or not any(np.array_equal(rest, small) for rest in rests):
            raise NeighboursError(
                f"one graph must be the other without one vertex, but they have {len(neighbours.d0)} and "
                f"{len(neighbours.d1)} vertices. Delete one row and the same column.",
                argument="d0",
            )


def _checked(dataset: Dataset) -> Floats:
    """Return an adjacency matrix as floats; raise `ParameterError` if `dataset` is not one."""
    matrix = np.asarray(dataset)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.dtype.kind in "biuf"
    if not square or not np.array_equal(matrix, matrix.T) or np.any((matrix != 0) & (matrix != 1)):
        raise ParameterError(
            f"the dataset must be a symmetric matrix of 0 and 1, but is {dataset!r}.", argument="dataset"
        )
    if np.diagonal(matrix).any():
        raise ParameterError("a vertex must not be joined to itself: the diagonal must be 0.", argument="dataset")
    return matrix.astype(np.float64)
