"""One cell of the certificate: a method on one law at one delta, confidence and size."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..bounds.numerics.binomial import lower, quantile, upper
from ..results import consistency
from .coverage import FALSE_ALARM
from .methods import KINDS


@dataclass(frozen=True)
class Cell:
    """How a method did in one place.

    Args:
        method, kind: what was examined; kind is `bound`, `uncorrected` or `peer`.
        law, delta, exact_epsilon: where the scores came from, and their true epsilon at delta.
        n_out, n_in: scores on each side, pilot included.
        confidence: that was asked for.
        repeats, misses: audits, and those that reported more than the truth.
        allowed: most misses that a valid bound shows, but for its share of a false alarm of 1e-6.
        numbers: audits whose number was computed: the first of them.
        mean, deviation: of these numbers.
        low, median, high: their 5 %, 50 % and 95 % quantiles.
    """

    method: str
    kind: str
    law: str
    delta: float
    exact_epsilon: float
    n_out: int
    n_in: int
    confidence: float
    repeats: int
    misses: int
    allowed: int
    numbers: int
    mean: float
    deviation: float
    low: float
    median: float
    high: float

    @property
    def significance(self) -> float:
        """The miss rate that is allowed."""
        return round(1.0 - self.confidence, 12)

    @property
    def miss_rate(self) -> float:
        """The miss rate that was seen."""
        return self.misses / self.repeats

    @property
    def interval(self) -> tuple[float, float]:
        """Exact two-sided 95 % limits of the miss rate (Clopper and Pearson 1934)."""
        ends = lower(self.misses, self.repeats, 0.025), upper(self.misses, self.repeats, 0.025)
        return float(ends[0]), float(ends[1])

    @property
    def holds(self) -> bool:
        """Whether the misses are within what is allowed."""
        return self.misses <= self.allowed


def judged(cell: Cell, n_bounds: int) -> Cell:
    """The cell with the misses that are allowed to one of `n_bounds` cells of bounds."""
    return replace(cell, allowed=int(quantile(1.0 - FALSE_ALARM / n_bounds, cell.repeats, cell.significance)))


def check_cell(cell: Cell, n_bounds: int, at: str) -> None:
    """Raises `ResultError` where the numbers of a cell cannot belong together."""
    consistency.require(cell.kind in KINDS, at, f"kind must be one of {KINDS}, but is {cell.kind!r}")
    consistency.within(2**-53, 1.0 - 2**-53, at, confidence=cell.confidence)
    consistency.within(1, 2**53, at, repeats=cell.repeats)
    consistency.within(0, cell.repeats, at, misses=cell.misses, numbers=cell.numbers)
    follows = judged(cell, n_bounds).allowed
    consistency.require(cell.allowed == follows, at, f"{cell.allowed} misses are allowed, but {follows} may be")


__all__ = ["Cell", "check_cell", "judged"]
