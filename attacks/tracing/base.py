"""The interfaces of this room: read this first.

    Linear      a score of people that is linear in their rows, with its mean and variance among strangers
    Statistic   published means and public frequencies -> Linear

Rows hold zeros and ones, so that every statistic of the literature is linear in them, also one that is written with
logarithms or absolute values. Our names and the papers' symbols:

    released (d,)      q    means of the columns of the study, as published
    frequencies (d,)   p    of each column among people at large; v = p (1 - p)
    people (N, d)      y    rows of those who are looked for
    n_records          n    people in the study
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.errors import ParameterError
from ...mechanisms.studies.populations import check_frequencies
from ...mechanisms.studies.study import check_people
from .packed import PackedPeople

Floats = NDArray[np.float64]
People: TypeAlias = ArrayLike | PackedPeople
BLOCK = 4_000_000
"""Entries of rows that are turned into floats at once."""


@dataclass(frozen=True, eq=False)
class Linear:
    """score(y) = intercept + sum_j slopes_j y_j.

    Args:
        slopes: `(d,)` for one release, `(runs, d)` for several.
        intercept: `()` or `(runs,)`.
    """

    slopes: Floats
    intercept: Floats

    def scores(self, people: People) -> Floats:
        """Of rows `(N, d)`, or packed ones: `(N,)` for one release, `(runs, N)` for several."""
        if isinstance(people, PackedPeople):
            return np.asarray(people.products(self.slopes) + self.intercept[..., None])
        rows = check_people(people, self.slopes.shape[-1])
        found = np.empty((*self.slopes.shape[:-1], len(rows)))
        step = max(1, BLOCK // rows.shape[1])
        for start in range(0, len(rows), step):
            part = rows[start : start + step].astype(np.float64)
            found[..., start : start + step] = self.slopes @ part.T
        return np.asarray(found + self.intercept[..., None])

    def mean(self, frequencies: Floats) -> Floats:
        """Among strangers, given the release; `()` or `(runs,)`."""
        return np.asarray(self.intercept + self.slopes @ frequencies)

    def variance(self, frequencies: Floats) -> Floats:
        """Among strangers with independent columns, given the release; `()` or `(runs,)`."""
        return np.asarray(np.square(self.slopes) @ (frequencies * (1.0 - frequencies)))

    @property
    def rounding(self) -> Floats:
        """How far apart two scores of the same row may be computed, in different blocks of rows; `()` or `(runs,)`."""
        terms = np.abs(self.slopes).sum(axis=-1) + np.abs(self.intercept)
        return np.asarray((self.slopes.shape[-1] + 2) * np.finfo(np.float64).eps * terms)

    def standardised(self, frequencies: Floats) -> Linear:
        """With mean 0 and variance 1 among strangers; 0 for everybody where all score alike."""
        mean, deviation = self.mean(frequencies), np.sqrt(self.variance(frequencies))
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
        return Linear(self.slopes * factor[..., None], (self.intercept - mean) * factor)


class Statistic(ABC):
    """What scores people by a release. Subclasses are frozen dataclasses, whose fields are the options."""

    def linear(self, released: ArrayLike, frequencies: ArrayLike) -> Linear:
        """The score, as a function of a row.

        Args:
            released: published means, `(d,)` or `(runs, d)`, finite.
            frequencies: `(d,)`, in [0, 1], from people who are not in the study nor looked for.

        A column that is constant, of frequency 0 or 1, tells strangers from nobody: it counts for nothing.

        Raises:
            ParameterError: shapes that do not fit, frequencies outside [0, 1], or every column is constant.
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
        """Of each of `people` `(N, d)`: `(N,)`, or `(runs, N)` for several releases; arguments as for `linear`."""
        return self.linear(released, frequencies).scores(people)

    @abstractmethod
    def _columns(self, released: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
        """Slope and offset of each column, shape as `released`; frequencies lie strictly between 0 and 1."""


def check_released(released: ArrayLike, n_attributes: int) -> Floats:
    """`released` as an array; raises `ParameterError` unless it is finite and its last axis has `n_attributes`."""
    found = np.asarray(released, dtype=np.float64)
    if found.ndim not in (1, 2) or found.shape[-1] != n_attributes:
        raise ParameterError(
            f"released must have shape ({n_attributes},) or (runs, {n_attributes}), as there are {n_attributes:,} "
            f"frequencies, but has shape {found.shape}.",
            argument="released",
        )
    if not np.isfinite(found).all():
        raise ParameterError(
            "released must be finite, but holds NaN or inf. Leave out the columns that were not published.",
            argument="released",
        )
    return found


def varying(frequencies: Floats) -> NDArray[np.bool_]:
    """Which columns vary among strangers, shape `(d,)`; raises `ParameterError` if none does."""
    found: NDArray[np.bool_] = (frequencies > 0.0) & (frequencies < 1.0)
    if not found.any():
        raise ParameterError(
            "every frequency is 0 or 1: no column tells people apart. Give columns that vary, or more people of "
            "reference.",
            argument="frequencies",
        )
    return found
