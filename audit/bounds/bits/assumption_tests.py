"""Tests of the assumption that canaries are independent and share a curve of the claim's family.

Null: the pairs (bit, score) of all canaries are independent draws from one law, whose trade-off curve is a member of
the family. Both tests read the scores that the bound counts. A rejection sets the bound to 0, so it can only lower it:
the levels below are probabilities of refusing a bound that holds, and take nothing from its confidence.

**Influence (level `INFLUENCE`), exact.** Under the null the pairs are exchangeable, so that every permutation of the
canaries, each with its bit and its score, is equally likely. Let r_i be the normal score of canary i among those with
the same bit, c_i = b_i - mean(b), and N(i) the other canaries of its neighbourhood: one or two places away, the same
block of 8 or 64 in the order of the canaries, the same run, the same place in other runs, or the same group given
beforehand. Two statistics of each neighbourhood,

    sum_i r_i sum_{j in N(i)} c_j     a score depends on the bits of others
    sum_i r_i sum_{j in N(i)} r_j     scores share noise

are divided by their standard deviations over permutations, and the largest absolute value is compared with those of
random permutations (Westfall and Young 1993): p = (1 + permutations at least as large) / (1 + permutations). Influence
between canaries that are neighbours in none of these senses is not detected: it looks like noise. Neither is randomness
that all canaries share: given its value, they are independent. An accepted assumption is not a proved one.

**Fit (level `MISFIT`).** The ranks are cut into groups, and the included canaries of each are counted. The law of the
counts under one member depends on its curve only, and is simulated: the scores that bound the groups have the spacings
of uniform numbers, and given these scores the bits between them are binomial (see `independent`). Statistics, each
rejecting where it is large:

    Q          squared Mahalanobis distance of T_k = sum_i (b_i - 1/2) L_k(rank of i), with Legendre polynomials
               L_1 .. L_5 of the rank on [-1, 1], from its simulated mean (a smooth test, Neyman 1937)
    towards A  sum of the counts times the difference of log odds between a curve A and the member (Neyman and Pearson
               1933): A = Gaussian noise, Laplace noise, and Gaussian noise where a tenth of the canaries does not leak,
               each with the T_1 that the member is expected to have
    ends       right guesses in the highest, and in the lowest, group of ranks: a few canaries leak much

Each has a p-value from one set of simulations; a member is rejected where the smallest of them is among the smallest
`MISFIT` of further simulations (Westfall and Young 1993). This is exact for that member up to the interpolation of its
curve; the family is rejected where every member is. Members are tried around the estimate in steps of half a standard
error: a member between two of them is at most a quarter of a standard error away, which adds at most 1/16 to the mean
of Q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from scipy import special

from ....mechanisms.accounting import GaussianDP, LaplaceDP
from ....mechanisms.core import Bools, Floats, Ints, ParameterError, bisect, geometric, number, plural
from ...evidence.scores import BitScores
from ..families import CurveFamily
from .guessing import ascending

INFLUENCE, MISFIT = 0.01, 0.02
_PERMUTATIONS, _SIMULATIONS = 999, 1999
_LAGS, _BLOCKS = (1, 2), (8, 64)
_POLYNOMIALS, _RANK_GROUPS, _FEWEST_IN_GROUP = 5, 50, 4
_STEPS = np.arange(-4, 5)  # steps of at most half a standard error from the estimate, at which members are tried

Groups = tuple[int | str, ...] | None
_Products = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Refusal:
    """A rejected assumption.

    Args:
        what: what the scores show, such as "influence within blocks of 8".
        p_value: of the test.
        level: at which it rejects.
    """

    what: str
    p_value: float
    level: float

    def __str__(self) -> str:
        return f"{self.what} (p = {number(self.p_value, 2)}, level {number(self.level)})"


@lru_cache(maxsize=2)  # a bound, a p-value and a verdict on the same scores ask the same
def first_refusal(evidence: BitScores, family: CurveFamily, groups: Groups = None) -> Refusal | None:
    """Return the first test that rejects the assumption; None if both accept it.

    Raises:
        ParameterError: `groups` has another length than there are canaries.
    """
    influence = _influence_test(evidence, groups)
    if influence.p_value <= influence.level:
        return influence
    fit = _fit_test(evidence, family)
    return fit if fit.p_value <= fit.level else None


# --- influence -------------------------------------------------------------------------------------------------------


def _influence_test(evidence: BitScores, groups: Groups = None) -> Refusal:
    """Return the p-value of the permutation test, with the neighbourhood that shows the largest influence."""
    shape, n = evidence.bits.shape, evidence.n_bits
    if groups is not None and len(groups) != shape[1]:
        raise ParameterError(
            f"groups must have one label for each of the {shape[1]} canaries, but has {len(groups)}.", argument="groups"
        )
    bits, scores = evidence.bits.ravel(), evidence.scores.ravel()
    own, others = _normal_scores(bits, scores), bits - bits.mean()
    order = np.random.default_rng(0).permuted(np.tile(np.arange(n), (_PERMUTATIONS, 1)), axis=1)
    order = np.concatenate([np.arange(n)[None], order])
    first, second = own[order], others[order]
    names, values = [], []
    for name, products in _neighbourhoods(shape, groups):
        names += [f"a score depends on the bits of others: {name}", f"scores share noise: {name}"]
        values += [products(first, second), products(first, first)]
    table = np.array(values)
    spread = table.std(axis=1, keepdims=True)
    size = np.abs(table - table.mean(axis=1, keepdims=True)) / np.where(spread > 1e-9, spread, np.inf)
    largest = size.max(axis=0)
    p_value = float(np.count_nonzero(largest >= largest[0] * (1.0 - 1e-9))) / len(largest)
    return Refusal(names[int(np.argmax(size[:, 0]))], p_value, INFLUENCE)


def _normal_scores(bits: Bools, scores: Floats) -> Floats:
    """Return the normal score of each canary among those with the same bit; ties get the mean rank."""
    own = np.zeros(len(bits))
    for side in (bits, ~bits):
        if side.any():
            _, inverse, counts = np.unique(scores[side], return_inverse=True, return_counts=True)
            mean_rank = np.cumsum(counts) - 0.5 * (counts - 1.0)
            own[side] = special.ndtri(mean_rank[inverse] / (np.count_nonzero(side) + 1.0))
    return own


def _neighbourhoods(shape: tuple[int, ...], groups: Groups) -> Iterator[tuple[str, _Products]]:
    """Yield neighbourhoods: a name, and a function that sums the products of two values `(m, n)` over neighbours."""
    n_runs, n_canaries = shape
    for lag in _LAGS:
        if n_canaries > lag:
            yield f"{plural(lag, 'place')} away", partial(_lagged, shape, lag)
    places = np.tile(np.arange(n_canaries), n_runs)
    runs = np.repeat(np.arange(n_runs), n_canaries)
    for size in _BLOCKS:
        if n_canaries > size:
            yield f"in blocks of {size}", partial(_within, runs * n_canaries + places // size)
    if n_runs > 1:
        yield "in the same run", partial(_within, runs)
        yield "in the same place of other runs", partial(_within, places)
    if groups is not None:
        labels = np.unique(groups, return_inverse=True)[1][places]
        yield "in the same group", partial(_within, runs * n_canaries + labels)


def _lagged(shape: tuple[int, ...], lag: int, first: Floats, second: Floats) -> Floats:
    x, y = (values.reshape(-1, *shape) for values in (first, second))
    before, after = np.s_[..., :-lag], np.s_[..., lag:]
    products = x[before] * y[after]
    products += products if first is second else x[after] * y[before]
    return np.asarray(products.sum(axis=(1, 2)))


def _within(labels: Ints, first: Floats, second: Floats) -> Floats:
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))

    def summed(values: Floats) -> Floats:
        ordered = values if np.all(order[1:] > order[:-1]) else values[:, order]
        return np.asarray(np.add.reduceat(ordered, starts, axis=1))

    sums0 = summed(first)
    sums1 = sums0 if first is second else summed(second)
    return np.asarray((sums0 * sums1).sum(axis=1) - (first * second).sum(axis=1))


# --- fit -------------------------------------------------------------------------------------------------------------


def _fit_test(evidence: BitScores, family: CurveFamily) -> Refusal:
    """Return the largest p-value of the test over the members near the estimate."""
    groups = _RankGroups.of(evidence.n_bits)
    observed = groups.count(evidence)
    estimate, step = _estimate(family, groups, groups.features(observed))
    members = np.unique(np.clip(np.exp(step * (round(math.log(estimate) / step) + _STEPS)), 1e-6, family.largest))
    p_value = max(_reference(family, float(at), evidence.n_bits).p_value(observed) for at in members)
    return Refusal(f"the trade-off curve is not that of {family.title}", p_value, MISFIT)


@dataclass(frozen=True, eq=False)
class _RankGroups:
    """Groups of neighbouring ranks, separated by single ranks that are not counted.

    Args:
        sizes: `(m,)` scores in each group, in increasing order of the scores.
        weights: `(5, m)` means of the Legendre polynomials, of unit variance on uniform ranks.
    """

    sizes: Ints
    weights: Floats

    @classmethod
    def of(cls, n: int) -> _RankGroups:
        m = max(2, min(_RANK_GROUPS, n // (_FEWEST_IN_GROUP + 1)))
        ends = np.round(np.linspace(0, n + 1, m + 1)).astype(np.int64)  # group j: ranks ends[j] + 1 .. ends[j + 1] - 1
        sizes = np.diff(ends) - 1
        middle = (ends[:-1] + ends[1:]) / (n + 1.0) - 1.0
        degrees = np.arange(1, _POLYNOMIALS + 1)[:, None]
        return cls(sizes, special.eval_legendre(degrees, middle) * np.sqrt((2 * degrees + 1) / sizes.sum()))

    @property
    def n_ranks(self) -> int:
        """Number of all ranks."""
        return int(self.sizes.sum()) + len(self.sizes) - 1

    def count(self, evidence: BitScores) -> Floats:
        """Return the number of canaries that are in, in each group."""
        bits = evidence.bits.ravel()[ascending(evidence.scores.ravel())]
        total = np.concatenate([[0], np.cumsum(bits)])
        starts = np.concatenate([[0], np.cumsum(self.sizes + 1)[:-1]])
        return np.asarray(total[starts + self.sizes] - total[starts], dtype=np.float64)

    def features(self, counts: Floats) -> Floats:
        """Return T of counts `(..., m)`, shape `(..., 5)`."""
        return np.asarray((counts - 0.5 * self.sizes) @ self.weights.T)

    def simulated(self, curve: CurveOfRanks, size: int, rng: np.random.Generator) -> Floats:
        """Return the counts of `size` simulated games, shape `(size, m)`."""
        spacings = rng.standard_gamma(self.sizes + 1.0, size=(size, len(self.sizes)))
        cuts = np.cumsum(spacings, axis=1) / spacings.sum(axis=1, keepdims=True)
        rates = curve.rates_between(np.concatenate([np.zeros((size, 1)), cuts], axis=1))
        return rng.binomial(self.sizes, rates).astype(np.float64)

    def rates(self, curve: CurveOfRanks) -> Floats:
        """Return the share of included canaries that is expected in each group, `(m,)`."""
        return curve.rates_between(np.concatenate([[0.0], np.cumsum(self.sizes + 1.0) / (self.sizes + 1.0).sum()]))

    def slope(self, rates: Floats) -> float:
        """Return the expected T_1."""
        return float(self.features(self.sizes * rates)[0])

    def log_odds(self, rates: Floats) -> Floats:
        """Return the log odds of the rates, which are kept an eighth of a canary away from 0 and 1."""
        margin = 0.125 / self.sizes
        return np.asarray(special.logit(np.clip(rates, margin, 1.0 - margin)))


def _estimate(family: CurveFamily, groups: _RankGroups, observed: Floats) -> tuple[float, float]:
    """Return the member whose expected T_1 is the observed one, and at most half a standard error of its logarithm.

    The step is a power of 2, and members are multiples of it, so that simulations are used again.
    """

    def expected(at: float) -> float:
        return _member_slope(family, at, groups.n_ranks)

    def reached(at: float) -> bool:
        return expected(at) >= float(observed[0])

    low = high = min(family.claimed, family.largest)
    while low > 1e-6 and reached(low):
        low /= 2.0
    while high < family.largest and not reached(high):
        high = min(2.0 * high, family.largest)
    at = bisect(reached, low, high, middle=geometric, close=lambda low, high: high <= 1.02 * low)[1]
    slope = (expected(min(1.1 * at, family.largest)) - expected(at / 1.1)) / (2.0 * math.log(1.1))
    half_error = 0.25 / max(slope, 1e-9)  # the standard deviation of T_1 is at most 1/2
    return at, 2.0 ** math.floor(math.log2(min(0.5, half_error)))


@lru_cache(maxsize=4096)
def _member_slope(family: CurveFamily, at: float, n: int) -> float:
    """Return the expected T_1 of a member: searches from the same ends ask for the same members."""
    groups = _RankGroups.of(n)
    return groups.slope(groups.rates(CurveOfRanks.of(family.search(at).tradeoff)))


def _with_exempt(mu: float) -> CurveOfRanks:
    """Return the curve of Gaussian noise with this shift, where a tenth of the canaries does not leak."""
    x = np.linspace(-9.0, 9.0 + mu, 1500)
    fpr, fnr = special.ndtr(-x), 0.1 * special.ndtr(x) + 0.9 * special.ndtr(x - mu)
    return CurveOfRanks(np.append(0.5 * (1.0 - fpr + fnr), 1.0), np.append(0.5 * fnr, 0.5))


_ALTERNATIVES: tuple[Callable[[float], CurveOfRanks], ...] = (
    lambda mu: CurveOfRanks.of(GaussianDP(mu).tradeoff),
    lambda epsilon: CurveOfRanks.of(LaplaceDP(epsilon).tradeoff),
    _with_exempt,
)
"""Curves, with a parameter that increases T_1, towards which a directed statistic looks."""
_SMALLEST, _LARGEST = 1e-3, 60.0  # range in which the parameter of a curve is searched
_SAME = 0.01  # relative difference of log odds below which an alternative is the member itself


def _directions(groups: _RankGroups, rates: Floats) -> Floats:
    """Return the weights of the counts in the directed statistics, `(k, m)`, for a member with these rates."""
    target, odds = groups.slope(rates), groups.log_odds(rates)
    ends = np.zeros((2, len(rates)))
    ends[0, -1], ends[1, 0] = 1.0, -1.0
    directions = [ends]
    for curve in _ALTERNATIVES:

        def reached(parameter: float, curve: Callable[[float], CurveOfRanks] = curve) -> bool:
            return _alternative_slope(curve, parameter, groups.n_ranks) >= target

        at = bisect(reached, _SMALLEST, _LARGEST, middle=geometric, close=lambda low, high: high <= 1.001 * low)[1]
        direction = groups.log_odds(groups.rates(curve(at))) - odds
        if np.linalg.norm(direction) > _SAME * np.linalg.norm(odds):
            directions.append(direction[None, :])
    return np.concatenate(directions)


@lru_cache(maxsize=4096)
def _alternative_slope(curve: Callable[[float], CurveOfRanks], parameter: float, n: int) -> float:
    """Return the expected T_1 of an alternative, as `_member_slope` does of a member."""
    groups = _RankGroups.of(n)
    return groups.slope(groups.rates(curve(parameter)))


@dataclass(frozen=True, eq=False)
class _Reference:
    """Simulated law of the statistics under one member.

    Args:
        groups: of the ranks.
        centre, inverse: mean and inverse covariance of T.
        directions: weights of the directed statistics, `(k, m)`.
        simulated: statistics of simulated games, each sorted, `(size, 1 + k)`.
        smallest: smallest p-values of further games, sorted, `(size,)`.
    """

    groups: _RankGroups
    centre: Floats
    inverse: Floats
    directions: Floats
    simulated: Floats = field(default_factory=lambda: np.empty((0, 0)))
    smallest: Floats = field(default_factory=lambda: np.empty(0))

    def p_value(self, observed: Floats) -> float:
        """Return the share of simulated games, with the observed one, whose smallest p-value is at most as large."""
        smallest_p = self.smallest_p_values(observed[None, :])[0]
        return (1.0 + float(np.searchsorted(self.smallest, smallest_p, side="right"))) / (1.0 + len(self.smallest))

    def statistics(self, counts: Floats) -> Floats:
        """Return Q and the directed statistics of counts `(size, m)`, shape `(size, 1 + k)`."""
        away = self.groups.features(counts) - self.centre
        distance = np.einsum("...i,ij,...j->...", away, self.inverse, away)
        return np.column_stack([distance, counts @ self.directions.T])

    def smallest_p_values(self, counts: Floats) -> Floats:
        """Return the smallest p-value over the statistics, `(size,)`."""
        pairs = zip(self.simulated.T, self.statistics(counts).T, strict=True)
        reached = [len(ordered) - np.searchsorted(ordered, values) for ordered, values in pairs]
        return np.asarray(np.min(reached, axis=0) / (1.0 + len(self.simulated)))


@lru_cache(maxsize=256)
def _reference(family: CurveFamily, at: float, n: int) -> _Reference:
    rng, groups = np.random.default_rng(0), _RankGroups.of(n)
    curve = CurveOfRanks.of(family.search(at).tradeoff)
    first, others = (groups.simulated(curve, _SIMULATIONS, rng) for _ in range(2))
    moments = groups.features(first)
    inverse = np.asarray(np.linalg.pinv(np.cov(moments.T), rcond=1e-10, hermitian=True), dtype=np.float64)
    empty = _Reference(groups, np.asarray(moments.mean(axis=0)), inverse, _directions(groups, groups.rates(curve)))
    reference = replace(empty, simulated=np.sort(empty.statistics(first), axis=0))
    return replace(reference, smallest=np.sort(reference.smallest_p_values(others)))


_NEAR_0 = np.geomspace(1e-9, 0.5, 400)


@dataclass(frozen=True, eq=False)
class CurveOfRanks:
    """Share of included canaries below each pooled rank, of canaries half of which are in; interpolated.

    Args:
        rank: `(m,)` pooled rank in [0, 1], increasing with the score.
        included: `(m,)` half the distribution function of included canaries there.
    """

    rank: Floats
    included: Floats

    @classmethod
    def of(cls, curve: Callable[[Floats], Floats]) -> CurveOfRanks:
        """Return the scale of a symmetric curve, from fpr `(m,)` to fnr `(m,)`."""
        fpr = np.unique(np.concatenate([[0.0], _NEAR_0, 1.0 - _NEAR_0, curve(_NEAR_0), [1.0]]))[::-1]
        fnr = curve(fpr)
        return cls(np.append(0.5 * (1.0 - fpr + fnr), 1.0), np.append(0.5 * fnr, 0.5))

    def rates_between(self, cuts: Floats) -> Floats:
        """Return the share of included canaries between neighbouring cuts `(..., m + 1)`, shape `(..., m)`."""
        included = np.diff(np.interp(cuts, self.rank, self.included), axis=-1)
        return np.clip(included / np.maximum(np.diff(cuts, axis=-1), 1e-300), 0.0, 1.0)
