"""Attacks that choose their queries: averaging and differencing, against a stateful `Answerer`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import PositiveInt, check_fields, one_of_names
from ....mechanisms.core.errors import plural
from ....mechanisms.noise.counts.answerer import Answerer
from .base import DecodedAnswers, DecodingStatus

COMBINE: dict[str, Callable[..., Floats]] = {"mean": np.nanmean, "median": np.nanmedian}


@dataclass(frozen=True)
class Averaging:
    """Repetition of one query, with the mean or the median of the answers as estimate.

    With independent noise of standard deviation sd the mean of k answers has sd / sqrt(k): sqrt(2) / (epsilon sqrt(k))
    for Laplace noise of epsilon each. Sticky noise gives the same answer k times.

    Args:
        n_repeats: k, >= 1.
        combine: "mean", optimal for Gaussian noise, or "median", for Laplace noise.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> desk = Answerer(np.ones((1000, 5)), np.random.default_rng(0), noise=Laplace(1.0))
        >>> counts = Averaging(n_repeats=100).count(desk, np.ones(5))
        >>> bool(abs(counts.std() - 0.1414) < 0.01)
        True
    """

    n_repeats: PositiveInt = 1
    combine: Annotated[str, one_of_names(*COMBINE)] = "mean"

    def __post_init__(self) -> None:
        check_fields(self)

    def count(self, desk: Answerer, subset: ArrayLike) -> Floats:
        """Return estimates of the count, `(n_runs,)`; NaN if no answer was given."""
        answers = desk.ask_again(subset, self.n_repeats)
        estimates = np.full(len(answers), np.nan)
        answered = ~np.isnan(answers).all(axis=1)
        estimates[answered] = COMBINE[self.combine](answers[answered], axis=1)
        return estimates


@dataclass(frozen=True)
class Differencing:
    """Queries on all records, and on all but one: the difference is the bit of that record.

    With noise of standard deviation sd on each answer, and k repeats of each query, a bit is wrong with probability
    Phi(-sqrt(k) / (2 sqrt(2) sd)) under Gaussian noise. Sticky noise does not stop it: the two sets differ.

    Args:
        n_repeats, combine: for each query, as for `Averaging`.

    Example:
        >>> desk = Answerer([1, 0, 1, 1], np.random.default_rng(0))
        >>> Differencing().attack(desk).bits[0].tolist(), desk.n_asked
        ([True, False, True, True], 8)
    """

    n_repeats: int = 1
    combine: str = "mean"

    def __post_init__(self) -> None:
        Averaging(self.n_repeats, self.combine)

    def attack(self, desk: Answerer) -> DecodedAnswers:
        """Return every bit, one after the other; a bit whose queries were not answered has the value 1/2."""
        average = Averaging(self.n_repeats, self.combine)
        all_records = np.ones(desk.n_records, dtype=np.bool_)
        values = np.empty((desk.n_runs, desk.n_records))
        for place in range(desk.n_records):
            others = all_records.copy()
            others[place] = False
            values[:, place] = average.count(desk, all_records) - average.count(desk, others)
        return _with_gaps(values)


def _with_gaps(values: Floats) -> DecodedAnswers:
    """Replace NaN by 1/2, and count them in the notes."""
    missing = np.isnan(values).sum(axis=1)
    notes = tuple(f"no answer about {k} of {plural(values.shape[1], 'record')}" if k else "" for k in missing.tolist())
    status = tuple(DecodingStatus.SEVERAL if k else DecodingStatus.OPTIMAL for k in missing.tolist())
    return DecodedAnswers(np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0), status, notes)
