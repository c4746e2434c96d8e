"""The bound from both counts of one event together, at a threshold and in a direction fixed before the counted trials.

Null at epsilon, in the direction "in":   Pr[score >= t | side 1] <= e^epsilon Pr[score >= t | side 0] + delta
                 in the direction "out":  Pr[score < t | side 0] <= e^epsilon Pr[score < t | side 1] + delta

Fixed before looking: t, the direction, the sizes and the ordering of the outcomes (tuned to the delta and confidence
asked for). The test and the proof of its level are in `dpassay.audit.bounds.unconditional`. The whole significance
goes to one inequality; with both directions, half of it to each.

Of all the epsilons and deltas that the test rejects at one significance, each is rejected on one and the same event:
the outcome is among the most extreme ones at the true rates, or a limit on those rates fails. So the statements hold
together, and the test reads the whole claimed curve at no price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import delta_range, non_negative, one_of
from ..evidence.scores import Floats, Scores
from .base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from .binomial import upper
from .clopper_pearson import ClopperPearson
from .curve import Refutation
from .pilot import IN, OUT, checked_threshold, choose_event, fixed_threshold
from .rectangle import Rectangle
from .unconditional import Ordering, UnconditionalTest

AUTO, BOTH = "auto", "both"
_DIRECTIONS = (AUTO, IN, OUT, BOTH)
_MOST_PLANNED = 20_000  # trials a side; a plan for more asks Clopper-Pearson
_FAR = 0.5  # standard errors from which on a promise at another delta is tested


@dataclass(frozen=True)
class JointExact(Bound):
    """Exact unconditional test of one event on both counts at once (Barnard 1945), inverted (Buehler 1957).

    Two limits, one for each rate, are right together when each is right; this asks the one question that matters. Where
    Clopper-Pearson pays for the worst corner of a rectangle, this pays 1.64 instead of 1.96 * sqrt(2) standard errors
    at 95 %, and about half of the trials do.

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `prepare` chooses the one that promises the largest
            bound, on pilot scores.
        direction: "in", {score >= threshold} is more likely on side 1; "out", its complement is more likely on side 0;
            "both", at half of the significance each; "auto" is chosen with the threshold, and "in" where that is fixed.
        ordering: of the outcomes; None lets `prepare` tune it to delta and confidence. Valid whatever it is.

    Guarantees:
        * exact at every number of trials: exceeds the true epsilon with probability at most 1 - confidence;
        * holds at all delta at once;
        * never falls when the hits on the likelier side grow or those on the other fall, but for the rounding of sums,
          always to the safe side: about 0.01 standard errors of epsilon at 10,000 trials a side, 0.1 at a million.

    Example:
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000)
        >>> bound = JointExact(threshold=1.0).lower_bound(PairCounts(counts), delta=0.0, confidence=0.95)
        >>> round(bound.epsilon, 3)  # Clopper-Pearson: 0.805
        0.879

    References:
        Barnard (1945), Nature 156. Buehler (1957), JASA 52. Berger and Boos (1994), JASA 89. Where this departs from
        them: the limits on the nuisance are one-sided, so that the bound stays monotone in the counts.
    """

    name: ClassVar[str] = "joint-exact"

    threshold: float | str = "pilot"
    direction: str = AUTO
    ordering: Ordering | None = None
    _chosen_among: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))
        one_of(_DIRECTIONS, direction=self.direction)

    @property
    def reads_curves(self) -> bool:
        return True

    @property
    def uses_pilot(self) -> bool:
        return isinstance(self.threshold, str)

    @property
    def thresholds(self) -> tuple[float, ...]:
        return () if isinstance(self.threshold, str) else (self.threshold,)

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> JointExact:
        """With the ordering tuned to the level, and the threshold and direction that promise the largest bound.

        The promise is the place in the ordering of the counts to expect if both rates were as bad as their limits on
        the pilot: it is nearly the bound.
        """
        check_level(delta=delta, confidence=confidence)
        if self.ordering is None:
            tuned = Ordering((1.0 - confidence) / len(self._directions), delta)
            return replace(self, ordering=tuned).prepare(
                pilot, delta=delta, confidence=confidence, n_out=n_out, n_in=n_in
            )
        if not self.uses_pilot:
            return self
        rank = self.ordering.value

        def promise(limits: Rectangle) -> tuple[Floats, Floats]:
            inside = rank(n_in * limits.tpr_lower, n_out * limits.fpr_upper, n_in, n_out)
            outside = rank(n_out * limits.tnr_lower, n_in * limits.fnr_upper, n_out, n_in)
            nothing = np.full_like(inside, -np.inf)
            return (nothing if self.direction == OUT else inside), (nothing if self.direction == IN else outside)

        chosen = choose_event(pilot, promise)
        direction = chosen.direction if self.direction == AUTO else self.direction
        return replace(self, threshold=chosen.threshold, direction=direction, _chosen_among=chosen.among)

    def for_plans(self, n_out: int, n_in: int) -> Bound:
        """Beyond 20,000 trials a side Clopper-Pearson, which detects little less and takes no time."""
        return self if max(n_out, n_in) <= _MOST_PLANNED else ClopperPearson(self.threshold)

    def lower_bound(self, scores: Scores, *, delta: float, confidence: float) -> LowerBound:
        check_level(delta=delta, confidence=confidence)
        threshold = fixed_threshold(self.threshold)
        each = self._each(confidence)
        found = max(_bound(*counts, self._order, delta, each) for counts in self._counts(scores))
        ceiling = self.ceiling(scores.n_out, scores.n_in, delta=delta, confidence=confidence)
        return LowerBound(
            epsilon=float(min(found, ceiling)),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=scores.n_out + scores.n_in,
            ceiling=ceiling,
            ledger=self._ledger(threshold),
            threshold=threshold,
            hits=scores.hits(threshold),
        )

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        each = self._each(confidence)
        sizes = {IN: (n_in, n_out), OUT: (n_out, n_in)}
        perfect = ((sizes[way][0], sizes[way][0], 0, sizes[way][1]) for way in self._directions)
        return max(_bound(*counts, self._order, delta, each) for counts in perfect)

    def exceeds(self, epsilon: float, scores: Scores, *, delta: float, confidence: float) -> bool:
        """Whether the bound is larger than `epsilon`: one test, and no search."""
        check_level(delta=delta, confidence=confidence)
        each = self._each(confidence)
        return any(_rejected(*counts, self._order, epsilon, delta, each) for counts in self._counts(scores))

    def p_value(self, scores: Scores, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the bound exceeds `epsilon`, rounded up by about 1 %."""
        delta_range(delta=delta)
        non_negative(epsilon=epsilon)
        tests = self._tests(scores)
        return min(1.0, len(tests) * min(test.p_value(epsilon, delta) for test in tests))

    def refutation(self, scores: Scores, claim: Guarantee, *, confidence: float) -> Refutation | None:
        """The promise (epsilon, delta) of the claim that the counts contradict most, if the test rejects it."""
        each = self._each(confidence)
        for test in self._tests(scores):
            epsilon, distance = _weakest_promise(test, claim)
            delta = float(claim.delta(epsilon))
            if distance > _FAR and test.rejects(epsilon, delta, each):
                return self._refutation(scores, claim, epsilon, delta, test.delta_lower(epsilon, each), each)
        return None

    def curve_p_value(self, scores: Scores, claim: Guarantee) -> float:
        tests, smallest = self._tests(scores), 1.0
        for test in tests:
            epsilon, distance = _weakest_promise(test, claim)
            if distance > _FAR:
                smallest = min(smallest, test.p_value(epsilon, float(claim.delta(epsilon))))
        return float(np.clip(len(tests) * smallest, SMALLEST_P_VALUE, 1.0))

    @property
    def _directions(self) -> tuple[str, ...]:
        return (IN, OUT) if self.direction == BOTH else (OUT,) if self.direction == OUT else (IN,)

    @property
    def _order(self) -> Ordering:
        return Ordering() if self.ordering is None else self.ordering

    def _each(self, confidence: float) -> float:
        """The significance of each direction."""
        return (1.0 - confidence) / len(self._directions)

    def _counts(self, scores: Scores) -> list[tuple[int, int, int, int]]:
        """Hits and trials on the likelier side, and on the other, for each direction."""
        false, true = scores.hits(fixed_threshold(self.threshold))
        n_out, n_in = scores.n_out, scores.n_in
        counts = {IN: (true, n_in, false, n_out), OUT: (n_out - false, n_out, n_in - true, n_in)}
        return [counts[direction] for direction in self._directions]

    def _tests(self, scores: Scores) -> list[UnconditionalTest]:
        return [_test(*counts, self._order) for counts in self._counts(scores)]

    def _refutation(
        self, scores: Scores, claim: Guarantee, epsilon: float, delta: float, shown: float, each: float
    ) -> Refutation:
        threshold = fixed_threshold(self.threshold)
        hits = scores.hits(threshold)
        fpr = float(upper(hits[0], scores.n_out, 0.5 * each))
        fnr = float(upper(scores.n_in - hits[1], scores.n_in, 0.5 * each))
        claimed_fnr = float(claim.tradeoff(fpr))
        return Refutation(epsilon, delta, max(shown, delta), fpr, fnr, claimed_fnr, threshold, hits, self.name)

    def _ledger(self, threshold: float) -> tuple[LedgerEntry, ...]:
        on_pilot = "chosen on pilot trials only"
        likelier = {IN: "{score >= threshold} on side 1", OUT: "{score < threshold} on side 0"}
        way = "both" if self.direction == BOTH else f"1, {likelier[self._directions[0]]}"
        paid = "half of the significance each" if self.direction == BOTH else "fixed beforehand"
        return (
            LedgerEntry("threshold", self._chosen_among, on_pilot)
            if self._chosen_among
            else LedgerEntry("threshold", f"1, {threshold:.6g}", "fixed beforehand"),
            LedgerEntry("direction", way, on_pilot if self._chosen_among and self.direction != BOTH else paid),
            LedgerEntry("base rate", "all within limits", "supremum; the limits cost 1/1000 of the significance"),
        )


