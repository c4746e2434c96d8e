"""In which records the two sides of a pair differ.

differing, shared    the records that only one side has, and those that both have
check_in_place       all records but one have the same place on both sides
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..base import Neighbours
from ..errors import NeighboursError, plural
from .base import Floats, TrainingData

UNSEEN = 1e-6
"""Share of a direction that counts for nothing: rounding."""


def check_in_place(neighbours: Neighbours, batches: str) -> None:
    """Raises `NeighboursError` if more than one record differs in its place: records in another order are other
    batches."""
    data0, data1 = (TrainingData.of(neighbours.side(side)) for side in (0, 1))
    pairs = [(data0.X, data1.X), (data0.y[:, None], data1.y[:, None])]
    differ = int(np.any([np.any(one != other, axis=1) for one, other in pairs], axis=0).sum())
    if data0.gradients is not None and data1.gradients is not None:
        differ += int(np.any(data0.gradients != data1.gradients, axis=1).sum())
    if differ != 1:
        raise NeighboursError(
            f"{batches} are cut from the records in their order, so that neighbours must differ in one place, "
            f"but {plural(differ, 'record')} differ in place. Build the pair with "
            "dpassay.mechanisms.records.replace_record.",
            argument="d0",
        )


def differing(neighbours: Neighbours) -> tuple[TrainingData, TrainingData]:
    """The records that only side 0 has, and those that only side 1 has: examples and gradient records.

    Example:
        >>> X, y = np.eye(3), np.array([0, 1, 2])
        >>> only0, only1 = differing(Neighbours((X[1:], y[1:]), (X, y), "add_remove"))
        >>> len(only0), only1.X.tolist(), only1.y.tolist()
        (0, [[1.0, 0.0, 0.0]], [0])
    """
    sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
    found = []
    for mine, other in (sides, sides[::-1]):
        examples = surplus(np.column_stack([mine.X, mine.y]), np.column_stack([other.X, other.y]))
        gradients = None
        if mine.gradients is not None:
            kept = mine.gradients[surplus(mine.gradients, gradients_of(other, mine.gradients.shape[1]))]
            gradients = kept if len(kept) else None
        found.append(TrainingData(mine.X[examples], mine.y[examples], gradients))
    return found[0], found[1]


def shared(neighbours: Neighbours) -> TrainingData:
    """The records that both sides have: those of side 0 that do not differ."""
    data, other = TrainingData.of(neighbours.d0), TrainingData.of(neighbours.d1)
    kept = np.ones(data.n_examples, dtype=bool)
    kept[surplus(np.column_stack([data.X, data.y]), np.column_stack([other.X, other.y]))] = False
    gradients = data.gradients
    if gradients is not None:
        others = gradients_of(other, gradients.shape[1])
        gradients = np.delete(gradients, surplus(gradients, others), axis=0)
    return TrainingData(data.X[kept], data.y[kept], gradients if gradients is not None and len(gradients) else None)


def gradients_of(data: TrainingData, n_parameters: int) -> Floats:
    """The gradient records, `(n_gradients, n_parameters)`."""
    return np.empty((0, n_parameters)) if data.gradients is None else data.gradients


def surplus(mine: Floats, others: Floats) -> NDArray[np.intp]:
    """Rows of `mine` that `others` lacks, as multisets."""
    left = Counter(row.tobytes() for row in np.ascontiguousarray(others, dtype=np.float64) + 0.0)
    found = []
    for place, row in enumerate(np.ascontiguousarray(mine, dtype=np.float64) + 0.0):
        key = row.tobytes()
        if left[key]:
            left[key] -= 1
        else:
            found.append(place)
    return np.array(found, dtype=np.intp)
