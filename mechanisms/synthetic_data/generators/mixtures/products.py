"""Marginals of a mixture of product distributions, and their gradients by its rows.

A table of r rows has, for each attribute, r vectors of weights over its values. Its answer for a cell of a marginal is
the mean over rows of the product of the weights of the cell's values. If the weights are probabilities, this is the
marginal of a uniform mixture of r product distributions; if one value has weight 1 in each vector, it is the marginal
of a table of records.

Axis 0 is the run: the weights of an attribute have shape `(size, r, n_values)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ....core.arrays import Floats


def answers(columns: Sequence[Floats]) -> Floats:
    """Return the marginal of these attributes, shape `(size, n_cells)`, cells in C order.

    Args:
        columns: the weights of each attribute, each of shape `(size, r, n_values)`.
    """
    left, right = _halves(columns)
    table = left.transpose(0, 2, 1) @ right
    return np.asarray(table.reshape(len(table), -1) / left.shape[1])


def gradients(columns: Sequence[Floats], weights: Floats) -> list[Floats]:
    """Return gradients of sum(weights * answers(columns)) by each of the columns, in their shapes.

    Args:
        columns: see `answers`.
        weights: shape `(size, n_cells)`.
    """
    left, right = _halves(columns)
    weight = weights.reshape(len(weights), left.shape[2], right.shape[2]) / left.shape[1]
    if len(columns) == 1:
        return [np.broadcast_to(weight.reshape(len(weight), 1, -1), columns[0].shape)]
    n_left = len(columns) // 2
    left_gradient, right_gradient = right @ weight.transpose(0, 2, 1), left @ weight
    return [*_unfolded(columns[:n_left], left_gradient), *_unfolded(columns[n_left:], right_gradient)]


def _halves(columns: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return products of the weights of the first attributes and of the others, for each row and cell of a half."""
    n_left = len(columns) // 2
    right = _product(columns[n_left:])
    return (_product(columns[:n_left]) if n_left else np.ones((*right.shape[:2], 1))), right


def _product(columns: Sequence[Floats]) -> Floats:
    """Return products of weights in each row, shape `(size, r, n_cells)`."""
    return reduce(lambda a, b: (a[..., :, None] * b[..., None, :]).reshape(*a.shape[:2], -1), columns)


def _unfolded(columns: Sequence[Floats], weight: Floats) -> list[Floats]:
    """Return gradients of sum(weight * _product(columns)) by each column."""
    if len(columns) == 1:
        return [weight]
    first, others = columns[0], _product(columns[1:])
    weight = weight.reshape(*first.shape, -1)
    first_gradient = np.einsum("srab,srb->sra", weight, others)
    return [first_gradient, *_unfolded(columns[1:], np.einsum("srab,sra->srb", weight, first))]


def softmax(logits: Floats) -> Floats:
    """Return probabilities along the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def through_softmax(probabilities: Floats, gradient: Floats) -> Floats:
    """Return the gradient by the logits, from the gradient by the probabilities."""
    return np.asarray(probabilities * (gradient - (gradient * probabilities).sum(axis=-1, keepdims=True)))
