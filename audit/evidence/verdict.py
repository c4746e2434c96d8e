"""Bound against claim.

    violation      the bound exceeds the claim, the claimed curve is refuted elsewhere, or a witness refutes it
    underpowered   no outcome of these trials could have done either
    dependent      the trials are not independent: no bound on them holds, and nothing is said of the claim; a witness
                   needs no bound
    consistent     neither; always reported with the power that the trials had

A verdict over several audits is a statement of its own: `dpassay.audit.evidence.multiplicity` corrects it over
all of them.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What an audit says about a claim."""

    VIOLATION = "violation"
    CONSISTENT = "consistent"
    UNDERPOWERED = "underpowered"
    DEPENDENT = "dependent"


def judge(
    *,
    bound: float,
    claim: float,
    ceiling: float,
    curve_refuted: bool = False,
    curve_refutable: bool = False,
    dependent: bool = False,
    witnessed: bool = False,
) -> Verdict:
    """The verdict on `claim` from a lower bound and the largest value that it could have had.

    The same limits may refute the claimed curve at another delta (`curve_refuted`), or might have (`curve_refutable`).
    Nothing of this holds where the trials are `dependent`. A claim that a witness refutes (`witnessed`) is refuted.
    """
    if witnessed:
        return Verdict.VIOLATION
    if dependent:
        return Verdict.DEPENDENT
    if bound > claim or curve_refuted:
        return Verdict.VIOLATION
    return Verdict.CONSISTENT if ceiling > claim or curve_refutable else Verdict.UNDERPOWERED
