"""The bound from one event: exact binomial limits at a threshold that was fixed before the counted trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import delta_range, non_negative
from ..evidence.scores import Floats, Scores
from .base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from .curve import Refutation, contradicting, refute
from .pilot import checked_threshold, choose_event, fixed_threshold
from .rectangle import Rectangle


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
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
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
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))

    @property
    def reads_curves(self) -> bool:
        return True

    @property
    def uses_pilot(self) -> bool:
        return self.threshold == "pilot"

    @property
    def thresholds(self) -> tuple[float, ...]:
        return () if self.uses_pilot else (self._fixed(),)

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> ClopperPearson:
        """With the threshold that promises the largest bound on `n_out` + `n_in` scores to come.

        The promise is the bound at the counts to expect if both rates were as bad as their limits on the pilot.
        """
        if not self.uses_pilot:
            return self
        check_level(delta=delta, confidence=confidence)

        def promise(limits: Rectangle) -> tuple[Floats, Floats]:
            """The bound at the counts to expect at these rates, in both directions."""
            expected = Rectangle.at(
                n_out * limits.fpr_upper,
                n_in * limits.tpr_lower,
                n_out=n_out,
                n_in=n_in,
                significance=0.5 * (1.0 - confidence),
            )
            return expected.log_ratios(delta)

        chosen = choose_event(pilot, promise)
        return replace(self, threshold=chosen.threshold, _chosen_among=chosen.among)

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
        return self._least_significance(scores, lambda rectangle: bool(rectangle.log_ratio(delta) > epsilon))

    def refutation(self, scores: Scores, claim: Guarantee, *, confidence: float) -> Refutation | None:
        threshold = self._fixed()
        hits_out, hits_in = (np.array([k]) for k in scores.hits(threshold))
        limits = Rectangle.at(
            hits_out, hits_in, n_out=scores.n_out, n_in=scores.n_in, significance=0.5 * (1.0 - confidence)
        )
        return refute(limits, np.array([threshold]), (hits_out, hits_in), claim, method=self.name)

    def curve_p_value(self, scores: Scores, claim: Guarantee) -> float:
        return self._least_significance(scores, lambda rectangle: bool(contradicting(rectangle, claim)))

    def _least_significance(self, scores: Scores, shows: Callable[[Rectangle], bool]) -> float:
        """Smallest significance at which the rectangle shows something, rounded up."""
        hits = scores.hits(self._fixed())

        def refuted(log_significance: float) -> bool:
            return shows(_rectangle(hits, scores.n_out, scores.n_in, math.exp(log_significance)))

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
        return fixed_threshold(self.threshold)

    def _ledger(self) -> tuple[LedgerEntry, ...]:
        chosen = (
            LedgerEntry("threshold", self._chosen_among, "chosen on pilot trials only")
            if self._chosen_among
            else LedgerEntry("threshold", f"1, {self.threshold:.6g}", "fixed beforehand")
        )
        return chosen, LedgerEntry("direction", "both", "one rectangle of limits serves both")


def _rectangle(hits: tuple[int, int], n_out: int, n_in: int, significance: float) -> Rectangle:
    return Rectangle.at(hits[0], hits[1], n_out=n_out, n_in=n_in, significance=0.5 * significance)
