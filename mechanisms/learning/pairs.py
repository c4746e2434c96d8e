"""Records in which the two sides of a pair differ.

differing, shared    the records that only one side has, and those that both have
check_in_place       all records except one have the same position on both sides
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..core.base import Neighbours
from ..core.errors import NeighboursError, plural
from .base import Floats, TrainingData

UNSEEN = 1e-6
"""Largest component of a direction that is treated as a rounding error."""


def check_in_place(neighbours: Neighbours, batches: str) -> None:
    """Raise `NeighboursError` unless exactly one record differs in its position.

    Records in another order form other batches.
    """
    data0, data1 = (TrainingData.of(neighbours.side(side)) for side in (0, 1))
    pairs = [(data0.X, data1.X), (data0.y[:, None], data1.y[:, None])]
    n_different = int(np.any([np.any(rows0 != rows1, axis=1) for rows0, rows1 in pairs], axis=0).sum())
    if data0.gradients is not None and data1.gradients is not None:
        n_different += int(np.any(data0.gradients != data1.gradients, axis=1).sum())
    if n_different != 1:
        raise NeighboursError(
            f"{batches} are cut from the records in their order, so that neighbours must differ in one place, "
            f"but {plural(n_different, 'record')} differ in place. Build the pair with "
            "dpassay.mechanisms.core.records.replace_record.",
            argument="d0",
        )


def differing(neighbours: Neighbours) -> tuple[TrainingData, TrainingData]:
    """Return the records that only side 0 has, and those that only side 1 has: examples and gradient records.

    Example:
        >>> X, y = np.eye(3), np.array([0, 1, 2])
        >>> only0, only1 = differing(Neighbours((X[1:], y[1:]), (X, y), "add_remove"))
        >>> len(only0), only1.X.tolist(), only1.y.tolist()
        (0, [[1.0, 0.0, 0.0]], [0])
    """
    sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
    differences = []
    for mine, other in (sides, sides[::-1]):
        examples = surplus(np.column_stack([mine.X, mine.y]), np.column_stack([other.X, other.y]))
        gradients = None
        if mine.gradients is not None:
            surplus_gradients = mine.gradients[surplus(mine.gradients, gradients_of(other, mine.gradients.shape[1]))]
            gradients = surplus_gradients if len(surplus_gradients) else None
        differences.append(TrainingData(mine.X[examples], mine.y[examples], gradients))
    return differences[0], differences[1]


def shared(neighbours: Neighbours) -> TrainingData:
    """Return the records that both sides have, in the order of side 0."""
    data, other = TrainingData.of(neighbours.d0), TrainingData.of(neighbours.d1)
    is_shared = np.ones(data.n_examples, dtype=bool)
    is_shared[surplus(np.column_stack([data.X, data.y]), np.column_stack([other.X, other.y]))] = False
    gradients = data.gradients
    if gradients is not None:
        others = gradients_of(other, gradients.shape[1])
        gradients = np.delete(gradients, surplus(gradients, others), axis=0)
    return TrainingData(
        data.X[is_shared], data.y[is_shared], gradients if gradients is not None and len(gradients) else None
    )


def gradients_of(data: TrainingData, n_parameters: int) -> Floats:
    """Return the gradient records, `(n_gradients, n_parameters)`."""
    return np.empty((0, n_parameters)) if data.gradients is None else data.gradients


def surplus(mine: Floats, others: Floats) -> NDArray[np.intp]:
    """Return the indices of the rows of `mine` that `others` lacks, as multisets."""
    remaining = Counter(row.tobytes() for row in np.ascontiguousarray(others, dtype=np.float64) + 0.0)
    indices = []
    for index, row in enumerate(np.ascontiguousarray(mine, dtype=np.float64) + 0.0):
        key = row.tobytes()
        if remaining[key]:
            remaining[key] -= 1
        else:
            indices.append(index)
    return np.array(indices, dtype=np.intp)
