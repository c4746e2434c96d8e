"""Log odds that the level of an output adds to a score.

A score gives each pilot output a probability p of side 1. Among the outputs of one level, sum p are expected on side 1,
with a variance of sum p (1 - p); if the observed number differs, the level adds the log odds that explain it. If the
score misses nothing, the standardised differences are nearly normal, so their largest value and the sum of their
squares test whether a rule detects a leak that the score misses.

No correction is needed, because everything is learned and chosen on pilot outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from ....mechanisms.core import Bools, Floats, Ints
from .rules import Levels

MIN_VARIANCE = 2.0
"""Smallest variance of the number of outputs of a level that is tested."""
MIN_LEVEL_DEVIATIONS = 2.0
"""Smallest number of standard deviations of a level that is used: others add only noise."""
N_STEPS, LARGEST_STEP = 15, 1.0
"""Parameters of Newton's method: the log odds of a level of one side only grow with the logarithm of its outputs."""
PILOT_LEVEL = 0.05
"""Rates are taken at one-sided limits of this level, so that a few chance outputs do not matter."""


@dataclass(frozen=True, eq=False)
class LevelOdds:
    """Log odds that each level adds to a score.

    Args:
        known: `(n_levels,)` levels, sorted.
        log_odds: `(n_levels,)` log odds of the levels; 0 if not significant.
    """

    known: Levels
    log_odds: Floats

    def of(self, levels: Levels) -> Floats:
        """Return the log odds that each of `(size,)` levels adds; 0 for a level that is not in the pilot."""
        if not len(self.known):
            return np.zeros(len(levels))
        index = np.searchsorted(self.known, levels).clip(max=len(self.known) - 1)
        return np.where(self.known[index] == levels, self.log_odds[index], 0.0)


@dataclass(frozen=True, eq=False)
class _Levels:
    """Levels of pilot outputs, with the observed and the expected number of side 1 in each level.

    Args:
        known: `(n_levels,)` levels, sorted.
        index: `(n,)` index of each output's level in `known`.
        scores: `(n,)` log odds of side 1, for sides of these sizes.
        n_side1: `(n_levels,)` number of outputs of side 1.
    """

    known: Levels
    index: Levels
    scores: Floats
    n_side1: Floats

    @classmethod
    def of(cls, levels: Levels, sides: Ints, scores: Floats) -> _Levels:
        n_in = int(np.count_nonzero(sides))
        prior = math.log(max(n_in, 1) / max(len(sides) - n_in, 1))
        known, index = np.unique(levels, return_inverse=True)
        return cls(known, index, scores + prior, np.bincount(index, weights=sides).astype(np.float64))

    def expected(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the outputs of side 1 in each level, if it adds `log_odds` to the scores."""
        p = special.expit(self.scores + log_odds[self.index])
        mean, variance = (np.bincount(self.index, weights=weights) for weights in (p, p * (1.0 - p)))
        return mean.astype(np.float64), variance.astype(np.float64)

    def differences(self) -> tuple[Floats, Bools]:
        """Return standardised differences of observed and expected numbers, and a mask of the tested levels."""
        mean, variance = self.expected(np.zeros(len(self.known)))
        return (self.n_side1 - mean) / np.sqrt(np.maximum(variance, 1e-300)), variance >= MIN_VARIANCE


def log_p_value(levels: Levels, sides: Ints, scores: Floats) -> float:
    """Return the log p-value that levels add nothing to the scores: nearly, by normal approximations.

    Args:
        levels: `(n,)` levels of pilot outputs of both sides.
        sides: `(n,)` 0 or 1.
        scores: `(n,)` log odds of side 1, natural logarithms.
    """
    differences, tested = _Levels.of(levels, sides, scores).differences()
    return _log_p_value(differences[tested]) if tested.any() else 0.0


def fit_level_odds(levels: Levels, sides: Ints, scores: Floats) -> LevelOdds:
    """Learn the log odds that levels add to scores of the same pilot outputs; arguments as for `log_p_value`.

    The log odds of a level maximise its likelihood times a logistic prior, which is worth half an output on each side:
    for levels of one side only they are the smoothed log odds of counts.
    """
    observed = _Levels.of(levels, sides, scores)
    differences, tested = observed.differences()
    log_odds = np.zeros(len(observed.known))
    for _ in range(N_STEPS):
        mean, variance = observed.expected(log_odds)
        prior = special.expit(log_odds)
        slope, curvature = observed.n_side1 - mean + 0.5 - prior, variance + prior * (1.0 - prior)
        log_odds += np.clip(slope / curvature, -LARGEST_STEP, LARGEST_STEP)
    significant = tested & (np.abs(differences) >= MIN_LEVEL_DEVIATIONS)
    return LevelOdds(observed.known[significant], log_odds[significant])


def _log_p_value(differences: Floats) -> float:
    """Return the log p-value of the largest standardised difference or of the sum of squares: twice the smaller one."""
    n = len(differences)
    largest = math.log(2.0 * n) + float(special.log_ndtr(-np.abs(differences).max()))
    with np.errstate(divide="ignore"):
        sum_of_squares = float(np.log(special.chdtrc(n, (differences**2).sum())))
    return min(0.0, math.log(2.0) + min(largest, sum_of_squares))


def largest_log_ratio(out: Floats, in_: Floats) -> float:
    """Return the largest log ratio of rates at any threshold in either direction, both rates at their limits.

    Args:
        out, in_: scores of pilot outputs of side 0 and of side 1.
    """
    n_out, n_in = len(out), len(in_)
    if not n_out or not n_in:
        return 0.0
    thresholds = np.unique(np.concatenate([out, in_]))
    if len(thresholds) > 600:
        coarse = np.linspace(0, len(thresholds) - 1, 500).astype(int)
        thresholds = np.unique(thresholds[np.concatenate([coarse, np.arange(50), -1 - np.arange(50)])])
    hits_out = n_out - np.searchsorted(np.sort(out), thresholds)
    hits_in = n_in - np.searchsorted(np.sort(in_), thresholds)
    forward = _ratio(hits_in, n_in, hits_out, n_out)
    backward = _ratio(n_out - hits_out, n_out, n_in - hits_in, n_in)
    return max(0.0, float(forward.max()), float(backward.max()))


def _ratio(gain: Ints, n_gain: int, loss: Ints, n_loss: int) -> Floats:
    """Return the log of the ratio of Clopper and Pearson's limits."""
    lower = special.betaincinv(np.maximum(gain, 1), n_gain - gain + 1.0, PILOT_LEVEL)
    upper = special.betaincinv(loss + 1.0, np.maximum(n_loss - loss, 1), 1.0 - PILOT_LEVEL)
    ratio = np.log(np.where(gain > 0, lower, 1e-300)) - np.log(np.where(loss < n_loss, upper, 1.0))
    return np.asarray(ratio)
