r"""A test martingale against "(epsilon, delta)-DP" with bets on a sequence of events.

**The null.** For an event S, p its probability on the gaining side (where it is more likely), q on the losing side, and
r = e^epsilon:

    H(epsilon):  p <= r q + delta.

**One bet.** A bet (stake c, centre a) puts mu = c / (r + delta) on a hit of the gaining side and, in proportion,
against a hit of the losing side. With y, x in {0, 1} the hits of one run on either, and b = a (r + delta):

    (1 + mu (y - b)) (1 - mu (r x + delta - b))                                                            (*)

    gain: hit 1 - ca + c/(r+delta), miss 1 - ca;      loss: hit 1 + ca - c, miss 1 + ca - c delta/(r+delta).

All four are >= 0 when 0 <= c <= 1/(1-a), ca <= 1. Let s = r q + delta - b. Under H(epsilon), p - b <= s, and since runs
are independent, the expectation of (*) is at most (1 + mu s)(1 - mu s) <= 1. So is the expectation of a product of such
factors with events and bets fixed by the past, and of every average with weights fixed beforehand: the wealth K is a
non-negative supermartingale that starts at 1, and by Ville (1939) Pr[K ever reaches 1/significance] <= significance.
With a = 0 this is nearly the usual "1 + lambda Z, Z = y - r x - delta"; a > 0, near q, grows faster where runs are few
(a perfect attack on epsilon = 0: by a factor of 4 per pair instead of 2). The form, one factor per stream, is the
two-stream e-variable of Turner, Ly and Gruenwald (2024).

**Unequal sides.** One step is one run of the smaller side and a block of m runs of the larger, each with mu / m:
(1 + mu s / m)^m (1 - mu s) <= 1, as its logarithm is concave in s with slope 0 at 0 (and likewise for the other side).

**Over epsilon.** For fixed (c, a) every factor falls when epsilon grows, except the losing side's miss, which rises a
little when delta > 0. Taking that factor at the lower and the others at the upper end of an interval gives a wealth
below K(epsilon) throughout: one evaluation rejects the whole interval.

**Over time.** ln K is the log of a sum of exponentials that are linear in the running counts. Between two times no
component gains more than its factors above 1 would, so whole blocks of steps can be skipped, and the largest wealth is
computed exactly without visiting every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import Bools, Floats

_BLOCKS = (4096, 512, 64, 8, 1)  # largest number of steps that are skipped together; the last must be 1
_FEW_STEPS = 512  # fewer steps than this are all visited
_MAX_EPSILON = 700.0  # epsilon, up to which e^epsilon is a float; beyond, each factor is rounded down to its limit
_ROWS = 8192  # number of times whose wealth is computed together, which bounds the memory


@dataclass(frozen=True)
class Bets:
    """A prior over bets (stake, centre), all weights equal.

    Args:
        stakes: `(j,)` shares, in (0, 1), of the largest stake 1 / (1 - centre) that keeps the wealth non-negative.
        centres: `(k,)` in [0, 1/2]; every stake is combined with every centre.
    """

    stakes: tuple[float, ...]
    centres: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.stakes) * len(self.centres)

    def logs(self, low: float, high: float, delta: float, roles: tuple[tuple[bool, float], ...]) -> Floats:
        """Return logarithms of the factors, at most those of any epsilon in [low, high]; `(2 * len(roles), j * k)`.

        There are two rows, hit and miss, for each role: (True if the side gains, its share 1/m of the stake). The
        result is cached, since many events share their bets.
        """
        return _logs(self, low, high, delta, roles)

    @cached_property
    def held(self) -> tuple[Floats, Floats]:
        """Stake c and product c * a of each combination of a stake and a centre a."""
        centre = np.repeat(self.centres, len(self.stakes))
        stake = np.tile(self.stakes, len(self.centres)) / (1.0 - centre)
        return stake, stake * centre


@lru_cache(maxsize=1024)
def _logs(bets: Bets, low: float, high: float, delta: float, roles: tuple[tuple[bool, float], ...]) -> Floats:
    stake, held = bets.held
    at_hit = stake / (math.exp(high) + delta) if high < _MAX_EPSILON else np.zeros_like(stake)
    at_miss = stake * (delta / (math.exp(min(low, _MAX_EPSILON)) + delta))
    rows = []
    for gains, share in roles:
        hit, miss = (at_hit - held, -held) if gains else (held - stake, held - at_miss)
        rows += [np.log1p(share * hit), np.log1p(share * miss)]
    logs = np.array(rows)
    logs.flags.writeable = False
    return logs


@dataclass(frozen=True, eq=False)
class Stretch:
    """Running counts of an event over consecutive steps; the event and the centres were fixed before the first step.

    Args:
        counts: `(2 * len(roles), n_steps + 1)` hits and misses since the first step, two rows per role, from 0.
        roles: (True if the side gains, its share of the stake) for each role.
        bets: bets on the event.
    """

    counts: Floats
    roles: tuple[tuple[bool, float], ...]
    bets: Bets

    @classmethod
    def of(cls, gain: Bools, loss: Bools, bets: Bets) -> Stretch:
        """Return the running counts from the hits of both sides in run order."""
        n_steps = min(len(gain), len(loss))
        parts = [(gains, *part) for gains, hits in ((True, gain), (False, loss)) for part in _blocks(hits, n_steps)]
        counts = np.zeros((2 * len(parts), n_steps + 1))
        for i, (_, _, hits, runs) in enumerate(parts):
            np.cumsum(hits, out=counts[2 * i, 1:], dtype=np.float64)
            np.cumsum(runs, out=counts[2 * i + 1, 1:], dtype=np.float64)
            counts[2 * i + 1] -= counts[2 * i]
        return cls(counts, tuple((gains, 1.0 / size) for gains, size, _, _ in parts), bets)

    @classmethod
    def ending(cls, gain: int, n_gain: int, loss: int, n_loss: int, bets: Bets) -> Stretch:
        """Return final counts only, for counts without a known order: valid at this one time.

        The larger side has the share n_small / n_large, by the same inequality as for blocks.
        """
        smaller = min(n_gain, n_loss)
        end = np.array([[gain], [n_gain - gain], [loss], [n_loss - loss]], dtype=np.float64)
        return cls(end, ((True, smaller / max(n_gain, 1)), (False, smaller / max(n_loss, 1))), bets)


def largest_log_wealth(
    stretches: Iterable[Sequence[Stretch]],
    weights: Floats,
    *,
    low: float,
    high: float,
    delta: float,
    enough: float = math.inf,
) -> float:
    """Return the logarithm of the largest average wealth, over time, against every epsilon in [low, high].

    Args:
        stretches: consecutive in time; each item has one stretch per event, all of equal length. An event keeps
            its number of bets throughout.
        weights: `(n_events,)` prior weights, sum 1.
        low, high, delta: the null hypotheses.
        enough: stop the search once this value is reached, or can no longer be reached; the result is exact below it.

    Example:
        >>> always, never = np.ones(10, dtype=bool), np.zeros(10, dtype=bool)
        >>> bet = Bets(stakes=(0.5,), centres=(0.0,))
        >>> top = largest_log_wealth([[Stretch.of(always, never, bet)]], np.ones(1), low=0.0, high=0.0, delta=0.0)
        >>> round(math.exp(top), 3)
        57.665
    """
    best, levels = -math.inf, np.zeros(0)
    for events in stretches:
        if not len(levels):
            n_bets = [len(event.bets) for event in events]
            levels = np.repeat(np.log(weights / n_bets), n_bets)
        counts_and_logs = [(event.counts, event.bets.logs(low, high, delta, event.roles)) for event in events]
        best = _largest_within(counts_and_logs, levels, best, enough)
        if best >= enough:
            return best
        levels = levels + np.concatenate([counts[:, -1] @ logs for counts, logs in counts_and_logs])
    return best


def _largest_within(counts_and_logs: list[tuple[Floats, Floats]], levels: Floats, best: float, enough: float) -> float:
    """Return the larger of `best` and the highest wealth within one stretch that starts at the log wealths `levels`.

    Blocks of steps are skipped if they cannot exceed it, even if every bet in them were won.
    """
    last = counts_and_logs[0][0].shape[1] - 1
    if last < _FEW_STEPS:
        steps = np.arange(last + 1)
        return max(best, float(_wealth(counts_and_logs, levels, steps, steps).max()))
    starts = np.arange(0, last + 1, _BLOCKS[0])
    for size, inner in zip(_BLOCKS, (*_BLOCKS[1:], 1), strict=True):
        promising = []
        for part in (starts[i : i + _ROWS] for i in range(0, len(starts), _ROWS)):
            best = max(best, float(_wealth(counts_and_logs, levels, part, part).max()))
            if best >= enough:
                return best
            ends = np.minimum(part + size - 1, last)
            floor = best if enough == math.inf else enough
            promising.append(part[_wealth(counts_and_logs, levels, part, ends) > floor])
        starts = np.concatenate(promising)
        if size == 1 or len(starts) == 0:
            return best
        starts = (starts[:, np.newaxis] + np.arange(0, size, inner)).ravel()
        starts = starts[starts <= last]
    return best


def _wealth(
    counts_and_logs: list[tuple[Floats, Floats]], levels: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> Floats:
    """Return the log of the average wealth at `starts`, plus the largest possible gain until `ends`."""
    parts = []
    for counts, logs in counts_and_logs:
        at_start = counts[:, starts]
        level = at_start.T @ logs
        if ends is not starts:
            level += (counts[:, ends] - at_start).T @ np.maximum(logs, 0.0)
        parts.append(level)
    level = np.concatenate(parts, axis=1) + levels
    top = level.max(axis=1)
    total: Floats = top + np.log(np.exp(level - top[:, np.newaxis]).sum(axis=1))
    return total


def _blocks(hits: Bools, n_steps: int) -> list[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Return (size, hits per step, runs per step) for each block size; steps with blocks of another size are 0."""
    if len(hits) == n_steps:
        return [(1, hits, np.ones(n_steps, dtype=bool))]
    edges = block_edges(len(hits), n_steps)
    sizes = np.diff(edges)
    block_hits = np.add.reduceat(hits.astype(np.int64), edges[:-1]) if n_steps else np.zeros(0)
    masks = [(int(size), sizes == size) for size in np.unique(sizes)]
    return [(size, np.where(mask, block_hits, 0), np.where(mask, size, 0)) for size, mask in masks]


def block_edges(n: int, n_steps: int) -> NDArray[np.intp]:
    """Return the edges `(n_steps + 1,)` of the blocks of `n` runs in `n_steps` steps."""
    return np.arange(n_steps + 1) * n // max(n_steps, 1)
