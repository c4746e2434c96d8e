"""An exact joint test of trade-off curves from the two counts of one event, independent of any family.

Null for a curve f: (FPR, FNR) of the event {score >= threshold} lies on or above f. Fixed before looking: the event,
the sizes, and the ranking of the outcomes

    T(k1, k0) = -Phi^-1(FPR_upper(k0)) - Phi^-1(FNR_upper(k1)),    limits of Clopper and Pearson at a fixed level,

which grows with hits on side 1 and falls with hits on side 0. Given (k1, k0), let R be the outcomes ranked no lower.

    1. At the true rates, Pr[R] is a p-value: it is <= a with probability at most a, whatever the ranking.
    2. Pr[R] falls when FPR or FNR grows. So on a cell FPR in [x0, x1] it is, for all rates on or above f, at most its
       value at (x0, f(x1)); and it is at most a as soon as f(x1) >= y, where y solves Pr[R] = a at (x0, y).
    3. Upper limits at level g / 2 each hold for both rates with probability at least 1 - g (after Berger and Boos
       1994). Cells beyond the limit of FPR need no test, nor do those with f(x1) above the limit of FNR, since the true
       FNR in them is at least f(x1).

Hence: f is refuted at significance a + g when f(x1) >= min(y, limit of FNR) in every cell up to the limit of FPR. The
true curve is refuted with probability at most a + g, and so is every curve below it. The points depend on the counts
alone: one set of them is valid for every family of curves, and every (epsilon, delta), simultaneously. One-sided limits
keep the answer monotone in the counts.

Two Clopper-Pearson limits lose 2 * 1.96 standard errors at 95 %, at their worst corner; this test loses 1.64 * sqrt(2).

The cells and the groups of counts that Pr[R] is summed over are fixed by the counts, never by the significance, so that
refutations are nested in it. Sums over groups take the largest probability in each: the error is on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....mechanisms.core import Bools, Floats, least_integers
from .binomial import SMALLEST_P_VALUE, least_significance, upper

Curve: TypeAlias = Callable[[Floats], Floats]

RANKING = 1.645
"""Default ranking: number of standard errors below the estimate at which outcomes are ranked."""
_OUTSIDE = 1.0 / 500.0  # share of the significance that accounts for ignoring rates outside their limits
_CELL, _REACH = 0.05, 9.5  # cells of FPR in its standard deviations: width, three times that outside `_NEAR`, and end
_NEAR = -3.0, 5.0
_SPARSE = 16  # every 16th cell is tested first
_GROUPS = 480  # groups of counts of false positives
_NEGLIGIBLE = 1e-18  # smaller probabilities are added in full instead of being multiplied
_FURTHEST = 37.0  # normal deviates beyond which rates are 0 or 1


@dataclass(frozen=True)
class EventRegion:
    """A confidence region for the trade-off curve from the counts of one event.

    Args:
        hits_out, hits_in: false and true positives.
        n_out, n_in: runs on each side.
        ranking: standard errors, > 0; fixed before the counts are seen. Best near the quantile of the significance.

    Example:
        >>> region = EventRegion(159, 500, n_out=1000, n_in=1000)
        >>> fpr, fnr = region.points(0.05)
        >>> claim = special.ndtr(-special.ndtri(fpr) - 0.85)  # Gaussian, mu 0.85
        >>> bool(np.all(claim >= fnr))  # refuted
        True
    """

    hits_out: int
    hits_in: int
    n_out: int
    n_in: int
    ranking: float = RANKING

    @property
    def is_uninformative(self) -> bool:
        """True if the event never happened on side 1 or always on side 0: the counts then contradict no curve."""
        return self.hits_in == 0 or self.hits_out == self.n_out

    def points(self, significance: float) -> tuple[Floats, Floats]:
        """Return `(m,)` points (fpr, fnr); a curve that passes on or above all of them is refuted.

        fnr is inf if no curve is refuted.
        """
        if self.is_uninformative:
            return np.ones(1), np.full(1, np.inf)
        share = (1.0 - _OUTSIDE) * significance
        left, right = self._up_to_limit(significance)
        masses = _Masses.of(self._masses(left))
        fnr = np.full(len(left), self._fnr_limit(significance))
        open_ = np.flatnonzero(self._tail(masses, fnr) <= share)  # elsewhere the limit is the smaller of the two
        fnr[open_] = np.minimum(fnr[open_], self._solve(masses.of_rows(open_), share))
        return right, fnr

    def refutes(self, curve: Curve, significance: float) -> bool:
        """Return True if `curve` (FPR -> FNR) passes on or above all the points, without computing the points."""
        if self.is_uninformative:
            return False
        left, right = self._up_to_limit(significance)
        fnr = curve(right)
        tested = fnr < self._fnr_limit(significance)
        if not tested.any():
            return True
        left, fnr, level = left[tested], fnr[tested], (1.0 - _OUTSIDE) * significance
        sparse = slice(None, None, _SPARSE)  # a curve that is not refuted mostly fails already on these
        return all(
            self._tail(_Masses.of(self._masses(left[part])), fnr[part]).max() <= level for part in (sparse, slice(None))
        )

    def p_value(self, curve: Curve) -> float:
        """Return the smallest significance, >= 1e-12, at which `curve` is refuted, rounded up; 1 if there is none."""
        if self.is_uninformative:
            return 1.0
        left, right = self._up_to_limit(SMALLEST_P_VALUE)
        fnr = curve(right)
        tail = self._tail(_Masses.of(self._masses(left)), fnr)

        def refuted(level: float) -> bool:
            tested = (left <= self._fpr_limit(level)) & (fnr < self._fnr_limit(level))
            return bool(np.all(tail[tested] <= (1.0 - _OUTSIDE) * level))

        return least_significance(refuted, log_largest=math.log(0.999), log_precision=1e-6)

    def _fpr_limit(self, significance: float) -> float:
        return float(upper(self.hits_out, self.n_out, 0.5 * _OUTSIDE * significance))

    def _fnr_limit(self, significance: float) -> float:
        return float(upper(self.n_in - self.hits_in, self.n_in, 0.5 * _OUTSIDE * significance))

    def _up_to_limit(self, significance: float) -> tuple[Floats, Floats]:
        """Return left and right ends of the cells that begin below the limit of FPR."""
        edges = _edges(self.hits_out, self.n_out)
        left, right = edges[:-1], edges[1:]
        below = left <= self._fpr_limit(significance)
        return left[below], right[below]

    @cached_property
    def _groups(self) -> tuple[Floats, Floats]:
        """Groups of counts of false positives: the first count, and the smallest k1 in R, of each group."""
        rate = self.hits_out / self.n_out
        angle, spread = math.asin(math.sqrt(rate)), _REACH / math.sqrt(self.n_out)
        grid = np.linspace(max(0.0, angle - spread), min(0.5 * math.pi, angle + spread), _GROUPS)
        near = np.unique(np.round(self.n_out * np.sin(grid) ** 2))
        first = np.unique(np.concatenate([[0.0], near, [self.hits_out]]))
        fewest_hits = self._least_hits(first)
        fewest_hits[first <= self.hits_out] = np.minimum(fewest_hits[first <= self.hits_out], self.hits_in)
        return first, fewest_hits

    def _least_hits(self, false_positives: Floats) -> Floats:
        """Return the smallest k1 with T(k1, k0) >= the observed T for each k0; n_in + 1 where there is none."""
        level = float(special.ndtr(-self.ranking / math.sqrt(2.0)))

        def deviate(errors: Floats, n: int) -> Floats:
            return np.asarray(special.ndtri(upper(errors, n, level)))

        observed_out, observed_in = (
            deviate(np.array([self.hits_out]), self.n_out),
            deviate(np.array([self.n_in - self.hits_in]), self.n_in),
        )
        allowed = special.ndtr(
            (observed_out + observed_in + 1e-9) - deviate(false_positives, self.n_out)
        )  # largest allowed FNR

        def exceeds(misses: Floats) -> Bools:
            return np.asarray(upper(np.maximum(misses, 0.0), self.n_in, level) > allowed)

        refused = least_integers(exceeds, np.full(allowed.shape, -1.0), np.full(allowed.shape, float(self.n_in)))
        return np.where(allowed >= 1.0, 0.0, self.n_in - (refused - 1.0))

    def _masses(self, fpr: Floats) -> Floats:
        """Return the probability of each group of false positives, shape `(cells, groups)`."""
        first = self._groups[0]
        inner = special.betainc(first[1:], self.n_out - first[1:] + 1.0, fpr[:, None])  # Pr[count >= first]
        ones, zeros = np.ones((len(fpr), 1)), np.zeros((len(fpr), 1))
        at_least = np.concatenate([ones, inner, zeros], axis=1)
        return np.asarray(np.maximum(0.0, at_least[:, :-1] - at_least[:, 1:]))

    def _tail(self, masses: _Masses, fnr: Floats) -> Floats:
        """Return an upper bound on Pr[R] in each cell, at this FNR."""
        fewest_hits = self._groups[1][masses.group]
        within = np.clip(fewest_hits, 1.0, self.n_in)
        # Pr[Bin(n_in, 1 - fnr) >= fewest_hits]
        hit = special.betaincc(self.n_in - within + 1.0, within, fnr[masses.cell])
        hit = np.where(fewest_hits > self.n_in, 0.0, np.where(fewest_hits <= 0.0, 1.0, hit))
        return np.bincount(masses.cell, masses.mass * hit, minlength=len(fnr)) + masses.rest

    def _solve(self, masses: _Masses, significance: float) -> Floats:
        """Return the smallest FNR in each cell at which Pr[R] <= significance; rounded up; inf where there is none.

        The normal deviate of Pr[R] is nearly linear in the normal deviate of FNR: secants inside a bracket.
        """
        target = special.ndtri(significance)

        def excess(deviate: Floats, rows: NDArray[np.intp]) -> Floats:
            tail = np.clip(self._tail(masses.of_rows(rows), special.ndtr(deviate)), 1e-300, 1.0 - 1e-16)
            return np.asarray(special.ndtri(tail) - target)

        rate = (self.n_in - self.hits_in + 0.5) / (self.n_in + 1.0)
        centre = special.ndtri(rate)
        width = math.sqrt(rate * (1.0 - rate) / self.n_in) * math.sqrt(2.0 * math.pi) * math.exp(0.5 * centre**2)
        root = _roots(excess, start=centre, width=width, size=len(masses.rest))
        return np.where(np.isinf(root), np.where(root > 0.0, np.inf, 0.0), special.ndtr(root))


@lru_cache(maxsize=1024)
def _edges(hits_out: int, n_out: int) -> Floats:
    """Return `(m + 1,)` increasing edges of the cells of FPR: quantiles of Beta(k0 + 1/2, n0 - k0 + 1/2)."""
    shape = hits_out + 0.5, n_out - hits_out + 0.5
    wide, (low, high) = 3.0 * _CELL, _NEAR
    near = np.arange(low, high, _CELL)
    deviates = np.concatenate([np.arange(low - wide, -_REACH, -wide), near, np.arange(high, _REACH, wide)])
    tails = special.ndtr(-np.abs(deviates))
    inside = np.where(deviates < 0.0, special.betaincinv(*shape, tails), special.betainccinv(*shape, tails))
    return np.unique(np.concatenate([[0.0], inside, [1.0]]))


@dataclass(frozen=True, eq=False)
class _Masses:
    """The non-negligible probabilities as a flat list, and the sum of the others in each cell."""

    cell: NDArray[np.intp]
    group: NDArray[np.intp]
    mass: Floats
    rest: Floats

    @classmethod
    def of(cls, table: Floats) -> _Masses:
        large = table > _NEGLIGIBLE
        cell, group = np.nonzero(large)
        return cls(cell, group, table[large], np.where(large, 0.0, table).sum(axis=1))

    def of_rows(self, rows: NDArray[np.intp]) -> _Masses:
        """Return the probabilities of some cells, renumbered."""
        number = np.full(len(self.rest), -1)
        number[rows] = np.arange(len(rows))
        chosen = number[self.cell] >= 0
        return _Masses(number[self.cell[chosen]], self.group[chosen], self.mass[chosen], self.rest[rows])


def _roots(excess: Callable[[Floats, NDArray[np.intp]], Floats], *, start: float, width: float, size: int) -> Floats:
    """Return the root of each of `size` decreasing functions: the upper end of a bracket of 1e-3 widths.

    The root is inf or -inf if it lies beyond `_FURTHEST`. `excess(at, rows)` returns the values of the functions
    `rows`. The next probe is where the chord of the bracket crosses 0, moved by half the tolerance to the side on
    which the bracket is open.
    """
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    at_low, at_high = np.full(size, np.nan), np.full(size, np.nan)
    probe, step, tolerance = np.full(size, start), width, 1e-3 * width
    rows = np.arange(size)
    for turn in range(80):
        value = excess(probe[rows], rows)
        below, above = rows[value > 0.0], rows[value <= 0.0]
        low[below], at_low[below] = probe[below], value[value > 0.0]
        high[above], at_high[above] = probe[above], value[value <= 0.0]
        outside = (low > _FURTHEST) | (high < -_FURTHEST)
        rows = np.flatnonzero((high - low > tolerance) & ~outside)
        if len(rows) == 0:
            break
        a, b, fa, fb = low[rows], high[rows], at_low[rows], at_high[rows]
        with np.errstate(invalid="ignore"):
            chord = a + (b - a) * fa / (fa - fb) + np.where(fa < -fb, 0.5, -0.5) * tolerance
            inside = np.clip(chord, a + 0.25 * tolerance, b - 0.25 * tolerance)
            halves = 0.5 * (a + b) if turn % 4 == 3 else inside
        step *= 2.0
        probe[rows] = np.where(np.isinf(a), b - step, np.where(np.isinf(b), a + step, halves))
    return np.where(low > _FURTHEST, np.inf, np.where(high < -_FURTHEST, -np.inf, high))
