"""The bound from guesses of many coins in one run (Steinke, Nasr and Jagielski 2023).

Null at (epsilon, delta): the outputs are (epsilon, delta)-DP in each bit. Fixed before looking: the number r of
guesses, or sets of guesses that share the significance (`guessing`). The guesses are a function of the output, with
no other condition: canaries may be adversarial and may influence each other.

Let V of the r guesses be right, g = e^epsilon / (1 + e^epsilon), p_k and F(k) the probabilities of k, and of at least
k, under Bin(r, g), and m the number of all bits, guessed or not. Then for each v >= 1

    Pr[V >= v] <= F(v) + m delta F(v) (1 - F(v)) / (v p_v).                                                  (1)

*Proof.* Take u: {0, .., r-1} -> [0, U] and one bit i; let V_i be the number of right guesses, the i-th not counted.
V_i is a function of the output and of the other bits, which bit i does not enter. So by DP the mean of
1{guess i = b} u(V_i) when bit i is b is at most e^epsilon times its mean when bit i is not b, plus delta U. Average
over the coins:

    E[1{i right} u(V_i)] <= e^epsilon E[1{i wrong} u(V_i)] + delta U.

A right guess has V_i = V - 1, a wrong one V_i = V. Sum over the m bits:

    E[V u(V - 1) - e^epsilon (r - V) u(V)] <= m delta U.                                                     (2)

Let u solve Stein's equation of the binomial law, k u(k - 1) - e^epsilon (r - k) u(k) = 1{k >= v} - F(v) for all k; then
(2) reads Pr[V >= v] - F(v) <= m delta U. Multiplied by p_k, the equation telescopes, because
k p_k = e^epsilon (r - k + 1) p_(k-1), and its solution is

    u(k - 1) = (F(max(k, v)) - F(v) F(k)) / (k p_k) >= 0.

Up to k = v this is F(v) (1 - F(k)) / (k p_k) and grows, from k = v on it is F(k) (1 - F(v)) / (k p_k) and falls (the
binomial law is log-concave: (1 - F(k)) / p_(k-1) grows, F(k) / p_k falls). So U = u(v - 1), which is (1).

(1) cannot be improved: let w = m delta F(v) / (v p_v) <= 1. A mechanism that guesses r random bits, of which Bin(r, g)
are right, but with probability w Bin(r, g) given V >= v, is (epsilon, delta)-DP in each bit and attains (1). Hence (1)
grows with epsilon, and bisection finds the first epsilon that is not rejected. The published delta term (their
Theorem 5.2), 2 m delta max_i Pr[v - i <= Bin(r, g) < v] / i, is at least twice as large where F(v)
<= 1/2, which is where it matters (where it is smaller, this module takes the sharp one in its place).

At delta = 0, r may even be computed from the scores without the bits: given the output, each guess is right with
probability at most g, whatever the other bits are. Not so at delta > 0: the rare output that reveals the bits could
also choose the r that exploits it. The grid is valid at every delta.

Several runs are one run: the outputs of all runs together are (epsilon, delta)-DP in each of the n_runs x n_canaries
bits, because a bit enters its own run only. The test is of the claim of each single run. (A run may depend on the
outputs of earlier runs, but not on their bits.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar

import numpy as np
from scipy import special

from ....mechanisms.accounting.numerics.binomial import binomial_log_pmf
from ....mechanisms.core import Floats, bisect, one_of_names
from ...evidence.scores import BitScores
from ...evidence.statement import Statement
from ..base import LowerBound
from ..curve import CurveViolation
from ..numerics.binomial import SMALLEST_P_VALUE, lower, upper
from .guessing import FixedGuessBound, GuessBound, check_counts
from .profile import Points, claimed_points, profile_p_value, profile_violation

_MAX_EPSILON = 300.0  # epsilon, from which on all guesses are right but for e^-300 a guess: F is 1, and p at least 1
_STEPS = 64  # grid on which the published delta term, which need not grow with epsilon, is searched for a crossing
_TINY = 1e-250


@dataclass(frozen=True)
class OneRun(GuessBound):
    """Exact lower bound on epsilon from right guesses of independent fair bits, in one run or many.

        p(epsilon) = F(v) + m delta F(v) (1 - F(v)) / (v p_v),     F and p of Bin(r, e^epsilon / (1 + e^epsilon))

    with m bits, r guesses, v of them right; the bound is the smallest epsilon with p above the significance level.

    Args:
        guesses: number of guessed bits, fixed beforehand: a number, a share (a float in (0, 1]), several of these,
            which share the significance, or "grid": 1/2, 1/8, 1/32, ... of the bits, down to 50, and for guesses of
            one kind 25, 50, 100, ... up to a quarter of the bits.
        negatives: share of the guesses that are "out" (the lowest scores), in [0, 1]; the others are "in". None takes
            one half; with a grid on 100 or more bits 45 % of the significance go to this half, 50 % to guesses "in"
            only and 5 % to guesses "out" only.
        center: None guesses by rank. A number guesses the scores farthest from it, "in" above it and "out" below.
        delta_term: "sharp" as above, or "published": the term of Steinke, Nasr and Jagielski, at least twice as large.

    Guarantees:
        * exact at every number of bits, for every mechanism and every dependence between the scores;
        * "sharp" is the best possible: for given m, r, v no smaller p holds for all (epsilon, delta)-DP mechanisms;
        * the claim is tested at every delta simultaneously: the p-value and the curve test read its whole curve, with
          no further correction of the bound (`profile`);
        * the largest value at delta 0 is -ln(level^(-1/r) - 1) with r guesses;
        * well below the true epsilon even for a perfect attack: one run with m bits shows at most about ln(m / 3).

    Raises:
        ParameterError: a value out of range; scores that are not `BitScores`; more guesses than bits.

    Example:
        >>> bits = np.arange(100)[None, :] % 2 == 0
        >>> scores = np.where(np.arange(100) < 90, bits, ~bits).astype(float)  # 90 of 100 right
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> fixed = OneRun(guesses=100, center=0.5).fix(Statement(PureDP(1.0), delta=0.0), None, (100,))
        >>> round(fixed.lower_bound(BitScores(bits, scores)).epsilon, 5)
        1.63082

    References:
        Steinke, Nasr and Jagielski (2023), arXiv:2305.08846, Theorem 5.2. The delta term and its proof are derived in
        this module.
    """

    name: ClassVar[str] = "one-run"

    delta_term: Annotated[str, one_of_names("sharp", "published")] = "sharp"

    def fix(self, statement: Statement, pilot: BitScores | None, sizes: tuple[int, ...]) -> FixedOneRun:
        """Return the bound with the sets of guesses for this many bits."""
        guessing = self.guessing()
        return FixedOneRun(statement, guessing, guessing.division(*sizes), self.delta_term)


@dataclass(frozen=True)
class FixedOneRun(FixedGuessBound):
    """The one-run bound for one statement."""

    delta_term: str
    method: ClassVar[str] = OneRun.name

    def lower_bound(self, evidence: BitScores) -> LowerBound:
        counts = self.counts(evidence)
        epsilons = [self._least(*count, level=level) for count, level in zip(counts, self.levels, strict=True)]
        best = int(np.argmax(epsilons))
        perfect = zip(self.division, self.levels, strict=True)
        return LowerBound(
            epsilon=epsilons[best],
            delta=self.statement.delta,
            confidence=self.statement.confidence,
            method=self.method,
            n_trials=evidence.n_bits,
            ceiling=max(self._least(evidence.n_bits, each.size, each.size, level=level) for each, level in perfect),
            ledger=self.ledger(evidence, counts, best),
            guesses=self.by_rank(best),
        )

    def p_value(self, evidence: BitScores) -> float:
        """Return the p-value over the whole claimed curve, in closed form; see `profile`."""
        p_values = [profile_p_value(self._points, *count, self._terms) for count in self.counts(evidence)]
        return self.corrected([max(SMALLEST_P_VALUE, p_value) for p_value in p_values])

    def curve_test(self, evidence: BitScores) -> CurveViolation | None:
        """Return the point at which the lower limit of the profile exceeds the claimed profile; see `profile`."""
        return profile_violation(self._points, self.counts(evidence), self.levels, self._terms, method=self.method)

    def refutes(self, evidence: BitScores) -> bool:
        """Return True if the bound exceeds the claimed epsilon, or the curve test reports a violation."""
        return self.reaches_critical_count(evidence)

    def refuted_by(self, n_bits: int, n_guesses: int, n_correct: int, level: float) -> bool:
        """Return True if this many right guesses refute the claimed curve; see `profile`."""
        return profile_p_value(self._points, n_bits, n_guesses, n_correct, self._terms) <= level

    @cached_property
    def _points(self) -> Points:
        return claimed_points(self.statement)

    def _terms(self, n_guesses: int, n_correct: int, epsilons: Floats) -> tuple[Floats, Floats]:
        return _terms(n_guesses, n_correct, epsilons, self.delta_term)

    def _least(self, *count: int, level: float) -> float:
        """Return the bound from a triple of `counts`."""
        delta, term = self.statement.delta, self.delta_term
        return least_epsilon(*count, delta=delta, significance=level, delta_term=term)


def _guess_p_value(
    n_bits: int, n_guesses: int, n_correct: int, *, epsilon: float, delta: float, delta_term: str = "sharp"
) -> float:
    """Return the largest probability of `n_correct` or more right guesses under (epsilon, delta)-DP.

    Args:
        n_bits: all bits, guessed or not.
        n_guesses: fixed beforehand, >= 1.
        n_correct: between 0 and `n_guesses`.
        epsilon: finite, >= 0.
        delta: in [0, 1).
        delta_term: "sharp", or "published" for an upper bound on it (Steinke, Nasr and Jagielski 2023).

    Example:
        >>> round(_guess_p_value(1000, 100, 80, epsilon=1.0, delta=0.0), 6)
        0.071556
        >>> round(_guess_p_value(1000, 100, 80, epsilon=1.0, delta=1e-5), 6)
        0.071859
        >>> round(_guess_p_value(1000, 100, 80, epsilon=1.0, delta=1e-5, delta_term="published"), 6)
        0.073009
    """
    check_counts(n_bits, n_guesses, n_correct)
    tail, factor = map(float, _terms(n_guesses, n_correct, np.asarray(epsilon), delta_term))
    return tail if delta == 0.0 else min(1.0, tail + n_bits * delta * factor)


@lru_cache(maxsize=4096)
def least_epsilon(
    n_bits: int, n_guesses: int, n_correct: int, *, delta: float, significance: float, delta_term: str = "sharp"
) -> float:
    """Return the smallest epsilon that this many right guesses do not refute; arguments as in `_guess_p_value`.

    Example:
        >>> round(least_epsilon(1000, 100, 100, delta=0.0, significance=0.05), 5)
        3.49297
    """
    check_counts(n_bits, n_guesses, n_correct)
    odds = (
        float(lower(n_correct, n_guesses, significance)),
        float(upper(n_guesses - n_correct, n_guesses, significance)),
    )
    if odds[0] <= odds[1]:
        return 0.0
    high = math.log(odds[0] / odds[1])  # not refuted even at delta = 0
    if delta == 0.0:
        return high

    def refuted(epsilon: float) -> bool:
        counts = n_bits, n_guesses, n_correct
        return _guess_p_value(*counts, epsilon=epsilon, delta=delta, delta_term=delta_term) <= significance

    low = 0.0
    if delta_term == "published":
        steps = np.linspace(0.0, high, _STEPS)
        first = next((i for i, epsilon in enumerate(steps) if not refuted(float(epsilon))), _STEPS - 1)
        low, high = float(steps[max(0, first - 1)]), float(steps[first])
    if not refuted(low):
        return 0.0
    return bisect(lambda epsilon: not refuted(epsilon), low, high, close=lambda low, high: high - low < 1e-12 * high)[0]


def _terms(n_guesses: int, n_correct: int, epsilons: Floats, delta_term: str) -> tuple[Floats, Floats]:
    """Return F(v) and the factor of m delta in (1), at each epsilon."""
    if n_correct == 0:
        return np.ones_like(epsilons), np.zeros_like(epsilons)
    within = np.minimum(epsilons, _MAX_EPSILON)
    hit, miss = special.expit(within), special.expit(-within)
    tail = special.betainc(n_correct, n_guesses - n_correct + 1.0, hit)
    factor = _sharp(n_guesses, n_correct, tail, hit, miss)
    if delta_term == "published":
        factor = np.maximum(factor, np.vectorize(_published, otypes=[float])(n_guesses, n_correct, hit, miss))
    return tail, factor


def _sharp(r: int, v: int, tail: Floats, hit: Floats, miss: Floats) -> Floats:
    """Return F(v) (1 - F(v)) / (v p_v); if both underflow, F(v) / p_v is replaced by a larger geometric sum."""
    rest = special.betaincc(v, r - v + 1.0, hit)
    if v == r:
        return np.asarray(rest / v)
    log_density = binomial_log_pmf(np.asarray(float(v)), np.asarray(float(r)), hit, miss)
    ratio = (r - v) / (v + 1.0) * hit / miss
    larger = np.where(ratio < 1.0, 1.0 / np.where(ratio < 1.0, 1.0 - ratio, 1.0), math.inf)
    exact = np.exp(np.minimum(700.0, np.log(np.maximum(tail, _TINY)) - log_density))
    return np.asarray(rest * np.where(tail > _TINY, exact, larger) / v)


def _published(r: int, v: int, hit: float, miss: float) -> float:
    """Return 2 max_i Pr[v - i <= Bin(r, g) < v] / i, by sums of positive terms."""
    below = np.arange(v - 1, -1, -1.0)
    mass = np.cumsum(np.exp(binomial_log_pmf(below, *map(np.asarray, (float(r), hit, miss)))))
    return 2.0 * float(np.max(mass / np.arange(1, v + 1)))
