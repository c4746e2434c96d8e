"""Rare values merged into one: the compressed domain of MST.

A value whose noisy count is below a multiple of the noise is not told from zero; all such values of an attribute become
one, "the rest", which stands last. It has no records where no value is rare. Which values are rare is read off the
noisy counts, never off the exact ones.

(McKenna, Miklau and Sheldon 2021, section 4.2, "Compressing the domain".)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def present(kept: Flags) -> Flags:
    """Which cells of the compressed attribute exist: those that are kept, and the rest if there is one.

    Args:
        kept: shape `(size, n_values)`.

    Returns:
        Shape `(size, n_values + 1)`.
    """
    return np.concatenate([kept, ~kept.all(axis=1, keepdims=True)], axis=1)


def merged(counts: Floats, kept: Flags, axis: int = -1) -> Floats:
    """Counts over the compressed domain along one axis, where values that are not kept have 0.

    Args:
        counts: shape `(size, ...)`, with `n_values` along `axis`.
        kept: shape `(size, n_values)`.
        axis: of `counts`, not the first.

    Returns:
        The shape of `counts`, with `n_values + 1` along `axis`.
    """
    flags = _along(kept, counts.ndim, axis)
    rest = np.where(flags, 0.0, counts).sum(axis=axis, keepdims=True)
    return np.concatenate([np.where(flags, counts, 0.0), rest], axis=axis)


def spread(counts: Floats, kept: Flags, axis: int = -1) -> Floats:
    """Counts over the whole domain, where those of the rest are shared evenly: undoes `merged` as far as can be."""
    flags = _along(kept, counts.ndim, axis)
    n_rare = np.maximum(1, (~flags).sum(axis=axis, keepdims=True))
    each, rest = np.split(counts, [kept.shape[1]], axis=axis)
    return np.where(flags, each, rest / n_rare)


def _along(kept: Flags, n_axes: int, axis: int) -> Flags:
    """`kept` with axes of length one, so that it lies along `axis`."""
    shape = [1] * n_axes
    shape[0], shape[axis] = kept.shape
    return kept.reshape(shape)


def nearest_counts(answers: Floats, variances: Floats, exists: Flags, total: Floats) -> Floats:
    """Counts >= 0 that add up to `total` and lie nearest to noisy ones: the least squares fit of one marginal.

    The minimum of sum (counts - answers)^2 / variances is max(0, answers - shift * variances), with the shift that
    makes the total right.

    Args:
        answers: shape `(size, n_cells)`.
        variances: of the noise, in any unit, > 0, the same shape.
        exists: which cells there are; others stay 0.
        total: shape `(size,)`, > 0.
    """
    lengths = np.where(exists, variances, 0.0)
    wanted = np.where(exists, answers, 0.0)
    limits = np.where(exists, answers / variances, -np.inf)
    order = np.argsort(-limits, axis=1)
    sums = np.cumsum(np.take_along_axis(wanted, order, axis=1), axis=1)
    widths = np.cumsum(np.take_along_axis(lengths, order, axis=1), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = (sums - total[:, None]) / widths
    above = np.take_along_axis(limits, order, axis=1) > shifts
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    shift = np.take_along_axis(shifts, last[:, None], axis=1)
    return np.where(exists, np.maximum(0.0, wanted - shift * lengths), 0.0)
