"""The bound from the smallest member of the claim's family of curves that one event does not refute.

Null at theta: the trade-off curve of the pair lies nowhere below f_theta, where f_theta are the curves of guarantees
that differ in one number and are ordered (GaussianDP in mu, PrivacyLossDP in the noise, ...). The nulls are nested, so
the smallest theta that is not refuted is a lower bound at the confidence of one test. The test is the joint test
of `numerics.event_region`; fixed before looking: the family (by the claim), the threshold and the ranking
(by the pilot and the confidence).

With the stated confidence:

    always                no member below theta_lower is a true guarantee of the mechanism;
    under the assumption  that the curve of the pair belongs to a member, its epsilon at delta is at least the epsilon
                          of theta_lower. The assumption is reported in the result and in every table.

The epsilon depends on the family and not only on the counts: one event cannot show it. Laplace noise with epsilon = 1
looks like GaussianDP with mu = 1.03 at the middle threshold, and its epsilon at delta = 1e-5 under that family is 4.5.
Use the family that theory gives, or none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import special

from ....mechanisms.accounting import ApproximateDP
from ....mechanisms.core import Floats, Guarantee, number
from ...evidence.scores import Scores
from ...evidence.statement import Statement
from ..base import LedgerEntry, LowerBound
from ..families import CurveFamily, checked_family, epsilon_of, family_for, least_member
from ..numerics.binomial import lower, upper
from ..numerics.event_region import EventRegion
from ..numerics.rectangle import Rectangle
from .pilot import EventBound, FixedEventBound, ThresholdEvent, chosen_threshold, pilot_scores, tried_thresholds

_PILOT_LEVEL = 0.01  # one-sided significance of the limits on the pilot rates
_ROUGH = 0.02  # relative precision of the parameter while a threshold is chosen


@dataclass(frozen=True)
class Family(EventBound):
    """Lower bound on epsilon under the assumption that the trade-off curve belongs to the claim's family.

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `fix` chooses the threshold with the largest
            expected parameter on pilot scores.
        curve_family: family of curves; None takes the family of the claim. No other family is accepted.

    Guarantees:
        * if the curve of the pair is a member of the family: exceeds the true epsilon with probability at most
          1 - confidence, at every number of trials;
        * exceeds the epsilon of a true claim of that family with probability at most 1 - confidence, for every curve;
        * 0 if no member is refuted.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 159]), np.array([1000, 500]), 1000, 1000)
        >>> fixed = Family(threshold=1.0).fix(Statement(GaussianDP(1.0), delta=1e-5), None, (1000, 1000))
        >>> bound = fixed.lower_bound(PairCounts(counts))
        >>> round(bound.epsilon, 2), bound.assumptions
        (3.84, ('the trade-off curve is that of GaussianDP for some mu',))

    References:
        Nasr et al. (2023), arXiv:2302.07956 (mu from one rectangle). Dong, Roth, Su (2019). This class tests the two
        counts jointly (Buehler 1957; Berger and Boos 1994) instead of by two limits.
    """

    name: ClassVar[str] = "accountant-family"

    curve_family: CurveFamily | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_family(self.curve_family)

    def fix_event(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedFamily:
        """Return the bound with the ranking for this confidence and the threshold with the largest expected parameter.

        The expected parameter comes from limits on the evaluation scores, with both rates at their one-sided 99 %
        limits on the pilot.
        """
        family = family_for(statement.claim, self.curve_family)
        ranking = float(np.clip(-special.ndtri(statement.significance), 0.5, 7.0))
        if not isinstance(self.threshold, str):
            return FixedFamily(statement, ThresholdEvent(self.threshold), family, ranking)
        pilot = pilot_scores(pilot)
        (n_out, n_in), tally = sizes, pilot.tally
        indices = tried_thresholds(tally)
        fpr = upper(tally.hits_out[indices], tally.n_out, _PILOT_LEVEL)
        tpr = lower(tally.hits_in[indices], tally.n_in, _PILOT_LEVEL)
        level = float(special.ndtr(-ranking / math.sqrt(2.0)))
        expected = Rectangle.at(n_out * fpr, n_in * tpr, n_out=n_out, n_in=n_in, significance=level)
        merit = _distances_to_curve(family, expected)
        if merit is None:
            merit = tally.hits_in[indices] / tally.n_in - tally.hits_out[indices] / tally.n_out
        best = int(indices[np.argmax(merit)])
        among = f"best of {len(indices)} on {tally.n_out} + {tally.n_in} pilot scores"
        event = ThresholdEvent(chosen_threshold(pilot, best), among=among)
        return FixedFamily(statement, event, family, ranking)


@dataclass(frozen=True)
class FixedFamily(FixedEventBound):
    """The family bound at one event, in one family, with the ranking of the outcomes in `numerics.event_region`."""

    family: CurveFamily
    ranking: float

    def lower_bound(self, evidence: Scores) -> LowerBound:
        stated, region = self.statement, self._region(evidence)
        theta = self._theta_lower(region)
        perfect = EventRegion(0, evidence.n_in, evidence.n_out, evidence.n_in, self.ranking)
        return LowerBound(
            epsilon=epsilon_of(self.family, theta, stated.delta),
            delta=stated.delta,
            confidence=stated.confidence,
            method=Family.name,
            n_trials=evidence.n_out + evidence.n_in,
            ceiling=epsilon_of(self.family, self._theta_lower(perfect), stated.delta),
            ledger=self._ledger(theta, _without_family(region, stated.significance, stated.delta)),
            assumptions=(f"the trade-off curve is that of {self.family.title}",),
            threshold=self.event.threshold,
            hits=(region.hits_out, region.hits_in),
        )

    def exceeds_claim(self, evidence: Scores) -> bool:
        """Return True if the claimed curve, a member of the family, is refuted: one test instead of a search."""
        return self._region(evidence).refutes(self.statement.claim.tradeoff, self.statement.significance)

    def p_value(self, evidence: Scores) -> float:
        """Return the smallest significance at which the claimed curve is refuted."""
        return self._region(evidence).p_value(self.statement.claim.tradeoff)

    def _region(self, scores: Scores) -> EventRegion:
        return EventRegion(*scores.hits(self.event.threshold), scores.n_out, scores.n_in, self.ranking)

    def _theta_lower(self, region: EventRegion) -> float:
        if region.is_uninformative:
            return 0.0
        fpr, fnr = _points(region, self.statement.significance)

        def not_refuted(member: Guarantee) -> bool:
            return bool(np.any(member.tradeoff(fpr) < fnr))

        return least_member(self.family, not_refuted, start=self.family.claimed)

    def _ledger(self, theta: float, without: float) -> tuple[LedgerEntry, ...]:
        family = self.family
        return (
            self.event.entry,
            LedgerEntry("family", family.title, f"fixed by the claim; {family.parameter} >= {number(theta)}"),
            LedgerEntry(
                "without family",
                f"epsilon >= {number(without)} at delta = {number(self.statement.delta)}",
                "the same test is valid for every curve",
            ),
        )


def _distances_to_curve(family: CurveFamily, expected: Rectangle) -> Floats | None:
    """Return the distance of each rectangle below the curve of the largest parameter that a rectangle refutes.

    Returns None if the rectangles refute no member of the family.
    """
    fpr, fnr = expected.fpr_upper, expected.fnr_upper
    rough = replace(family, precision=max(family.precision, _ROUGH))

    def not_refuted(member: Guarantee) -> bool:
        return not np.any(member.tradeoff(fpr) > fnr)

    theta = least_member(rough, not_refuted, start=family.claimed)
    return None if theta == 0.0 else family.search(theta).tradeoff(fpr) - fnr


@lru_cache(maxsize=4096)
def _points(region: EventRegion, significance: float) -> tuple[Floats, Floats]:
    return region.points(significance)


@lru_cache(maxsize=4096)
def _without_family(region: EventRegion, significance: float, delta: float) -> float:
    """Return the lower bound on epsilon that holds for every curve, from the same test."""
    fpr, fnr = _points(region, significance)
    family = CurveFamily("", "epsilon", 1.0, lambda e: ApproximateDP(e, delta), lambda e: ApproximateDP(e, delta), 1e-6)
    return least_member(family, lambda member: bool(np.any(member.tradeoff(fpr) < fnr)), start=1.0)
