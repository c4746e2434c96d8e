"""Bound against claim.

    violation      the bound exceeds the claim, the claimed curve is refuted elsewhere, or a witness refutes it
    underpowered   no outcome of these trials could have done either; or nearly every evaluation run gave an exceptional
                   output, such as a text, that no pilot run gave: the attack had nothing to go on
    dependent      the trials are not independent: no bound on them holds, and nothing is said of the claim; a witness
                   needs no bound
    consistent     neither; always reported with the power that the trials had

A verdict over several audits is a statement of its own: `dpassay.audit.evidence.multiplicity` corrects it over
all of them.
"""

from __future__ import annotations

from enum import StrEnum

MOSTLY_UNSEEN = 0.9
"""Share of the evaluation runs that gave exceptional outputs which no pilot run gave: above it none is `consistent`."""


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
    unseen: float = 0.0,
    witnessed: bool = False,
) -> Verdict:
    """The verdict on `claim` from a lower bound and the largest value that it could have had.

    The same limits may refute the claimed curve at another delta (`curve_refuted`), or might have (`curve_refutable`).
    Nothing of this holds where the trials are `dependent`. A claim that a witness refutes (`witnessed`) is refuted.
    `unseen` is the share of the evaluation runs that gave an exceptional output which no pilot run gave.
    """
    if witnessed:
        return Verdict.VIOLATION
    if dependent:
        return Verdict.DEPENDENT
    if bound > claim or curve_refuted:
        return Verdict.VIOLATION
    able = (ceiling > claim or curve_refutable) and not nothing_to_go_on(unseen)
    return Verdict.CONSISTENT if able else Verdict.UNDERPOWERED


def nothing_to_go_on(unseen: float) -> bool:
    """Whether so many outputs were new that no attack could have learned anything of them."""
    return unseen > MOSTLY_UNSEEN
