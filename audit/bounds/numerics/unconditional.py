"""The exact unconditional test of p <= e^epsilon q + delta from two binomial counts, turned into a bound on epsilon.

    K1 ~ Bin(n1, p), K0 ~ Bin(n0, q), independent; observed (k1, k0)
    null at epsilon:   p <= e^epsilon q + delta

Two limits, one for each rate, use half of the significance each although only their combination matters. This test
uses both counts jointly.

1. Ordering. T(i, j) ranks outcomes by the strength of evidence; it depends on neither epsilon nor the data. T increases
   in i and decreases in j. R = {(i, j): T(i, j) >= T(k1, k0)} are the outcomes at least as extreme as the observed one.
2. Nuisance. gamma = significance / 1000 is split between one-sided limits: p_low from k1, q_high from k0. Let

       D(epsilon) = {q: (p_low - delta) e^-epsilon <= q <= min(q_high, (1 - delta) e^-epsilon)}

       P(epsilon) = sup over q in D(epsilon) of Pr[(K1, K0) in R] at (e^epsilon q + delta, q);    0 if D is empty.

3. Test. Epsilon is rejected when P(epsilon) <= significance - gamma.

Level. Let (p, q) obey the null at epsilon, and let both limits be right (they fail with probability <= gamma). R grows
in i and shrinks in j, so Pr[R] at (p, q) is at most Pr[R] at any point (e^epsilon q' + delta, q') of the boundary with
(p - delta) e^-epsilon <= q' <= q (where that p' exceeds 1, take q' = (1 - delta) e^-epsilon, which is then <= q). Such
q' lie in D(epsilon), so P(epsilon) is an upper limit of Pr[R], and for a fixed ordering a tail probability is <= a
with probability <= a: the test errs with probability <= gamma + (significance - gamma). Restricting the nuisance is
the method of Berger and Boos (1994); unlike their interval, D shrinks whenever the outcome becomes more extreme.

Nested. In epsilon, delta and 1 / significance both D and Pr[R] at each of its points only grow; in k1 and -k0 they
only shrink. So P is monotone in all of them; the rejected epsilons are an interval from 0, and its end is the first one
that is not rejected: Buehler's (1957) bound.

Supremum. Along the boundary ln Pr[(i, j)] is concave in q. On a cell [a, b] with m inside, the tangents at m bound
every term, their sum is a convex function H of q, and so Pr[R] <= max(H(a), H(b)) on the cell. H(a) is a constant,
about exp(w^2 / 2) for w standard deviations from m to a, times Pr[R] at two slightly tilted rates. Where the boundary
is long, the simpler Pr[R] <= Pr[R] at (e^epsilon b + delta, a) takes fewer cells. Every sum is rounded up: counts are
grouped in blocks at the smallest i in R of a block, and omitted probability is added.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....mechanisms.accounting.numerics.binomial import log_choose
from ....mechanisms.core import Bools, Delta, Floats, OpenUnit, bisect, check_fields, least_integers_near
from .binomial import SMALLEST_P_VALUE, lower, quantile_of_one, upper

_NUISANCE_SHARE = 1e-3  # share of the significance for the limits on the nuisance
_STEP = 0.003  # largest loss of the bound due to a plain cell, in standard deviations
_CELLS = 48, 400  # smallest number of plain cells, and largest number of cells: then they are wider and round up more
_MAX_FINE_TRIALS = 10_000  # trials on the smaller side; beyond, coarser steps lose as little of epsilon
_HALF_CELL = 0.14, 0.45  # standard deviations from the middle of a cell to its ends: 1 % to 10 % too large
_BLOCKS = 512, 48  # counts on side 0 are grouped beyond this many
_PER_QUANTILE = 12  # terms of a binomial law take as long as one incomplete beta function
_LEFT_OUT = 1e-5  # share of the significance: probability that a sum omits, and adds as a whole
_FROM_0_TO_1 = np.sin(np.linspace(0.0, 0.5 * np.pi, 400)) ** 2  # densest at both ends
_FEW = 8  # every 8th cell is tested first: if it does not reject, the others are not needed
_TOLERANCE = 1e-3  # relative, of a significance
_MAX_EPSILON = 300.0  # where p_low e^-epsilon is far below any limit q_high of fewer than 10^100 trials, and P is 1
_CLOSE = 1e-5  # relative: if a law is further than this from its quantile, rounding cannot change the comparison


@dataclass(frozen=True)
class Ordering:
    """An ordering of the outcomes: approximately the lower limit of ln((p - delta) / q) at a fixed significance.

    The ordering does not depend on epsilon. The two rates are approximated by independent gamma variables with the
    means and variances of the estimates (k + 1/2) / (n + 1), so that the limit is a quantile of an F law. With many
    hits this is the limit of Katz et al. (1978); with few hits it keeps the skewness. An outcome with a limit <= 0 is
    no evidence.

    Args:
        significance: the level at which the ordering is most powerful; it is valid at every level.
        delta: the delta at which the ordering is most powerful; it is valid at every delta.

    Guarantees:
        * never decreases in k1 and never increases in k0.

    Example:
        >>> Ordering().value(np.array([500.0]), np.array([184.0]), 1000, 1000).round(3).tolist()
        [0.879]
    """

    significance: OpenUnit = 0.05
    delta: Delta = 0.0

    def __post_init__(self) -> None:
        check_fields(self)

    def value(self, k1: Floats, k0: Floats, n1: Floats | float, n0: Floats | float) -> Floats:
        """Return T at hits `k1` of `n1` and `k0` of `n0`, which need not be whole; -inf if the limit is <= 0."""
        q, gain, shape1, shape0 = self._estimates(k1, k0, n1, n0)
        share = special.betaincinv(shape1, shape0, min(self.significance, 0.5))
        with np.errstate(divide="ignore"):
            limit = np.log(share / (1.0 - share) * shape0 / shape1 * gain / q)
        return np.where((gain > 1e-12) & (limit > 0.0), limit, -np.inf)

    def reached(self, level: float, k1: Floats, k0: Floats, n1: float, n0: float) -> Bools:
        """Return True where T >= `level`, all ties included; `level` is the T of some outcome.

        Where the distribution function behind T is not close to its quantile, no inverse is computed, which takes a
        quarter of the time.
        """
        significance = min(self.significance, 0.5)
        tail, blur = self.tail(level, k1, k0, n1, n0)
        reached, close = tail < significance, np.abs(tail - significance) <= blur * significance
        reached[close] = self.value(k1[close], k0[close], n1, n0) >= level * (1.0 - 1e-10)
        return np.asarray(reached)

    def tail(self, level: float, k1: Floats, k0: Floats, n1: float, n0: float) -> tuple[Floats, Floats]:
        """Return the significance at which T would be `level`, and its relative rounding error."""
        q, gain, shape1, shape0 = self._estimates(k1, k0, n1, n0)
        odds = math.exp(level) * shape1 / shape0 * q / gain
        tail = np.where(gain > 1e-12, special.betainc(shape1, shape0, odds / (1.0 + odds)), 1.0)
        return tail, _CLOSE * (1.0 + 1e-8 * odds)

    def spread(self, k1: Floats | float, k0: Floats | float, n1: Floats | float, n0: Floats | float) -> Floats:
        """Return the standard deviation of the estimate behind T."""
        p, q = (k1 + 0.5) / (n1 + 1.0), (k0 + 0.5) / (n0 + 1.0)
        gain = np.maximum(p - self.delta, 1e-12)
        return np.asarray(np.sqrt(p * (1.0 - p) / (n1 * gain**2) + (1.0 - q) / (n0 * q)))

    def _estimates(
        self, k1: Floats, k0: Floats, n1: Floats | float, n0: Floats | float
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return q, p - delta, and the shapes of both gamma variables."""
        p, q = (k1 + 0.5) / (n1 + 1.0), (k0 + 0.5) / (n0 + 1.0)
        gain = np.maximum(p - self.delta, 1e-12)
        return q, gain, n1 * gain**2 / (p * (1.0 - p)), n0 * q / (1.0 - q)


