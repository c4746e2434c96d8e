"""Remedies: changes to an audit that could not have refuted its claim.

A remedy changes one quantity, with the others fixed, to the nearest value at which an attack without errors refutes the
claim: more trials, a lower confidence, a smaller delta of claim and bound, or a secret that is harder to guess (the
last three with two digits, rounded so that they suffice). A quantity that cannot help at any value is omitted. More
canaries at a fixed delta > 0, for instance, do not help at a high confidence: with m bits and r <= m guesses, all
correct, the p-value is about m delta / r or more for every m. Where more trials do not help, a remedy also gives a
usual confidence, or a smaller delta, together with the number of trials that suffices then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...mechanisms.accounting import ApproximateDP
from ...mechanisms.core import DpassayError, bisect, integer
from ..bounds.base import Bound, Evidence
from ..bounds.bits.guessing import n_shares
from ..evidence.scores import BitScores, Successes
from ..evidence.statement import Statement
from .power import refutable

MAX_TRIALS = 10**9
"""Largest number of runs on each side, or of rounds, that is tried."""
MAX_BITS = 2**20
"""Largest number of bits that is tried; all of them are in memory."""
MIN_CONFIDENCE = 0.8
"""Smallest confidence that is tried."""
USUAL_CONFIDENCES = (0.999, 0.99, 0.95, 0.9)
"""Confidences that are tried together with more trials."""
MIN_DELTA = 1e-15
MIN_PRIOR = 1e-12
_MAX_EXACT_TRIALS = 1000
"""Number of trials up to which the least one is changes exactly; beyond, one that is at most 1 in 200 larger."""


@dataclass(frozen=True)
class Remedy:
    """A change to an audit with which it could refute its claim; None for a quantity that stays as it was.

    Args:
        trials: the least number of counted runs on each side, of bits in all runs together, or of rounds; beyond a
            million runs by a simpler bound, which needs up to twice as many.
        confidence: the largest confidence.
        delta: the largest delta, of claim and bound.
        prior_success: the largest prior success of the secret.
    """

    trials: int | None = None
    confidence: float | None = None
    delta: float | None = None
    prior_success: float | None = None


def with_pilot(changes: Sequence[Remedy], share: float) -> tuple[Remedy, ...]:
    """Return remedies with numbers of bits that include a pilot, which has this share of all bits."""
    return tuple(
        one if one.trials is None else replace(one, trials=math.ceil(one.trials / (1.0 - share))) for one in changes
    )


def remedies(
    bounds: Sequence[Bound[Any]], statement: Statement, evidence: Evidence, significance_share: float = 1.0
) -> tuple[Remedy, ...]:
    """Return changes with each of which these bounds could refute the claim; none where they can, or none helps.

    Args:
        bounds: those of the audit.
        statement: at its whole confidence; its number of hypotheses counts.
        evidence: gives the kind and the number of trials.
        significance_share: share of the significance that is left to the bounds.
    """

    def able(stated: Statement = statement, kind: Evidence = evidence, n: int | None = None) -> bool:
        shared = stated.shared(n_shares(bounds) * stated.n_hypotheses, significance_share)
        try:
            return refutable(bounds, shared, kind, n)
        except DpassayError:  # such a statement cannot be made
            return False

    if able():
        return ()
    delta, claim = statement.delta, statement.claim

    def at_delta(to: float) -> Statement:
        return replace(statement, claim=ApproximateDP(statement.epsilon, to, claim.relation), delta=to)

    def trials(stated: Statement) -> int | None:
        return _least_number(lambda n: able(stated, n=n), evidence)

    enough = trials(statement)
    changes = [Remedy(trials=enough)]
    confidence = _to_confidence(lambda to: able(replace(statement, confidence=to)), statement)
    changes.append(Remedy(confidence=confidence))
    if isinstance(claim, ApproximateDP) and delta > 0.0:
        less = _largest(lambda to: able(at_delta(to)), delta, MIN_DELTA)
        changes.append(Remedy(delta=less))
        if enough is None and less is None:
            decades = (at_delta(_rounded(_position(delta) - 90 * k)) for k in range(1, 10))
            changes.append(next((Remedy(n, delta=s.delta) for s in decades if (n := trials(s))), Remedy()))
    if isinstance(evidence, Successes):

        def with_prior(prior: float) -> bool:
            return able(kind=replace(evidence, prior_success=prior, uniform_on=None))

        changes.append(Remedy(prior_success=_largest(with_prior, evidence.prior_success, MIN_PRIOR)))
    if enough is None and confidence is None:
        lower = (replace(statement, confidence=to) for to in USUAL_CONFIDENCES if to < statement.confidence)
        changes.append(next((Remedy(n, s.confidence) for s in lower if (n := trials(s))), Remedy()))
    return tuple(remedy for remedy in changes if remedy != Remedy())


def _least_number(able: Callable[[int], bool], evidence: Evidence) -> int | None:
    """Return the least sufficient number of trials above that of the evidence; None if it exceeds the limit."""
    bits = isinstance(evidence, BitScores)
    low, limit = min(evidence.sizes), MAX_BITS if bits else MAX_TRIALS
    high = 2 * low
    while not able(high):
        low, high = high, 2 * high
        if high > limit:
            return None

    def close(low: float, high: float) -> bool:
        return high - low <= (1 if high <= _MAX_EXACT_TRIALS else high // 200)

    return int(bisect(lambda n: able(int(n)), low, high, close=close, middle=integer)[1])


def _to_confidence(able: Callable[[float], bool], statement: Statement) -> float | None:
    """Return the largest sufficient confidence below that of the statement; None if there is none."""
    position = _first(
        lambda k: able(1.0 - _rounded(k)), _position(statement.significance), _position(1.0 - MIN_CONFIDENCE)
    )
    return None if position is None else 1.0 - _rounded(position)


def _largest(able: Callable[[float], bool], below: float, smallest: float) -> float | None:
    """Return the largest sufficient value below `below`; None if there is none from `smallest` on."""
    position = _first(lambda k: able(_rounded(-k)), -_position(below), -_position(smallest))
    return None if position is None else _rounded(-position)


def _first(able: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the first whole number after `low` from which on `able` holds; None if it does not hold at `high`."""
    if high <= low or not able(high):
        return None
    return int(bisect(lambda k: able(int(k)), low, high, middle=integer)[1])


def _rounded(position: int) -> float:
    """Return the number at a place in the sequence of two-digit numbers: ..., 0.98, 0.99, 1.0, 1.1, ...

    >>> [_rounded(k) for k in (-90, -1, 0, 1)]
    [0.1, 0.99, 1.0, 1.1]
    """
    return float(f"{10 + position % 90}e{position // 90 - 1}")


def _position(value: float) -> int:
    """Return the place of the largest two-digit number that exceeds `value` by no more than rounding."""
    power = math.floor(math.log10(value * (1.0 + 1e-9)))
    return 90 * power + math.floor(value * (1.0 + 1e-9) / 10.0 ** (power - 1)) - 10
