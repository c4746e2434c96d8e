"""The conclusion of an audit: from evidence to a result, for every game.

    conclude(statement, bounds, fixed, evidence, subject) -> AuditResult

Statistics. Several bounds share the significance (Bonferroni): `fixed` were fixed at their share, and the p-value is
the smallest of theirs times their number. A bound and its curve test come from the same limits, which are nested in the
significance, so that the smaller of their p-values needs no correction. A test of independence uses a share of the
significance beforehand: `part` is the share that remains for the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...mechanisms.core.guarantee import Guarantee
from ..bounds.base import Bound, Evidence, FixedBound, LedgerEntry, LowerBound
from ..evidence.game import Game, Trials
from ..evidence.statement import Statement
from ..evidence.verdict import Verdict, judge, mostly_unseen
from ..power.power import Detectable, detectable, refutable
from ..power.remedies import remedies
from ..results.audit_result import AuditResult, ClaimCurve
from ..results.claim_curve import claim_curve
from ..results.explained import Explanations
from ..results.recovery import Recovery
from ..results.witness.base import Witness
from ..trials.independence import Dependence

KEPT = 400
"""Number of thresholds that a result keeps for its curves."""
NO_CURVE = ClaimCurve(fpr=(0.0, 1.0), fnr=(0.0, 0.0), epsilon=(0.0, 1.0), delta=(1.0, 1.0))
"""Placeholder for a claimed curve that cannot be sampled: the trivial curve."""
NO_POWER = Detectable(math.inf, "unknown: the power could not be computed")
"""Placeholder for a power that cannot be computed."""


@dataclass(frozen=True, eq=False)
class AuditContext:
    """The origin of the evidence.

    Args:
        game: the game that made the evidence.
        mechanism, attack: display names.
        relation: relation of the pair, of the canaries, or of the claim.
        trials: numbers of trials.
        seed: root of every random stream.
        fingerprint: digest of everything that determines the evidence.
        exact: the exact guarantee of the mechanism on the pair, if it is known.
        looks: ledger entries on choices before the bounds; `later`: entries on choices after them.
        part: share of the significance that remains for the bounds.
        dependence: reason why the runs are not independent; None if no dependence was detected.
        events, warnings, witnesses, notes, unseen, recovery: see `AuditResult`.
    """

    game: Game
    mechanism: str
    attack: str
    relation: str
    trials: Trials
    seed: int
    fingerprint: str
    exact: Guarantee | None = None
    looks: tuple[LedgerEntry, ...] = ()
    later: tuple[LedgerEntry, ...] = ()
    significance_share: float = 1.0
    dependence: Dependence | None = None
    events: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unseen: float = 0.0
    witnesses: tuple[Witness, ...] = ()
    notes: tuple[str, ...] = ()
    recovery: Recovery | None = None


def conclude(
    statement: Statement,
    bounds: Sequence[Bound[Any]],
    fixed: Sequence[FixedBound[Any]],
    evidence: Evidence,
    subject: AuditContext,
) -> AuditResult:
    """Return the result of an audit: bounds, p-value, curve violation, power, verdict, ledger.

    Args:
        statement: the statement under test, at its whole confidence.
        bounds: options of the bounds, from which the power is computed.
        fixed: the same bounds, fixed at their share of the significance, before the evidence.
        evidence: the evidence that is counted.
        subject: the origin of the evidence.
    """
    shared, dependence = fixed[0].statement, subject.dependence
    lower_bounds = tuple(bound.lower_bound(evidence) for bound in fixed)
    best = max(lower_bounds, key=lambda bound: bound.epsilon)
    violations = [bound.curve_test(evidence) for bound in fixed]
    violation = max(filter(None, violations), key=lambda each: each.delta_lower - each.delta, default=None)
    p_value = min(bound.p_value(evidence) for bound in fixed) * len(fixed) / subject.significance_share
    ceiling = max(bound.ceiling for bound in lower_bounds)
    verdict = judge(
        bound=best.epsilon,
        claim=statement.epsilon,
        ceiling=ceiling,
        curve_refuted=violation is not None,
        curve_refutable=ceiling <= statement.epsilon and refutable(bounds, shared, evidence),
        dependent=dependence is not None,
        unseen=subject.unseen,
        witnessed=any(witness.refutes for witness in subject.witnesses),
    )
    explained = Explanations()
    exact = explained.step("the exact epsilon of the pair", partial(_exact, statement, subject), None)
    curve = explained.step("the claimed curve", partial(claim_curve, statement.claim, statement.epsilon), NO_CURVE)
    power = partial(
        detectable, bounds, statement.shared(len(bounds) * statement.n_hypotheses, subject.significance_share), evidence
    )
    smallest_detectable = explained.step("the power", power, NO_POWER) if verdict is Verdict.VIOLATION else power()
    blind = math.isinf(smallest_detectable.epsilon) and dependence is None and not mostly_unseen(subject.unseen)
    return AuditResult(
        game=subject.game,
        mechanism=subject.mechanism,
        relation=subject.relation,
        attack=subject.attack,
        claim=statement.epsilon,
        claim_name=str(statement.claim),
        exact_epsilon=exact,
        delta=statement.delta,
        confidence=statement.confidence,
        bounds=lower_bounds
        if dependence is None
        else tuple(_with_dependence(bound, dependence) for bound in lower_bounds),
        p_value=min(1.0, p_value) if dependence is None else 1.0,
        detectable=smallest_detectable.epsilon,
        detectable_family=smallest_detectable.family,
        trials=subject.trials,
        seed=subject.seed,
        verdict=verdict,
        ledger=(*subject.looks, *_ledger(fixed, lower_bounds, best), *subject.later),
        tally=evidence.thinned(KEPT, keep=best.threshold),
        claim_curve=curve,
        events=dict(subject.events),
        fingerprint=subject.fingerprint,
        curve_violation=violation if dependence is None else None,
        dependence=None if dependence is None else str(dependence),
        warnings=(*subject.warnings, *explained.warnings),
        unseen=subject.unseen,
        witnesses=subject.witnesses,
        notes=subject.notes,
        recovery=subject.recovery,
        remedies=remedies(bounds, statement, evidence, subject.significance_share)
        if blind and verdict is not Verdict.VIOLATION
        else (),
    )


def _exact(statement: Statement, subject: AuditContext) -> float | None:
    return None if subject.exact is None else float(subject.exact.epsilon(statement.delta))


def _with_dependence(bound: LowerBound, dependence: Dependence) -> LowerBound:
    """Return the bound with the violated assumption of independent trials."""
    violated = f"independent trials, but these trials are dependent: {dependence}"
    return replace(bound, assumptions=(*bound.assumptions, violated))


def _ledger(
    fixed: Sequence[FixedBound[Any]], bounds: tuple[LowerBound, ...], best: LowerBound
) -> tuple[LedgerEntry, ...]:
    """Return the data-dependent choices of the bounds, with their corrections."""
    entries: list[LedgerEntry] = []
    if len(bounds) > 1:
        names = ", ".join(bound.method for bound in bounds)
        entries.append(LedgerEntry("bounds", f"{len(bounds)}: {names}", f"Bonferroni over {len(bounds)}"))
    entries += best.ledger
    if any(type(bound).curve_test is not FixedBound.curve_test for bound in fixed):
        entries.append(LedgerEntry("delta", "the whole claimed curve", "the limits hold at every delta simultaneously"))
    return tuple(entries)


__all__ = ["AuditContext", "conclude"]
