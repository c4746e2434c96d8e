"""Checks of a pair for DP-SGD, and the direction of its difference.

check_pair           both sides fit the model and the sampling, and differ in one record
check_seen           the noisy sums along fixed directions show the difference
gradient_direction   direction of the differing gradient records
clipped_gradient     contribution of records to the sum of a step
clipped_gradients    ... of each record separately
"""

from __future__ import annotations

import numpy as np

from ...core import Floats, Neighbours, NeighboursError, Relation, check_records
from ..base import MAX_ROUNDING, AnyFloats, TrainingData, check_in_place, differing, gradients_of
from ..models.trained import TrainedModels
from .steps import clip_rows
from .training import Recipe


def check_pair(recipe: Recipe, neighbours: Neighbours) -> None:
    """Check that both sides fit the model and the sampling, and differ in one record.

    Raises:
        NeighboursError: the sides do not differ in one record.
        ParameterError: data that do not fit the model or the sampling.
    """
    sides = sides_of(recipe, neighbours)
    examples = [(data.X, data.y) for data in sides]
    gradients = [gradients_of(data, recipe.model.n_parameters) for data in sides]
    if np.array_equal(gradients[0], gradients[1]):
        check_records(Neighbours(examples[0], examples[1], neighbours.relation))
    elif all(np.array_equal(rows0, rows1) for rows0, rows1 in zip(*examples, strict=True)):
        check_records(Neighbours(gradients[0], gradients[1], neighbours.relation))
    else:
        raise NeighboursError(
            "d0 and d1 differ in their examples and in their gradient records too, but neighbours differ in one "
            "record. Change only one of the two.",
            argument="d0",
        )
    if recipe.sampling.ordered and neighbours.relation is Relation.REPLACE_ONE:
        check_in_place(neighbours, f"the batches of {type(recipe.sampling).__name__}")


def sides_of(recipe: Recipe, neighbours: Neighbours) -> list[TrainingData]:
    """Return side 0 and side 1; raise `ParameterError` if they do not fit the model or the sampling."""
    sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
    for data in sides:
        recipe.model.check(data)
        recipe.sampling.check(len(data))
    return sides


def check_seen(recipe: Recipe, neighbours: Neighbours, directions: AnyFloats | None) -> None:
    """Raise `NeighboursError` if noisy sums along `directions` are independent of the difference of the pair.

    No leak could be observed. Directions are fixed before training, but the gradient of an example changes with the
    parameters.

    Args:
        recipe: the training.
        neighbours: the pair.
        directions: `(m, n_parameters)`; None for the direction in which the pair differs, if there is one.
    """
    if any(data.n_examples for data in differing(neighbours)):
        raise NeighboursError(
            "d0 and d1 differ in an example, whose gradient changes with the parameters, but view 'noisy_gradients' "
            "shows the noisy sums along fixed directions. Set view='trajectory', which attack='gradient-product' reads "
            "at every step, or give a pair that differs in a gradient record (dpassay.attacks.canaries).",
            argument=("view", "d0", "d1"),
        )
    direction = gradient_direction(recipe, neighbours)
    if direction is None:
        raise NeighboursError(
            "d0 and d1 differ in gradient records that are the same, or nothing, once they are clipped: there is no "
            "direction to observe. Give gradients that differ in direction.",
            argument="d0",
        )
    if directions is not None and np.abs(directions @ direction).max() < MAX_ROUNDING:
        raise NeighboursError(
            f"the observed directions ({len(directions)}) are at right angles to the gradient record in which d0 and "
            "d1 differ: no leak could be observed. Leave directions out, which observes along that record, or give "
            "directions that are not orthogonal to it.",
            argument=("directions", "d0"),
        )


def gradient_direction(recipe: Recipe, neighbours: Neighbours) -> Floats | None:
    """Return the unit direction from side 0 to side 1 after clipping.

    None if the sides differ in more than gradient records, or if clipping leaves no difference.
    """
    only0, only1 = differing(neighbours)
    if only0.n_examples or only1.n_examples:
        return None
    parameters = np.zeros((1, recipe.model.n_parameters))
    total = clipped_gradient(recipe, only1, parameters)[0] - clipped_gradient(recipe, only0, parameters)[0]
    norm = float(np.linalg.norm(total))
    return None if norm < MAX_ROUNDING * recipe.clip_norm else np.asarray(total / norm)


def clipped_gradient(recipe: Recipe, data: TrainingData, parameters: Floats) -> Floats:
    """Return the sum of the clipped gradients of `data` at parameters `(n_runs, n_parameters)`, same shape."""
    return np.asarray(clipped_gradients(recipe, data, parameters).sum(axis=1))


def clipped_gradients(recipe: Recipe, data: TrainingData, parameters: Floats) -> Floats:
    """Return the clipped gradient of each record, `(n_runs, n_records, n_parameters)`.

    The parameters have shape `(n_runs, n_parameters)`. A blank record has a zero gradient under zero_out.
    """
    model, n = recipe.model, data.n_examples
    clipped = np.zeros((len(parameters), len(data), model.n_parameters))
    if data.gradients is not None:
        clipped[:, n:] = clip_rows(recipe.clipping, data.gradients, recipe.clip_norm, model)
    counted = np.any(data.X != 0.0, axis=1) | (data.y != 0) if recipe.ignore_blank else np.ones(n, bool)
    if counted.any():
        gradients = TrainedModels(model, np.ascontiguousarray(parameters)).gradients(data.X[counted], data.y[counted])
        flat = clip_rows(recipe.clipping, gradients.reshape(-1, model.n_parameters), recipe.clip_norm, model)
        if counted.all() and n == len(data):
            return np.asarray(flat.reshape(gradients.shape))
        clipped[:, np.flatnonzero(counted)] = flat.reshape(gradients.shape)
    return clipped
