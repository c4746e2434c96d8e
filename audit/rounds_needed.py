"""How many rounds of a reconstruction refute a claim that is false by so much: to plan a game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mechanisms.errors import ParameterError
from ..mechanisms.guarantees.base import Guarantee
from ..mechanisms.validation import open_unit
from .bounds.base import FixedBound
from .bounds.choose import BoundChoice, choose_bounds
from .bounds.reconstruction import Reconstruction, allowed_success
from .evidence.scores import Successes
from .evidence.statement import Statement

MOST_ROUNDS = 10**9
"""Beyond it nobody plays."""


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
    """Rounds after which a false claim is refuted with the given probability.

    Args:
        claim: that is tested.
        truth: what the mechanism really gives away; says how often a perfect attack succeeds.
        prior_success: of the secret, in (0, 1].
        bound, delta, confidence: as for `dpassay.audit.audit_scores`.
        success: how often the attack succeeds, where that is known; None: as often as `truth` allows.
        probability: that the claim is refuted, in (0, 1).

    Returns:
        A number of rounds with at least this power. The power of a binomial test goes up and down by small steps, so
        that slightly fewer may do too.

    Raises:
        ParameterError: the attack succeeds no more often than the claim allows, or 10^9 rounds do not suffice.

    Example:
        >>> from dpassay.mechanisms.guarantees import PureDP
        >>> [rounds_needed(PureDP(1.0), PureDP(truth), 0.1) for truth in (1.1, 1.5, 3.0)]
        [2177, 64, 5]
    """
    from scipy.stats import binom

    open_unit(probability=probability)
    bounds = choose_bounds(bound, reads=Successes)
    ways = {one.candidates for one in bounds if isinstance(one, Reconstruction)} or {None}
    ceilings = [min(allowed_success(one, prior_success, candidates=way) for way in ways) for one in (truth, claim)]
    possible, allowed = ceilings
    rate = possible if success is None else success
    if rate <= allowed:
        raise ParameterError(
            f"truth {truth} lets a secret with prior success {prior_success:g} be guessed at a rate of {rate:.4g}, "
            f"which {claim} allows: no number of rounds refutes it.",
            argument="truth",
        )
    statement = Statement.about(None, claim, delta=delta, confidence=confidence, n_hypotheses=1, relation=None)
    shared = statement.shared(len(bounds))

    def power(n: int) -> float:
        fixed = [one.fix(shared, None, (n,)) for one in bounds]
        least = _least_that_refutes(fixed, n, prior_success)
        return float(binom.sf(least - 1, n, rate))

    high = 1
    while power(high) < probability:
        high *= 2
        if high > MOST_ROUNDS:
            raise ParameterError(
                f"truth {truth} is too close to {claim} to be told apart in {MOST_ROUNDS:,} rounds.", argument="truth"
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= probability else (middle, high)
    return high


def _least_that_refutes(fixed: Sequence[FixedBound[Any]], n: int, prior_success: float) -> int:
    """Fewest successes of n rounds that refute the claim; n + 1 where none do."""

    def refuted(k: int) -> bool:
        seen = Successes(k, n, prior_success)
        return any(one.exceeds_claim(seen) or one.curve_test(seen) is not None for one in fixed)

    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


__all__ = ["rounds_needed"]
