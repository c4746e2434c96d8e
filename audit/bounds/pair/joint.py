"""The bound from a joint test of both counts of one event, at a threshold and in a direction fixed beforehand.

Null at epsilon, in the direction "in":   Pr[score >= t | side 1] <= e^epsilon Pr[score >= t | side 0] + delta
                 in the direction "out":  Pr[score < t | side 0] <= e^epsilon Pr[score < t | side 1] + delta

Fixed before looking: t, the direction, the sizes and the ordering of the outcomes (tuned to the delta and the
confidence of the statement). The test and the proof of its level are in `numerics.unconditional`. The whole
significance is used for one inequality; with both directions, half of it for each.

All wrong rejections, at any epsilon and delta, happen on one and the same event: the outcome is among the most extreme
ones at the true rates, or a limit on those rates fails. So the statements hold simultaneously, and the test reads the
whole claimed curve without a further correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from ....mechanisms.core import Floats, Guarantee, one_of_names
from ...evidence.scores import Scores
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, LowerBound
from ..curve import CurveViolation
from ..numerics.binomial import SMALLEST_P_VALUE, upper
from ..numerics.rectangle import Rectangle
from ..numerics.unconditional import Ordering, UnconditionalTest
from .pilot import IN, OUT, EventBound, FixedEventBound, ThresholdEvent, choose_event
from .second_event import SECOND_SHARE, WithSecondEvent, alternative_event

AUTO, BOTH = "auto", "both"
_DIRECTIONS = (AUTO, IN, OUT, BOTH)
_FAR = 0.5  # smallest distance, in standard errors, at which a point of the curve is tested


@dataclass(frozen=True)
class JointExact(EventBound):
    """Exact unconditional test of one event on both counts jointly (Barnard 1945), inverted (Buehler 1957).

    The joint test is tighter than two limits, one per rate: at 95 %, Clopper-Pearson loses 1.96 * sqrt(2) standard
    errors at the worst corner of its rectangle, this test 1.64. About half as many trials give the same bound.

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `fix` chooses the threshold with the largest expected
            bound on pilot scores; and a second one with a tenth of the significance, if that event is likelier to
            refute the claimed curve (`second_event`).
        direction: "in", {score >= threshold} is more likely on side 1; "out", its complement is more likely on side 0;
            "both", with half of the significance each; "auto" is chosen with the threshold, and "in" if that is fixed.
        ordering: ordering of the outcomes; None lets `fix` tune it to delta and confidence. Every ordering is valid.

    Guarantees:
        * exact at every number of trials: exceeds the true epsilon with probability at most 1 - confidence;
        * holds for all delta simultaneously;
        * never falls when the hits on the likelier side grow or those on the other side fall, up to rounding to the
          safe side: about 0.01 standard errors of epsilon at 10,000 trials per side, 0.1 at a million.

    Example:
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000)
        >>> fixed = JointExact(threshold=1.0).fix(Statement(PureDP(1.0), delta=0.0), None, (1000, 1000))
        >>> round(fixed.lower_bound(PairCounts(counts)).epsilon, 3)  # Clopper-Pearson: 0.805
        0.879

    References:
        Barnard (1945), Nature 156. Buehler (1957), JASA 52. Berger and Boos (1994), JASA 89. Departure from these: the
        limits on the nuisance rate are one-sided, so that the bound is monotone in the counts.
    """

    name: ClassVar[str] = "joint-exact"

    direction: Annotated[str, one_of_names(*_DIRECTIONS)] = AUTO
    ordering: Ordering | None = None

    @property
    def orients(self) -> bool:
        return self.needs_pilot and self.direction in (AUTO, BOTH)

    def fix_event(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedBound[Scores]:
        """Return the bound with the ordering tuned to the level, at the event with the largest expected bound.

        The expected bound is approximated by the value of the ordering at the expected counts, with both rates at
        their limits on the pilot.
        """
        level = statement.significance / (2 if self.direction == BOTH else 1)
        ordering = Ordering(level, statement.delta) if self.ordering is None else self.ordering
        if not isinstance(self.threshold, str):
            direction = IN if self.direction == AUTO else self.direction
            return FixedJointExact(statement, ThresholdEvent(self.threshold, direction), ordering)
        (n_out, n_in), rank = sizes, ordering.value

        def expected_bounds(limits: Rectangle) -> tuple[Floats, Floats]:
            inside = rank(n_in * limits.tpr_lower, n_out * limits.fpr_upper, n_in, n_out)
            outside = rank(n_out * limits.tnr_lower, n_in * limits.fnr_upper, n_out, n_in)
            excluded = np.full_like(inside, -np.inf)
            return (excluded if self.direction == OUT else inside), (excluded if self.direction == IN else outside)

        chosen = choose_event(pilot, expected_bounds)
        direction = chosen.direction if self.direction == AUTO else self.direction
        first = FixedJointExact(statement, replace(chosen, direction=direction), ordering)
        alternative = alternative_event(statement, pilot, sizes, chosen) if self.direction in (AUTO, BOTH) else None
        if alternative is None:
            return first
        own = Ordering(SECOND_SHARE * statement.significance, alternative.delta)
        second = own if self.ordering is None else self.ordering
        return WithSecondEvent(statement, first, FixedJointExact(statement, alternative.event, second))


@dataclass(frozen=True)
class FixedJointExact(FixedEventBound):
    """The joint bound at one event, in one direction or "both", with an ordering of the outcomes."""

    ordering: Ordering

    def lower_bound(self, evidence: Scores) -> LowerBound:
        stated, level = self.statement, self._level()
        lower_bound = max(_bound(*counts, self.ordering, stated.delta, level) for counts in self._counts(evidence))
        perfect = self._counts(evidence, hits=(0, evidence.n_in))
        ceiling = max(_bound(*counts, self.ordering, stated.delta, level) for counts in perfect)
        return LowerBound(
            epsilon=float(min(lower_bound, ceiling)),
            delta=stated.delta,
            confidence=stated.confidence,
            method=JointExact.name,
            n_trials=evidence.n_out + evidence.n_in,
            ceiling=ceiling,
            ledger=self._ledger(),
            threshold=self.event.threshold,
            hits=evidence.hits(self.event.threshold),
        )

    def exceeds_claim(self, evidence: Scores) -> bool:
        """Return True if the claimed epsilon is rejected: one test instead of a search."""
        null = self.statement.epsilon, self.statement.delta, self._level()
        return any(_rejected(*counts, self.ordering, *null) for counts in self._counts(evidence))

    def p_value(self, evidence: Scores) -> float:
        """Return the p-value, rounded up by about 1 %."""
        stated, tests = self.statement, self._tests(evidence)
        at_delta = min(1.0, len(tests) * min(test.p_value(stated.epsilon, stated.delta) for test in tests))
        return min(at_delta, self._curve_p_value(tests))

    def curve_test(self, evidence: Scores) -> CurveViolation | None:
        """Return the point (epsilon, delta) of the claim that the counts contradict most, if the test rejects it."""
        claim, level = self.statement.claim, self._level()
        for test in self._tests(evidence):
            epsilon, distance = _most_contradicted_point(test, claim)
            delta = float(claim.delta(epsilon))
            if distance > _FAR and test.rejects(epsilon, delta, level):
                hits = evidence.hits(self.event.threshold)
                fpr = float(upper(hits[0], evidence.n_out, 0.5 * level))
                return CurveViolation(
                    epsilon=epsilon,
                    delta=delta,
                    delta_lower=max(test.delta_lower(epsilon, level), delta),
                    fpr=fpr,
                    fnr=float(upper(evidence.n_in - hits[1], evidence.n_in, 0.5 * level)),
                    claimed_fnr=float(claim.tradeoff(fpr)),
                    threshold=self.event.threshold,
                    hits=hits,
                    method=JointExact.name,
                )
        return None

    def _curve_p_value(self, tests: list[UnconditionalTest]) -> float:
        claim, smallest = self.statement.claim, 1.0
        for test in tests:
            epsilon, distance = _most_contradicted_point(test, claim)
            if distance > _FAR:
                smallest = min(smallest, test.p_value(epsilon, float(claim.delta(epsilon))))
        return float(np.clip(len(tests) * smallest, SMALLEST_P_VALUE, 1.0))

    @property
    def _directions(self) -> tuple[str, ...]:
        return (IN, OUT) if self.event.direction == BOTH else (self.event.direction,)

    def _level(self) -> float:
        """Return the significance of each direction."""
        return self.statement.significance / len(self._directions)

    def _counts(self, scores: Scores, hits: tuple[int, int] | None = None) -> list[tuple[int, int, int, int]]:
        """Return hits and trials on the likelier side, and on the other side, for each direction."""
        false, true = scores.hits(self.event.threshold) if hits is None else hits
        n_out, n_in = scores.n_out, scores.n_in
        counts = {IN: (true, n_in, false, n_out), OUT: (n_out - false, n_out, n_in - true, n_in)}
        return [counts[direction] for direction in self._directions]

    def _tests(self, scores: Scores) -> list[UnconditionalTest]:
        return [_test(*counts, self.ordering) for counts in self._counts(scores)]

    def _ledger(self) -> tuple[LedgerEntry, ...]:
        both, on_pilot = self.event.direction == BOTH, bool(self.event.among)
        likelier = {IN: "{score >= threshold} on side 1", OUT: "{score < threshold} on side 0"}
        directions = "both" if both else f"1, {likelier[self.event.direction]}"
        correction = "half of the significance each" if both else "fixed beforehand"
        if on_pilot and not both:
            correction = "chosen on pilot trials only"
        return (
            self.event.entry,
            LedgerEntry("direction", directions, correction),
            LedgerEntry("nuisance rate", "all within its limits", "worst case; limits use 1/1000 of the significance"),
        )


@lru_cache(maxsize=64)
def _test(k1: int, n1: int, k0: int, n0: int, ordering: Ordering) -> UnconditionalTest:
    """Return the cached test of an outcome, which the bound, the p-value and the curve test share."""
    return UnconditionalTest(k1, n1, k0, n0, ordering)


@lru_cache(maxsize=256)
def _bound(k1: int, n1: int, k0: int, n0: int, ordering: Ordering, delta: float, significance: float) -> float:
    return _test(k1, n1, k0, n0, ordering).epsilon_lower(delta, significance)


@lru_cache(maxsize=1024)
def _rejected(
    k1: int, n1: int, k0: int, n0: int, ordering: Ordering, epsilon: float, delta: float, significance: float
) -> bool:
    """Return True if the test rejects; cached, since power calculations of the same size repeat the same tests."""
    return _test(k1, n1, k0, n0, ordering).rejects(epsilon, delta, significance)


def _most_contradicted_point(test: UnconditionalTest, claim: Guarantee) -> tuple[float, float]:
    """Return the epsilon whose claimed delta the counts contradict by most standard errors, and their number.

    The search needs no correction: the tests of all points hold simultaneously.
    """
    p, q = (test.k1 + 0.5) / (test.n1 + 1.0), (test.k0 + 0.5) / (test.n0 + 1.0)
    low, high = 0.0, max(math.log(p / q), 0.0) + 1e-3
    epsilon, distance = low, -math.inf
    for _ in range(3):
        grid = np.linspace(low, high, 25)
        growth = np.exp(grid)
        spread = np.sqrt(p * (1.0 - p) / test.n1 + growth**2 * q * (1.0 - q) / test.n0)
        distances = (p - growth * q - np.asarray(claim.delta(grid))) / spread
        best = int(np.argmax(distances))
        if distances[best] > distance:
            epsilon, distance = float(grid[best]), float(distances[best])
        low, high = grid[max(0, best - 1)], grid[min(24, best + 1)]
    return epsilon, distance