class UnconditionalTest:
    """The test of the module docstring for one outcome.

    Args:
        k1, n1: hits and trials on the side where the event is more likely.
        k0, n0: hits and trials on the other side.
        ordering: ordering of the outcomes, fixed before the counts were seen.

    Example:
        >>> test = UnconditionalTest(500, 1000, 184, 1000, Ordering(0.05))
        >>> round(float(test.epsilon_lower(0.0, 0.05)), 3)
        0.879
        >>> round(test.p_value(0.879, 0.0), 2)
        0.05
    """

    def __init__(self, k1: int, n1: int, k0: int, n0: int, ordering: Ordering) -> None:
        self.k1, self.n1, self.k0, self.n0 = k1, n1, k0, n0
        self.ordering = ordering
        self.level = float(ordering.value(np.array([k1]), np.array([k0]), n1, n0)[0])
        larger = math.sqrt(max(1.0, min(n1, n0) / _MAX_FINE_TRIALS))
        self._half_cell = min(_HALF_CELL[0] * math.sqrt(larger), _HALF_CELL[1])
        self._blocks = max(_BLOCKS[0] / larger, _BLOCKS[1])
        self._spread = float(ordering.spread(k1, k0, n1, n0))
        self._known = np.empty(0), np.empty(0)

    @property
    def shows(self) -> bool:
        """False if the outcome is no evidence at any epsilon: the bound is 0 and the p-value 1."""
        return self.level > 0.0 and self.k1 > 0 and self.k0 < self.n0

    def rejects(self, epsilon: float, delta: float, significance: float) -> bool:
        """Return True if the null is rejected; all tests of one outcome and ordering hold simultaneously."""
        if not self.shows:
            return False
        allowed = (1.0 - _NUISANCE_SHARE) * significance
        return self.probability(epsilon, delta, significance, enough=allowed) <= allowed

    def probability(self, epsilon: float, delta: float, significance: float, *, enough: float = math.inf) -> float:
        """Return P(epsilon) with the nuisance limits of `significance`, rounded up; or any lower bound > `enough`."""
        if epsilon > _MAX_EPSILON:
            return 1.0
        domain = self._domain(epsilon, delta, significance)
        if domain is None:
            return 0.0
        p, q, factor = self._laws(epsilon, delta, *domain)
        first, last = _reach(self.n0, q, _LEFT_OUT * significance)
        for cells in (slice(None, None, _FEW), slice(None)) if math.isfinite(enough) else (slice(None),):
            extreme = self._extreme(p[cells], q[cells], first, last, _LEFT_OUT * significance)
            probability = float(np.max(factor[cells] * extreme))
            if probability > enough:
                break
        return probability

    def epsilon_lower(self, delta: float, significance: float) -> float:
        """Return the smallest epsilon that is not rejected; rounded down."""
        if not self.shows:
            return 0.0
        level = significance * (1.0 - _NUISANCE_SHARE)
        slope = (max(-special.ndtri(level), 0.0) + 0.5) / self._spread
        p_low, q_high = self.limits(significance)
        low = max(0.0, math.log((p_low - delta) / q_high)) if p_low > delta else 0.0  # below it, D is empty
        high, at, last = math.inf, max(self.level, low), None
        for turn in itertools.count():
            excess = math.log(max(self.probability(at, delta, significance), 1e-300) / level)
            low, high = (at, high) if excess <= 0.0 else (low, at)
            if -_TOLERANCE < excess <= 0.0 or high - low < 1e-6:
                return low
            if last is not None and at != last[0] and abs(excess - last[1]) > 1e-12:
                slope = max((excess - last[1]) / (at - last[0]), 0.1 * slope)
            last = at, excess
            at -= (excess + 0.5 * _TOLERANCE) / slope
            if math.isinf(high):
                at = at if at > low else 2.0 * low + 0.1
            elif turn % 4 == 3 or not low < at < high:
                at = 0.5 * (low + high)
        raise AssertionError("the bracket halves at least every fourth turn")

    def delta_lower(self, epsilon: float, significance: float) -> float:
        """Return the smallest delta that is not rejected at `epsilon`; rounded down."""

        def close(low: float, high: float) -> bool:
            return high - low <= 1e-3 * high or high <= 1e-15

        return bisect(lambda delta: not self.rejects(epsilon, delta, significance), 0.0, 1.0, close=close)[0]

    def p_value(self, epsilon: float, delta: float) -> float:
        """Return the smallest significance at which the null is rejected, rounded up; at least 1e-12."""
        if not self.shows:
            return 1.0
        low, high, trial = 0.1 * SMALLEST_P_VALUE, 1.0, 0.5
        while high > 1.015 * low and high > SMALLEST_P_VALUE:
            needed = self.probability(epsilon, delta, trial) / (1.0 - _NUISANCE_SHARE)
            exact = max(needed - 5.0 * _LEFT_OUT * trial, 0.0)  # falls as trial grows, so that p lies between the two
            low, high = max(low, min(trial, exact)), min(high, max(trial, needed))
            if low == 0.5 and high == 1.0 and self.probability(epsilon, delta, 0.99) >= 1.0:
                return 1.0  # and so at every trial in between
            trial = 1.005 * needed if low < 1.005 * needed < high else math.sqrt(low * high)
        return max(high, SMALLEST_P_VALUE)

    def limits(self, significance: float) -> tuple[float, float]:
        """Return p_low and q_high."""
        level = 0.5 * _NUISANCE_SHARE * significance
        return float(lower(self.k1, self.n1, level)), float(upper(self.k0, self.n0, level))

    def _domain(self, epsilon: float, delta: float, significance: float) -> tuple[float, float] | None:
        p_low, q_high = self.limits(significance)
        shrink = math.exp(-epsilon)
        a, b = max(p_low - delta, 0.0) * shrink, min(q_high, (1.0 - delta) * shrink)
        return (a, b) if a <= b else None

    def _laws(self, epsilon: float, delta: float, low: float, high: float) -> tuple[Floats, Floats, Floats]:
        """Return rates p and q, and factors, such that Pr[R] on the domain is at most the largest factor * Pr[R]."""
        growth = math.exp(epsilon)
        ends = low + (high - low) * _FROM_0_TO_1
        q = 0.5 * (ends[1:] + ends[:-1])
        p = np.minimum(growth * q + delta, 1.0 - 1e-15)
        information = self.n0 / (q * (1.0 - q)) + growth**2 * self.n1 / (p * (1.0 - p))
        length = np.append(0.0, np.cumsum(np.sqrt(information) * np.diff(ends)))
        n_tangent = math.ceil(length[-1] / (2.0 * self._half_cell)) + 1
        n_plain = max(math.log(high / low) / (_STEP * self._spread), _CELLS[0]) if low > 0.0 else math.inf
        if n_plain < 2 * n_tangent:
            edges = np.geomspace(low, high, math.ceil(min(n_plain, _CELLS[1])) + 1)
            return np.minimum(growth * edges[1:] + delta, 1.0), edges[:-1], np.ones(len(edges) - 1)
        edges = np.interp(np.linspace(0.0, length[-1], min(n_tangent, _CELLS[1]) + 1), length, ends)
        middle = np.tile(0.5 * (edges[1:] + edges[:-1]), 2)
        shift = np.append(edges[:-1], edges[1:]) - middle
        q, factor0 = _tilted(middle, shift, self.n0)
        p, factor1 = _tilted(np.minimum(growth * middle + delta, 1.0 - 1e-15), growth * shift, self.n1)
        return p, q, np.exp(factor0 + factor1)

    def _extreme(self, p: Floats, q: Floats, first: int, last: int, left_out: float) -> Floats:
        """Return Pr[(K1, K0) in R] at each pair of rates, rounded up; K0 is in [first, last] except for `left_out`."""
        step = 2 ** max(0, math.ceil(math.log2((last - first + 1) / self._blocks)))
        starts, needed = self._region(first, last, step)
        inside = needed <= self.n1
        if not inside.any():
            return np.full(len(q), 4.0 * left_out)
        starts, needed = starts[inside], needed[inside]
        mass = _masses(starts, step, self.n0, q)
        tails = _tails(needed, self.n1, p, left_out)
        rounding = 1.0 + 1e-9 + 1e-15 * (self.n0 + self.n1)
        return np.asarray(np.einsum("cj,cj->c", mass, tails) * rounding + 4.0 * left_out)

    def _region(self, first: int, last: int, step: int) -> tuple[Floats, Floats]:
        """Return the starts of blocks of `step` counts of side 0 that cover [first, last], and the smallest i in R."""
        starts = np.arange(first - first % step, last + 1.0, step)
        known, needed = self._known
        if len(known) < 2 or known[1] - known[0] != step or known[0] > starts[0] or known[-1] < starts[-1]:
            margin = step * (len(starts) // 5)
            known = np.arange(max(starts[0] - margin, 0.0), min(starts[-1] + margin, self.n0) + 1.0, step)
            needed = self._least(known)
            self._known = known, needed
        at = slice(int((starts[0] - known[0]) // step), int((starts[-1] - known[0]) // step) + 1)
        return known[at], needed[at]

    def _least(self, k0: Floats) -> Floats:
        """Return the smallest k1 with (k1, k0) in R, n1 + 1 if there is none, by bisection from a first guess."""

        def reached(rows: NDArray[np.intp], k1: Floats) -> Bools:
            return self.ordering.reached(self.level, k1, k0[rows], self.n1, self.n0)

        low, high = np.full(len(k0), -1.0), np.full(len(k0), self.n1 + 1.0)
        return least_integers_near(reached, low, high, np.clip(np.ceil(self._likely(k0)), 0.0, self.n1))

    def _likely(self, k0: Floats) -> Floats:
        """Return the real k1 with T near the level, from a normal approximation and one Newton step."""
        sizes, order = (self.n1, self.n0), self.ordering
        excess = max((self.k1 + 0.5) / (self.n1 + 1.0) - order.delta, 1e-12)
        estimate = math.log(excess * (self.n0 + 1.0) / (self.k0 + 0.5))
        deviate, k1 = (estimate - self.level) / self._spread, np.full(len(k0), float(self.k1))
        q = (k0 + 0.5) / (self.n0 + 1.0)
        for _ in range(4):
            gain = q * np.exp(np.minimum(self.level + deviate * order.spread(k1, k0, *sizes), 100.0))
            k1 = np.clip((gain + order.delta) * (self.n1 + 1.0) - 0.5, 0.0, self.n1)
        tail, _ = order.tail(self.level, k1, k0, *sizes)
        off = special.ndtri(np.clip(tail, 1e-300, 1.0 - 1e-16)) - special.ndtri(min(order.significance, 0.5))
        return np.asarray(k1 + off * order.spread(k1, k0, *sizes) * (k1 + 0.5 - order.delta * (self.n1 + 1.0)))


def _tilted(rate: Floats, shift: Floats, n: int) -> tuple[Floats, Floats]:
    """Return a rate and a log factor: factor * Bin(rate) is, term by term, the tangent of ln Bin at `rate`."""
    tilt = shift / (rate * (1.0 - rate))
    growth = np.log1p(rate * np.expm1(tilt))
    return np.minimum(rate * np.exp(tilt - growth), 1.0), n * (growth - tilt * rate)


def _reach(n: int, rates: Floats, left_out: float) -> tuple[int, int]:
    """Return the range of counts outside of which each law has probability at most `left_out` on either side."""
    return quantile_of_one(left_out, n, float(rates.min())), n - quantile_of_one(left_out, n, float(1.0 - rates.max()))


def _law(k: Floats, n: int, rates: Floats) -> Floats:
    """Return Pr[Bin(n, rate) = k] for each rate and each of consecutive counts, shape `(rates, k)`."""
    rates = np.clip(rates, 1e-300, 1.0 - 1e-16)[:, None]
    law = k * np.log(rates)
    law += log_choose(n, k)
    law += (n - k) * np.log1p(-rates)
    return np.asarray(np.exp(law, out=law))


def _masses(starts: Floats, step: int, n: int, rates: Floats) -> Floats:
    """Return the probability of each block of `step` counts under each rate."""
    if step <= _PER_QUANTILE:
        law = _law(np.arange(starts[0], min(starts[-1] + step, n + 1.0)), n, rates)
        if step == 1:
            return law
        return np.asarray(np.add.reduceat(law, (starts - starts[0]).astype(np.intp), axis=1))
    edges = np.append(starts, starts[-1] + step)
    mean = n * rates[:, None]
    inner, rest = np.clip(edges, 1.0, n), np.maximum(n - edges + 1.0, 1.0)
    above = edges > mean
    smaller = special.betainc(
        np.where(above, inner, rest), np.where(above, rest, inner), np.where(above, rates[:, None], 1 - rates[:, None])
    )  # Pr[K >= edge] above the mean, Pr[K < edge] below
    smaller = np.where(edges <= 0.0, 0.0, np.where(edges > n, 0.0, smaller))
    below = np.where(above, -smaller, smaller)
    return np.diff(below, axis=1) + np.diff(above, axis=1)


def _tails(needed: Floats, n: int, rates: Floats, left_out: float) -> Floats:
    """Return Pr[Bin(n, rate) >= needed] for each rate, up to `left_out`, for `needed` in increasing order."""
    first, last = _reach(n, rates, left_out)
    if last - first > _PER_QUANTILE * len(needed):
        inner = np.clip(needed, 1.0, n)
        return np.where(needed <= 0.0, 1.0, special.betainc(inner, n - inner + 1.0, rates[:, None]))
    first, last = max(first, int(min(needed[0], n))), max(last, int(min(needed[0], n)))
    law = _law(np.arange(first, last + 1.0), n, rates)
    sums = np.zeros((len(rates), law.shape[1] + 1))
    np.cumsum(law[:, ::-1], axis=1, out=sums[:, -2::-1])
    return sums[:, np.clip(needed - first, 0, law.shape[1]).astype(np.intp)]
