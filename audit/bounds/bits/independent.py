"""The bound from right guesses under the assumption that canaries are independent.

Assumption: (bit, score) of all canaries are independent draws from one law: given the bits, scores are independent, and
every included canary scores by P, every other one by Q. In particular, no randomness that all canaries share decides
how much the run leaks. Null at theta: the trade-off curve of (P, Q) lies nowhere below
f, the curve of member theta of an ordered family. Fixed before looking: the family (by the claim) and the numbers of
guesses. The highest r1 of n scores guess "in", the lowest r2 "out"; V guesses are right.

**Law of V at the curve f.** Let u be the quantile of a score under Q, from the side of P, so that Q is uniform and P
has the distribution function 1 - f. Half of all canaries are in, so a score lies in the highest x of Q with probability
A(x) = (x + 1 - f(x)) / 2, and such a canary is in with probability g(A) = 1 - x / (2 A), which falls with A. Given
the (r1 + 1)-th highest score, the r1 scores above it are independent, so that their bits are Bin(r1, g(A)) for the
probability A above it. The other end is the same with the sides exchanged, because f is symmetric. So

    V = Bin(r1, g(A)) + Bin(r2, g(B)),    (A, 1 - A - B, B) ~ Dirichlet(r1 + 1, n - r1 - r2 - 1, r2 + 1).         (1)

(For r guesses at one end: Xiang et al. 2025.) Pr[V >= v] is summed over cells of A and B, with the largest g of a cell
and binomial tails: an upper bound.

**Every pair above f.** Let (P', Q') have a curve h >= f. On the scale on which Q' is uniform, 1 - h <= 1 - f is the
distribution function of P', so each included canary can be coupled with one of f that has a smaller u. Moving included
canaries towards "in" never lowers V: more of them are among the highest r1, fewer among the lowest r2. So V' <= V in
distribution, and Pr[V >= v] from (1) is a p-value for every curve nowhere below f. Ties are broken at random, whatever
the order of the canaries (`guessing.ascending`): the curve of an atom is a line. Larger members have lower curves, so
the p-value grows with theta, and the smallest theta that is not refuted is a lower bound.

**Refusals.** The assumption is tested on the same scores (`assumption_tests`); where a test rejects it, the bound is 0.
Under the assumption the bound errs only where V does, whether or not it is refused, so its coverage needs no
correction for the tests. Their level is the probability of refusing a bound that would hold. Where the assumption
fails in a way that no test detects, there is no guarantee.

**No violation by itself.** A coin of probability 0.3 that all canaries share decides whether a run leaks. The claim may
be exactly true: its delta at each epsilon is 0.3 times that of a run that leaks. Given the coin, the canaries are
independent and on one curve, so that no test of one run can refuse; and the curve given heads is below that of the
claim, so that this bound refutes a true claim with nearly the probability of heads. It therefore has a `condition` and
refutes nothing. The verdict comes from a bound that is fixed beforehand and holds for every dependence of the scores:
`OneRunFDP` with guesses in and out, if no other one is chosen. The null of the verdict is the claimed curve for each
bit, its level the share of the significance of that bound (Bonferroni), whatever the canaries share.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ....mechanisms.core import Floats, Guarantee, Ints, ParameterError, bisect_all, number, plural
from ...evidence.scores import BitScores
from ...evidence.statement import Statement
from ..base import Bound, Evidence, FixedBound, LedgerEntry, LowerBound
from ..families import CurveFamily, checked_family, epsilon_of, family_for, least_member
from ..numerics.binomial import SMALLEST_P_VALUE
from .assumption_tests import Refusal, first_refusal
from .guessing import Guesses, Guessing, Size, bits_only, check_size

GUESSED_SHARE = 0.7
"""Default share of guessed bits; for Gaussian noise from epsilon 2 to 10 the best one is 0.6 to 0.8."""
MIN_BITS = 20
_CELL, _MAX_DEVIATIONS = 0.1, 7.5  # cells of A and B in standard deviations: width, and end
_PRECISION = 1e-4  # relative precision of the parameter
_ROUGH = 1e-3  # relative precision of the ceiling
_WINDOW = 9.0  # standard deviations of the counts that are summed one by one

Curve = Callable[[Floats], Floats]


@dataclass(frozen=True)
class OneRunIndependent(Bound[BitScores]):
    """Lower bound from right guesses that assumes independent canaries; never a default, and no violation by itself.

    The assumption is tested, but no test of one run shows whether randomness that all canaries share decides how much
    the run leaks. An audit therefore adds `OneRunFDP` at half of the significance, which decides the verdict.

    Args:
        guesses: number of guesses, half of them "in" for the highest scores and half "out" for the lowest: a number,
            or a share (a float in (0, 1)); at most the number of bits less 2.
        curve_family: family of trade-off curves; None takes the family of the claim.
        groups: label of each canary, `(n_canaries,)`, such as its class or its batch, fixed beforehand; canaries of one
            group are tested for influence on each other. None tests neighbours in the order of the canaries only.

    Guarantees:
        * if canaries are independent and their trade-off curve is a member of the family: exceeds the true epsilon with
          probability at most 1 - confidence, at every number of bits, refused or not;
        * exceeds the epsilon of a true claim of that family with probability at most 1 - confidence for every curve, if
          canaries are independent;
        * 0, with the reason in the ledger, where the scores contradict the assumption: influence between neighbours or
          within groups, or a curve that is no member of the family (`assumption_tests`).

    Raises:
        ParameterError: a value out of range; fewer than 20 bits; scores that are not `BitScores`; labels that do not
            fit the canaries; no finite epsilon at delta.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> rng = np.random.default_rng(0)
        >>> bits = rng.random(1000) < 0.5
        >>> scores = BitScores(bits, rng.normal(size=1000) + 1.666 * bits)  # epsilon 8 at delta 1e-5
        >>> fixed = OneRunIndependent().fix(Statement(GaussianDP(1.666), delta=1e-5), None, (1000,))
        >>> round(fixed.lower_bound(scores).epsilon, 1)
        6.7
        >>> laplace = BitScores(bits, rng.laplace(size=1000) + 1.0 * bits)  # epsilon 1: not Gaussian
        >>> fixed.lower_bound(laplace).epsilon
        0.0

    References:
        Xiang et al. (2025), arXiv:2509.08704 (the law of right guesses at one end). The law at both ends, its
        monotonicity and the tests are derived in this module and in `assumption_tests`.
    """

    name: ClassVar[str] = "one-run-independent"
    reads: ClassVar[type[Evidence]] = BitScores
    condition: ClassVar[str] = "no randomness that all canaries share decides how much the run leaks"

    guesses: Size = GUESSED_SHARE
    curve_family: CurveFamily | None = None
    groups: tuple[int | str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_family(self.curve_family)
        check_size(self.guesses)
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(np.asarray(self.groups).tolist()))

    def fix(self, statement: Statement, pilot: BitScores | None, sizes: tuple[int, ...]) -> FixedOneRunIndependent:
        """Return the bound with the family of the claim and the number of guesses for this many bits."""
        (n_bits,) = sizes
        if n_bits < MIN_BITS:
            raise ParameterError(
                f"{self.name} needs at least {MIN_BITS} bits, but there are {n_bits}. Take bound='one-run'.",
                argument="bound",
            )
        family = family_for(statement.claim, self.curve_family)
        epsilon_of(family, family.claimed, statement.delta)
        (named,) = Guessing(self.guesses).division(n_bits)
        size = max(2, min(named.size, n_bits - 2))
        family = replace(family, precision=max(family.precision, _PRECISION))
        return FixedOneRunIndependent(statement, size, family, self.groups)


@dataclass(frozen=True)
class FixedOneRunIndependent(FixedBound[BitScores]):
    """The bound for one statement; `tested` is False in calculations where the assumption is given."""

    n_guesses: int
    family: CurveFamily
    groups: tuple[int | str, ...] | None
    tested: bool = True

    def lower_bound(self, evidence: BitScores) -> LowerBound:
        stated, family = self.statement, self.family
        n_bits, n_guesses, n_correct = self._count(evidence)
        counts, level = (n_bits, n_guesses), stated.significance
        theta = _least_independent_theta(family, *counts, n_correct, significance=level)
        refusal = self._refusal(evidence) if theta > 0.0 else None
        rough = replace(family, precision=max(family.precision, _ROUGH))
        perfect = max(theta, _least_independent_theta(rough, *counts, n_guesses, significance=level))
        return LowerBound(
            epsilon=epsilon_of(family, theta, stated.delta) if refusal is None else 0.0,
            delta=stated.delta,
            confidence=stated.confidence,
            method=OneRunIndependent.name,
            n_trials=n_bits,
            ceiling=epsilon_of(family, perfect, stated.delta),
            ledger=(
                LedgerEntry("bits", f"{n_bits:,} in {plural(evidence.n_runs, 'run')}", "independent fair coins"),
                LedgerEntry("guesses", f"{n_guesses}, half in and half out; {n_correct} right", "fixed beforehand"),
                LedgerEntry("family", family.title, f"fixed by the claim; {family.parameter} >= {number(theta)}"),
                _refusal_entry(theta, refusal),
            ),
            assumptions=(
                "the scores of canaries are independent given the bits"
                + ("" if refusal is None else f": REFUSED, {refusal}"),
                f"{OneRunIndependent.condition}: no test of one run can check this",
                f"the trade-off curve of every canary is that of {family.title}",
            ),
            condition=OneRunIndependent.condition,
        )

    def p_value(self, evidence: BitScores) -> float:
        """Return the p-value of the claimed curve, which no family needs; 1 where the assumption is refused."""
        p = max(SMALLEST_P_VALUE, _right_guesses_tail(self.statement.claim.tradeoff, *self._count(evidence)))
        return 1.0 if p >= 0.5 or self._refusal(evidence) is not None else p

    def exceeds_claim(self, evidence: BitScores) -> bool:
        """Return True if the claimed curve is refuted and the assumption is not."""
        p = _right_guesses_tail(self.statement.claim.tradeoff, *self._count(evidence))
        return p <= self.statement.significance and self._refusal(evidence) is None

    def _count(self, evidence: BitScores) -> tuple[int, int, int]:
        scores = bits_only(evidence, OneRunIndependent.name)
        return scores.n_bits, self.n_guesses, Guessing().right(scores, (Guesses(self.n_guesses),))[0]

    def _refusal(self, evidence: BitScores) -> Refusal | None:
        return first_refusal(evidence, self.family, self.groups) if self.tested else None


def _refusal_entry(theta: float, refusal: Refusal | None) -> LedgerEntry:
    tested = "accepted" if refusal is None else f"REFUSED: {refusal}"
    outcome = "not tested for a bound of 0" if theta == 0.0 else tested
    return LedgerEntry("assumption", outcome, "a refused bound is 0, so that refusals never raise it")


@lru_cache(maxsize=4096)
def _least_independent_theta(
    family: CurveFamily, n_bits: int, n_guesses: int, n_correct: int, *, significance: float
) -> float:
    """Return the smallest parameter that this many right guesses do not refute, rounded down; 0 if none is refuted.

    Example:
        >>> from dpassay.audit.bounds.families import family_of
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> round(_least_independent_theta(family_of(GaussianDP(1.0)), 1000, 700, 600, significance=0.05), 3)
        1.399
    """
    if 2 * n_correct <= n_guesses:
        return 0.0

    def not_refuted(member: Guarantee) -> bool:
        return _right_guesses_tail(member.tradeoff, n_bits, n_guesses, n_correct) > significance

    return least_member(family, not_refuted, start=family.claimed)


def _right_guesses_tail(curve: Curve, n_bits: int, n_guesses: int, n_correct: int) -> float:
    """Return an upper bound on Pr[V >= n_correct] under (1), for half of the guesses at each end.

    Args:
        curve: symmetric trade-off curve, from fpr `(m,)` to fnr `(m,)`.
        n_bits: number of bits, >= n_guesses + 2.
        n_guesses: number of guesses, >= 2.
        n_correct: number of right guesses.
    """
    low = n_guesses // 2
    high, middle = n_guesses - low, n_bits - n_guesses - 1
    edges_high, edges_low = _edges(high, n_bits), _edges(low, n_bits)
    right = _right_rate(curve, np.concatenate([edges_high[:-1], edges_low[:-1]]))
    rate_high, rate_low = right[: len(edges_high) - 1], right[len(edges_high) - 1 :]
    mass_high = np.diff(special.betainc(high + 1.0, n_bits - high, edges_high))
    # Given A in a cell, B = (1 - A) B' with an independent B' ~ Beta(low + 1, middle): smallest at the end of the cell
    shrunk = edges_low / np.maximum(1.0 - edges_high[1:, None], 1e-300)
    mass_low = np.diff(special.betainc(low + 1.0, float(middle), np.minimum(shrunk, 1.0)), axis=1)
    k = _window(high, rate_high)
    at_least = _binomial_tail(k, high, rate_high)
    pmf = at_least - np.concatenate([at_least[:, 1:], np.zeros((len(rate_high), 1))], axis=1)
    rest = 1.0 - at_least[:, :1]  # below the window: counted as its first value
    pmf[:, :1] += rest
    tail_low = _binomial_tail(n_correct - k, low, rate_low)
    beyond = _binomial_tail(np.array([k[-1] + 1]), high, rate_high)[:, 0]
    return float(min(1.0, mass_high @ ((pmf * (mass_low @ tail_low)).sum(axis=1) + beyond)))


def _edges(count: int, n: int) -> Floats:
    """Return edges of cells for the probability beyond the (count + 1)-th of n scores: quantiles of its Beta law."""
    deviates = np.arange(-_MAX_DEVIATIONS, _MAX_DEVIATIONS + 0.5 * _CELL, _CELL)
    tails, shape = special.ndtr(-np.abs(deviates)), (count + 1.0, float(n - count))
    inside = np.where(deviates < 0.0, special.betaincinv(*shape, tails), special.betainccinv(*shape, tails))
    return np.unique(np.concatenate([[0.0], inside, [1.0]]))


def _right_rate(curve: Curve, mass: Floats) -> Floats:
    """Return g(A) at each probability A, rounded up; 1 at 0."""
    twice = 2.0 * mass
    fpr, _ = bisect_all(lambda x: x + 1.0 - curve(x) >= twice, np.zeros(mass.shape), np.minimum(twice, 1.0), steps=50)
    return np.where(mass > 0.0, 1.0 - fpr / np.maximum(twice, 1e-300), 1.0)


def _window(n: int, rates: Floats) -> Ints:
    """Return the numbers of right guesses that are summed one by one; those beyond are added as certain."""
    likely = rates[1:]
    spread = _WINDOW * math.sqrt(n * float(np.max(likely * (1.0 - likely)))) + 20.0
    return np.arange(max(0, int(n * likely.min() - spread)), min(n, math.ceil(n * likely.max() + spread)) + 1)


def _binomial_tail(k: ArrayLike, n: int, rates: Floats) -> Floats:
    """Return Pr[Bin(n, rate) >= k], shape `(rates, k)`."""
    k = np.asarray(k)
    inside = np.clip(k, 1, n)
    tail = special.betainc(inside, n - inside + 1.0, rates[:, None])
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail))
