r"""Wealth of a gambler who bets against "(epsilon, delta)-DP" on one event after another.

**The null.** For an event S, p its probability on the side that is said to gain, q on the other; r = e^epsilon:

    H(epsilon):  p <= r q + delta.

**One bet.** A bet (stake c, centre a) puts mu = c / (r + delta) on a hit of the gaining side and, in proportion,
against a hit of the losing side. With y, x in {0, 1} the hits of one run on either, and b = a (r + delta):

    (1 + mu (y - b)) (1 - mu (r x + delta - b))                                                            (*)

    gain: hit 1 - ca + c/(r+delta), miss 1 - ca;      loss: hit 1 + ca - c, miss 1 + ca - c delta/(r+delta).

All four are >= 0 when 0 <= c <= 1/(1-a), ca <= 1. Let s = r q + delta - b. Under H(epsilon), p - b <= s, runs being
independent, the expectation of (*) is at most (1 + mu s)(1 - mu s) <= 1. So is that of a product of such factors with
events and bets fixed by the past, and of every average with weights fixed beforehand: the wealth K is a non-negative
supermartingale that starts at 1, and by Ville (1939) Pr[K ever reaches 1/significance] <= significance. With a = 0
this is nearly the usual "1 + lambda Z, Z = y - r x - delta"; a > 0, near q, grows faster where runs are few (a perfect
attack on epsilon = 0: by 4 a pair instead of 2). The form, one factor a stream, is that of the two-stream e-variables
of Turner, Ly and Gruenwald (2024).

**Unequal sides.** One step is one run of the smaller side and a block of m runs of the larger, each with mu / m:
(1 + mu s / m)^m (1 - mu s) <= 1, as its logarithm is concave in s with slope 0 at 0 (and likewise for the other side).

**Over epsilon.** For fixed (c, a) every factor falls when epsilon grows, but for the losing side's miss, which rises a
little when delta > 0. Taking that one at the lower and the others at the upper end of an interval gives a wealth that
is below K(epsilon) throughout: one evaluation rejects the whole interval.

**Over time.** ln K is the log of a sum of exponentials that are linear in the running counts. Between two times no
component gains more than its positive factors would, so whole blocks of steps are ruled out at once, and the largest
wealth ever is found exactly without visiting every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...evidence.scores import Floats

Flags = NDArray[np.bool_]

_BLOCKS = (4096, 512, 64, 8, 1)  # steps that are ruled out together, at most; the last must be 1
_FEW_STEPS = 512  # this many are simply all visited
_LARGEST = 700.0  # epsilon, up to which e^epsilon is a float; beyond, each factor is rounded down to its limit
_ROWS = 8192  # times whose wealth is computed together, which bounds the memory


@dataclass(frozen=True)
class Bets:
    """A prior over bets (stake, centre), all weights equal.

    Args:
        stakes: `(j,)` each a share, in (0, 1), of the largest stake 1 / (1 - centre) that cannot go bankrupt.
        centres: `(k,)` in [0, 1/2]; every stake is combined with every centre.
    """

    stakes: tuple[float, ...]
    centres: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.stakes) * len(self.centres)

    def logs(self, low: float, high: float, delta: float, roles: tuple[tuple[bool, float], ...]) -> Floats:
        """`(2 * len(roles), j * k)` logarithms of the factors, not above those of any epsilon in [low, high].

        Two rows, hit and miss, for each role: (whether the side gains, its share 1/m of the stake). Remembered, since
        many events share their bets.
        """
        return _logs(self, low, high, delta, roles)

    @cached_property
    def held(self) -> tuple[Floats, Floats]:
        """Stake of each combination, and the part of it that the centre holds back."""
        centre = np.repeat(self.centres, len(self.stakes))
        stake = np.tile(self.stakes, len(self.centres)) / (1.0 - centre)
        return stake, stake * centre


@lru_cache(maxsize=1024)
def _logs(bets: Bets, low: float, high: float, delta: float, roles: tuple[tuple[bool, float], ...]) -> Floats:
    stake, held = bets.held
    at_hit = stake / (math.exp(high) + delta) if high < _LARGEST else np.zeros_like(stake)
    at_miss = stake * (delta / (math.exp(min(low, _LARGEST)) + delta))
    rows = []
    for gains, share in roles:
        hit, miss = (at_hit - held, -held) if gains else (held - stake, held - at_miss)
        rows += [np.log1p(share * hit), np.log1p(share * miss)]
    logs = np.array(rows)
    logs.flags.writeable = False
    return logs


@dataclass(frozen=True, eq=False)
class Stretch:
    """Running counts of an event, over steps before whose first the event and the centres of its bets were fixed.

    Args:
        counts: `(2 * len(roles), n_steps + 1)` hits and misses since the stretch began, two rows a role; at first 0.
        roles: whether the side gains, and its share of the stake.
        bets: what is bet.
    """

    counts: Floats
    roles: tuple[tuple[bool, float], ...]
    bets: Bets

    @classmethod
    def of(cls, gain: Flags, loss: Flags, bets: Bets) -> Stretch:
        """The hits of both sides in run order."""
        n_steps = min(len(gain), len(loss))
        parts = [(gains, *part) for gains, hits in ((True, gain), (False, loss)) for part in _blocks(hits, n_steps)]
        counts = np.zeros((2 * len(parts), n_steps + 1))
        for at, (_, _, hit, ran) in enumerate(parts):
            np.cumsum(hit, out=counts[2 * at, 1:], dtype=np.float64)
            np.cumsum(ran, out=counts[2 * at + 1, 1:], dtype=np.float64)
            counts[2 * at + 1] -= counts[2 * at]
        return cls(counts, tuple((gains, 1.0 / size) for gains, size, _, _ in parts), bets)

    @classmethod
    def ending(cls, gain: int, n_gain: int, loss: int, n_loss: int, bets: Bets) -> Stretch:
        """Only where it ends, for counts whose order is not known: valid at this one time.

        The larger side has the share n_small / n_large, by the same inequality as for blocks.
        """
        fewer = min(n_gain, n_loss)
        end = np.array([[gain], [n_gain - gain], [loss], [n_loss - loss]], dtype=np.float64)
        return cls(end, ((True, fewer / max(n_gain, 1)), (False, fewer / max(n_loss, 1))), bets)


def highest(
    stretches: Iterable[Sequence[Stretch]],
    weights: Floats,
    *,
    low: float,
    high: float,
    delta: float,
    enough: float = math.inf,
) -> float:
    """Logarithm of the largest average wealth ever against every epsilon in [low, high]; exact below `enough`.

    Args:
        stretches: one after another in time; in each, one stretch of each event, all of equal length. An event keeps
            its number of bets throughout.
        weights: `(n_events,)` prior weights, sum 1.
        low, high, delta: the nulls.
        enough: stop searching once this is reached, or cannot be reached any more; inf finds the maximum.

    Example:
        >>> always, never = np.ones(10, dtype=bool), np.zeros(10, dtype=bool)
        >>> bet = Bets(stakes=(0.5,), centres=(0.0,))
        >>> top = highest([[Stretch.of(always, never, bet)]], np.ones(1), low=0.0, high=0.0, delta=0.0)
        >>> round(math.exp(top), 3)
        57.665
    """
    best, levels = -math.inf, np.zeros(0)
    for events in stretches:
        if not len(levels):
            n_bets = [len(event.bets) for event in events]
            levels = np.repeat(np.log(weights / n_bets), n_bets)
        play = [(event.counts, event.bets.logs(low, high, delta, event.roles)) for event in events]
        best = _highest_within(play, levels, best, enough)
        if best >= enough:
            return best
        levels = levels + np.concatenate([counts[:, -1] @ logs for counts, logs in play])
    return best


def _highest_within(play: list[tuple[Floats, Floats]], levels: Floats, best: float, enough: float) -> float:
    """The larger of `best` and the highest wealth within one stretch that begins at the log wealths `levels`.

    Blocks of steps that cannot come above it, even if all were won and nothing lost in them, are not looked into.
    """
    last = play[0][0].shape[1] - 1
    if last < _FEW_STEPS:
        every = np.arange(last + 1)
        return max(best, float(_wealth(play, levels, every, every).max()))
    starts = np.arange(0, last + 1, _BLOCKS[0])
    for size, inner in zip(_BLOCKS, (*_BLOCKS[1:], 1), strict=True):
        kept = []
        for part in (starts[i : i + _ROWS] for i in range(0, len(starts), _ROWS)):
            best = max(best, float(_wealth(play, levels, part, part).max()))
            if best >= enough:
                return best
            ends = np.minimum(part + size - 1, last)
            kept.append(part[_wealth(play, levels, part, ends) > (best if enough == math.inf else enough)])
        starts = np.concatenate(kept)
        if size == 1 or len(starts) == 0:
            return best
        starts = (starts[:, np.newaxis] + np.arange(0, size, inner)).ravel()
        starts = starts[starts <= last]
    return best


def _wealth(
    play: list[tuple[Floats, Floats]], levels: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> Floats:
    """Log of the average wealth at `starts`, plus all that could be won, and nothing lost, until `ends`."""
    parts = []
    for counts, logs in play:
        then = counts[:, starts]
        level = then.T @ logs
        if ends is not starts:
            level += (counts[:, ends] - then).T @ np.maximum(logs, 0.0)
        parts.append(level)
    level = np.concatenate(parts, axis=1) + levels
    top = level.max(axis=1)
    total: Floats = top + np.log(np.exp(level - top[:, np.newaxis]).sum(axis=1))
    return total


def _blocks(hits: Flags, n_steps: int) -> list[tuple[int, NDArray[Any], NDArray[Any]]]:
    """For each size of block: (size, hits a step, runs a step), the steps with blocks of another size being 0."""
    if len(hits) == n_steps:
        return [(1, hits, np.ones(n_steps, dtype=bool))]
    edges = block_edges(len(hits), n_steps)
    sizes = np.diff(edges)
    found = np.add.reduceat(hits.astype(np.int64), edges[:-1]) if n_steps else np.zeros(0)
    of_size = [(int(size), sizes == size) for size in np.unique(sizes)]
    return [(size, np.where(at, found, 0), np.where(at, size, 0)) for size, at in of_size]


def block_edges(n: int, n_steps: int) -> NDArray[np.intp]:
    """Where the blocks of `n` runs in `n_steps` steps begin and end, `(n_steps + 1,)`."""
    return np.arange(n_steps + 1) * n // max(n_steps, 1)


__all__ = ["Bets", "Flags", "Stretch", "block_edges", "highest"]
