"""The result of an audit: frozen, complete, and with a versioned JSON form.

The result contains everything that a table, a plot or a report shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ...mechanisms.core import Tier, number
from ..bounds.base import LedgerEntry, LowerBound
from ..bounds.curve import CurveViolation
from ..evidence.game import Game, Trials
from ..evidence.scores import Tally
from ..evidence.verdict import Verdict, is_weak, mostly_unseen
from ..power.remedies import Remedy
from .breakdown import EpsilonBreakdown
from .estimates.base import Estimate
from .recovery import Recovery
from .refuting_event import GuessedCanaries, RefutingEvent
from .saved import DrawnResult, check_tally, require, same_length, within
from .witness.base import Witness
from .witness.event import EventRule


@dataclass(frozen=True)
class ClaimCurve:
    """The accountant's curve, sampled for drawing and for the table.

    Args:
        fpr, fnr: `(k,)` points of the trade-off curve, close where it bends.
        epsilon, delta: `(m,)` points of the privacy profile, close below the claimed epsilon.
    """

    fpr: tuple[float, ...]
    fnr: tuple[float, ...]
    epsilon: tuple[float, ...]
    delta: tuple[float, ...]


@dataclass(frozen=True)
class WithoutLowBits:
    """The largest bound of the attack without rules on the low bits of floats.

    This bound and that of the whole attack hold simultaneously at the confidence of the audit.

    Args:
        bound: the largest bound, on the same trials.
        curve_violation: the point where the trials contradict the claimed curve most; None where they do not.
        rule: the event of the bound, in words; empty where there is none.
    """

    bound: LowerBound
    curve_violation: CurveViolation | None = None
    rule: str = ""

    def refutes(self, claim: float) -> bool:
        """Return whether the claim is refuted without low bits too."""
        return self.bound.epsilon > claim or self.curve_violation is not None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Provenance:
    """The origin of the evidence, and observations on it other than scores: the part of a result that its game knows.

    Args:
        game: the game that made the evidence: runs on a pair, canaries in one run, or reconstruction.
        mechanism: configuration of the mechanism, such as "Laplace(epsilon=1.0, sensitivity=1.0)".
        tier: trust tier of the mechanism; None where only scores are known.
        relation: the neighbouring relation of the pair and of the claim.
        attack: name of the attack.
        trials: numbers of pilot and evaluation runs; `game.describe_trials(trials)` describes them.
        seed: of every random stream.
        fingerprint: SHA-256 of everything that determines the trials.
        events: counts of exceptional outputs on side 0 and side 1, such as {"raised ValueError": (0, 12)}.
        unseen: share of the evaluation runs that gave an exceptional output which no pilot run gave.
        learned_numbers: size of an output of user code from which the attack learned a score on the pilot runs; 0 where
            it learned none.
        warnings: limitations of the result that a reader should know, a sentence each; usually empty.
        witnesses: findings without statistics; one that `refutes` the claim is a violation, whatever the bounds are.
        notes: differences between runs with the same seed on both sides, a sentence each; no evidence against the
            claim by themselves.
        recovery: success rate of a reconstruction, and the one that the claim allows; None without a reconstruction.
        valid_if: what the scores of other code must be for the bound to hold, which they do not show; "" where the
            library made the scores.
    """

    game: Game
    mechanism: str
    tier: Tier | None = None
    relation: str
    attack: str
    trials: Trials
    seed: int
    fingerprint: str
    events: dict[str, tuple[int, int]] = field(default_factory=dict)
    unseen: float = 0.0
    learned_numbers: int = 0
    warnings: tuple[str, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    notes: tuple[str, ...] = ()
    recovery: Recovery | None = None
    valid_if: str = ""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditResult(Provenance, DrawnResult):
    """One audit: a mechanism, a pair, an attack, its bounds, and the verdict on the claim.

    The fields of `Provenance` come first.

    Args:
        claim: the claimed epsilon at `delta`.
        claim_name: the guarantee that gives this epsilon, such as "PureDP(epsilon=1.0)".
        exact_epsilon: true epsilon of the pair at `delta`, where it is known; else None.
        delta, confidence: of the statement "true epsilon at delta >= bound"; in [0, 1) and (0, 1).
        bounds: every bound that was computed, each at its share of the significance.
        p_value: smallest significance at which the claim would be refuted, corrected for the number of bounds.
        detectable: smallest true epsilon that a perfect attack detects with this many trials at power 90 %, if the
            truth is one of `detectable_family`; inf where no outcome could have refuted the claim.
        detectable_family: the family of true curves that was considered, such as "GaussianDP for some mu".
        verdict: bound against claim.
        ledger: every data-dependent choice, with its correction.
        tally: counts of both sides above at most about 400 thresholds, for the curves.
        claim_curve: trade-off curve and privacy profile of the claim.
        curve_violation: the point, at any delta, where the trials contradict the claimed curve most; None where they do
            not, or where no bound tests curves.
        dependence: why the independence test rejected; there is no verdict then. None where it did not reject.
        datasets: of side 0 and side 1 of a violation, as JSON; None where they have no such form, or are long.
        event_rule: the event that decided a violation, as a rule on outputs; None where there is none.
        deciding: the event that refutes the claim, with outputs of each side in it; None where no single event does.
        guessed: the canaries whose guesses refute the claim, where coins with ids were tossed; else None.
        remedies: changes with each of which such an audit could refute the claim, where this one could not; else empty.
        without_low_bits: the bound without rules on the low bits of floats, where the attack has such rules; else None.
        estimates: estimates of epsilon without a guarantee, added by `with_estimates`.
        breakdown: what accounting, threat model, attack and estimator each lose of the claim, for mechanisms whose
            white-box curve is known; None for others, and where the claim is refuted.
    """

    FORMAT: ClassVar[str] = "dpassay.audit-result"
    VERSION: ClassVar[int] = 4
    DESCRIBED_BY: ClassVar[str] = "audit.results.text"

    claim: float
    claim_name: str
    exact_epsilon: float | None
    delta: float
    confidence: float
    bounds: tuple[LowerBound, ...]
    p_value: float
    detectable: float
    detectable_family: str
    verdict: Verdict
    ledger: tuple[LedgerEntry, ...]
    tally: Tally
    claim_curve: ClaimCurve
    curve_violation: CurveViolation | None = None
    dependence: str | None = None
    datasets: tuple[str, str] | None = None
    event_rule: EventRule | None = None
    deciding: RefutingEvent | None = None
    guessed: GuessedCanaries | None = None
    estimates: tuple[Estimate, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    without_low_bits: WithoutLowBits | None = None
    breakdown: EpsilonBreakdown | None = None

    @property
    def bound(self) -> LowerBound:
        """Largest bound; valid at `confidence`, since the significance is divided among the bounds."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def assumption_free_bound(self) -> LowerBound | None:
        """Largest bound among those that assume nothing about the trade-off curve; None if all of them do."""
        return max((b for b in self.bounds if not b.assumptions), key=lambda b: b.epsilon, default=None)

    @property
    def family_bound(self) -> LowerBound | None:
        """Largest bound among those that assume a family of trade-off curves; None if none does."""
        return max((b for b in self.bounds if b.assumptions), key=lambda b: b.epsilon, default=None)

    @property
    def refuting_bound(self) -> LowerBound:
        """Largest bound among those without a condition, which decide the verdict."""
        return max((b for b in self.bounds if not b.condition), key=lambda b: b.epsilon, default=self.bound)

    @property
    def condition(self) -> str:
        """Assumption that no test can check, under which alone the bound refutes the claim; "" if there is none."""
        return self.bound.condition if self.bound.epsilon > self.claim >= self.refuting_bound.epsilon else ""

    @property
    def ceiling(self) -> float:
        """Largest bound that these trials could have given, of those without a condition."""
        condition = self.refuting_bound.condition
        return max(bound.ceiling for bound in self.bounds if bound.condition == condition)

    @property
    def refuted_elsewhere(self) -> CurveViolation | None:
        """Violation of the curve, if the claim is refuted but no bound at `delta` refutes it; else None."""
        at_delta = self.refuting_bound.epsilon > self.claim
        return self.curve_violation if self.verdict is Verdict.VIOLATION and not at_delta else None

    @property
    def decided_by(self) -> LowerBound | CurveViolation:
        """Limits that decide the verdict: the bound, or the violation of the curve if only that refutes the claim."""
        return self.refuted_elsewhere or (self.refuting_bound if self.verdict is Verdict.VIOLATION else self.bound)

    @property
    def refuted_by(self) -> str | None:
        """Kind of evidence that refutes the claim: "witness", else "bound" or "curve"; None without a violation."""
        if self.verdict is not Verdict.VIOLATION:
            return None
        if self.witness is not None:
            return "witness"
        return "bound" if self.refuting_bound.epsilon > self.claim else "curve"

    @property
    def witness(self) -> Witness | None:
        """First witness that refutes the claim; None if there is none."""
        return next((witness for witness in self.witnesses if witness.refutes), None)

    @property
    def weak(self) -> bool:
        """Whether the claim is not refuted, and would have been, 9 times in 10, only by a much larger epsilon."""
        return is_weak(self.verdict, self.detectable, self.claim)

    def to_witness(self, path: Path | str) -> None:
        """Write a violation as JSON, with datasets, event, counts and seeds, for `results.witness.checker`.

        Raises:
            ResultError: the verdict is not a violation.
            StoreError: the file cannot be written.
        """
        from .witness_file import write

        write(self, path)

    def check(self, at: str = "") -> None:
        """Raise `ResultError` if the numbers contradict each other, or the verdict does not follow from them.

        The verdict is derived again from bound, claim and ceiling. The numbers do not determine one distinction:
        whether trials whose ceiling does not exceed the claim could have refuted its curve at another delta. In this
        case `consistent` and `underpowered` are both accepted.
        """
        rates = {"delta": self.delta, "confidence": self.confidence, "p_value": self.p_value, "unseen": self.unseen}
        within(0.0, 1.0, at, **rates)
        within(0.0, math.inf, at, claim=self.claim, detectable=self.detectable)
        trials = self.trials
        within(0, math.inf, at, per_side=trials.per_side, pilot=trials.pilot, n_canaries=trials.n_canaries or 0)
        within(1, math.inf, at, evaluation=trials.evaluation)
        if self.exact_epsilon is not None:
            within(0.0, math.inf, at, exact_epsilon=self.exact_epsilon)
        require(len(self.bounds) > 0, at, "bounds is empty")
        for bound in self.bounds:
            _check_bound(bound, at)
        if self.curve_violation is not None:
            _check_violation(self.curve_violation, at)
        if self.without_low_bits is not None:
            _check_bound(self.without_low_bits.bound, at)
            if self.without_low_bits.curve_violation is not None:
                _check_violation(self.without_low_bits.curve_violation, at)
        if self.breakdown is not None:
            self.breakdown.check(self.claim, self.bound.epsilon, at)
        check_tally(self.tally, at)
        if self.recovery is not None:
            recovery = self.recovery
            within(0.0, 1.0, at, success=recovery.success, prior=recovery.prior, allowed=recovery.allowed)
        curve = self.claim_curve
        same_length(at, fpr=curve.fpr, fnr=curve.fnr)
        same_length(at, epsilon=curve.epsilon, delta=curve.delta)
        _check_verdict(self, at)

    def __repr__(self) -> str:
        bound = f"epsilon >= {number(self.bound.epsilon)}, claimed {number(self.claim)} at delta {number(self.delta)}"
        return f"<AuditResult {self.verdict.value}: {bound}, {self.mechanism}>"


