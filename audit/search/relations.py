"""Audits of a claim for which no relation is stated: for each relation that it may be about.

Statistics. Null hypothesis of relation r: the claim holds for pairs of r. Searches run for each relation, and confirm a
pair on fresh trials: given their looks, both confirmations are ordinary audits. Each is made at the half of the
significance, so that both bounds hold simultaneously and either may be reported (union bound). The verdicts are those
of Holm (1979): the smaller p-value is compared with the half of the significance, and if it refutes, the other one
with the whole. So the claim is wrongly refuted for any relation with probability at most the significance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...mechanisms.core import Guarantee, Mechanism, Relation, holm
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult


def relations_of(
    mechanism: Mechanism | Callable[..., Any], claim: Guarantee | None, stated: str | Relation | None, *, records: bool
) -> tuple[Relation, ...]:
    """Return the relations of the pairs: the stated one, or all that the claim may be about."""
    if isinstance(mechanism, Mechanism):
        known: str | Relation | None = stated or mechanism.relation
    else:
        known = stated or (None if claim is None else claim.relation)
    if known is not None:
        return (Relation.of(known),)
    return (Relation.ADD_REMOVE, Relation.REPLACE_ONE) if records else (Relation.REPLACE_ONE,)


def refuted_relations(results: Mapping[str, AuditResult], significance: float) -> dict[str, bool]:
    """Return for each relation whether the claim is refuted, from audits at an equal share of the significance."""
    shown = {name: result.verdict is Verdict.VIOLATION for name, result in results.items()}
    if not any(shown.values()):
        return shown
    adjusted = holm([0.0 if result.witness is not None else result.p_value for result in results.values()])
    return {name: shown[name] or p <= significance for name, p in zip(results, adjusted, strict=True)}


def which_relations(refuted: Mapping[str, bool]) -> str:
    """Return a sentence on the relations for which a claim is refuted; "" if one was stated, or it is for none."""
    of = {holds: [name for name, known in refuted.items() if known is holds] for holds in (True, False)}
    if len(refuted) < 2 or not of[True]:
        return ""
    if not of[False]:
        return f"It is refuted for {' and for '.join(of[True])}."
    return (
        f"It is refuted for {' and '.join(of[True])} only, and not for {' and '.join(of[False])}: if the claim is "
        "about the latter, state it as the relation."
    )
