"""A pair of neighbours as DP-SGD sees it: in which record the sides differ, and along which direction that pulls.

check_pair           both sides fit the model, and differ in one record, which the view can show
check_in_place       all records but one have the same place on both sides
differing, shared    the records that only one side has, and those that both have
clipped_gradient     what records add to the sum of a step
gradient_direction   where gradient records pull
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechanisms.base import Neighbours, Relation
from mechanisms.errors import NeighboursError
from mechanisms.learning.base import Floats, TrainingData
from mechanisms.learning.clipping import clip_rows
from mechanisms.learning.sampling import CyclicBatches
from mechanisms.learning.trained import TrainedModels
from mechanisms.records import check_records

if TYPE_CHECKING:
    from mechanisms.learning.dp_sgd import DPSGD

UNSEEN = 1e-6
"""Share of a direction that counts for nothing: rounding."""


def check_pair(learner: DPSGD, neighbours: Neighbours) -> None:
    """Both sides fit the model and the sampling, and differ in one record that the view can show.

    Raises:
        NeighboursError: they do not differ in one record, or `check_seen` raises it.
        ParameterError: data that the model or the sampling cannot take.
    """
    sides = sides_of(learner, neighbours)
    examples = [(data.X, data.y) for data in sides]
    gradients = [_gradients(data, learner.network.n_parameters) for data in sides]
    if np.array_equal(gradients[0], gradients[1]):
        check_records(Neighbours(examples[0], examples[1], neighbours.relation))
    elif all(np.array_equal(one, other) for one, other in zip(*examples, strict=True)):
        check_records(Neighbours(gradients[0], gradients[1], neighbours.relation))
    else:
        raise NeighboursError(
            "d0 and d1 differ in their examples and in their gradient records too, but neighbours differ in one "
            "record. Change only one of the two.",
            argument="d0",
        )
    if isinstance(learner.scheme, CyclicBatches) and neighbours.relation is Relation.REPLACE_ONE:
        check_in_place(neighbours, "cyclic batches")
    check_seen(learner, neighbours)


def sides_of(learner: DPSGD, neighbours: Neighbours) -> list[TrainingData]:
    """Side 0 and side 1; raises `ParameterError` if the model or the sampling cannot take them."""
    sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
    for data in sides:
        learner.network.check(data)
        learner.scheme.check(len(data))
    return sides


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
            f"but {differ} records differ in place. Build the pair with mechanisms.records.replace_record."
        )


def check_seen(learner: DPSGD, neighbours: Neighbours) -> None:
    """Raises `NeighboursError` where view "observations" shows nothing of what differs, so that no leak would be seen.

    Its directions are fixed before training, but the gradient of an example moves with the parameters.
    """
    if learner.view != "observations":
        return
    if any(data.n_examples for data in differing(neighbours)):
        raise NeighboursError(
            "d0 and d1 differ in an example, whose gradient changes with the parameters, but view 'observations' shows "
            "the noisy sums along fixed directions. Set view='trajectory', which attack='gradient-product' reads at "
            "every step, or give a pair that differs in a gradient record (mechanisms.learning.canaries).",
            argument=("view", "d0", "d1"),
        )
    direction = gradient_direction(learner, neighbours)
    if direction is None:
        raise NeighboursError(
            "d0 and d1 differ in gradient records that are the same, or nothing, once they are clipped: there is no "
            "direction to observe. Give gradients that differ in direction.",
            argument="d0",
        )
    if learner.observed is not None and np.abs(learner.directions @ direction).max() < UNSEEN:
        raise NeighboursError(
            f"the {len(learner.directions)} observed direction(s) are at right angles to the gradient record in which "
            "d0 and d1 differ: no leak could be seen. Leave observed out, which observes along that record, or give "
            "directions that have a share in it."
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
        examples = _surplus(np.column_stack([mine.X, mine.y]), np.column_stack([other.X, other.y]))
        gradients = None
        if mine.gradients is not None:
            kept = mine.gradients[_surplus(mine.gradients, _gradients(other, mine.gradients.shape[1]))]
            gradients = kept if len(kept) else None
        found.append(TrainingData(mine.X[examples], mine.y[examples], gradients))
    return found[0], found[1]


def shared(neighbours: Neighbours) -> TrainingData:
    """The records that both sides have: those of side 0 that do not differ."""
    data, other = TrainingData.of(neighbours.d0), TrainingData.of(neighbours.d1)
    kept = np.ones(data.n_examples, dtype=bool)
    kept[_surplus(np.column_stack([data.X, data.y]), np.column_stack([other.X, other.y]))] = False
    gradients = data.gradients
    if gradients is not None:
        others = _gradients(other, gradients.shape[1])
        gradients = np.delete(gradients, _surplus(gradients, others), axis=0)
    return TrainingData(data.X[kept], data.y[kept], gradients if gradients is not None and len(gradients) else None)


def gradient_direction(learner: DPSGD, neighbours: Neighbours) -> NDArray[np.float64] | None:
    """Unit direction from side 0 to side 1, after clipping, where they differ in gradient records only; None elsewhere,
    and where clipping leaves no difference."""
    only0, only1 = differing(neighbours)
    if only0.n_examples or only1.n_examples:
        return None
    anywhere = np.zeros((1, learner.network.n_parameters))
    total = clipped_gradient(learner, only1, anywhere)[0] - clipped_gradient(learner, only0, anywhere)[0]
    norm = float(np.linalg.norm(total))
    return None if norm < UNSEEN * learner.clip_norm else np.asarray(total / norm)


def clipped_gradient(learner: DPSGD, data: TrainingData, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the clipped gradients of `data` at parameters `(n_runs, n_parameters)`, `(n_runs, n_parameters)`.

    A blank record counts for nothing under zero_out.
    """
    model, recipe = learner.network, learner.recipe
    total = np.zeros(parameters.shape)
    if data.gradients is not None:
        total += clip_rows(recipe.clipping, data.gradients, recipe.clip_norm, model).sum(axis=0)
    counted = np.any(data.X != 0.0, axis=1) | (data.y != 0) if recipe.ignore_blank else np.ones(data.n_examples, bool)
    if counted.any():
        found = TrainedModels(model, np.ascontiguousarray(parameters)).gradients(data.X[counted], data.y[counted])
        flat = clip_rows(recipe.clipping, found.reshape(-1, model.n_parameters), recipe.clip_norm, model)
        total += flat.reshape(found.shape).sum(axis=1)
    return total


def _gradients(data: TrainingData, n_parameters: int) -> Floats:
    return np.empty((0, n_parameters)) if data.gradients is None else data.gradients


def _surplus(mine: Floats, others: Floats) -> NDArray[np.intp]:
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
