"""Consistency checks of saved numbers.

A digest shows that a text is unchanged; these checks show that its numbers can be the result of a measurement.
"""

from __future__ import annotations

from collections.abc import Sized

import numpy as np

from ...mechanisms.core.errors import ResultError
from ..evidence.scores import Tally


def check_tally(tally: Tally, at: str) -> None:
    """Raise `ResultError` unless hits decrease with the threshold, within the number of scores."""
    same_length(at, thresholds=tally.thresholds, hits_out=tally.hits_out, hits_in=tally.hits_in)
    require(bool((np.diff(tally.thresholds) > 0).all()), at, "the thresholds of the tally do not increase")
    for name, hits, n in (("hits_out", tally.hits_out, tally.n_out), ("hits_in", tally.hits_in, tally.n_in)):
        decreasing = (np.diff(hits) <= 0).all() and (hits >= 0).all() and (hits <= n).all()
        require(bool(decreasing), at, f"{name} of the tally does not decrease from at most {n} to at least 0")


def same_length(at: str, **columns: Sized) -> None:
    """Raise `ResultError` unless the columns have the same length."""
    lengths = {name: len(column) for name, column in columns.items()}
    require(len(set(lengths.values())) == 1, at, f"columns differ in length: {lengths}")


def within(low: float, high: float, at: str, **numbers: float) -> None:
    """Raise `ResultError` unless low <= number <= high; NaN is refused."""
    for name, number in numbers.items():
        require(low <= number <= high, at, f"{name} must lie between {low:g} and {high:g}, but is {number!r}")


def require(holds: bool, at: str, otherwise: str) -> None:
    """Raise `ResultError` with the place `at` and the reason `otherwise` unless `holds`."""
    if not holds:
        place = f"{at}: " if at else ""
        raise ResultError(f"{place}{otherwise}. These results contradict themselves: run the same command again.")


__all__ = ["check_tally", "require", "same_length", "within"]
