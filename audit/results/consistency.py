"""Whether the numbers of a saved result agree with each other and with its verdict.

A digest shows that a text is as it was written; this shows that what was written can be the result of an audit. The
verdict is derived again from bound, claim and ceiling. One distinction is not in the numbers: whether trials whose
ceiling does not exceed the claim could have refuted its curve at another delta, so that there `consistent` and
`underpowered` are both taken.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

import numpy as np

from ...mechanisms.errors import ResultError
from ..bounds.base import LowerBound
from ..bounds.curve import CurveViolation
from ..evidence.scores import Tally
from ..evidence.verdict import Verdict

if TYPE_CHECKING:
    from .audit_result import AuditResult

INFINITY = float("inf")


def check_audit(result: AuditResult, at: str = "") -> None:
    """Raises `ResultError` where the numbers of an audit cannot belong together; `at` is its place, for messages."""
    within(0.0, 1.0, at, delta=result.delta, confidence=result.confidence, p_value=result.p_value)
    within(0.0, INFINITY, at, claim=result.claim, detectable=result.detectable)
    trials = result.trials
    within(0, INFINITY, at, per_side=trials.per_side, pilot=trials.pilot, n_canaries=trials.n_canaries or 0)
    within(1, INFINITY, at, evaluation=trials.evaluation)
    if result.exact_epsilon is not None:
        within(0.0, INFINITY, at, exact_epsilon=result.exact_epsilon)
    require(len(result.bounds) > 0, at, "bounds is empty")
    for bound in result.bounds:
        _check_bound(bound, at)
    if result.curve_violation is not None:
        _check_violation(result.curve_violation, at)
    check_tally(result.tally, at)
    curve = result.claim_curve
    same_length(at, fpr=curve.fpr, fnr=curve.fnr)
    same_length(at, epsilon=curve.epsilon, delta=curve.delta)
    _check_verdict(result, at)


def _check_verdict(result: AuditResult, at: str) -> None:
    """The verdict follows from the numbers next to it; dependent trials leave none."""
    if result.dependence is not None or result.verdict is Verdict.DEPENDENT:
        why = f"the verdict is {result.verdict.value!r}, and the reason for dependent trials {result.dependence!r}"
        agree = result.dependence is not None and result.verdict is Verdict.DEPENDENT
        require(agree, at, why)
        return
    refuted = result.bound.epsilon > result.claim or result.curve_violation is not None
    follows = Verdict.VIOLATION if refuted else Verdict.CONSISTENT
    blind = not refuted and result.ceiling <= result.claim
    require(
        result.verdict is follows or (blind and result.verdict is Verdict.UNDERPOWERED),
        at,
        f"the verdict is {result.verdict.value!r}, but epsilon >= {result.bound.epsilon:.6g} against a claim of "
        f"{result.claim:.6g}{' and a refuted curve' if result.curve_violation is not None else ''} is "
        f"{'underpowered' if blind else follows.value!r}",
    )


def _check_bound(bound: LowerBound, at: str) -> None:
    within(0.0, INFINITY, at, epsilon=bound.epsilon, ceiling=bound.ceiling)
    within(0.0, 1.0, at, delta=bound.delta, confidence=bound.confidence)
    within(0, INFINITY, at, n_trials=bound.n_trials)
    if bound.hits is not None:
        within(0, bound.n_trials, at, hits=min(bound.hits), more_hits=max(bound.hits))


def _check_violation(found: CurveViolation, at: str) -> None:
    within(0.0, INFINITY, at, epsilon=found.epsilon)
    within(0.0, 1.0, at, delta=found.delta, delta_lower=found.delta_lower, fpr=found.fpr, fnr=found.fnr)
    require(found.delta_lower > found.delta, at, "the curve violation shows no more delta than is claimed")


def check_tally(tally: Tally, at: str) -> None:
    """Raises `ResultError` unless hits fall with the threshold, within the number of scores."""
    same_length(at, thresholds=tally.thresholds, hits_out=tally.hits_out, hits_in=tally.hits_in)
    require(bool((np.diff(tally.thresholds) > 0).all()), at, "the thresholds of the tally do not rise")
    for name, hits, n in (("hits_out", tally.hits_out, tally.n_out), ("hits_in", tally.hits_in, tally.n_in)):
        falling = (np.diff(hits) <= 0).all() and (hits >= 0).all() and (hits <= n).all()
        require(bool(falling), at, f"{name} of the tally does not fall from at most {n} to at least 0")


def same_length(at: str, **columns: Sized) -> None:
    """Raises `ResultError` unless the columns have the same length."""
    lengths = {name: len(column) for name, column in columns.items()}
    require(len(set(lengths.values())) == 1, at, f"columns differ in length: {lengths}")


def within(low: float, high: float, at: str, **numbers: float) -> None:
    """Raises `ResultError` unless low <= number <= high; NaN never is."""
    for name, number in numbers.items():
        require(low <= number <= high, at, f"{name} must lie between {low:g} and {high:g}, but is {number!r}")


def require(holds: bool, at: str, otherwise: str) -> None:
    """Raises `ResultError` with the place and the reason where it does not hold."""
    if not holds:
        place = f"{at}: " if at else ""
        raise ResultError(f"{place}{otherwise}. These results contradict themselves: run the same command again.")


__all__ = ["check_audit", "check_tally", "require", "same_length", "within"]
