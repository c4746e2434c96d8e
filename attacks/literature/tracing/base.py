"""Interfaces of tracing statistics: read this first.

    Linear      a score of people that is linear in their rows, with its mean and variance among non-members
    Statistic   published means and public frequencies -> Linear

Rows contain zeros and ones, so every statistic of the literature is linear in them, also a statistic written with
logarithms or absolute values. Our names and the papers' symbols:

    released (d,)      q    means of the columns of the study, as published
    frequencies (d,)   p    frequencies of the columns in the population; v = p (1 - p)
    people (N, d)      y    rows of the people who are tested
    n_records          n    number of people in the study
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Bools, Floats, Options, ParameterError
from ....mechanisms.literature.studies.populations import check_frequencies, check_people
from .packed import PackedPeople

People: TypeAlias = ArrayLike | PackedPeople
MAX_BLOCK_ENTRIES = 4_000_000
"""Number of entries converted to floats at once."""


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear score, score(y) = intercept + sum_j slopes_j y_j.

    Args:
        slopes: slopes, `(d,)` for one release, `(runs, d)` for several.
        intercept: intercept, `()` or `(runs,)`.
    """

    slopes: Floats
    intercept: Floats

    def scores(self, people: People) -> Floats:
        """Return the scores of rows `(N, d)`, or packed rows: `(N,)` for one release, `(runs, N)` for several."""
        if isinstance(people, PackedPeople):
            return np.asarray(people.products(self.slopes) + self.intercept[..., None])
        rows = check_people(people, self.slopes.shape[-1])
        products = np.empty((*self.slopes.shape[:-1], len(rows)))
        step = max(1, MAX_BLOCK_ENTRIES // rows.shape[1])
        for start in range(0, len(rows), step):
            part = rows[start : start + step].astype(np.float64)
            products[..., start : start + step] = self.slopes @ part.T
        return np.asarray(products + self.intercept[..., None])

    def mean(self, frequencies: Floats) -> Floats:
        """Return the mean among non-members, given the release; `()` or `(runs,)`."""
        return np.asarray(self.intercept + self.slopes @ frequencies)

    def variance(self, frequencies: Floats) -> Floats:
        """Return the variance among non-members with independent columns, given the release; `()` or `(runs,)`."""
        return np.asarray(np.square(self.slopes) @ (frequencies * (1.0 - frequencies)))

    @property
    def rounding(self) -> Floats:
        """Largest rounding difference of two scores of the same row in different blocks; `()` or `(runs,)`."""
        terms = np.abs(self.slopes).sum(axis=-1) + np.abs(self.intercept)
        return np.asarray((self.slopes.shape[-1] + 2) * np.finfo(np.float64).eps * terms)

    def standardised(self, frequencies: Floats) -> Linear:
        """Return the score scaled to mean 0 and variance 1 among non-members; 0 if all scores are equal."""
        mean, deviation = self.mean(frequencies), np.sqrt(self.variance(frequencies))
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
        return Linear(self.slopes * factor[..., None], (self.intercept - mean) * factor)


class TracingStatistic(Options):
    """Base class of statistics, which score people given a release.

    Subclasses are frozen dataclasses, whose fields are the options.
    """

    def linear(self, released: ArrayLike, frequencies: ArrayLike) -> Linear:
        """Return the score, as a function of a row.

        Args:
            released: published means, `(d,)` or `(runs, d)`, finite.
            frequencies: `(d,)`, in [0, 1], from people who are neither in the study nor tested.

        A constant column, of frequency 0 or 1, carries no information and is not used.

        Raises:
            ParameterError: inconsistent shapes, frequencies outside [0, 1], or every column is constant.
        """
        frequencies = check_frequencies(frequencies)
        released = check_released(released, len(frequencies))
        vary = varying(frequencies)
        inside = np.where(vary, frequencies, 0.5)
        slopes, offsets = self._columns(released, inside)
        if not vary.all():
            slopes, offsets = np.where(vary, slopes, 0.0), np.where(vary, offsets, 0.0)
        return Linear(slopes, np.asarray(offsets.sum(axis=-1)))

    def score(self, released: ArrayLike, people: People, frequencies: ArrayLike) -> Floats:
        """Return the scores of `people` `(N, d)`: `(N,)`, or `(runs, N)` for several releases; see `linear`."""
        return self.linear(released, frequencies).scores(people)

    @abstractmethod
    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        """Return slope and offset of each column, shape as `released`; frequencies lie strictly between 0 and 1."""


def check_released(released: ArrayLike, n_attributes: int) -> Floats:
    """Return `released` as an array; raise `ParameterError` unless finite with last axis `n_attributes`."""
    means = np.asarray(released, dtype=np.float64)
    if means.ndim not in (1, 2) or means.shape[-1] != n_attributes:
        raise ParameterError(
            f"released must have shape ({n_attributes},) or (runs, {n_attributes}), as there are {n_attributes:,} "
            f"frequencies, but has shape {means.shape}.",
            argument="released",
        )
    if not np.isfinite(means).all():
        raise ParameterError(
            "released must be finite, but has NaN or inf. Leave out the columns that were not published.",
            argument="released",
        )
    return means


def varying(frequencies: Floats) -> Bools:
    """Return a mask `(d,)` of the columns that vary in the population; raise `ParameterError` if none does."""
    mask: Bools = (frequencies > 0.0) & (frequencies < 1.0)
    if not mask.any():
        raise ParameterError(
            "every frequency is 0 or 1: no column distinguishes people. Give columns that vary, or more people of "
            "reference.",
            argument="frequencies",
        )
    return mask
