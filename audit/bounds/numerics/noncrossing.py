"""Exact miss probability of a band of binomial limits: the crossing probability of uniform order statistics.

Let U_(1) <= ... <= U_(n) be ordered uniform variables and b_k = BetaInv(1 - eta; k, n - k + 1) the upper limit of each
at the local level eta. The band of all of them misses when U_(k) > b_k for some k. In terms of the number of points
N(t) = #{U <= t}, a miss begins at the first k with N(b_k) = k - 1: the path reaches the boundary one point at a time
and cannot jump over it. Call the event N(b_k) = k - 1 a touch at k. Decomposed by the last touch,

    Pr[miss] = sum_k p_k w_k         p_k = Pr[touch at k],   w_k = Pr[no later touch | touch at k],

and since, given a touch at k, some touch (k itself at least) is the last one,

    sum_{l >= k} q_kl w_l = 1        q_kl = Pr[touch at l | touch at k],   for every k.           (*)

p and q are binomial probabilities, and (*) is a triangular renewal equation whose inverse has norm at most 2. All terms
of the sum are positive, so the relative error of Pr[miss] is small however small the probability is. For any weights w,
Pr[miss] lies between sum p w / max_k g_k and sum p w / min_k g_k with g the left side of (*): `residual` returns g - 1.

Up to `_DENSE` points every rank is solved for. Beyond, w and b (smooth in logit k) are interpolated between about 100
nodes, which include every rank near both ends; sums over l are taken term by term near k and near n, and by
Gauss-Legendre quadrature in between. The relative error of Pr[miss] is then below 1e-5 up to n = 1e9 and down to
eta = 1e-12, and `local_level` stays 1e-4 on the safe side of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from ....mechanisms.accounting.numerics.binomial import binomial_log_pmf
from ....mechanisms.core import Floats, open_unit, whole

Basis = tuple[NDArray[np.intp], Floats]

_DENSE = 100  # up to this number of points every rank is a node
_N_TAIL_RANKS = 24  # ranks at either end that are always nodes
_SPACING = 0.3  # in logit rank, between the nodes further inside
_EXACT = 16  # terms at either end of a sum that are summed one by one
_PANELS, _ORDER = 8, 8  # Gauss-Legendre panels between them, and points per panel
_STENCIL = 6  # nodes of one interpolation
_ABSCISSAE, _WEIGHTS = np.polynomial.legendre.leggauss(_ORDER)
_SAFETY = 1e-4


@lru_cache(maxsize=256)
def local_level(n_out: int, n_in: int, significance: float) -> float:
    """Return the level eta of each single limit such that the bands of both sides hold simultaneously.

    Args:
        n_out, n_in: scores on each side, >= 1. Equal sizes get significance / 2 each.
        significance: largest probability that either band misses anywhere, in (0, 1).

    Returns:
        The largest eta with miss_probability(n_out, eta) + miss_probability(n_in, eta) <= significance, rounded
        down by about 0.01 %.

    Example:
        >>> f"{local_level(1000, 1000, 0.05):.4e}"
        '5.3286e-04'
    """
    whole(1, n_out=n_out, n_in=n_in)
    open_unit(significance=significance)
    target = math.log(significance) - _SAFETY
    points = max(n_out, n_in)
    log_eta = target - math.log(2.0 + 2.3 * math.log(points) ** 1.9)
    gap = math.log(both_miss(n_out, n_in, math.exp(log_eta))) - target
    slope, safe = 1.0, -math.inf
    for _ in range(60):
        if gap <= 0.3 * _SAFETY:
            safe = max(safe, log_eta)
        if abs(gap) <= 0.3 * _SAFETY:
            break
        following = min(log_eta - gap / slope, 0.5 * log_eta)  # eta below 1
        before, log_eta = (log_eta, gap), following
        gap = math.log(both_miss(n_out, n_in, math.exp(log_eta))) - target
        if log_eta != before[0]:
            slope = min(2.0, max(0.1, (gap - before[1]) / (log_eta - before[0])))
    return math.exp(safe)


def both_miss(n_out: int, n_in: int, eta: float) -> float:
    """Return the sum of the miss probabilities of the two bands, a bound on the probability that either misses."""
    return miss_probability(n_out, eta) + miss_probability(n_in, eta)


@lru_cache(maxsize=1024)
def miss_probability(n: int, eta: float) -> float:
    """Return Pr[U_(k) > BetaInv(1 - eta; k, n - k + 1) for some k], U_(k) ordered from n uniform variables.

    Args:
        n: number of points, >= 1.
        eta: local level, in (0, 1).

    Example:
        >>> round(miss_probability(1, 0.1), 12)
        0.1
        >>> round(miss_probability(2, 0.04), 6)
        0.072327
    """
    whole(1, n=n)
    open_unit(eta=eta)
    walk = _Walk.of(n, eta)
    touches = walk.rows(np.zeros(1))[0]
    return float(touches @ walk.escape())


def residual(n: int, eta: float, ranks: Floats) -> Floats:
    """Return sum_{l >= k} q_kl w_l - 1 at each rank k: the relative error of Pr[miss] due to the weights."""
    walk = _Walk.of(n, eta)
    return np.asarray(walk.rows(ranks) @ walk.escape() - 1.0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Walk:
    """The path of n points and its boundary, evaluated at the nodes.

    Args:
        n: number of points.
        nodes: ranks, increasing.
        place: logit(rank / (n + 1)) of the nodes, the coordinate in which w and b are smooth.
        height: (logit(b) - place) * `_deviation` at the nodes.
    """

    n: int
    nodes: Floats
    place: Floats
    height: Floats

    @classmethod
    def of(cls, n: int, eta: float) -> _Walk:
        nodes = _nodes(n)
        place = _logit(nodes, n)
        limit, rest = special.betainccinv(nodes, n - nodes + 1.0, eta), special.betaincinv(n - nodes + 1.0, nodes, eta)
        return cls(n, nodes, place, (np.log(limit / rest) - place) * _deviation(nodes, n))

    def escape(self) -> Floats:
        """Return w at the nodes, times `_deviation`: the solution of (*).

        Interpolation reaches no further than `_STENCIL` nodes below the diagonal: the matrix is banded, and the solver
        runs in one thread.
        """
        rows, size, reach = self.rows(self.nodes), len(self.nodes), min(_STENCIL, len(self.nodes)) - 1
        i, j = np.nonzero(~np.tri(size, size, -reach - 1, dtype=bool))
        banded = np.zeros((size + reach, size))
        banded[size - 1 + i - j, j] = rows[i, j]
        return np.asarray(linalg.solve_banded((reach, size - 1), banded, np.ones(size)), dtype=np.float64)

    def rows(self, starts: Floats) -> Floats:
        """Return rows k of (*): sum_l q_kl w_l as a linear function of `escape()`; k = 0 is the start of the path."""
        result = np.empty((len(starts), len(self.nodes)))
        near = self.n - starts < 3 * _EXACT if self.n > _DENSE else np.ones(len(starts), dtype=bool)
        for chosen, rule in ((near, _term_by_term), (~near, _in_panels)):
            if chosen.any():
                ranks, weights = rule(starts[chosen], self.n)
                basis = self._basis(ranks)
                values = weights * self._touch(starts[chosen], ranks, basis) / _deviation(ranks, self.n)
                result[chosen] = self._collect(values, basis)
        return result

    def _touch(self, starts: Floats, ranks: Floats, basis: Basis) -> Floats:
        """Return Pr[touch at l | touch at k] for k = starts and l = ranks >= k, shape `(len(starts), m)`."""
        limit, complement = self._boundary(ranks, basis)
        k = np.maximum(starts, 1.0)[:, None]  # start 0 as start 1: in both cases no point lies below
        low, rest = self._boundary(k, self._basis(k))
        begins = (starts == 0)[:, None]
        low, rest = np.where(begins, 0.0, low), np.where(begins, 1.0, rest)
        same = (ranks == k) & ~begins
        step = np.where(low < 0.5, limit - low, rest - complement)
        rate, keep = np.where(same, 0.5, step / rest), np.where(same, 0.5, complement / rest)
        return np.where(same, 1.0, np.exp(binomial_log_pmf(ranks - k, self.n - k + 1.0, rate, keep)))

    def _boundary(self, ranks: Floats, basis: Basis) -> tuple[Floats, Floats]:
        """Return b and 1 - b at real ranks, each to full relative precision."""
        index, weights = basis
        height = (self.height[index] * weights).sum(axis=-1)
        place = _logit(ranks, self.n) + height / _deviation(ranks, self.n)
        return special.expit(place), special.expit(-place)

    def _basis(self, ranks: Floats) -> Basis:
        """Return the nodes of each interpolation and their Lagrange weights, shape `ranks.shape + (width,)`."""
        width = min(_STENCIL, len(self.nodes))
        first = np.searchsorted(self.nodes, ranks, side="right") - width // 2
        index = np.clip(first, 0, len(self.nodes) - width)[..., None] + np.arange(width)
        grid, at = self.place[index], _logit(ranks, self.n)
        weights = np.ones(index.shape)
        for i, j in permutations(range(width), 2):
            weights[..., i] *= (at - grid[..., j]) / (grid[..., i] - grid[..., j])
        return index, weights

    def _collect(self, values: Floats, basis: Basis) -> Floats:
        """Return the sum of the values over each row, as coefficients of the nodes."""
        index, weights = basis
        n_rows, size = len(values), len(self.nodes)
        cells = np.arange(n_rows)[:, None, None] * size + index
        total = np.bincount(cells.ravel(), (values[..., None] * weights).ravel(), minlength=n_rows * size)
        return np.asarray(total.reshape(n_rows, size), dtype=np.float64)


def _nodes(n: int) -> Floats:
    """Return the ranks at which w is solved for, symmetric about the middle."""
    if n <= _DENSE:
        return np.arange(1.0, n + 1.0)
    reach = math.log((n + 1.0 - _N_TAIL_RANKS) / _N_TAIL_RANKS)
    inside = np.round((n + 1.0) * special.expit(np.linspace(-reach, reach, math.ceil(2.0 * reach / _SPACING))))
    ends = np.arange(1.0, _N_TAIL_RANKS)
    return np.unique(np.concatenate([ends, inside, n + 1.0 - ends]))


def _logit(ranks: Floats, n: int) -> Floats:
    """Return logit(rank / (n + 1)), precise at both ends."""
    return np.asarray(np.log(ranks / (n + 1.0 - ranks)), dtype=np.float64)


def _deviation(ranks: Floats, n: int) -> Floats:
    """Return the approximate standard deviation of N at a rank: w times this varies slowly."""
    return np.sqrt(ranks * (n + 1.0 - ranks) / (n + 1.0))


def _term_by_term(starts: Floats, n: int) -> tuple[Floats, Floats]:
    """Return points and weights with sum_{l=start}^{n} F(l) = sum(weights * F(points))."""
    first = np.maximum(starts, 1.0)[:, None]
    ranks = first + np.arange(n - first.min() + 1.0)
    return np.minimum(ranks, n), (ranks <= n).astype(np.float64)


def _in_panels(starts: Floats, n: int) -> tuple[Floats, Floats]:
    """Return points and weights as `_term_by_term` for smooth F: `_EXACT` terms at either end, and an integral between.

    Midpoint rule: sum F = int F - [F'] / 24 (Euler and Maclaurin), with Gauss-Legendre points in the logit of l counted
    from the start.
    """
    first = np.maximum(starts, 1.0)[:, None]
    size = n + 1.0 - first
    low, high = np.log((_EXACT + 0.5) / (size - _EXACT + 0.5)), np.log((size - _EXACT + 0.5) / (_EXACT + 0.5))
    positions = (np.arange(_PANELS)[:, None] + 0.5 * (_ABSCISSAE + 1.0)).ravel() / _PANELS
    share = special.expit(low + (high - low) * positions)
    lengths = (high - low) * np.tile(_WEIGHTS, _PANELS) / (2 * _PANELS) * share * (1.0 - share) * (size + 1.0)
    ends = np.zeros_like(size) + np.arange(_EXACT + 1.0)
    ones = np.ones_like(ends)
    ones[:, -2:] = 1 - 1 / 24, 1 / 24
    ranks = np.concatenate([first + ends, first - 1.0 + (size + 1.0) * share, n - ends], axis=1)
    return ranks, np.concatenate([ones, lengths, ones], axis=1)
