"""Number of rounds of a reconstruction game that refutes a false claim with a given probability: for planning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...mechanisms.core import Guarantee, ParameterError, bisect, bracket, integer, open_unit
from ..bounds.base import FixedBound
from ..bounds.bits.guessing import n_shares
from ..bounds.catalogue import BoundChoice, choose_bounds
from ..bounds.reconstruction import Reconstruction, allowed_success
from ..evidence.scores import Successes
from ..evidence.statement import Statement

MAX_ROUNDS = 10**9
"""Largest number of rounds that is tried."""


def rounds_needed(
    claim: Guarantee,
    truth: Guarantee,
    prior_success: float,
    *,
    bound: BoundChoice = "auto",
    delta: float | None = None,
    confidence: float = 0.95,
    success: float | None = None,
    probability: float = 0.9,
) -> int:
    """Return the number of rounds after which a false claim is refuted with the given probability.

    Args:
        claim: the guarantee under test.
        truth: the true guarantee of the mechanism; determines how often a perfect attack succeeds.
        prior_success: of the secret, in (0, 1].
        bound, delta, confidence: as for `dpassay.audit.audit_scores`.
        success: success rate of the attack, where it is known; None for the largest one that `truth` allows.
        probability: that the claim is refuted, in (0, 1).

    Returns:
        A number of rounds with at least this power. The power of a binomial test is not monotone in small steps, so
        that slightly fewer rounds may suffice too.

    Raises:
        ParameterError: the attack succeeds no more often than the claim allows, or 10^9 rounds do not suffice.

    Example:
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> [rounds_needed(PureDP(1.0), PureDP(truth), 0.1) for truth in (1.1, 1.5, 3.0)]
        [2177, 64, 5]
    """
    from scipy.stats import binom

    open_unit(probability=probability)
    bounds = choose_bounds(bound, reads=Successes)
    candidates = {b.candidates for b in bounds if isinstance(b, Reconstruction)} or {None}
    possible, allowed = (
        min(allowed_success(guarantee, prior_success, candidates=n) for n in candidates) for guarantee in (truth, claim)
    )
    rate = possible if success is None else success
    if rate <= allowed:
        raise ParameterError(
            f"truth {truth} lets a secret with prior success {prior_success:g} be guessed at a rate of {rate:.4g}, "
            f"which {claim} allows: no number of rounds refutes it.",
            argument="truth",
        )
    statement = Statement.about(None, claim, delta=delta, confidence=confidence, n_hypotheses=1, relation=None)
    shared = statement.shared(n_shares(bounds))

    def suffices(rounds: float) -> bool:
        n = int(rounds)
        fixed = [chosen.fix(shared, None, (n,)) for chosen in bounds]
        critical_value = _least_that_refutes(fixed, n, prior_success)
        return bool(binom.sf(critical_value - 1, n, rate) >= probability)

    low, high = bracket(suffices, 0, 1, largest=MAX_ROUNDS)
    if high > MAX_ROUNDS:
        raise ParameterError(
            f"truth {truth} is too close to {claim} to be distinguished in {MAX_ROUNDS:,} rounds.", argument="truth"
        )
    return int(bisect(suffices, low, high, middle=integer)[1])


def _least_that_refutes(fixed: Sequence[FixedBound[Any]], n: int, prior_success: float) -> int:
    """Return the least number of successes of n rounds that refutes the claim; n + 1 if there is none."""

    def refuted(k: float) -> bool:
        successes = Successes(int(k), n, prior_success)
        return any(bound.refutes(successes) for bound in fixed)

    return int(bisect(refuted, 0, n + 1, middle=integer)[1])
