"""From evidence to a result: the same for every game.

    conclude(statement, bounds, fixed, evidence, subject) -> AuditResult

Statistics. Several bounds share the significance (Bonferroni): `fixed` were fixed at their share, the p-value is that
of the best of them times their number. A bound and its curve test come from the same limits, which are nested in the
significance, so that the smaller of their p-values needs no correction. What a test of independence took of the
significance beforehand is no longer theirs: `part` is what it left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...mechanisms.guarantees.base import Guarantee
from ..bounds.base import Bound, Evidence, FixedBound, LedgerEntry, LowerBound
from ..evidence.game import Game, Trials
from ..evidence.statement import Statement
from ..evidence.verdict import Verdict, judge, nothing_to_go_on
from ..power import Detectable, detectable, refutable
from ..remedies import remedies
from ..results.audit_result import AuditResult, ClaimCurve
from ..results.claim_curve import claim_curve
from ..results.explained import Explained
from ..results.recovery import Recovery
from ..trials.guards.independence import Dependence
from ..witness.base import Witness

KEPT = 400
"""Thresholds kept in a result, for its curves."""
NO_CURVE = ClaimCurve(fpr=(0.0, 1.0), fnr=(0.0, 0.0), epsilon=(0.0, 1.0), delta=(1.0, 1.0))
"""In the place of a claimed curve that cannot be sampled: the curve that promises nothing."""
NO_POWER = Detectable(math.inf, "unknown: the power could not be computed")
"""The same, for the power."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What the evidence is of, and how it came about.

    Args:
        game: that made it.
        mechanism, attack: names, for people.
        relation: of the pair, of the canaries, or of the claim.
        trials: how many.
        seed: root of every random stream.
        fingerprint: digest of everything that determines the evidence.
        exact: the exact guarantee of what was run, where it is known.
        looks: what was looked at or chosen before the bounds, and `later`, after them.
        part: of the significance that is left to the bounds.
        dependence: why the runs are not independent; None where nothing says so.
        events, warnings, witnesses, notes, unseen, recovery: as in `AuditResult`.
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
    part: float = 1.0
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
    subject: Subject,
) -> AuditResult:
    """The result: bounds, p-value, curve violation, power, verdict, ledger.

    Args:
        statement: what is judged, at its whole confidence.
        bounds: their options, which say what other evidence would have shown.
        fixed: the same bounds, fixed at their share of the significance, before the evidence.
        evidence: what is counted.
        subject: what it is of.
    """
    shared, dependence = fixed[0].statement, subject.dependence
    found = tuple(bound.lower_bound(evidence) for bound in fixed)
    best = max(found, key=lambda one: one.epsilon)
    violations = [bound.curve_test(evidence) for bound in fixed]
    violation = max(filter(None, violations), key=lambda one: one.delta_lower - one.delta, default=None)
    p_value = min(bound.p_value(evidence) for bound in fixed) * len(fixed) / subject.part
    ceiling = max(one.ceiling for one in found)
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
    explained = Explained()
    exact = explained.step("the exact epsilon of the pair", partial(_exact, statement, subject), None)
    curve = explained.step("the claimed curve", partial(claim_curve, statement.claim, statement.epsilon), NO_CURVE)
    power = partial(detectable, bounds, statement.shared(len(bounds) * statement.n_hypotheses, subject.part), evidence)
    shown = explained.step("the power", power, NO_POWER) if verdict is Verdict.VIOLATION else power()
    blind = math.isinf(shown.epsilon) and dependence is None and not nothing_to_go_on(subject.unseen)
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
        bounds=found if dependence is None else tuple(_disowned(one, dependence) for one in found),
        p_value=min(1.0, p_value) if dependence is None else 1.0,
        detectable=shown.epsilon,
        detectable_family=shown.family,
        trials=subject.trials,
        seed=subject.seed,
        verdict=verdict,
        ledger=(*subject.looks, *_ledger(fixed, found, best), *subject.later),
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
        remedies=remedies(bounds, statement, evidence, subject.part)
        if blind and verdict is not Verdict.VIOLATION
        else (),
    )


def _exact(statement: Statement, subject: Subject) -> float | None:
    return None if subject.exact is None else float(subject.exact.epsilon(statement.delta))


def _disowned(bound: LowerBound, dependence: Dependence) -> LowerBound:
    """The bound, with what it assumes and what does not hold."""
    return replace(bound, assumptions=(*bound.assumptions, f"independent trials, which these are not: {dependence}"))


def _ledger(
    fixed: Sequence[FixedBound[Any]], found: tuple[LowerBound, ...], best: LowerBound
) -> tuple[LedgerEntry, ...]:
    """What the bounds looked at, and how each look is paid for."""
    entries: list[LedgerEntry] = []
    if len(found) > 1:
        names = ", ".join(one.method for one in found)
        entries.append(LedgerEntry("bounds", f"{len(found)}: {names}", f"Bonferroni over {len(found)}"))
    entries += best.ledger
    if any(type(bound).curve_test is not FixedBound.curve_test for bound in fixed):
        entries.append(LedgerEntry("delta", "the whole claimed curve", "the limits hold at every delta together"))
    return tuple(entries)


__all__ = ["Subject", "conclude"]
