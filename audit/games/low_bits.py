"""The combination of two scores of the same trials: with rules on the low bits of floats, and without.

Almost every function that adds float noise to a number leaks in the low bits of its output. The score without them
shows whether the claim is also refuted for another reason. Both scores were fixed by the pilot, and the bounds on
each use half of the significance, so that both hold simultaneously; the combined p-value is twice the smaller one.
"""

from __future__ import annotations

from dataclasses import replace

from ...attacks.distinguishing.events import EventScorer
from ..bounds.base import LedgerEntry
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.low_bits import WithoutLowBits
from ..results.refuting_event import points_to_side_1

_ENTRY = LedgerEntry("low bits", "2 scores: with the low bits of floats, and without", "half of the significance each")


def combine_scores(
    result: AuditResult, without: AuditResult, scorer: EventScorer, scorer_without: EventScorer
) -> tuple[EventScorer, AuditResult]:
    """Return the combined result, and the scorer that it reports.

    Args:
        result, without: results with low bits and without, each at half of the significance.
        scorer, scorer_without: their scorers.

    Returns:
        `result` and its scorer; `without` and its scorer if only `without` refutes the claim.
    """
    p_value, ledger = min(result.p_value, without.p_value), (*result.ledger, _ENTRY)
    if without.verdict is Verdict.VIOLATION and result.verdict is not Verdict.VIOLATION:
        return scorer_without, replace(without, p_value=p_value, ledger=(*without.ledger, _ENTRY))
    summary = WithoutLowBits(without.bound, without.curve_violation, _rule(without, scorer_without))
    return scorer, replace(result, p_value=p_value, ledger=ledger, without_low_bits=summary)


def _rule(without: AuditResult, scorer: EventScorer) -> str:
    """Return a description of the event of the larger bound or of the refuted curve; empty if there is none."""
    decided = without.refuted_elsewhere or without.bound
    if decided.threshold is None or decided.hits is None:
        return ""
    above = points_to_side_1(decided.hits, (without.tally.n_out, without.tally.n_in))
    return scorer.describe(decided.threshold, above=above)
