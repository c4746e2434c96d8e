"""The bound from right guesses for a whole trade-off curve f (Mahloujifar, Melis and Chaudhuri 2024).

Null at theta: the outputs are f-DP in each bit, f the curve of member theta of an ordered family. Fixed before
looking: the number r of guesses or a grid of numbers that share the significance, and the family.

Let V of the r guesses be right, out of m bits, and g(x) = 1 - f(x), concave and increasing. Bits are fair coins; with
an alphabet of k > 2 symbols they are uniform on it. For each c >= 1

    E[V; V >= c] / m <= g(E[r - V; V >= c - 1] / (m (k - 1))).                                               (1)

*Proof.* For bit i let V_i be the right guesses, the i-th not counted: a function of the output and of the other bits.
The event {guess i = b, V_i >= c - 1} has, by f-DP, at most g(q) as its probability when bit i is b, where q is its
probability when bit i is another symbol. Average over the symbols, the other bits and all i, with g outside the mean
(Jensen). A right guess has V_i = V - 1, a wrong one V_i = V. (For k > 2 each wrong pair is one of k - 1.)

Suppose Pr[V >= v] = t. Moving that mass down to v makes every inequality (1) with c <= v easier, so let it sit there:
R = t v / m and H = t (r - v) / m. Going down, c = v, .., 1, (1) asks that H grow to H' >= (k - 1) g^-1(R): mass
m (H' - H) / (r - c + 1) at V = c - 1, and R grows with it. As little mass as possible at each step is best, since the
same H costs less mass further down and adds less to R. If all this mass is more than 1, that is R + H > r / m, then
Pr[V >= v] < t: seeing v right refutes f at significance t.

The epsilon at delta of the least theta that is not refuted is a statement about the family, not about every mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import special

from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.guarantees.gaussian import GaussianDP
from ...mechanisms.validation import non_negative, open_unit, whole
from ..evidence.scores import BitScores, Scores
from .base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from .families import CurveFamily, epsilon_of, family_for, family_of, least_member
from .guessing import Guessing, Size, bit_scores, check_counts
from .one_run import least_epsilon, ledger

GAUSSIAN = family_of(GaussianDP(1.0))


@dataclass(frozen=True)
class OneRunFDP(Bound):
    """Lower bound on the parameter of a trade-off family from right guesses of fair bits, read as epsilon at delta.

    Args:
        family: of the curves; None takes that of the claim, which `against` tells, and GaussianDP without a claim.
        guesses, negatives, center: as in `OneRun`.

    Guarantees:
        * exact level at every number of bits, for every dependence between the scores, if the trade-off curve of one
          bit is a member of the family; `claim_p_value` tests a curve without that assumption;
        * exceeds the epsilon of a claim of that family only where the claim itself is false, but for 1 - confidence;
        * the bound without the family, that of `OneRun`, stands beside it in the ledger.

    Raises:
        ParameterError: a value out of range; scores that are not `BitScores`; more guesses than bits; no finite
            epsilon at delta.

    Example:
        >>> bits = np.arange(1000)[None, :] % 2 == 0
        >>> scores = np.where(np.arange(1000) < 700, bits, ~bits).astype(float)  # 700 of 1000 right
        >>> bound = OneRunFDP(guesses=1000, center=0.5)
        >>> found = bound.lower_bound(BitScores(bits, scores), delta=1e-5, confidence=0.95)
        >>> round(found.epsilon, 4), found.assumptions
        (1.372, ('the trade-off curve of one bit is that of GaussianDP for some mu',))

    References:
        Mahloujifar, Melis and Chaudhuri (2024), arXiv:2410.22235. The proof in this module is our own.
    """

    name: ClassVar[str] = "one-run-fdp"
    accepts: ClassVar[tuple[type, ...]] = (BitScores,)

    family: CurveFamily | None = None
    guesses: Size | tuple[Size, ...] | str = "grid"
    negatives: float = 0.5
    center: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.guesses, list):  # as a configuration file gives it
            object.__setattr__(self, "guesses", tuple(self.guesses))
        _ = self._guessing

    def against(self, claim: Guarantee) -> OneRunFDP:
        """With the family of `claim`; raises `ParameterError` if another was given."""
        return replace(self, family=family_for(claim, self.family))

    def lower_bound(self, scores: Scores | BitScores, *, delta: float, confidence: float) -> LowerBound:
        self._check(delta=delta, confidence=confidence)
        scores = bit_scores(scores, self.name)
        sizes = self._guessing.sizes(scores.n_bits)
        rights = self._guessing.right(scores, sizes)
        level = (1.0 - confidence) / len(sizes)
        counts = [(scores.n_bits, size, right) for size, right in zip(sizes, rights, strict=True)]
        thetas = [least_theta(self._family, *count, significance=level) for count in counts]
        best = int(np.argmax(thetas))
        without = max(least_epsilon(*count, delta=delta, significance=level) for count in counts)
        return LowerBound(
            epsilon=epsilon_of(self._family, thetas[best], delta),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=scores.n_bits,
            ceiling=self.ceiling(0, scores.n_bits, delta=delta, confidence=confidence),
            ledger=(
                *ledger(self._guessing, scores, sizes, best, rights[best]),
                LedgerEntry(
                    "family", self._family.title, f"fixed beforehand; {self._family.parameter} >= {thetas[best]:.6g}"
                ),
                LedgerEntry("without it", f"epsilon >= {without:.6g} at delta = {delta:g}", "one-run, same guesses"),
            ),
            assumptions=(f"the trade-off curve of one bit is that of {self._family.title}",),
        )

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        """The bound if every guess were right, with `n_out` + `n_in` bits."""
        self._check(delta=delta, confidence=confidence)
        n_bits = n_out + n_in
        sizes = self._guessing.sizes(n_bits)
        level = (1.0 - confidence) / len(sizes)
        best = max(least_theta(self._family, n_bits, size, size, significance=level) for size in sizes)
        return epsilon_of(self._family, best, delta)

    def p_value(self, scores: Scores | BitScores, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the last member with at most this epsilon is refuted, down to 1e-12."""
        non_negative(epsilon=epsilon)
        self._check(delta=delta, confidence=0.5)
        return self.claim_p_value(scores, self._last_member(epsilon, delta))

    def claim_p_value(self, scores: Scores | BitScores, claim: Guarantee) -> float:
        """Smallest significance at which so many right guesses refute the claimed curve itself: no family is assumed.

        >>> bits = np.arange(200)[None, :] % 2 == 0
        >>> round(OneRunFDP(guesses=100).claim_p_value(BitScores(bits, 1.0 * bits), GaussianDP(1.0)), 6)
        0.001774
        """
        scores = bit_scores(scores, self.name)
        sizes = self._guessing.sizes(scores.n_bits)
        each = [
            curve_p_value(claim, scores.n_bits, size, right)
            for size, right in zip(sizes, self._guessing.right(scores, sizes), strict=True)
        ]
        return min(1.0, len(sizes) * min(each))

    @property
    def _guessing(self) -> Guessing:
        return Guessing(self.guesses, self.negatives, self.center)

    @property
    def _family(self) -> CurveFamily:
        return GAUSSIAN if self.family is None else self.family

    def _check(self, *, delta: float, confidence: float) -> None:
        check_level(delta=delta, confidence=confidence)
        epsilon_of(self._family, self._family.claimed, delta)

    def _last_member(self, epsilon: float, delta: float) -> Guarantee:
        family = self._family
        claimed = family.member(family.claimed)
        if float(claimed.epsilon(delta)) == epsilon:
            return claimed
        exact = replace(family, search=family.member)
        theta = least_member(exact, lambda member: float(member.epsilon(delta)) > epsilon, start=family.claimed)
        return family.member(max(theta, _SMALLEST_THETA))


