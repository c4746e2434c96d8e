"""What the level of an output adds to a score.

A score gives each pilot output a probability p of side 1. Among the n outputs of one level, sum p are expected on side
1, with a variance of sum p (1 - p); more or fewer than that is what the level adds: log odds of what was found less
log odds of what was expected. Under a score that misses nothing, the standardised differences are nearly normal, so
that their largest and the sum of their squares tell whether a rule sees what the score does not.

Nothing here needs a correction: it is learned and chosen on pilot outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from .rules import Floats, Levels

FEWEST = 2.0
"""Variance of the number of outputs of a level from which on it is looked at."""
CLEAR = 2.0
"""Standard deviations from which on a level counts: others add nothing but noise."""
PILOT_LEVEL = 0.05
"""Rates are taken at one-sided limits of this level, so that a few lucky outputs promise nothing."""


@dataclass(frozen=True, eq=False)
class Beyond:
    """The log odds that each level adds to a score.

    Args:
        known: `(n_levels,)` levels, in order.
        log_odds: `(n_levels,)` what they add; 0 where that is not clear.
    """

    known: Levels
    log_odds: Floats

    def of(self, levels: Levels) -> Floats:
        """What each of `(size,)` levels adds; 0 for one that the pilot did not have."""
        if not len(self.known):
            return np.zeros(len(levels))
        at = np.searchsorted(self.known, levels).clip(max=len(self.known) - 1)
        return np.where(self.known[at] == levels, self.log_odds[at], 0.0)


class Learned(NamedTuple):
    """What a rule adds to a score, and the logarithm of the chance that it only seems to."""

    beyond: Beyond
    log_p_value: float


def learn_beyond(levels: Levels, sides: NDArray[np.int64], scores: Floats) -> Learned:
    """What levels add to the scores of the same pilot outputs.

    Args:
        levels: `(n,)` of pilot outputs of both sides.
        sides: `(n,)` 0 or 1.
        scores: `(n,)` log odds of side 1, natural logarithms.
    """
    n_in = int(np.count_nonzero(sides))
    prior = math.log(max(n_in, 1) / max(len(sides) - n_in, 1))
    probability = special.expit(scores + prior)
    known, at = np.unique(levels, return_inverse=True)
    number, found, expected, variance = (
        np.bincount(at, weights=weights).astype(np.float64)
        for weights in (np.ones(len(at)), sides, probability, probability * (1.0 - probability))
    )
    away = (found - expected) / np.sqrt(np.maximum(variance, 1e-300))
    looked_at = variance >= FEWEST
    if not looked_at.any():
        return Learned(Beyond(known[:0], np.empty(0)), 0.0)
    odds = _log_odds(found, number) - _log_odds(expected, number)
    kept = looked_at & (np.abs(away) >= CLEAR)
    return Learned(Beyond(known[kept], odds[kept]), _log_p_value(away[looked_at]))


def _log_odds(count: Floats, number: Floats) -> Floats:
    return np.asarray(np.log(count + 0.5) - np.log(number - count + 0.5))


def _log_p_value(away: Floats) -> float:
    """Of the largest of standardised differences, or the sum of their squares: twice the smaller one."""
    n = len(away)
    largest = math.log(2.0 * n) + float(stats.norm.logsf(np.abs(away).max()))
    together = float(stats.chi2.logsf((away**2).sum(), n))
    return min(0.0, math.log(2.0) + min(largest, together))


def promise(out: Floats, in_: Floats) -> float:
    """The largest log ratio of rates that some threshold shows in either direction, both taken at their limits.

    Args:
        out, in_: scores of pilot outputs of side 0 and of side 1.
    """
    n_out, n_in = len(out), len(in_)
    if not n_out or not n_in:
        return 0.0
    thresholds = np.unique(np.concatenate([out, in_]))
    if len(thresholds) > 600:
        near = np.linspace(0, len(thresholds) - 1, 500).astype(int)
        thresholds = np.unique(thresholds[np.concatenate([near, np.arange(50), -1 - np.arange(50)])])
    hits_out = n_out - np.searchsorted(np.sort(out), thresholds)
    hits_in = n_in - np.searchsorted(np.sort(in_), thresholds)
    forward = _ratio(hits_in, n_in, hits_out, n_out)
    backward = _ratio(n_out - hits_out, n_out, n_in - hits_in, n_in)
    return max(0.0, float(forward.max()), float(backward.max()))


def _ratio(gain: NDArray[np.int64], n_gain: int, loss: NDArray[np.int64], n_loss: int) -> Floats:
    """Log of the ratio of Clopper and Pearson's limits."""
    lower = special.betaincinv(np.maximum(gain, 1), n_gain - gain + 1.0, PILOT_LEVEL)
    upper = special.betaincinv(loss + 1.0, np.maximum(n_loss - loss, 1), 1.0 - PILOT_LEVEL)
    ratio = np.log(np.where(gain > 0, lower, 1e-300)) - np.log(np.where(loss < n_loss, upper, 1.0))
    return np.asarray(ratio)


__all__ = ["Beyond", "Learned", "learn_beyond", "promise"]
