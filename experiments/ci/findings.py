"""Findings of an audit or a sweep for build servers, with what became of each claim since a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...audit.results.audit_result import AuditResult
from ...audit.results.result_text import ResultText, Tone
from ...audit.results.withheld import without_values
from ...audit.search.stress_result import StressResult
from ..present.builds.findings import Findings, FoundClaim, Place
from ..present.results.sweep import SweepResult
from .checked import CheckedClaim, claims_of
from .comparison import Change, ComparedClaim, Comparison

_STATES = {Change.NEW_VIOLATION: "new", Change.KNOWN_VIOLATION: "unchanged", Change.LOST_POWER: "new"}


def findings_of(
    result: AuditResult | StressResult | SweepResult,
    place: Place,
    *,
    seconds: Mapping[str, float] | None = None,
    strict: bool = False,
    comparison: Comparison | None = None,
) -> Findings:
    """Return the findings of an audit, of audits on hostile data, or of a sweep.

    Args:
        result: the audit or the sweep.
        place: what was audited.
        seconds: duration by the name of the claim; None where unknown.
        strict: whether an underpowered audit is a failure.
        comparison: with a baseline; None without one.
    """
    checked, text = claims_of(result), text_for_builds(result)
    changes = {} if comparison is None else {row.name: row for row in comparison.claims}
    claims = [
        _finding(claim, said, changes.pop(claim.name, None), (seconds or {}).get(claim.name, 0.0))
        for claim, said in zip(checked.claims, text.parts or (text,), strict=True)
    ]
    for row in changes.values():
        if row.change.fails and row.before is not None:
            gone = ResultText(tone=Tone.PLAIN, headline=row.change.value.capitalize(), answer=row.reason)
            claims.append(_finding(row.before, gone, row, 0.0))
    return Findings(checked.title, place, tuple(claims), strict)


def text_for_builds(result: AuditResult | StressResult | SweepResult) -> ResultText:
    """Return the text of a result without values of datasets and outputs."""
    if isinstance(result, StressResult):
        return result.without_values().text()
    if isinstance(result, AuditResult):
        return without_values(result).text()
    points = tuple(replace(point, result=without_values(point.result)) for point in result.points)
    return replace(result, points=points).text()


def _finding(claim: CheckedClaim, text: ResultText, compared: ComparedClaim | None, seconds: float) -> FoundClaim:
    numbers = {
        "claim": claim.claim_name,
        "claimedEpsilon": claim.claim,
        "delta": claim.delta,
        "relation": claim.relation,
        "epsilonLowerBound": claim.bound,
        "confidence": claim.confidence,
        "pValue": claim.p_value,
        "minimumDetectableEpsilon": claim.detectable,
        "verdict": claim.outcome,
    }
    same = (claim.claim_name, claim.delta, claim.relation)
    if compared is None:
        return FoundClaim(claim.name, text, same, numbers, seconds)
    lost = compared.reason if compared.change is Change.LOST_POWER else ""
    return FoundClaim(claim.name, text, same, numbers, seconds, _STATES.get(compared.change, "updated"), lost)
