r"""Limits of a paired difference of two success rates on the same rounds.

In each of n independent rounds the first guess is right and the second wrong with probability p (b rounds), the second
right and the first wrong with probability q (c rounds), and otherwise they tie. The gain is D = p - q; the rate of
disagreement pi = p + q is a nuisance parameter.

**Order.** Outcomes are ordered by a betting limit (Waudby-Smith and Ramdas 2024; Orabona and Jun 2021). With
x = 1, 1/2, 0 for a round won, tied, lost and m = (1 + D) / 2 its mean, a share s of the wealth bet on it multiplies the
wealth by 1 - s + s x / m, so

    W_D(b, c) = average over s of (1 - s + s/m)^b (1 - s + s/(2m))^(n-b-c) (1 - s)^c,     T(b, c) = sup{D : W_D >= w}.

W falls with D, and rises when a tie becomes a win or a loss a tie; hence so does T. The order is fixed before the data.

**Limit** (Buehler 1957: the largest lower limits that have a given order). For C a confidence interval of pi with error
gamma (Clopper and Pearson 1934; Berger and Boos 1994), the gain D0 is rejected where

    gamma + sup{ Pr[T >= T observed; pi, min(D0, pi)] : pi in C } <= significance.

Level: under the true (pi, D), an error needs either that C misses pi (probability <= gamma), or that T is so large that
its tail probability is at most significance - gamma (probability <= significance - gamma). The tail probability rises
with D0 for each pi (losses become wins), so rejected gains form an interval, and its end is the limit.

Supremum: on a cell [pi1, pi2] the event is at most as likely as with p at its value in pi2 and q at its value in pi1
(fewer losses, more wins). That probability is computed, so the bound holds between the points of the grid as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from ....mechanisms.accounting.numerics.binomial import log_choose
from ....mechanisms.core import Bools, Floats, Ints, bisect, least_integers
from . import binomial

MAX_EXACT_ROUNDS = 200_000
"""Rounds up to which the limit is computed as above; beyond, it comes from two binomial limits at half the level."""
_SHARES = np.geomspace(1e-3, 0.9, 9)  # shares of the wealth that are bet in each round; their average gives the order
_WEALTH = 1.5  # w: the level comes from the test below, so w only affects the order
_SPENT = 0.02  # gamma / significance
_CELLS, _SPLIT = 24, 4  # number of cells of the interval C, and of each cell that must be split
_BEYOND = 1e-5  # share of the level: tail probability that is not computed, and added in full
_PRECISION = 2e-3  # of the limit, in lengths of the interval; always on the safe side


@lru_cache(maxsize=4096)
def lower(wins: int, losses: int, n: int, significance: float) -> float:
    """Return the lower limit of the gain; it exceeds the true gain with probability <= significance.

    Args:
        wins: number of rounds in which only the first guess is right, b.
        losses: number of rounds in which only the second guess is right, c.
        n: number of rounds, >= 1.
        significance: one-sided error, in (0, 1).

    Returns:
        A gain in [-1, 1].

    Example:
        >>> round(lower(30, 10, 100, 0.025), 3)
        0.075
    """
    if n > MAX_EXACT_ROUNDS:
        share = 0.5 * significance
        return float(binomial.lower(wins, n, share) - binomial.upper(losses, n, share))
    if wins == 0 and losses == n:
        return -1.0
    spent = _SPENT * significance
    disagree = np.array([wins + losses])
    ends = [float(limit(disagree, n, spent / 2)[0]) for limit in (binomial.lower, binomial.upper)]
    test = _Test.of(wins, losses, n, (ends[0], ends[1]), significance - spent)
    estimate = (wins - losses) / n
    reach = (math.sqrt((wins + losses) / n - estimate**2) + 2.0 / math.sqrt(n)) * 2.0 / math.sqrt(n)
    low, high = estimate - reach, estimate
    while low > -1.0 and not test.rejects(low):
        low, high = low - reach, low
    low = max(low, -1.0)
    return bisect(
        lambda gain: not test.rejects(gain), low, high, close=lambda low, high: high - low <= _PRECISION * reach
    )[0]


def upper(wins: int, losses: int, n: int, significance: float) -> float:
    """Return the upper limit of the gain: the negative lower limit of the gain with the roles swapped.

    Example:
        >>> upper(0, 50, 50, 0.025) < -0.85
        True
    """
    return -lower(losses, wins, n, significance)


@dataclass(frozen=True, eq=False)
class _Test:
    """The test of a gain with the event {T >= T observed}.

    Args:
        n: number of rounds.
        losses: `(k,)` possible numbers of losses.
        wins: `(k,)` smallest number of wins in the event, for each number of losses; more than n - losses if none.
        log_ways: `(k,)` log of the binomial coefficient n over losses.
        ends: ends of C, the interval of the rate of disagreement.
        level: significance level of the test, significance - gamma.
    """

    n: int
    losses: Ints
    wins: Ints
    log_ways: Floats
    ends: tuple[float, float]
    level: float

    @classmethod
    def of(cls, wins: int, losses: int, n: int, ends: tuple[float, float], level: float) -> _Test:
        """Return the test with the event of outcomes at least as large, in T, as the observed wins and losses."""
        max_count = binomial.quantile_of_one(1.0 - _BEYOND * level, n, ends[1])
        counts = np.arange(max_count + 1)
        return cls(n, counts, _fewest_wins(_limit(wins, losses, n), counts, n), log_choose(n, counts), ends, level)

    def rejects(self, gain: float) -> bool:
        """Return True if every gain <= `gain` is rejected: for no pi in C is the event more likely than the level."""
        from_, to = max(self.ends[0], -gain), self.ends[1]
        if from_ > to:
            return True
        edges = np.linspace(from_, to, _CELLS + 1)
        cells = self._too_likely(np.stack([edges[:-1], edges[1:]], axis=1), gain)
        if len(cells) == 0 or (self.probability(*_rates(cells.mean(axis=1), gain)) > self.level).any():
            return len(cells) == 0
        parts = cells[:, :1] + (cells[:, 1:] - cells[:, :1]) * np.linspace(0.0, 1.0, _SPLIT + 1)
        return len(self._too_likely(np.stack([parts[:, :-1].ravel(), parts[:, 1:].ravel()], axis=1), gain)) == 0

    def _too_likely(self, cells: Floats, gain: float) -> Floats:
        """Return the cells `(j, 2)`, out of `(k, 2)`, in which the event may be more likely than the level."""
        (_, loss), (win, _) = _rates(cells[:, 0], gain), _rates(cells[:, 1], gain)
        return cells[self.probability(win, loss) > self.level]

    def probability(self, win: Floats, loss: Floats) -> Floats:
        """Return the probability `(k,)` of the event at rates of wins and losses; far tails are added in full."""
        beyond = _BEYOND * self.level
        first = binomial.quantile_of_one(beyond, self.n, float(loss.min()))
        last = binomial.quantile_of_one(1.0 - beyond, self.n, float(loss.max())) + 1
        losses, wins, log_ways = self.losses[first:last], self.wins[first:last], self.log_ways[first:last]
        rest, q = self.n - losses, loss[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(q < 1.0, np.minimum(1.0, win[:, np.newaxis] / (1.0 - q)), 0.0)
        tail = special.betainc(np.maximum(wins, 1), np.maximum(rest - wins + 1, 1), share)  # Bin(rest, share) >= wins
        tail = np.where(wins <= 0, 1.0, np.where(wins > rest, 0.0, tail))
        weight = np.exp(special.xlogy(losses, q) + special.xlog1py(rest, -q) + log_ways)
        return np.asarray((weight * tail).sum(axis=1) + 2.0 * beyond)


def _rates(disagree: Floats, gain: float) -> tuple[Floats, Floats]:
    """Return (p, q) at a rate of disagreement >= -gain and the largest gain <= `gain`; both rise with the rate."""
    win = np.maximum(0.0, 0.5 * (disagree + np.minimum(gain, disagree)))
    return win, np.maximum(0.0, disagree - win)


def _fewest_wins(limit: float, losses: Ints, n: int) -> Ints:
    """Return the smallest number of wins `(k,)` with T >= `limit` for each number of losses; n - losses + 1 if none."""

    def reached(wins: Ints) -> Bools:
        return _log_wealth(wins, losses, n, limit) >= math.log(_WEALTH)

    return least_integers(reached, np.full(len(losses), -1), n - losses + 1)


def _limit(wins: int, losses: int, n: int) -> float:
    """Return T, rounded down."""
    counts = np.array([wins]), np.array([losses])

    def beyond(gain: float) -> bool:
        return bool(_log_wealth(*counts, n, gain)[0] < math.log(_WEALTH))

    return bisect(beyond, -1.0, 1.0, close=lambda low, high: high - low <= 1e-9)[0]


def _log_wealth(wins: Ints, losses: Ints, n: int, gain: float) -> Floats:
    """Return log W, shape `(k,)`, at `gain` > -1."""
    mean = 0.5 * (1.0 + gain)
    win, tie, loss = (np.log1p(_SHARES * (x / mean - 1.0)) for x in (1.0, 0.5, 0.0))
    counts = np.stack([wins, n - wins - losses, losses], axis=1)
    logs = np.logaddexp.reduce(counts @ np.array([win, tie, loss]), axis=1)
    return np.asarray(logs) - math.log(len(_SHARES))
