"""What the level of an output adds to a score.

A score gives each pilot output a probability p of side 1. Among the outputs of one level, sum p are expected on side 1,
with a variance of sum p (1 - p); where more or fewer are found, the level adds the log odds that explain it. Under a
score that misses nothing, the standardised differences are nearly normal, so that their largest and the sum of their
squares tell whether a rule sees what the score does not.

Nothing here needs a correction: it is learned and chosen on pilot outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .rules import Floats, Levels

FEWEST = 2.0
"""Variance of the number of outputs of a level from which on it is looked at."""
CLEAR = 2.0
"""Standard deviations from which on a level counts: others add nothing but noise."""
N_STEPS, LARGEST_STEP = 15, 1.0
"""Of Newton's method: the log odds of a level of one side only grow with the logarithm of its outputs."""
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


@dataclass(frozen=True, eq=False)
class _Levels:
    """Levels of pilot outputs, what was found among those of each, and what a score expects.

    Args:
        known: `(n_levels,)` levels, in order.
        at: `(n,)` place of each output's level in them.
        scores: `(n,)` log odds of side 1, for sides of the sizes that they have here.
        found: `(n_levels,)` outputs of side 1.
    """

    known: Levels
    at: Levels
    scores: Floats
    found: Floats

    @classmethod
    def of(cls, levels: Levels, sides: NDArray[np.int64], scores: Floats) -> _Levels:
        """From levels, sides and log odds of `(n,)` outputs."""
        n_in = int(np.count_nonzero(sides))
        prior = math.log(max(n_in, 1) / max(len(sides) - n_in, 1))
        known, at = np.unique(levels, return_inverse=True)
        return cls(known, at, scores + prior, np.bincount(at, weights=sides).astype(np.float64))

    def expected(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the outputs of side 1 in each level, if it adds `log_odds` to the scores."""
        p = special.expit(self.scores + log_odds[self.at])
        mean, variance = (np.bincount(self.at, weights=each) for each in (p, p * (1.0 - p)))
        return mean.astype(np.float64), variance.astype(np.float64)

    def away(self) -> tuple[Floats, NDArray[np.bool_]]:
        """How many standard deviations were found more than expected, and which levels are looked at."""
        mean, variance = self.expected(np.zeros(len(self.known)))
        return (self.found - mean) / np.sqrt(np.maximum(variance, 1e-300)), variance >= FEWEST


def log_p_value(levels: Levels, sides: NDArray[np.int64], scores: Floats) -> float:
    """Logarithm of the chance that levels only seem to add something to scores: nearly, by normal approximations.

    Args:
        levels: `(n,)` of pilot outputs of both sides.
        sides: `(n,)` 0 or 1.
        scores: `(n,)` log odds of side 1, natural logarithms.
    """
    away, looked_at = _Levels.of(levels, sides, scores).away()
    return _log_p_value(away[looked_at]) if looked_at.any() else 0.0


def learn_beyond(levels: Levels, sides: NDArray[np.int64], scores: Floats) -> Beyond:
    """What levels add to scores of the same pilot outputs, arguments as for `log_p_value`.

    That of a level is the maximum of its likelihood times a logistic prior, which is worth half an output on each side:
    for levels of one side only it gives the smoothed log odds of counts.
    """
    seen = _Levels.of(levels, sides, scores)
    away, looked_at = seen.away()
    log_odds = np.zeros(len(seen.known))
    for _ in range(N_STEPS):
        mean, variance = seen.expected(log_odds)
        prior = special.expit(log_odds)
        slope, bend = seen.found - mean + 0.5 - prior, variance + prior * (1.0 - prior)
        log_odds += np.clip(slope / bend, -LARGEST_STEP, LARGEST_STEP)
    kept = looked_at & (np.abs(away) >= CLEAR)
    return Beyond(seen.known[kept], log_odds[kept])


def _log_p_value(away: Floats) -> float:
    """Of the largest of standardised differences, or the sum of their squares: twice the smaller one."""
    n = len(away)
    largest = math.log(2.0 * n) + float(special.log_ndtr(-np.abs(away).max()))
    with np.errstate(divide="ignore"):
        together = float(np.log(special.chdtrc(n, (away**2).sum())))
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


__all__ = ["Beyond", "learn_beyond", "log_p_value", "promise"]