@lru_cache(maxsize=64)
def _test(k1: int, n1: int, k0: int, n0: int, ordering: Ordering) -> UnconditionalTest:
    """One test an outcome, since a bound, a p-value and a curve ask it in turn."""
    return UnconditionalTest(k1, n1, k0, n0, ordering)


@lru_cache(maxsize=256)
def _bound(k1: int, n1: int, k0: int, n0: int, ordering: Ordering, delta: float, significance: float) -> float:
    return _test(k1, n1, k0, n0, ordering).epsilon_lower(delta, significance)


@lru_cache(maxsize=1024)
def _rejected(
    k1: int, n1: int, k0: int, n0: int, ordering: Ordering, epsilon: float, delta: float, significance: float
) -> bool:
    """Remembered, since every audit of the same size asks the same about what it could have detected."""
    return _test(k1, n1, k0, n0, ordering).rejects(epsilon, delta, significance)


def _weakest_promise(test: UnconditionalTest, claim: Guarantee) -> tuple[float, float]:
    """The epsilon whose promised delta the counts contradict by most standard errors, and by how many.

    Searching costs nothing: the tests of all promises hold together.
    """
    p, q = (test.k1 + 0.5) / (test.n1 + 1.0), (test.k0 + 0.5) / (test.n0 + 1.0)
    low, high = 0.0, max(math.log(p / q), 0.0) + 1e-3
    epsilon, distance = low, -math.inf
    for _ in range(3):
        grid = np.linspace(low, high, 25)
        growth = np.exp(grid)
        spread = np.sqrt(p * (1.0 - p) / test.n1 + growth**2 * q * (1.0 - q) / test.n0)
        away = (p - growth * q - np.asarray(claim.delta(grid))) / spread
        best = int(np.argmax(away))
        if away[best] > distance:
            epsilon, distance = float(grid[best]), float(away[best])
        low, high = grid[max(0, best - 1)], grid[min(24, best + 1)]
    return epsilon, distance


__all__ = ["JointExact"]
