"""What so many trials could have shown: the power that stands beside a verdict of `consistent`.

The best case for an attack, among all pairs that are exactly (epsilon, delta)-DP, is randomised response with an atom:
it calls side 1 on one event with

    TPR = delta + (1 - delta) e^epsilon / (1 + e^epsilon),        FPR = (1 - delta) / (1 + e^epsilon)

(Kairouz, Oh and Viswanath 2015, theorem 2: every other such pair is a post-processing of it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from audit.bounds.base import Bound, check_level
from audit.bounds.binomial import quantile
from audit.games import PairCounts, Tally
from mechanisms.errors import ParameterError
from mechanisms.validation import non_negative, open_unit, whole

_MOST_TRIALS = 10**12


def detectable_epsilon(
    bound: Bound,
    *,
    claim: float,
    delta: float,
    confidence: float,
    n_out: int,
    n_in: int,
    probability: float = 0.9,
) -> float:
    """Smallest true epsilon that a perfect attack shows to exceed `claim` with the given probability.

    Args:
        bound: the bound that is used, prepared or not.
        claim: the epsilon that has to be exceeded, >= 0.
        delta: the delta of claim, bound and truth, in [0, 1).
        confidence: of the bound, in (0, 1).
        n_out, n_in: evaluation trials on each side, >= 1.
        probability: that the bound exceeds the claim, in (0, 1).

    Returns:
        The epsilon, rounded up by at most 0.1 %; inf when no outcome of so many trials could exceed the claim.

    Guarantees:
        * conservative: both counts are taken at quantiles of sqrt(probability), so that the real probability is larger
          (the sides are independent), for any bound that grows as hits grow on side 1 and shrink on side 0. For
          `ClopperPearson` with 200 to 1,000 trials a side the epsilon is 6 to 25 % above the exact one, most where the
          claim is close to the ceiling.

    Example:
        >>> from audit.bounds.clopper_pearson import ClopperPearson
        >>> question = {"claim": 1.0, "delta": 0.0, "confidence": 0.95}
        >>> [round(detectable_epsilon(ClopperPearson(), **question, n_out=n, n_in=n), 2) for n in (10, 1000, 100_000)]
        [inf, 1.27, 1.03]
    """
    check_level(delta=delta, confidence=confidence)
    non_negative(claim=claim)
    open_unit(probability=probability)
    whole(1, n_out=n_out, n_in=n_in)
    bound = bound.for_plans(n_out, n_in)
    if bound.ceiling(n_out, n_in, delta=delta, confidence=confidence) <= claim:
        return math.inf
    question = _Question(bound, claim, delta, confidence, probability)
    low, high = claim, max(2.0 * claim, 1.0)
    while not question.shown(high, n_out, n_in):
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if question.shown(middle, n_out, n_in) else (middle, high)
    return high


def trials_needed(
    bound: Bound, *, claim: float, true_epsilon: float, delta: float, confidence: float, probability: float = 0.9
) -> int:
    """Trials on each side with which a perfect attack shows `true_epsilon` to exceed `claim`.

    Args:
        bound: the bound that is used.
        claim: the epsilon that has to be exceeded, >= 0.
        true_epsilon: above the claim.
        delta, confidence, probability: as in `detectable_epsilon`.

    Returns:
        Evaluation trials on each side, at most 1 % more than the fewest that suffice.

    Raises:
        ParameterError: true_epsilon is not above the claim, or so close that 1e12 trials do not suffice.

    Example:
        >>> from audit.bounds.clopper_pearson import ClopperPearson
        >>> n = trials_needed(ClopperPearson(), claim=1.0, true_epsilon=1.1, delta=0.0, confidence=0.95)
        >>> 5_000 < n < 15_000
        True
    """
    check_level(delta=delta, confidence=confidence)
    non_negative(claim=claim, true_epsilon=true_epsilon)
    open_unit(probability=probability)
    if true_epsilon <= claim:
        raise ParameterError(f"true_epsilon must exceed the claim ({claim:g}), but is {true_epsilon:g}.")
    question = _Question(bound, claim, delta, confidence, probability)
    low, high = 0, 16
    while not question.shown(true_epsilon, high, high):
        low, high = high, 2 * high
        if high > _MOST_TRIALS:
            raise ParameterError(
                f"true_epsilon = {true_epsilon:g} is too close to the claim {claim:g}: "
                f"even {_MOST_TRIALS:.0e} trials a side would not tell them apart."
            )
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if question.shown(true_epsilon, middle, middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Question:
    """Would a perfect attack on a true epsilon be seen to exceed the claim?"""

    bound: Bound
    claim: float
    delta: float
    confidence: float
    probability: float

    def shown(self, epsilon: float, n_out: int, n_in: int) -> bool:
        """Whether the bound exceeds the claim at counts that are reached with the given probability."""
        error = (1.0 - self.delta) * float(special.expit(-epsilon))  # FPR, and by symmetry FNR
        each = math.sqrt(self.probability)
        hits_out, hits_in = quantile(each, n_out, error), n_in - quantile(each, n_in, error)
        bound = self.bound.for_plans(n_out, n_in)
        grid = np.array([-np.inf, *sorted(set(bound.thresholds) or {1.0})])
        out, in_ = (np.append(n, np.full(len(grid) - 1, k)) for n, k in ((n_out, hits_out), (n_in, hits_in)))
        counts = PairCounts(Tally(grid, out, in_, n_out, n_in))
        level = {"delta": self.delta, "confidence": self.confidence}
        ready = bound.prepare(counts, **level, n_out=n_out, n_in=n_in)
        return ready.exceeds(self.claim, counts, **level)
