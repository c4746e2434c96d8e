"""The bound from one event: exact binomial limits at a threshold that was fixed before the counted trials."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from audit.bounds.base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from audit.bounds.binomial import lower, upper
from audit.bounds.candidates import candidates
from audit.bounds.rectangle import Rectangle
from audit.games import Floats, PairScores, Scores, Tally
from mechanisms.errors import ParameterError
from mechanisms.validation import delta_range, non_negative

_PER_SIDE, _TAIL = 60, 16  # thresholds tried on the pilot: at most about 300
_PILOT_LEVEL = 0.01  # each pilot rate is taken at this one-sided limit, so that a lucky tail is not mistaken for a leak


@dataclass(frozen=True)
class ClopperPearson(Bound):
    """Exact limits on both error rates of {score >= threshold} (Clopper and Pearson 1934; Jagielski et al. 2020).

    With each limit at half the significance, both hold together, and

        epsilon >= max(ln((TPR_lower - delta) / FPR_upper), ln((TNR_lower - delta) / FNR_upper), 0).

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `prepare` chooses the one that promises the largest
            bound, on pilot scores.

    Guarantees:
        * exact at every number of trials: exceeds the true epsilon with probability at most 1 - confidence;
        * holds for both directions, and for all delta at once;
        * the largest value it can take is about ln(n / ln(2 / significance)), with n scores on each side.

    Example:
        >>> from audit.games import PairCounts, Tally
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000)
        >>> bound = ClopperPearson(threshold=1.0).lower_bound(PairCounts(counts), delta=0.0, confidence=0.95)
        >>> round(bound.epsilon, 6)
        0.805232

    References:
        Clopper and Pearson (1934), Biometrika 26. Jagielski, Ullman and Oprea (2020), arXiv:2006.07709, section 4.
        Nasr et al. (2021), arXiv:2101.04535.
    """

    name: ClassVar[str] = "clopper-pearson"

    threshold: float | str = "pilot"
    _chosen_among: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.threshold == "pilot":
            return
        number = not isinstance(self.threshold, (bool, str)) and isinstance(self.threshold, (int, float, np.number))
        if not number or math.isnan(float(self.threshold)):
            raise ParameterError(
                f'threshold must be a number fixed beforehand, or "pilot" to choose it on pilot trials, '
                f"but is {self.threshold!r}."
            )
        object.__setattr__(self, "threshold", float(self.threshold))

    @property
    def uses_pilot(self) -> bool:
        return self.threshold == "pilot"

    @property
    def thresholds(self) -> tuple[float, ...]:
        return () if self.uses_pilot else (self._fixed(),)

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> ClopperPearson:
        """With the threshold that promises the largest bound on `n_out` + `n_in` scores to come.

        The promise is the bound at the counts to expect if both rates were as bad as their one-sided 99 % limits on the
        pilot: a few lucky scores in the tail of a small pilot do not win.
        """
        if not self.uses_pilot:
            return self
        check_level(delta=delta, confidence=confidence)
        tally = pilot.tally
        if min(tally.n_out, tally.n_in) == 0:
            raise ParameterError(
                f'threshold "pilot" needs pilot scores on both sides, but there are {tally.n_out} and {tally.n_in}. '
                "Run pilot trials, or give a threshold that was fixed beforehand."
            )
        looked_at = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
        looked_at = looked_at[looked_at > 0] if len(tally.thresholds) > 1 else looked_at
        promise = _promise(tally, looked_at, delta=delta, significance=1.0 - confidence, n_out=n_out, n_in=n_in)
        best = int(looked_at[np.argmax(promise)])
        threshold = _between(tally.thresholds, best) if isinstance(pilot, PairScores) else tally.thresholds[best]
        among = f"best of {len(looked_at)} on {tally.n_out} + {tally.n_in} pilot scores"
        return replace(self, threshold=float(threshold), _chosen_among=among)

    def lower_bound(self, scores: Scores, *, delta: float, confidence: float) -> LowerBound:
        check_level(delta=delta, confidence=confidence)
        threshold = self._fixed()
        hits = scores.hits(threshold)
        rectangle = _rectangle(hits, scores.n_out, scores.n_in, 1.0 - confidence)
        return LowerBound(
            epsilon=float(rectangle.epsilon_lower(delta)),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=scores.n_out + scores.n_in,
            ceiling=self.ceiling(scores.n_out, scores.n_in, delta=delta, confidence=confidence),
            ledger=self._ledger(),
            threshold=threshold,
            hits=hits,
        )

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        return float(_rectangle((0, n_in), n_out, n_in, 1.0 - confidence).epsilon_lower(delta))

    def p_value(self, scores: Scores, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the bound exceeds `epsilon`, by bisection on the counts of the one event."""
        delta_range(delta=delta)
        non_negative(epsilon=epsilon)
        hits = scores.hits(self._fixed())

        def refuted(log_significance: float) -> bool:
            rectangle = _rectangle(hits, scores.n_out, scores.n_in, math.exp(log_significance))
            return bool(rectangle.log_ratio(delta) > epsilon)

        low, high = math.log(SMALLEST_P_VALUE), -1e-12
        if not refuted(high):
            return 1.0
        if refuted(low):
            return SMALLEST_P_VALUE
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if refuted(middle) else (middle, high)
        return math.exp(high)

    def _fixed(self) -> float:
        if isinstance(self.threshold, str):
            raise ParameterError(
                'threshold is "pilot", and no pilot has been seen: call prepare(pilot, ...) on scores that will not be '
                "counted and use the bound that it returns, or give a threshold that was fixed beforehand."
            )
        return self.threshold

    def _ledger(self) -> tuple[LedgerEntry, ...]:
        chosen = (
            LedgerEntry("threshold", self._chosen_among, "chosen on pilot trials only")
            if self._chosen_among
            else LedgerEntry("threshold", f"1, {self.threshold:.6g}", "fixed beforehand")
        )
        return chosen, LedgerEntry("direction", "both", "one rectangle of limits serves both")


def _rectangle(hits: tuple[int, int], n_out: int, n_in: int, significance: float) -> Rectangle:
    return Rectangle.at(hits[0], hits[1], n_out=n_out, n_in=n_in, significance=0.5 * significance)


def _promise(pilot: Tally, at: NDArray[np.intp], *, delta: float, significance: float, n_out: int, n_in: int) -> Floats:
    """Bound to expect at each threshold if both rates were at their limits on the pilot.

    Where that shows nothing at any threshold, the plain difference of the rates decides.
    """
    fpr = upper(pilot.hits_out[at], pilot.n_out, _PILOT_LEVEL)
    tpr = lower(pilot.hits_in[at], pilot.n_in, _PILOT_LEVEL)
    expected = Rectangle.at(n_out * fpr, n_in * tpr, n_out=n_out, n_in=n_in, significance=0.5 * significance)
    promise = expected.log_ratio(delta)
    if promise.max() > 0.0:
        return promise
    difference: Floats = np.abs(pilot.hits_in[at] / pilot.n_in - pilot.hits_out[at] / pilot.n_out)
    return difference


def _between(thresholds: Floats, at: int) -> float:
    """A threshold midway between two neighbouring pilot scores: the rounding of an atom cannot move it across."""
    high = float(thresholds[at])
    if at == 0:
        return high
    low = float(thresholds[at - 1])
    middle = low + 0.5 * (high - low)
    return middle if low < middle < high else high
