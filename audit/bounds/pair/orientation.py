"""The orientation of scores: a higher score means side 1, or, with reversed scores, side 0.

Null at epsilon: (epsilon, delta)-DP holds in both directions, so that the null hypothesis of an event is the same when
the sides are exchanged. Fixed before looking: whether the sides are exchanged, on the pilot scores. So a bound on the
exchanged sides has the level of the bound, and the choice takes nothing from the significance.

The pilot scores are reversed where an event {score >= t}, or its complement, is shown by them to be likelier on the
wrong side, with exact limits at `PILOT_LEVEL` on both rates, and the ratio of these limits, less delta, is larger than
that of every event in the right direction. Weak differences are left as they are: an attack is more often right than
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...evidence.scores import Scores, Tally
from ..base import FixedBound, LedgerEntry, LowerBound
from ..curve import CurveViolation
from ..numerics.rectangle import Rectangle

PILOT_LEVEL = 0.01
"""One-sided significance of the limits on the pilot rates."""
ENTRY = LedgerEntry("orientation", "reversed: side 0 has the higher scores", "chosen on pilot trials only")
"""Ledger entry of a bound on exchanged sides."""


def is_reversed(tally: Tally, tried: NDArray[np.intp], delta: float) -> bool:
    """Return True if these scores show that higher scores mean side 0.

    Args:
        tally: of scores that are not counted.
        tried: indices of the thresholds that are tried.
        delta: of the statement.

    >>> from dpassay.audit.evidence.scores import PairScores
    >>> low, high, tried = np.arange(20.0), np.arange(10.0, 30.0), np.arange(1, 30)
    >>> is_reversed(PairScores(low, high).tally, tried, 0.0), is_reversed(PairScores(high, low).tally, tried, 0.0)
    (False, True)
    """
    if min(tally.n_out, tally.n_in) == 0 or len(tried) == 0:
        return False
    out, in_ = (tally.hits_out[tried], tally.n_out), (tally.hits_in[tried], tally.n_in)
    right, wrong = (
        Rectangle.at(side0[0], side1[0], n_out=side0[1], n_in=side1[1], significance=PILOT_LEVEL).log_ratio(delta).max()
        for side0, side1 in ((out, in_), (in_, out))
    )
    return bool(wrong > max(right, 0.0))


@dataclass(frozen=True)
class Exchanged(FixedBound[Scores]):
    """A fixed bound that reads the scores of side 0 as those of side 1, and the reverse; hits stay as they were."""

    inner: FixedBound[Scores]

    @property
    def thresholds(self) -> tuple[float, ...]:
        return self.inner.thresholds

    def lower_bound(self, evidence: Scores) -> LowerBound:
        bound = self._inner.lower_bound(evidence.exchanged())
        ledger = tuple(_with_sides_exchanged(entry) for entry in bound.ledger)
        return replace(bound, hits=_exchanged(bound.hits), ledger=(ENTRY, *ledger))

    def exceeds_claim(self, evidence: Scores) -> bool:
        return self._inner.exceeds_claim(evidence.exchanged())

    def p_value(self, evidence: Scores) -> float:
        return self._inner.p_value(evidence.exchanged())

    def curve_test(self, evidence: Scores) -> CurveViolation | None:
        violation = self._inner.curve_test(evidence.exchanged())
        return None if violation is None else replace(violation, hits=_exchanged(violation.hits))

    @property
    def _inner(self) -> FixedBound[Scores]:
        """The bound for this statement, which may have another share of the significance than when it was fixed."""
        return replace(self.inner, statement=self.statement)


def _exchanged(hits: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if hits is None else (hits[1], hits[0])


def _with_sides_exchanged(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry on the direction with the sides that the event is likelier on."""
    if entry.what != "direction":
        return entry
    sides = str.maketrans({"0": "1", "1": "0"})
    head, on_side, side = entry.looked_at.rpartition("on side ")
    return replace(entry, looked_at=f"{head}{on_side}{side.translate(sides)}") if on_side else entry
