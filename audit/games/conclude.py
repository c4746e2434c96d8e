"""The conclusion of an audit: from evidence to a result, for every game.

    conclude(statement, bounds, fixed, evidence, context) -> AuditResult

Statistics. Several bounds share the significance (Bonferroni): `fixed` were fixed at their share, and the p-value is
the smallest of theirs times the number of shares; bounds on the same guesses have one share (`n_shares`). A bound and
its curve test come from the same limits, which are nested in the significance, so that the smaller of their p-values
needs no correction. A test of independence uses a share of the significance beforehand: `significance_share` is what
remains for the bounds.

A bound with a `condition`, an assumption that no test of the evidence can check, is shown, but refutes nothing: the
verdict, the p-value, the test of the curve and the power are those of the other bounds, at their share of the
significance. Their level needs no condition, so neither does that of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from ...mechanisms.core import Guarantee, number
from ..bounds.base import Bound, Evidence, FixedBound, LedgerEntry, LowerBound
from ..bounds.bits.guessing import n_shares
from ..evidence.statement import Statement
from ..evidence.verdict import Verdict, judge, mostly_unseen
from ..power.power import Detectable, detectable, refutable
from ..power.remedies import Remedy, remedies
from ..results.audit_result import AuditResult, ClaimCurve, Provenance
from ..results.claim_curve import claim_curve
from ..results.explanations import Explanations
from ..trials.independence import Dependence

MAX_KEPT_THRESHOLDS = 400
"""Number of thresholds that a result keeps for its curves."""
NO_CURVE = ClaimCurve(fpr=(0.0, 1.0), fnr=(0.0, 0.0), epsilon=(0.0, 1.0), delta=(1.0, 1.0))
"""Placeholder for a claimed curve that cannot be sampled: the trivial curve."""
NO_POWER = Detectable(math.inf, "unknown: the power could not be computed")
"""Placeholder for a power that cannot be computed."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditContext(Provenance):
    """Everything that a conclusion needs and that the bounds do not know.

    Args:
        exact: the exact guarantee of the mechanism on the pair, if it is known.
        looks: ledger entries on choices before the bounds; `later`: entries on choices after them.
        significance_share: share of the significance that remains for the bounds.
        dependence: reason why the runs are not independent; None if no dependence was detected.
    """

    exact: Guarantee | None = None
    looks: tuple[LedgerEntry, ...] = ()
    later: tuple[LedgerEntry, ...] = ()
    significance_share: float = 1.0
    dependence: Dependence | None = None