_SMALLEST_THETA = 1e-6


@lru_cache(maxsize=4096)
def least_theta(
    family: CurveFamily, n_bits: int, n_guesses: int, n_right: int, *, significance: float, alphabet: int = 2
) -> float:
    """Least parameter that so many right guesses do not refute, rounded down; 0 where nothing is refuted.

    Args:
        family: of trade-off curves.
        n_bits: all secrets, guessed or not; each uniform on `alphabet` symbols.
        n_guesses: fixed beforehand.
        n_right: right guesses.
        significance: in (0, 1).
        alphabet: number of symbols, >= 2; bits have 2.

    Example:
        >>> round(least_theta(GAUSSIAN, 1000, 100, 90, significance=0.05), 4)
        0.6025
    """
    check_counts(n_bits, n_guesses, n_right)
    open_unit(significance=significance)
    whole(2, alphabet=alphabet)

    def spared(member: Guarantee) -> bool:
        return not refuted(_needed(member), n_bits, n_guesses, n_right, significance, alphabet=alphabet)

    return least_member(family, spared, start=family.claimed)


def curve_p_value(claim: Guarantee, n_bits: int, n_guesses: int, n_right: int, *, alphabet: int = 2) -> float:
    """Smallest significance, down to 1e-12, at which so many right guesses refute the curve of `claim`, rounded up."""
    check_counts(n_bits, n_guesses, n_right)
    needed, counts = _needed(claim), (n_bits, n_guesses, n_right)

    def seen(log_level: float) -> bool:
        return refuted(needed, *counts, math.exp(log_level), alphabet=alphabet)

    low, high = math.log(SMALLEST_P_VALUE), -1e-12
    if not seen(high):
        return 1.0
    if seen(low):
        return SMALLEST_P_VALUE
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return math.exp(high)


def refuted(
    needed: Callable[[float], float],
    n_bits: int,
    n_guesses: int,
    n_right: int,
    significance: float,
    *,
    alphabet: int = 2,
) -> bool:
    """Whether so many right guesses are less likely than `significance` under a curve; `needed` is g^-1."""
    right = significance * n_right / n_bits
    wrong = significance * (n_guesses - n_right) / n_bits
    total = n_guesses / n_bits
    for level in range(n_right - 1, -1, -1):
        grown = (alphabet - 1) * needed(right)
        if grown <= wrong:
            break  # nothing more is asked further down: `right` and `wrong` stay
        right = min(1.0, right + level / (n_guesses - level) * (grown - wrong))
        wrong = grown
        if right + wrong > total:
            return True
    return bool(right + wrong > total)


def _needed(claim: Guarantee) -> Callable[[float], float]:
    """x -> g^-1(x), the least probability of an event on one side whose probability on the other is x.

    Guarantees bind both directions, so that f is its own inverse and g^-1(x) = f(1 - x); rounded down.
    """
    if isinstance(claim, GaussianDP):
        mu, ndtr, ndtri = claim.mu, special.ndtr, special.ndtri
        return lambda x: float(ndtr(ndtri(x) - mu))
    return lambda x: float(claim.tradeoff(min(1.0, float(np.nextafter(1.0 - x, 2.0)))))
