"""The bound from right guesses for a whole trade-off curve f (Mahloujifar, Melis and Chaudhuri 2024).

Null at theta: the outputs are f-DP in each bit, f the curve of member theta of an ordered family. Fixed before
looking: the number r of guesses or sets of guesses that share the significance (`guessing`), and the family.

Let V of the r guesses be right, out of m bits, and g(x) = 1 - f(x), concave and increasing. Bits are fair coins; with
an alphabet of k > 2 symbols they are uniform on it. For each c >= 1

    E[V; V >= c] / m <= g(E[r - V; V >= c - 1] / (m (k - 1))).                                               (1)

*Proof.* For bit i let V_i be the right guesses, the i-th not counted: a function of the output and of the other bits.
The event {guess i = b, V_i >= c - 1} has, by f-DP, at most g(q) as its probability when bit i is b, where q is its
probability when bit i is another symbol. Average over the symbols, the other bits and all i, with g outside the mean
(Jensen). A right guess has V_i = V - 1, a wrong one V_i = V. (For k > 2 each wrong pair is one of k - 1.)

Suppose Pr[V >= v] = t. Moving that mass down to v relaxes every inequality (1) with c <= v, so assume all of it at v:
R = t v / m and H = t (r - v) / m. Going down, c = v, .., 1, (1) requires that H grow to H' >= (k - 1) g^-1(R): mass
m (H' - H) / (r - c + 1) at V = c - 1, and R grows with it. The smallest possible mass at each step is optimal, since
the same H needs less mass further down and adds less to R. If all this mass is more than 1, that is R + H > r / m, then
Pr[V >= v] < t: v right guesses refute f at significance t.

The epsilon at delta of the least theta that is not refuted is a statement about the family, not about every mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar

from scipy import special

from ....mechanisms.accounting.kinds.approximate import PureDP
from ....mechanisms.accounting.kinds.gaussian import GaussianDP
from ....mechanisms.accounting.kinds.profile import LossGuarantee
from ....mechanisms.core import Guarantee, number, open_unit, whole
from ...evidence.scores import BitScores
from ...evidence.statement import Statement
from ..base import LedgerEntry, LowerBound
from ..families import CurveFamily, checked_family, epsilon_of, family_for, least_member
from ..numerics.binomial import least_significance
from .guessing import FixedGuessBound, GuessBound, check_counts
from .one_run import least_epsilon


@dataclass(frozen=True)
class OneRunFDP(GuessBound):
    """Lower bound on the parameter of a trade-off family from right guesses of fair bits, read as epsilon at delta.

    Args:
        curve_family: family of trade-off curves; None takes the family of the claim.
        guesses, negatives, center: as in `OneRun`.

    Guarantees:
        * exact level at every number of bits, for every dependence between the scores, if the trade-off curve of one
          bit is a member of the family; the p-value tests the claimed curve itself, without that assumption;
        * exceeds the epsilon of a true claim of that family with probability at most 1 - confidence;
        * the ledger also reports the bound without the family, that of `OneRun`.

    Raises:
        ParameterError: a value out of range; scores that are not `BitScores`; more guesses than bits; no finite
            epsilon at delta.

    Example:
        >>> import numpy as np
        >>> bits = np.arange(1000)[None, :] % 2 == 0
        >>> scores = np.where(np.arange(1000) < 700, bits, ~bits).astype(float)  # 700 of 1000 right
        >>> stated = Statement(GaussianDP(1.0), delta=1e-5)
        >>> bound = OneRunFDP(guesses=1000, center=0.5).fix(stated, None, (1000,)).lower_bound(BitScores(bits, scores))
        >>> round(bound.epsilon, 4), bound.assumptions
        (1.372, ('the trade-off curve of one bit is that of GaussianDP for some mu',))

    References:
        Mahloujifar, Melis and Chaudhuri (2024), arXiv:2410.22235. The proof in this module is new.
    """

    name: ClassVar[str] = "one-run-fdp"

    curve_family: CurveFamily | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_family(self.curve_family)

    def fix(self, statement: Statement, pilot: BitScores | None, sizes: tuple[int, ...]) -> FixedOneRunFDP:
        """Return the bound with the family of the claim and the sets of guesses for this many bits."""
        family = family_for(statement.claim, self.curve_family)
        epsilon_of(family, family.claimed, statement.delta)
        guessing = self.guessing()
        return FixedOneRunFDP(statement, guessing, guessing.division(*sizes), family)


@dataclass(frozen=True)
class FixedOneRunFDP(FixedGuessBound):
    """The one-run f-DP bound for one statement, with a family.

    The claim is a member of the family, so the bound exceeds the claimed epsilon exactly if the whole claimed curve is
    refuted. A separate `curve_test` could not detect more, so there is none.
    """

    family: CurveFamily
    method: ClassVar[str] = OneRunFDP.name

    def lower_bound(self, evidence: BitScores) -> LowerBound:
        stated, levels, counts = self.statement, self.levels, self.counts(evidence)
        theta, best = _largest_theta(self.family, counts, levels)
        without = max(
            least_epsilon(*count, delta=stated.delta, significance=level)
            for count, level in zip(counts, levels, strict=True)
        )
        all_right = [(evidence.n_bits, each.size, each.size) for each in self.division]
        perfect, _ = _largest_theta(self.family, all_right, levels)
        return LowerBound(
            epsilon=epsilon_of(self.family, theta, stated.delta),
            delta=stated.delta,
            confidence=stated.confidence,
            method=self.method,
            n_trials=evidence.n_bits,
            ceiling=epsilon_of(self.family, perfect, stated.delta),
            ledger=(
                *self.ledger(evidence, counts, best),
                LedgerEntry(
                    "family", self.family.title, f"fixed beforehand; {self.family.parameter} >= {number(theta)}"
                ),
                LedgerEntry(
                    "without family",
                    f"epsilon >= {number(without)} at delta = {number(stated.delta)}",
                    "one-run, same guesses",
                ),
            ),
            assumptions=(f"the trade-off curve of one bit is that of {self.family.title}",),
            guesses=self.by_rank(best),
        )

    def exceeds_claim(self, evidence: BitScores) -> bool:
        """Return True if the claimed curve, a member of the family, is refuted."""
        return self.reaches_critical_count(evidence)

    def refuted_by(self, n_bits: int, n_guesses: int, n_correct: int, level: float) -> bool:
        """Return True if this many right guesses refute the claimed curve.

        More right guesses refute whatever fewer refute: a law with Pr[V >= v + 1] = a has Pr[V >= v] >= a.
        """
        return refuted(self._needed, n_bits, n_guesses, n_correct, level)

    @cached_property
    def _needed(self) -> Callable[[float], float]:
        return _needed(self.statement.claim)

    def p_value(self, evidence: BitScores) -> float:
        """Return the smallest significance, >= 1e-12, at which the claimed curve is refuted; no family is assumed.

        >>> import numpy as np
        >>> bits = np.arange(200)[None, :] % 2 == 0
        >>> fixed = OneRunFDP(guesses=100).fix(Statement(GaussianDP(1.0), delta=1e-5), None, (200,))
        >>> round(fixed.p_value(BitScores(bits, 1.0 * bits)), 6)
        0.001774
        """
        p_values = [_curve_p_value(self.statement.claim, *count) for count in self.counts(evidence)]
        return self.corrected(p_values)


@lru_cache(maxsize=4096)
def _least_theta(
    family: CurveFamily, n_bits: int, n_guesses: int, n_correct: int, *, significance: float, alphabet: int = 2
) -> float:
    """Return the smallest parameter that this many right guesses do not refute, rounded down; 0 if none is refuted.

    Args:
        family: family of trade-off curves.
        n_bits: number of secrets, guessed or not; each uniform on `alphabet` symbols.
        n_guesses: number of guesses, fixed beforehand.
        n_correct: number of right guesses.
        significance: in (0, 1).
        alphabet: number of symbols, >= 2; bits have 2.

    Example:
        >>> from dpassay.audit.bounds.families import family_of
        >>> round(_least_theta(family_of(GaussianDP(1.0)), 1000, 100, 90, significance=0.05), 4)
        0.6025
    """
    check_counts(n_bits, n_guesses, n_correct)
    open_unit(significance=significance)
    whole(2, alphabet=alphabet)

    def not_refuted(member: Guarantee) -> bool:
        return not refuted(_needed(member), n_bits, n_guesses, n_correct, significance, alphabet=alphabet)

    return least_member(family, not_refuted, start=family.claimed)


def _largest_theta(
    family: CurveFamily, counts: Sequence[tuple[int, int, int]], levels: Sequence[float]
) -> tuple[float, int]:
    """Return the largest `_least_theta` of several counts, each at its significance, and the index of its counts.

    Counts that do not refute the largest parameter found so far are not searched.
    """
    theta, best = 0.0, 0
    for index, (count, level) in enumerate(zip(counts, levels, strict=True)):
        if theta > 0.0 and not refuted(_needed(family.search(theta)), *count, level):
            continue
        least_theta = _least_theta(family, *count, significance=level)
        theta, best = (least_theta, index) if least_theta > theta else (theta, best)
    return theta, best


def _curve_p_value(claim: Guarantee, n_bits: int, n_guesses: int, n_correct: int, *, alphabet: int = 2) -> float:
    """Return the smallest significance, >= 1e-12, at which this many right guesses refute the curve; rounded up."""
    check_counts(n_bits, n_guesses, n_correct)
    needed = _needed(claim)
    return least_significance(lambda level: refuted(needed, n_bits, n_guesses, n_correct, level, alphabet=alphabet))


def refuted(
    needed: Callable[[float], float],
    n_bits: int,
    n_guesses: int,
    n_correct: int,
    significance: float,
    *,
    alphabet: int = 2,
) -> bool:
    """Return True if this many right guesses are less likely than `significance` under a curve; `needed` is g^-1."""
    right = significance * n_correct / n_bits
    wrong = significance * (n_guesses - n_correct) / n_bits
    total = n_guesses / n_bits
    for level in range(n_correct - 1, -1, -1):
        grown = (alphabet - 1) * needed(right)
        if grown <= wrong:
            break  # all further inequalities hold: `right` and `wrong` stay
        right = min(1.0, right + level / (n_guesses - level) * (grown - wrong))
        wrong = grown
        if right + wrong > total:
            return True
    return bool(right + wrong > total)


def _needed(claim: Guarantee) -> Callable[[float], float]:
    """Return g^-1: x -> the smallest probability of an event on one side that has probability x on the other.

    Guarantees hold in both directions, so f is its own inverse and g^-1(x) = f(1 - x); rounded down.
    """
    if isinstance(claim, GaussianDP):
        mu, ndtr, ndtri = claim.mu, special.ndtr, special.ndtri
        return lambda x: float(ndtr(ndtri(x) - mu))
    if isinstance(claim, PureDP):
        return partial(_pure_tradeoff, claim.nominal_epsilon)
    if isinstance(claim, LossGuarantee):
        claimed = claim.lines.tradeoff_of_one
        return lambda x: claimed(_fpr(x))
    return lambda x: float(claim.tradeoff(_fpr(x)))


def _fpr(x: float) -> float:
    return min(1.0, math.nextafter(1.0 - x, 2.0))


def _pure_tradeoff(epsilon: float, x: float) -> float:
    """Return `PureDP.tradeoff` at one number, faster than the array form: a search calls it thousands of times."""
    fpr = _fpr(x)
    steep = -math.expm1(min(1.0, epsilon + math.log(fpr)))  # negative from exponent 0 on: clipped below
    flat = math.exp(-epsilon) * (1.0 - fpr)
    return min(max(0.0, steep, flat), 1.0 - fpr)
