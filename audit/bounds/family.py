"""The least member of the claim's own family of curves that one event does not refute.

Null at theta: the trade-off curve of the pair lies nowhere below f_theta, where f_theta are the curves of guarantees
that differ in one number and are ordered (GaussianDP in mu, PrivacyLossDP in the noise, ...). The nulls are nested, so
the first theta, going up, that is not refuted is a lower bound at the confidence of one test. The test is the joint one
of `dpassay.audit.bounds.event_region`; fixed before looking: the family (by the claim), the threshold and the ranking
(by the pilot and the confidence).

What it says, with the stated confidence:

    always                no member below theta_lower is a true guarantee of the mechanism;
    under the assumption  that the curve of the pair is that of a member, its epsilon at delta is at least that of
                          theta_lower. The assumption stands in the result and in every table.

The epsilon is a bound of the family and not of the counts: one event cannot show it. Laplace noise with epsilon = 1
looks like GaussianDP with mu = 1.03 at the middle threshold, and its epsilon at delta = 1e-5 under that family is 4.5.
Take the family that theory gives, or none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import special

from ...mechanisms.errors import ParameterError
from ...mechanisms.guarantees import ApproximateDP
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import delta_range, non_negative
from ..evidence.scores import Floats, Scores
from .base import Bound, LedgerEntry, LowerBound, check_level
from .binomial import lower, upper
from .candidates import candidates
from .event_region import RANKING, Curve, EventRegion
from .families import CurveFamily, epsilon_of, family_for, least_member
from .pilot import checked_threshold, chosen_threshold, fixed_threshold, pilot_tally
from .rectangle import Rectangle

_PER_SIDE, _TAIL = 60, 16  # thresholds tried on the pilot: at most about 300
_PILOT_LEVEL = 0.01  # each pilot rate is taken at this one-sided limit
_ROUGH = 0.02  # relative precision of the parameter while a threshold is chosen


@dataclass(frozen=True)
class Family(Bound):
    """The bound on epsilon under the assumption that the curve is one of the claim's family.

    Args:
        threshold: a number that was fixed beforehand, or "pilot": `prepare` chooses the one that promises most.
        family: of the curves; None takes that of the claim, which `against` tells. A claim is judged by its own only.

    Guarantees:
        * if the curve of the pair is a member of the family: exceeds the true epsilon with probability at most
          1 - confidence, at every number of trials;
        * exceeds the epsilon of a claim of that family only where the claim itself is false, whatever the curve, but
          for that probability;
        * 0 where nothing is shown: scores that order the sides the wrong way are no evidence.

    Example:
        >>> from dpassay.mechanisms.guarantees import GaussianDP
        >>> from dpassay.audit.evidence.scores import PairCounts, Tally
        >>> counts = Tally(np.array([0.0, 1.0]), np.array([1000, 159]), np.array([1000, 500]), 1000, 1000)
        >>> bound = Family(threshold=1.0).against(GaussianDP(1.0))
        >>> found = bound.lower_bound(PairCounts(counts), delta=1e-5, confidence=0.95)
        >>> round(found.epsilon, 2), found.assumptions
        (3.84, ('the trade-off curve is that of GaussianDP for some mu',))

    References:
        Nasr et al. (2023), arXiv:2302.07956 (mu from one rectangle). Dong, Roth, Su (2019). Here the two counts are
        judged jointly (Buehler 1957; Berger and Boos 1994) instead of by two limits.
    """

    name: ClassVar[str] = "accountant-family"

    threshold: float | str = "pilot"
    family: CurveFamily | None = None
    _ranking: float = field(default=RANKING, repr=False)
    _chosen_among: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))

    @property
    def uses_pilot(self) -> bool:
        return isinstance(self.threshold, str)

    @property
    def thresholds(self) -> tuple[float, ...]:
        return () if isinstance(self.threshold, str) else (self.threshold,)

    def against(self, claim: Guarantee) -> Family:
        """With the family of `claim`; raises `ParameterError` if another was given."""
        return replace(self, family=family_for(claim, self.family))

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> Family:
        """With the ranking for this confidence, and the threshold that promises the largest parameter.

        The promise is that of limits on `n_out` + `n_in` scores to come, if both rates were as bad as their one-sided
        99 % limits on the pilot.
        """
        check_level(delta=delta, confidence=confidence)
        ready = replace(self, _ranking=float(np.clip(-special.ndtri(1.0 - confidence), 0.5, 7.0)))
        if not self.uses_pilot:
            return ready
        tally = pilot_tally(pilot)
        looked_at = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
        looked_at = looked_at[looked_at > 0] if len(tally.thresholds) > 1 else looked_at
        fpr = upper(tally.hits_out[looked_at], tally.n_out, _PILOT_LEVEL)
        tpr = lower(tally.hits_in[looked_at], tally.n_in, _PILOT_LEVEL)
        each = float(special.ndtr(-ready._ranking / math.sqrt(2.0)))
        expected = Rectangle.at(n_out * fpr, n_in * tpr, n_out=n_out, n_in=n_in, significance=each)
        promise = self._promise(expected)
        if promise is None:
            promise = tally.hits_in[looked_at] / tally.n_in - tally.hits_out[looked_at] / tally.n_out
        best = int(looked_at[np.argmax(promise)])
        among = f"best of {len(looked_at)} on {tally.n_out} + {tally.n_in} pilot scores"
        return replace(ready, threshold=chosen_threshold(pilot, best), _chosen_among=among)

    def lower_bound(self, scores: Scores, *, delta: float, confidence: float) -> LowerBound:
        check_level(delta=delta, confidence=confidence)
        threshold = fixed_threshold(self.threshold)
        region = self._region(scores)
        theta = self._theta_lower(region, 1.0 - confidence)
        return LowerBound(
            epsilon=epsilon_of(self._family, theta, delta),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=scores.n_out + scores.n_in,
            ceiling=self.ceiling(scores.n_out, scores.n_in, delta=delta, confidence=confidence),
            ledger=self._ledger(theta, _without_family(region, 1.0 - confidence, delta), delta),
            assumptions=(f"the trade-off curve is that of {self._family.title}",),
            threshold=threshold,
            hits=(region.hits_out, region.hits_in),
        )

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        perfect = EventRegion(0, n_in, n_out, n_in, self._ranking)
        return epsilon_of(self._family, self._theta_lower(perfect, 1.0 - confidence), delta)

    def exceeds(self, epsilon: float, scores: Scores, *, delta: float, confidence: float) -> bool:
        """Whether the member with this epsilon is refuted: one curve instead of a search."""
        return self._region(scores).refutes(self._curve(epsilon, delta), 1.0 - confidence)

    def p_value(self, scores: Scores, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the member with this epsilon is refuted."""
        delta_range(delta=delta)
        non_negative(epsilon=epsilon)
        return self._region(scores).p_value(self._curve(epsilon, delta))

    @property
    def _family(self) -> CurveFamily:
        if self.family is None:
            raise ParameterError(
                "family is None, and no claim has been seen: call against(claim) and use the bound that it returns, or "
                "give family_of(...) of audit.bounds.families."
            )
        return self.family

    def _region(self, scores: Scores) -> EventRegion:
        return EventRegion(*scores.hits(fixed_threshold(self.threshold)), scores.n_out, scores.n_in, self._ranking)

    def _promise(self, expected: Rectangle) -> Floats | None:
        """How far each rectangle lies below the first curve that all but the best of them contradict."""
        family, fpr, fnr = self._family, expected.fpr_upper, expected.fnr_upper
        rough = replace(family, precision=max(family.precision, _ROUGH))

        def spared(member: Guarantee) -> bool:
            return not np.any(member.tradeoff(fpr) > fnr)

        theta = least_member(rough, spared, start=family.claimed)
        return None if theta == 0.0 else family.search(theta).tradeoff(fpr) - fnr

    def _theta_lower(self, region: EventRegion, significance: float) -> float:
        if region.is_empty_handed:
            return 0.0
        fpr, fnr = _points(region, significance)

        def spared(member: Guarantee) -> bool:
            return bool(np.any(member.tradeoff(fpr) < fnr))

        return least_member(self._family, spared, start=self._family.claimed)

    def _curve(self, epsilon: float, delta: float) -> Curve:
        """The curve of the last member whose epsilon at delta is at most `epsilon`."""
        family = self._family
        if family.claimed > 0.0 and family.member(family.claimed).epsilon(delta) == epsilon:
            return family.member(family.claimed).tradeoff

        def beyond(member: Guarantee) -> bool:
            return float(member.epsilon(delta)) > epsilon

        theta = least_member(family, beyond, start=family.claimed)
        return family.member(theta).tradeoff if theta > 0.0 else lambda fpr: 1.0 - fpr

    def _ledger(self, theta: float, without: float, delta: float) -> tuple[LedgerEntry, ...]:
        family = self._family
        chosen = "chosen on pilot trials only" if self._chosen_among else "fixed beforehand"
        return (
            LedgerEntry("threshold", self._chosen_among or f"1, {self.threshold:.6g}", chosen),
            LedgerEntry("family", family.title, f"fixed by the claim; {family.parameter} >= {theta:.6g}"),
            LedgerEntry(
                "without it", f"epsilon >= {without:.6g} at delta = {delta:g}", "the same test serves every curve"
            ),
        )


@lru_cache(maxsize=4096)
def _points(region: EventRegion, significance: float) -> tuple[Floats, Floats]:
    return region.points(significance)


@lru_cache(maxsize=4096)
def _without_family(region: EventRegion, significance: float, delta: float) -> float:
    """Lower bound on epsilon that holds for every curve, from the same test."""
    fpr, fnr = _points(region, significance)
    family = CurveFamily("", "epsilon", 1.0, lambda e: ApproximateDP(e, delta), lambda e: ApproximateDP(e, delta), 1e-6)
    return least_member(family, lambda member: bool(np.any(member.tradeoff(fpr) < fnr)), start=1.0)
