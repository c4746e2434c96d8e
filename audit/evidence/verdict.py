"""The verdict: the comparison of a bound with the claim.

    violation      the bound exceeds the claim, the claimed curve is refuted at another delta, or by a witness
    underpowered   no outcome of these trials could have been a violation; or nearly every evaluation run gave an
                   exceptional output, such as a text, that no pilot run gave: the attack could not learn anything
    dependent      the trials are not independent: no bound holds, and the claim is not tested; a witness is valid
                   without a bound
    consistent     none of these; always reported with the power of the trials, and `weak` if they would have detected,
                   9 times in 10, only a true epsilon above 1.5 claims

A verdict over several audits is a separate statement: `dpassay.mechanisms.core.multiplicity` corrects it over all of
them.
"""

from __future__ import annotations

from enum import StrEnum

MAX_UNSEEN_SHARE = 0.9
"""Largest share of evaluation runs with exceptional outputs that no pilot run gave for the verdict `consistent`."""

WEAK_FACTOR = 1.5
"""A consistent verdict is weak if only a true epsilon above this multiple of the claim would have been detected."""


class Verdict(StrEnum):
    """The outcome of an audit of a claim."""

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
    """Return the verdict on a claim.

    Args:
        bound: lower bound on epsilon.
        claim: claimed epsilon.
        ceiling: largest possible value of the bound.
        curve_refuted: the same limits refute the claimed curve at another delta.
        curve_refutable: some outcome of the trials would have refuted the claimed curve.
        dependent: the trials are not independent, so that no bound holds.
        unseen: share of the evaluation runs with an exceptional output that no pilot run gave.
        witnessed: a witness refutes the claim.
    """
    if witnessed:
        return Verdict.VIOLATION
    if dependent:
        return Verdict.DEPENDENT
    if bound > claim or curve_refuted:
        return Verdict.VIOLATION
    able = (ceiling > claim or curve_refutable) and not mostly_unseen(unseen)
    return Verdict.CONSISTENT if able else Verdict.UNDERPOWERED


def is_weak(verdict: Verdict, detectable: float, claim: float) -> bool:
    """Return whether a claim is consistent only because little could have refuted it.

    Args:
        verdict: on the claim.
        detectable: smallest true epsilon that a perfect attack detects with power 90 %.
        claim: claimed epsilon.

    >>> is_weak(Verdict.CONSISTENT, 3.0, 1.0), is_weak(Verdict.CONSISTENT, 1.2, 1.0)
    (True, False)
    """
    return verdict is Verdict.CONSISTENT and detectable > WEAK_FACTOR * claim > 0.0


def mostly_unseen(unseen: float) -> bool:
    """Return True if so many outputs were new that no attack could have learned from the pilot."""
    return unseen > MAX_UNSEEN_SHARE
