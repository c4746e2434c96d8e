"""One cell of the certificate: a method on one law at one delta, confidence and size."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..bounds.numerics.binomial import lower, quantile, upper
from ..results.saved import require, within
from .methods import KINDS

FALSE_ALARM = 1e-6
"""Probability that a certificate, or a test of coverage, reports a valid bound."""


@dataclass(frozen=True)
class CertificateCell:
    """Miss rate and power of a method in one setting.

    Args:
        method, kind: the method under test; kind is `bound`, `uncorrected`, `published` or `peer`.
        law, delta, exact_epsilon: the law of the scores, and its true epsilon at delta.
        n_out, n_in: scores on each side, pilot included.
        confidence: nominal confidence.
        repeats, misses: number of audits, and of those that reported more than the true epsilon.
        allowed: largest number of misses of a valid bound, up to its share of a false alarm of 1e-6.
        numbers: number of audits, the first ones, for which the value was computed.
        mean, deviation: of these values.
        low, median, high: 5 %, 50 % and 95 % quantiles of these values.
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
        """Nominal miss rate."""
        return round(1.0 - self.confidence, 12)

    @property
    def miss_rate(self) -> float:
        """Observed miss rate."""
        return self.misses / self.repeats

    @property
    def interval(self) -> tuple[float, float]:
        """Exact two-sided 95 % limits of the miss rate (Clopper and Pearson 1934)."""
        ends = lower(self.misses, self.repeats, 0.025), upper(self.misses, self.repeats, 0.025)
        return float(ends[0]), float(ends[1])

    @property
    def holds(self) -> bool:
        """True if there are at most `allowed` misses."""
        return self.misses <= self.allowed

    @property
    def decides(self) -> bool:
        """True if so many audits can have more misses than allowed; fewer cannot show that a bound misses too often."""
        return self.allowed < self.repeats


def judged(cell: CertificateCell, n_bounds: int) -> CertificateCell:
    """Return the cell with the number of misses allowed to one of `n_bounds` cells of bounds."""
    return replace(cell, allowed=int(quantile(1.0 - FALSE_ALARM / n_bounds, cell.repeats, cell.significance)))


def check_cell(cell: CertificateCell, n_bounds: int, at: str) -> None:
    """Raise `ResultError` if the numbers of a cell contradict each other."""
    require(cell.kind in KINDS, at, f"kind must be one of {KINDS}, but is {cell.kind!r}")
    within(2**-53, 1.0 - 2**-53, at, confidence=cell.confidence)
    within(1, 2**53, at, repeats=cell.repeats)
    within(0, cell.repeats, at, misses=cell.misses, numbers=cell.numbers)
    limit = judged(cell, n_bounds).allowed
    require(cell.allowed == limit, at, f"{cell.allowed} misses are allowed, but the limit is {limit}")
