"""Rare values merged into one: the compressed domain of MST.

A value is rare if its noisy count is below a multiple of the noise; all rare values of an attribute become
one, "the rest", which stands last. The rest has no records if no value is rare. Rare values are found from the
noisy counts, never from the exact ones.

(McKenna, Miklau and Sheldon 2021, section 4.2, "Compressing the domain".)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats

Flags = NDArray[np.bool_]


def present(kept: Flags) -> Flags:
    """Return a mask of the existing cells of the compressed attribute: the kept ones, and the rest if there is one.

    Args:
        kept: mask of the values that are not merged, shape `(size, n_values)`.

    Returns:
        Shape `(size, n_values + 1)`.
    """
    return np.concatenate([kept, ~kept.all(axis=1, keepdims=True)], axis=1)


def merged(counts: Floats, kept: Flags, axis: int = -1) -> Floats:
    """Return counts over the compressed domain along one axis; values that are not kept have 0.

    Args:
        counts: shape `(size, ...)`, with `n_values` along `axis`.
        kept: mask of the values that are not merged, shape `(size, n_values)`.
        axis: axis of `counts` to compress, not the first.

    Returns:
        The shape of `counts`, with `n_values + 1` along `axis`.
    """
    flags = _along(kept, counts.ndim, axis)
    rest = np.where(flags, 0.0, counts).sum(axis=axis, keepdims=True)
    return np.concatenate([np.where(flags, counts, 0.0), rest], axis=axis)


def spread(counts: Floats, kept: Flags, axis: int = -1) -> Floats:
    """Return counts over the whole domain, with the rest shared evenly: the approximate inverse of `merged`."""
    flags = _along(kept, counts.ndim, axis)
    n_rare = np.maximum(1, (~flags).sum(axis=axis, keepdims=True))
    separate, rest = np.split(counts, [kept.shape[1]], axis=axis)
    return np.where(flags, separate, rest / n_rare)


def _along(kept: Flags, n_axes: int, axis: int) -> Flags:
    """Return `kept` with axes of length one, so that it lies along `axis`."""
    shape = [1] * n_axes
    shape[0], shape[axis] = kept.shape
    return kept.reshape(shape)


def nearest_counts(answers: Floats, variances: Floats, exists: Flags, total: Floats) -> Floats:
    """Return counts >= 0 that add up to `total` and are nearest to noisy ones: a least-squares fit of one marginal.

    The minimum of sum (counts - answers)^2 / variances is max(0, answers - shift * variances), with the shift that
    gives the required total.

    Args:
        answers: shape `(size, n_cells)`.
        variances: variances of the noise, in any unit, > 0, the same shape.
        exists: mask of the existing cells; others stay 0.
        total: shape `(size,)`, > 0.
    """
    lengths = np.where(exists, variances, 0.0)
    centres = np.where(exists, answers, 0.0)
    limits = np.where(exists, answers / variances, -np.inf)
    order = np.argsort(-limits, axis=1)
    sums = np.cumsum(np.take_along_axis(centres, order, axis=1), axis=1)
    widths = np.cumsum(np.take_along_axis(lengths, order, axis=1), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = (sums - total[:, None]) / widths
    above = np.take_along_axis(limits, order, axis=1) > shifts
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    shift = np.take_along_axis(shifts, last[:, None], axis=1)
    return np.where(exists, np.maximum(0.0, centres - shift * lengths), 0.0)
