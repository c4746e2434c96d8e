"""Fixed features of images that are not learned from data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import ParameterError, whole


def oriented_gradients(X: NDArray[Any], *, cells: int = 7, directions: int = 8) -> NDArray[np.float32]:
    """Compute histograms of oriented gradients, `(n, directions * cells^2)`, rows of norm 1.

    The gradient of every pixel, by central differences, is divided between the two nearest directions; its length is
    summed over square cells, and the square roots of the sums are scaled to norm 1.

    Args:
        X: square images as rows, `(n, side^2)`; a constant image has features 0.
        cells: number of cells along each side, >= 1; a divisor of the side.
        directions: >= 2, evenly spaced on the circle.

    Raises:
        ParameterError: images that are not square, or whose side is not a multiple of cells.

    References:
        Dalal and Triggs (2005), "Histograms of oriented gradients for human detection"; with one block, directions
        with a sign, and square roots (RootSIFT: Arandjelovic and Zisserman 2012).

    Example:
        >>> edge = np.zeros((1, 16))
        >>> edge[0, [2, 3, 6, 7, 10, 11, 14, 15]] = 1.0  # the right half is white: all gradients point right
        >>> oriented_gradients(edge, cells=2, directions=4).reshape(4, 4).round(2)
        array([[0.5, 0.5, 0.5, 0.5],
               [0. , 0. , 0. , 0. ],
               [0. , 0. , 0. , 0. ],
               [0. , 0. , 0. , 0. ]], dtype=float32)
    """
    whole(1, cells=cells)
    whole(2, directions=directions)
    X = np.asarray(X, dtype=np.float32)
    side = round(X.shape[-1] ** 0.5)
    if X.ndim != 2 or side**2 != X.shape[1] or side % cells:
        raise ParameterError(
            f"X must be square images as rows, with a side divisible by cells = {cells}, but has shape {X.shape}.",
            argument="X",
        )
    images = X.reshape(-1, side, side)
    across, down = np.zeros_like(images), np.zeros_like(images)
    across[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    turn = np.arctan2(down, across) * (directions / (2.0 * np.pi)) % directions
    length, width = np.hypot(across, down), side // cells
    sums = np.empty((len(X), directions, cells, cells), dtype=np.float32)
    for direction in range(directions):
        distance = np.abs(turn - direction)
        near = np.maximum(0.0, 1.0 - np.minimum(distance, directions - distance)) * length
        sums[:, direction] = near.reshape(-1, cells, width, cells, width).sum(axis=(2, 4))
    rows = np.sqrt(sums).reshape(len(X), -1)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30), dtype=np.float32)
