"""The interface of a lower bound on epsilon: read this first.

Null hypothesis at epsilon: every event S that the bound looks at obeys

    Pr[in S | side 1] <= e^epsilon Pr[in S | side 0] + delta     and the same with the sides swapped.

The nulls are nested (they grow with epsilon), so the first epsilon, going up from 0, that the data do not reject is a
lower bound at the confidence of a single test. What was fixed before looking, and what was not and is therefore
corrected for, stands in the ledger of each bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import delta_range, open_unit
from ..evidence.scores import PairCounts, PairScores, Scores
from .curve import Refutation

SMALLEST_P_VALUE = 1e-12


@dataclass(frozen=True)
class LedgerEntry:
    """One thing that was looked at or chosen, and what keeps the confidence honest in spite of it.

    Args:
        what: such as "threshold", "direction", "bounds", "sweep".
        looked_at: what was tried or chosen, with its number.
        correction: why the level holds, such as "chosen on pilot trials only" or "Bonferroni over 2".
    """

    what: str
    looked_at: str
    correction: str


@dataclass(frozen=True)
class LowerBound:
    """A number below the true epsilon with probability at least `confidence`.

    Args:
        epsilon: the bound, >= 0; 0 means that nothing was shown. Natural logarithm.
        delta: the delta of the statement "not (e, delta)-DP for any e < epsilon".
        confidence: probability, before the trials, that the bound does not exceed the truth; at least.
        method: name of the bound in the catalogue.
        n_trials: evaluation trials that were counted, both sides together.
        ceiling: the largest bound that this number of trials could ever give.
        ledger: what was looked at, and how it is paid for.
        assumptions: what the statement leans on beyond independent trials; empty for a bound without a model.
        threshold: the event {score >= threshold} that gave the bound; None if it is not one event.
        hits: (false positives, true positives) of that event.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    n_trials: int
    ceiling: float
    ledger: tuple[LedgerEntry, ...] = ()
    assumptions: tuple[str, ...] = ()
    threshold: float | None = None
    hits: tuple[int, int] | None = None

    @property
    def significance(self) -> float:
        return 1.0 - self.confidence


class Bound(ABC):
    """A method that turns scores into a lower bound on epsilon. Subclasses are frozen dataclasses.

    Guarantees, for scores independent within and between the sides and identically distributed on each:
        * `lower_bound(...).epsilon` exceeds the true epsilon at `delta` with probability at most 1 - confidence;
        * it never decreases when `confidence` falls or `delta` falls.
    """

    name: ClassVar[str]
    accepts: ClassVar[tuple[type, ...]] = (PairScores, PairCounts)
    """What `lower_bound` reads: the results of one game, see `dpassay.audit.evidence.scores`."""
    anytime: ClassVar[bool] = False
    """Whether the bounds after any number of trials hold together, so that one may look and stop at any time."""

    @property
    def uses_pilot(self) -> bool:
        """Whether `prepare` chooses anything; if no bound does, and the attack learns nothing, every trial counts."""
        return False

    @property
    def reads_curves(self) -> bool:
        """Whether its limits hold at every delta together, so that they judge the whole claimed curve."""
        return False

    def against(self, claim: Guarantee) -> Bound:
        """This bound told which claim it will judge, before `prepare`. Most need not know and return themselves."""
        return self

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> Bound:
        """This bound with everything that it chooses beforehand chosen on the pilot scores.

        `n_out` and `n_in` are the sizes of the evaluation to come. A bound that chooses nothing returns itself.
        """
        return self

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds that a grid of counts must contain for this bound to read it."""
        return ()

    @abstractmethod
    def lower_bound(self, scores: Scores, *, delta: float, confidence: float) -> LowerBound:
        """The bound from evaluation scores."""

    @abstractmethod
    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        """The largest epsilon that this bound could report from so many trials: the value of a perfect attack."""

    def for_plans(self, n_out: int, n_in: int) -> Bound:
        """A bound that shows about as much on so many trials, or somewhat less, and takes no time: for power."""
        return self

    def exceeds(self, epsilon: float, scores: Scores, *, delta: float, confidence: float) -> bool:
        """Whether the bound is larger than `epsilon`. Overridden where that is cheaper to tell than the bound."""
        return self.lower_bound(scores, delta=delta, confidence=confidence).epsilon > epsilon

    def refutation(self, scores: Scores, claim: Guarantee, *, confidence: float) -> Refutation | None:
        """Where the same limits contradict the claimed curve, at whatever delta; None where they do not.

        The bound and the refutation hold together at `confidence`: they come from the same limits.
        """
        return None

    def curve_p_value(self, scores: Scores, claim: Guarantee) -> float:
        """Smallest significance at which `refutation` finds something, down to 1e-12; 1 when none does."""
        return 1.0

    def p_value(self, scores: Scores, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the bound exceeds `epsilon`, down to 1e-12; 1 when none does.

        Valid because the bounds are nested in the confidence: {p <= a} is the event that the bound at confidence
        1 - a exceeds `epsilon`. Found by bisection on the logarithm, rounded up.
        """

        def refuted(log_significance: float) -> bool:
            confidence = -math.expm1(log_significance)
            return self.exceeds(epsilon, scores, delta=delta, confidence=confidence)

        low, high = math.log(SMALLEST_P_VALUE), math.log1p(-1e-9)
        if not refuted(high):
            return 1.0
        if refuted(low):
            return math.exp(low)
        while high - low > 0.01:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if refuted(middle) else (middle, high)
        return math.exp(high)


def check_level(*, delta: float, confidence: float) -> None:
    """Raises `ParameterError` unless delta lies in [0, 1) and confidence strictly between 0 and 1."""
    delta_range(delta=delta)
    open_unit(confidence=confidence)


__all__ = ["SMALLEST_P_VALUE", "Bound", "LedgerEntry", "LowerBound", "check_level"]
