"""Rare values merged into one, and the model of independent attributes over the compressed domain, as in MST.

A value is rare if its noisy count is below a multiple of the noise; all rare values of an attribute become
one, "the rest", which stands last. The rest has no records if no value is rare. Rare values are found from the
noisy counts, never from the exact ones.

(McKenna, Miklau and Sheldon 2021, section 4.2, "Compressing the domain".)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....core import Bools, Floats, Ints
from ....noise.queries.domain import Domain
from ..base import CodedTable
from .spanning_trees import pairs


def present(kept: Bools) -> Bools:
    """Return a mask of the existing cells of the compressed attribute: the kept ones, and the rest if there is one.

    Args:
        kept: mask of the values that are not merged, shape `(size, n_values)`.

    Returns:
        Shape `(size, n_values + 1)`.
    """
    return np.concatenate([kept, ~kept.all(axis=1, keepdims=True)], axis=1)


def merged(counts: Floats, kept: Bools, axis: int = -1) -> Floats:
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


def spread(counts: Floats, kept: Bools, axis: int = -1) -> Floats:
    """Return counts over the whole domain, with the rest shared evenly: the approximate inverse of `merged`."""
    flags = _along(kept, counts.ndim, axis)
    n_rare = np.maximum(1, (~flags).sum(axis=axis, keepdims=True))
    separate, rest = np.split(counts, [kept.shape[1]], axis=axis)
    return np.where(flags, separate, rest / n_rare)


def _along(kept: Bools, n_axes: int, axis: int) -> Bools:
    """Return `kept` with axes of length one, so that it lies along `axis`."""
    shape = [1] * n_axes
    shape[0], shape[axis] = kept.shape
    return kept.reshape(shape)


def _nearest_counts(answers: Floats, variances: Floats, exists: Bools, total: Floats) -> Floats:
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


class IndependentModel(NamedTuple):
    """Fitted model with independent attributes, over the compressed domain of each run.

    Args:
        total: estimated number of records, shape `(size,)`.
        shares: shares of the values of each attribute, and of the rest: shape `(size, n_values + 1)` each.
        kept: masks of the values that are not merged: shape `(size, n_values)` each.
        penalty: penalty of a pair for each of its cells over the compressed domain.
    """

    total: Floats
    shares: tuple[Floats, ...]
    kept: tuple[Bools, ...]
    penalty: float

    @classmethod
    def fitted(
        cls, alone: Sequence[Floats], kept: Sequence[Bools], domain: Domain, fixed: float | None, penalty: float
    ) -> IndependentModel:
        """Return the least-squares fit; the total is the precision-weighted mean of the sums of all attributes.

        Args:
            alone: noisy counts of each attribute, shape `(size, n_values)` each, all with the same noise.
            kept: see the class.
            domain: domain of the records.
            fixed: number of records if it is public; None: estimated, at least 1.
            penalty: see the class.
        """
        if fixed is None:
            precision = 1.0 / np.array(domain.shape)
            sums = np.stack([answers.sum(axis=1) for answers in alone], axis=1)
            total = np.maximum(1.0, sums @ precision / precision.sum())
        else:
            total = np.full(len(alone[0]), fixed)
        shares = []
        for answers, flags in zip(alone, kept, strict=True):
            variances = np.ones((len(flags), flags.shape[1] + 1))
            variances[:, -1] = np.maximum(1, (~flags).sum(axis=1))
            counts = _nearest_counts(merged(answers, flags), variances, present(flags), total)
            shares.append(counts / total[:, None])
        return cls(total, tuple(shares), tuple(kept), penalty)

    def scores(self, table: CodedTable) -> Floats:
        """Return the L1 distance between the exact and the model counts of each pair, minus the penalty.

        The shape is `(size, n_pairs)`.
        """
        scores = []
        names = table.domain.names
        all_runs = np.arange(len(self.total))
        for edge, (a, b) in enumerate(pairs(len(names))):
            exact = self.compressed(table.marginal((names[a], names[b])), edge, all_runs)
            model = self.total[:, None, None] * self.shares[a][:, :, None] * self.shares[b][:, None, :]
            n_cells = np.count_nonzero(self.exists(edge, all_runs), axis=(1, 2))
            scores.append(np.abs(exact - model).sum(axis=(1, 2)) - self.penalty * n_cells)
        return np.stack(scores, axis=1)

    def measured(
        self, counts: Floats, edge: int, runs: Ints, standard_deviation: float, rng: np.random.Generator
    ) -> Floats:
        """Return noisy counts of a pair over the compressed domain of each run, spread over the whole domain."""
        exact = self.compressed(counts, edge, runs)
        noisy = exact + standard_deviation * rng.standard_normal(exact.shape) * self.exists(edge, runs)
        first, second = self.kept_of(edge, runs)
        return spread(spread(noisy, first, axis=1), second, axis=2).reshape(len(runs), -1)

    def compressed(self, counts: Floats, edge: int, runs: Ints) -> Floats:
        """Return counts of a pair over the compressed domain, from those over the whole domain.

        Args:
            counts: `(n_cells,)` or `(len(runs), n_cells)`.
            edge: number of the pair.
            runs: numbers of the runs.

        Returns:
            Shape `(len(runs), n_values + 1 of the first, n_values + 1 of the second)`.
        """
        first, second = self.kept_of(edge, runs)
        shape = (len(runs), first.shape[1], second.shape[1])
        return merged(
            merged(np.broadcast_to(counts, (len(runs), counts.shape[-1])).reshape(shape), first, 1), second, 2
        )

    def exists(self, edge: int, runs: Ints) -> Bools:
        """Return a mask of the cells of a pair that exist over the compressed domain."""
        first, second = self.kept_of(edge, runs)
        return present(first)[:, :, None] & present(second)[:, None, :]

    def kept_of(self, edge: int, runs: Ints) -> tuple[Bools, Bools]:
        """Return masks of the values of both attributes of a pair that are not merged."""
        a, b = pairs(len(self.kept))[edge]
        return self.kept[a][runs], self.kept[b][runs]
