"""The bound from one event: exact binomial limits at a threshold that was fixed before the evaluation trials."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Floats
from ...evidence.scores import Scores, Tally
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, LowerBound
from ..curve import CurveViolation, contradicting, refute
from ..numerics.binomial import least_significance
from ..numerics.rectangle import Rectangle
from .pilot import EventBound, FixedEventBound, ThresholdEvent, choose_event
from .second_event import WithSecondEvent, alternative_event


@dataclass(frozen=True)
class LimitsBound(EventBound):
    """A bound from upper limits on both error rates of one event; a subclass defines `limits`.

        epsilon >= max(ln((TPR_lower - delta) / FPR_upper), ln((TNR_lower - delta) / FNR_upper), 0).

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `fix` chooses the threshold with the largest
            expected bound on pilot scores; and possibly a second one, as in `JointExact`.

    Guarantees:
        * if both `limits` hold with probability 1 - significance, the bound exceeds the true epsilon with probability
          significance at most, in both directions and for all delta simultaneously.
    """

    @abstractmethod
    def limits(self, hits: tuple[ArrayLike, ArrayLike], n_out: float, n_in: float, significance: float) -> Rectangle:
        """Return limits that hold simultaneously with probability at least 1 - `significance`.

        Args:
            hits: (false positives, true positives) of each event, of one shape; not always whole numbers.
            n_out, n_in: numbers of scores on side 0 and on side 1.
            significance: in (0, 1); the limits become wider as it falls.
        """

    def fix_event(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedBound[Scores]:
        """Return the bound at the threshold with the largest expected bound on the evaluation scores.

        The expected bound is the bound at the expected counts, with both rates at their limits on the pilot.
        """
        if not isinstance(self.threshold, str):
            return FixedLimitsBound(statement, ThresholdEvent(self.threshold), self)
        n_out, n_in = sizes

        def expected_bounds(limits: Rectangle) -> tuple[Floats, Floats]:
            expected = (n_out * limits.fpr_upper, n_in * limits.tpr_lower)
            return self.limits(expected, n_out, n_in, statement.significance).log_ratios(statement.delta)

        first = choose_event(pilot, expected_bounds)
        alternative = alternative_event(statement, pilot, sizes, first)
        fixed = FixedLimitsBound(statement, first, self)
        if alternative is None:
            return fixed
        return WithSecondEvent(statement, fixed, FixedLimitsBound(statement, alternative.event, self))


@dataclass(frozen=True)
class ClopperPearson(LimitsBound):
    """Exact limits on both error rates of {score >= threshold} (Clopper and Pearson 1934; Jagielski et al. 2020).

    With each limit at half the significance, both hold simultaneously, and

        epsilon >= max(ln((TPR_lower - delta) / FPR_upper), ln((TNR_lower - delta) / FNR_upper), 0).

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `fix` chooses the threshold with the largest
            expected bound on pilot scores; and possibly a second one, as in `JointExact`.

    Guarantees:
        * exact at every number of trials: exceeds the true epsilon with probability at most 1 - confidence;
        * holds for both directions, and for all delta simultaneously;
        * the largest possible value is about ln(n / ln(2 / significance)), with n scores on each side.

    Example:
        >>> import numpy as np
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 184]), np.array([1000, 500]), 1000, 1000)
        >>> fixed = ClopperPearson(threshold=1.0).fix(Statement(PureDP(1.0), delta=0.0), None, (1000, 1000))
        >>> round(fixed.lower_bound(PairCounts(counts)).epsilon, 6)
        0.805232

    References:
        Clopper and Pearson (1934), Biometrika 26. Jagielski, Ullman and Oprea (2020), arXiv:2006.07709, section 4.
        Nasr et al. (2021), arXiv:2101.04535.
    """

    name: ClassVar[str] = "clopper-pearson"

    def limits(self, hits: tuple[ArrayLike, ArrayLike], n_out: float, n_in: float, significance: float) -> Rectangle:
        """Return limits with half of the significance each, so that both hold simultaneously."""
        return Rectangle.at(*hits, n_out=n_out, n_in=n_in, significance=0.5 * significance)


@dataclass(frozen=True)
class FixedLimitsBound(FixedEventBound):
    """The bound at one event, for both directions."""

    options: LimitsBound

    def lower_bound(self, evidence: Scores) -> LowerBound:
        delta, hits = self.statement.delta, evidence.hits(self.event.threshold)
        n_out, n_in = evidence.n_out, evidence.n_in
        return LowerBound(
            epsilon=float(self._limits(hits, n_out, n_in).epsilon_lower(delta)),
            delta=delta,
            confidence=self.statement.confidence,
            method=self.options.name,
            n_trials=n_out + n_in,
            ceiling=float(self._limits((0, n_in), n_out, n_in).epsilon_lower(delta)),
            ledger=(self.event.entry, LedgerEntry("direction", "both", "one rectangle of limits is valid for both")),
            threshold=self.event.threshold,
            hits=hits,
        )

    def p_value(self, evidence: Scores) -> float:
        """Return the p-value, by bisection on the significance at the observed counts."""
        stated = self.statement
        at_delta = self._least_significance(
            evidence, lambda limits: bool(limits.log_ratio(stated.delta) > stated.epsilon)
        )
        return min(
            at_delta, self._least_significance(evidence, lambda limits: bool(contradicting(limits, stated.claim)))
        )

    def curve_test(self, evidence: Scores) -> CurveViolation | None:
        threshold, (out, in_) = self.event.threshold, evidence.hits(self.event.threshold)
        event = Tally(np.array([threshold]), np.array([out]), np.array([in_]), evidence.n_out, evidence.n_in)
        limits = self._limits((event.hits_out, event.hits_in), evidence.n_out, evidence.n_in)
        return refute(limits, self.statement.claim, method=self.options.name, events=event)

    def _limits(self, hits: tuple[ArrayLike, ArrayLike], n_out: int, n_in: int) -> Rectangle:
        return self.options.limits(hits, n_out, n_in, self.statement.significance)

    def _least_significance(self, scores: Scores, shows: Callable[[Rectangle], bool]) -> float:
        """Return the smallest significance at which `shows` is true for the rectangle, rounded up."""
        hits = scores.hits(self.event.threshold)
        return least_significance(lambda level: shows(self.options.limits(hits, scores.n_out, scores.n_in, level)))