def conclude(
    statement: Statement,
    bounds: Sequence[Bound[Any]],
    fixed: Sequence[FixedBound[Any]],
    evidence: Evidence,
    context: AuditContext,
) -> AuditResult:
    """Return the result of an audit: bounds, p-value, curve violation, power, verdict, ledger.

    Args:
        statement: the statement under test, at its whole confidence.
        bounds: options of the bounds, from which the power is computed.
        fixed: the same bounds, fixed at their share of the significance, before the evidence.
        evidence: the evidence that is counted.
        context: the origin of the evidence.
    """
    shared, dependence = fixed[0].statement, context.dependence
    lower_bounds = tuple(bound.lower_bound(evidence) for bound in fixed)
    best = max(lower_bounds, key=lambda bound: bound.epsilon)
    refuting = [bound for bound in lower_bounds if not bound.condition]
    deciding = [fixed_bound for bound, fixed_bound in zip(bounds, fixed, strict=True) if not bound.condition]
    violations = [bound.curve_test(evidence) for bound in deciding]
    violation = max(
        filter(None, violations), key=lambda candidate: candidate.delta_lower - candidate.delta, default=None
    )
    p_value = min(bound.p_value(evidence) for bound in deciding) * n_shares(bounds) / context.significance_share
    ceiling = max(bound.ceiling for bound in refuting)
    verdict = judge(
        bound=max(bound.epsilon for bound in refuting),
        claim=statement.epsilon,
        ceiling=ceiling,
        curve_refuted=violation is not None,
        curve_refutable=ceiling <= statement.epsilon and refutable(bounds, shared, evidence),
        dependent=dependence is not None,
        unseen=context.unseen,
        witnessed=any(witness.refutes for witness in context.witnesses),
    )
    explained = Explanations()
    exact = explained.step("the exact epsilon of the pair", partial(_exact, statement, context), None)
    curve = explained.step("the claimed curve", partial(claim_curve, statement.claim, statement.epsilon), NO_CURVE)
    power = partial(
        detectable,
        bounds,
        statement.shared(n_shares(bounds) * statement.n_hypotheses, context.significance_share),
        evidence,
    )
    smallest_detectable = explained.step("the power", power, NO_POWER) if verdict is Verdict.VIOLATION else power()
    blind = math.isinf(smallest_detectable.epsilon) and dependence is None and not mostly_unseen(context.unseen)
    ledger = (*context.looks, *_ledger(fixed, lower_bounds, best, n_shares(bounds)), *context.later)
    unless = _unless(lower_bounds, statement.epsilon) if verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED) else ()
    changes: tuple[Remedy, ...] = ()
    if blind and verdict is not Verdict.VIOLATION:
        changes = remedies(bounds, statement, evidence, context.significance_share)
    provenance: dict[str, Any] = {part.name: getattr(context, part.name) for part in fields(Provenance)}
    if dependence is not None:
        lower_bounds = tuple(_with_dependence(bound, dependence) for bound in lower_bounds)
    return AuditResult(
        **provenance | {"warnings": (*unless, *context.warnings, *explained.warnings)},
        claim=statement.epsilon,
        claim_name=str(statement.claim),
        exact_epsilon=exact,
        delta=statement.delta,
        confidence=statement.confidence,
        bounds=lower_bounds,
        p_value=min(1.0, p_value) if dependence is None else 1.0,
        detectable=smallest_detectable.epsilon,
        detectable_family=smallest_detectable.family,
        verdict=verdict,
        ledger=ledger,
        tally=evidence.thinned(MAX_KEPT_THRESHOLDS, keep=best.threshold),
        claim_curve=curve,
        curve_violation=violation if dependence is None else None,
        dependence=None if dependence is None else str(dependence),
        remedies=changes,
    )


def _exact(statement: Statement, context: AuditContext) -> float | None:
    return None if context.exact is None else float(context.exact.epsilon(statement.delta))


def _unless(bounds: tuple[LowerBound, ...], claim: float) -> tuple[str, ...]:
    """Return a warning for each bound that exceeds the claim and does not refute it, because it has a condition."""
    free = max((bound for bound in bounds if not bound.condition), key=lambda bound: bound.epsilon)
    return tuple(
        f"The bound of {bound.method}, epsilon >= {number(bound.epsilon)}, exceeds the claim, but refutes it only if "
        f"{bound.condition}. No test of these scores can check this. {free.method}, which does not assume it, shows "
        f"epsilon >= {number(free.epsilon)}."
        for bound in bounds
        if bound.condition and bound.epsilon > claim
    )


def _with_dependence(bound: LowerBound, dependence: Dependence) -> LowerBound:
    """Return the bound with the violated assumption of independent trials."""
    violated = f"independent trials, but these trials are dependent: {dependence}"
    return replace(bound, assumptions=(*bound.assumptions, violated))


def _ledger(
    fixed: Sequence[FixedBound[Any]], bounds: tuple[LowerBound, ...], best: LowerBound, n: int
) -> tuple[LedgerEntry, ...]:
    """Return the data-dependent choices of the bounds, with their corrections."""
    entries: list[LedgerEntry] = []
    if len(bounds) > 1:
        names = ", ".join(bound.method for bound in bounds)
        corrections = [f"Bonferroni over {n}"] * (n > 1)
        corrections += ["bounds that count the same guesses need no correction over each other"] * (n < len(bounds))
        entries.append(LedgerEntry("bounds", f"{len(bounds)}: {names}", "; ".join(corrections)))
    entries += best.ledger
    if best.condition:
        free = max((bound for bound in bounds if not bound.condition), key=lambda bound: bound.epsilon)
        shown = f"epsilon >= {number(free.epsilon)} at delta = {number(free.delta)}"
        entries.append(LedgerEntry("without the condition", shown, f"{free.method}, which decides the verdict"))
    if any(type(bound).curve_test is not FixedBound.curve_test for bound in fixed):
        entries.append(LedgerEntry("delta", "the whole claimed curve", "the limits hold at every delta simultaneously"))
    return tuple(entries)
