"""Adam: gradient descent with steps scaled for each coordinate (Kingma and Ba 2015, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....core.arrays import Floats

_KEEPS_MEAN, _KEEPS_SQUARE, _TINY = 0.9, 0.999, 1e-12


def descend(
    start: Sequence[Floats],
    gradients: Callable[[Sequence[Floats]], Sequence[Floats]],
    *,
    steps: int,
    rate: float,
    low: float | None = None,
    high: float | None = None,
) -> list[Floats]:
    """Return the parameters after `steps` steps of Adam, whose rate falls from `rate` to 0 along a cosine.

    All operations act on each coordinate separately, so runs in the same array do not affect each other.

    Args:
        start: arrays of initial parameters; they are not modified.
        gradients: function from parameters to the gradients of the loss, one array for each array of parameters.
        steps: number of steps, >= 0.
        rate: the length of the first step in each coordinate.
        low, high: the range to which the parameters are clipped after each step; None: unbounded.
    """
    parameters = [np.array(array) for array in start]
    means, squares = ([np.zeros_like(array) for array in parameters] for _ in range(2))
    for step in range(1, steps + 1):
        length = 0.5 * rate * (1.0 + math.cos(math.pi * (step - 1) / steps)) / (1.0 - _KEEPS_MEAN**step)
        scale = 1.0 / math.sqrt(1.0 - _KEEPS_SQUARE**step)
        for array, gradient, mean, square in zip(parameters, gradients(parameters), means, squares, strict=True):
            mean += (1.0 - _KEEPS_MEAN) * (gradient - mean)
            square += (1.0 - _KEEPS_SQUARE) * (gradient**2 - square)
            array -= length * mean / (scale * np.sqrt(square) + _TINY)
            if low is not None or high is not None:
                np.clip(array, low, high, out=array)
    return parameters