def _check_verdict(result: AuditResult, at: str) -> None:
    """Check that the verdict follows from the numbers; a witness needs none, and dependent trials give no verdict."""
    if result.witness is not None:
        message = f"the verdict is {result.verdict.value!r}, but a witness refutes the claim"
        require(result.verdict is Verdict.VIOLATION, at, message)
        return
    if result.dependence is not None or result.verdict is Verdict.DEPENDENT:
        message = f"the verdict is {result.verdict.value!r}, and the reason for dependent trials {result.dependence!r}"
        agree = result.dependence is not None and result.verdict is Verdict.DEPENDENT
        require(agree, at, message)
        return
    bound = result.refuting_bound
    require(not bound.condition, at, "no bound is without a condition, so that none decides the verdict")
    refuted = bound.epsilon > result.claim or result.curve_violation is not None
    no_violation = Verdict.UNDERPOWERED if mostly_unseen(result.unseen) else Verdict.CONSISTENT
    follows = Verdict.VIOLATION if refuted else no_violation
    powerless = not refuted and result.ceiling <= result.claim
    require(
        result.verdict is follows or (powerless and result.verdict is Verdict.UNDERPOWERED),
        at,
        f"the verdict is {result.verdict.value!r}, but epsilon >= {bound.epsilon:.6g} against a claim of "
        f"{result.claim:.6g}{' and a refuted curve' if result.curve_violation is not None else ''} is "
        f"{'underpowered' if powerless else follows.value!r}",
    )


def _check_bound(bound: LowerBound, at: str) -> None:
    within(0.0, math.inf, at, epsilon=bound.epsilon, ceiling=bound.ceiling)
    within(0.0, 1.0, at, delta=bound.delta, confidence=bound.confidence)
    within(0, math.inf, at, n_trials=bound.n_trials)
    if bound.hits is not None:
        within(0, bound.n_trials, at, hits=min(bound.hits), more_hits=max(bound.hits))


def _check_violation(violation: CurveViolation, at: str) -> None:
    within(0.0, math.inf, at, epsilon=violation.epsilon)
    within(0.0, 1.0, at, delta=violation.delta, delta_lower=violation.delta_lower)
    for name, rate in (("fpr", violation.fpr), ("fnr", violation.fnr), ("claimed_fnr", violation.claimed_fnr)):
        if rate is not None:
            within(0.0, 1.0, at, **{name: rate})
    require(violation.delta_lower > violation.delta, at, "the curve violation shows no more delta than is claimed")
