"""The event of the bounds that read one event: the threshold is fixed beforehand, or chosen on pilot scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....mechanisms.core import Floats, ParameterError, number
from ...evidence.scores import Counts, PairScores, Scores, Tally
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, PairBound, PilotMissingError
from ..numerics.binomial import lower
from ..numerics.rectangle import Rectangle
from .orientation import Exchanged, is_reversed

PILOT = "pilot"
IN, OUT = "in", "out"
"""Directions: {score >= threshold} is more likely on side 1, or its complement on side 0."""

_PER_SIDE, _TAIL = 60, 16  # thresholds tried on the pilot: at most about 300
_PILOT_LEVEL = 0.05  # one-sided significance of the limits on the pilot rates, which guard against random extremes
_OPTIMISTIC = 0.5, 0.8, 0.95  # levels for the choice of the direction if no bound is expected: medians, and beyond
_OBJECTION = 4.0  # standard errors by which the pilot contradicts log likelihood ratios: by chance about 1 in 1,000
_NEARLY = 0.02  # relative: expected bounds this close count as equal, and the fewest errors decide


@dataclass(frozen=True)
class ThresholdEvent:
    """An event that was fixed before the evidence.

    Args:
        threshold: threshold of {score >= threshold}.
        direction: "in" if the event is likelier on side 1, "out" if its complement is likelier on side 0.
        among: description of the candidates on the pilot, for the ledger; empty if the threshold was fixed beforehand.
    """

    threshold: float
    direction: str = IN
    among: str = ""

    @property
    def entry(self) -> LedgerEntry:
        """Ledger entry on the choice of the threshold."""
        if self.among:
            return LedgerEntry("threshold", self.among, "chosen on pilot trials only")
        return LedgerEntry("threshold", f"1, {number(self.threshold)}", "fixed beforehand")


@dataclass(frozen=True)
class EventBound(PairBound):
    """A bound that reads one event {score >= threshold}, fixed beforehand or chosen on pilot scores.

    Args:
        threshold: a number that was fixed beforehand, or "pilot".
    """

    threshold: float | str = PILOT

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", _checked_threshold(self.threshold))

    @property
    def needs_pilot(self) -> bool:
        return self.threshold == PILOT

    def fix(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedBound[Scores]:
        """Return the bound at the chosen event; on exchanged sides where the pilot scores are reversed."""
        if pilot is not None and self.orients and reversed_on(pilot, statement.delta):
            return Exchanged(statement, self.fix_event(statement, pilot.exchanged(), sizes[::-1]))
        return self.fix_event(statement, pilot, sizes)

    @property
    def orients(self) -> bool:
        """True if the pilot decides whether higher scores mean side 1 or side 0."""
        return self.needs_pilot

    @abstractmethod
    def fix_event(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedBound[Scores]:
        """Return the bound at the fixed event, or at the one with the largest expected value on the pilot scores."""


@dataclass(frozen=True)
class FixedEventBound(FixedBound[Scores]):
    """A bound at one event, for one statement."""

    event: ThresholdEvent

    @property
    def thresholds(self) -> tuple[float, ...]:
        return (self.event.threshold,)


def choose_event(pilot: Scores | None, expected_bounds: Callable[[Rectangle], tuple[Floats, Floats]]) -> ThresholdEvent:
    """Return the event with the largest expected bound.

    Args:
        pilot: pilot scores, with at least one score on each side.
        expected_bounds: function from limits on the rates of several events, `(m,)` each, to the expected bounds in
            the directions "in" and "out" if both rates equal their limits; <= 0 if no bound is expected.

    Scores that are log likelihood ratios are first taken at their word (`_known_ratio_limits`), unless the pilot
    contradicts them.

    The expected bounds use one-sided 95 % limits on the pilot, which guard against a few extreme scores in the tail of
    a small pilot. The limits are nearly equal at neighbouring thresholds without false positives, of which the lower
    one, with a few more hits, has false positives that a small pilot cannot show. So among nearly equal expected
    bounds, the event with the fewest errors is chosen, and then the one with the fewest hits.

    If the pilot is too small for any positive expected bound, the threshold has the largest difference of the rates,
    and the direction comes from the expected bounds at medians instead of limits: a ratio of rates is more informative
    for an event with rates near 0 than for its complement with rates near 1.

    Raises:
        PilotMissingError: there are no pilot scores on one of the sides.
    """
    pilot = pilot_scores(pilot)
    tally = pilot.tally
    indices = tried_thresholds(tally)
    among = f"best of {len(indices)} on {tally.n_out} + {tally.n_in} pilot scores"
    hits_out, hits_in = tally.hits_out[indices], tally.hits_in[indices]
    for limits in _known_ratio_limits(pilot, tally.thresholds[indices]):
        bounds = np.concatenate(expected_bounds(limits))
        if bounds.max() > 0.0:
            direction, position = divmod(int(np.argmax(bounds)), len(indices))
            return ThresholdEvent(chosen_threshold(pilot, int(indices[position])), (IN, OUT)[direction], among)
    limits = Rectangle.at(hits_out, hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=_PILOT_LEVEL)
    bounds = np.concatenate(expected_bounds(limits))
    if not bounds.max() > 0.0:
        index = int(indices[np.argmax(np.abs(hits_in / tally.n_in - hits_out / tally.n_out))])
        return ThresholdEvent(chosen_threshold(pilot, index), _likely_direction(tally, index, expected_bounds), among)
    errors = np.concatenate([hits_out, tally.n_in - hits_in])
    hits = np.concatenate([hits_in, tally.n_out - hits_out])
    good = np.flatnonzero(bounds >= (1.0 - _NEARLY) * bounds.max())
    best = int(good[np.lexsort((hits[good], errors[good]))[0]])
    direction, position = divmod(best, len(indices))
    return ThresholdEvent(chosen_threshold(pilot, int(indices[position])), (IN, OUT)[direction], among)


def _known_ratio_limits(pilot: Scores, thresholds: Floats) -> list[Rectangle]:
    """Return the rates of the events {score >= t} if scores are log likelihood ratios; empty if the pilot objects.

    Given the pooled scores, a score s is then of side 1 with probability w = n_in e^s / (n_out + n_in e^s), so that the
    expected hits of both sides follow from the scores of either. The ratio of both rates, on which a bound depends
    most, has no sampling error within a level of scores; the frequency of the event has that of the pooled pilot, and
    is taken at its lower limit, at `_PILOT_LEVEL` and then at its median. The pilot objects if the hits of side 1 of
    some event, or of its complement, lie more than `_OBJECTION` standard errors from their expectation.
    """
    if not isinstance(pilot, PairScores) or not pilot.are_log_ratios:
        return []
    scores, sides = np.concatenate([pilot.out, pilot.in_]), np.repeat([0.0, 1.0], pilot.sizes)
    order = np.argsort(scores)
    share_in = special.expit(scores[order] + math.log(pilot.n_in / pilot.n_out))
    at = np.searchsorted(scores[order], thresholds)

    def above_and_below(values: Floats) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.stack([sums[-1] - sums[at], sums[at]])

    expected_in, observed_in = above_and_below(share_in), above_and_below(sides[order])
    spread = np.sqrt(above_and_below(share_in * (1.0 - share_in)))
    if (np.abs(observed_in - expected_in) > 0.5 + _OBJECTION * spread).any():
        return []
    frequency = above_and_below(np.ones(len(scores))) / len(scores)
    rates_in, rates_out = expected_in / pilot.n_in, above_and_below(1.0 - share_in) / pilot.n_out
    limits = []
    for level in (_PILOT_LEVEL, 0.5):
        lowest = lower(frequency * len(scores), len(scores), level)
        above, below = np.divide(lowest, frequency, out=np.zeros_like(frequency), where=frequency > 0.0)
        limits.append(Rectangle(above * rates_out[0], below * rates_in[1], below * rates_out[1], above * rates_in[0]))
    return limits


def tried_thresholds(tally: Tally) -> NDArray[np.intp]:
    """Return the indices of the thresholds that are tried, without the lowest threshold, which all scores reach."""
    indices = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
    return indices[indices > 0] if len(tally.thresholds) > 1 else indices


def reversed_on(pilot: Scores, delta: float) -> bool:
    """Return True if the pilot scores show that higher scores mean side 0."""
    return is_reversed(pilot.tally, tried_thresholds(pilot.tally), delta)


def _likely_direction(tally: Tally, index: int, expected_bounds: Callable[[Rectangle], tuple[Floats, Floats]]) -> str:
    """Return the direction with the larger expected bound at the first level with a positive one."""
    hits_out, hits_in = tally.hits_out[[index]], tally.hits_in[[index]]
    for level in _OPTIMISTIC:
        limits = Rectangle.at(hits_out, hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=level)
        inside, outside = expected_bounds(limits)
        if max(inside[0], outside[0]) > 0.0:
            return OUT if outside[0] > inside[0] else IN
    return IN


def _checked_threshold(threshold: float | str) -> float | str:
    """Return the number as a float, or "pilot"; raise `ParameterError` for any other value."""
    if threshold == PILOT:
        return PILOT
    number = not isinstance(threshold, (bool, str)) and isinstance(threshold, (int, float, np.number))
    if not number or math.isnan(float(threshold)):
        raise ParameterError(
            f'threshold must be a number fixed beforehand, or "pilot" to choose it on pilot trials, '
            f"but is {threshold!r}.",
            argument="threshold",
        )
    return float(threshold)


def pilot_scores(pilot: Scores | None, otherwise: str = "give a threshold that was fixed beforehand") -> Scores:
    """Return the pilot; raise `PilotMissingError` if there are no scores on one of the sides."""
    sizes = (0, 0) if pilot is None else (pilot.n_out, pilot.n_in)
    if pilot is None or min(sizes) == 0:
        raise PilotMissingError(
            f'threshold "pilot" needs pilot scores on both sides, but there are {sizes[0]} and {sizes[1]}. '
            f"Run pilot trials, or {otherwise}."
        )
    return pilot


def chosen_threshold(pilot: Scores, index: int) -> float:
    """Return a threshold midway between a pilot score and the next lower one, so that rounding cannot cross it."""
    thresholds = pilot.tally.thresholds
    if index == 0 or not isinstance(pilot, PairScores):
        return float(thresholds[index])
    return midway(thresholds, index)


def midway(thresholds: Floats, index: int) -> float:
    """Return the middle between a threshold and the next lower one; the threshold itself if no float lies between."""
    low, high = float(thresholds[index - 1]), float(thresholds[index])
    middle = low + 0.5 * (high - low)
    return middle if low < middle < high else high


def candidates(tally: Tally, *, per_side: int, tail: int) -> NDArray[np.intp]:
    """Return indices of thresholds, dense where hits are few and evenly spaced in standard deviations elsewhere.

    The hit counts of either side are visited at n sin^2(0 .. pi / 2) and at each of the `tail` smallest and largest
    values. The thresholds on both sides of every visited count are included, so that no atom is split. The result
    depends on the order of the scores only, never on the level.
    """
    if len(tally.thresholds) <= 4 * (per_side + tail):
        return np.arange(len(tally.thresholds))
    chosen = [
        _visited(hits, n, per_side, tail) for hits, n in ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
    ]
    return np.unique(np.concatenate(chosen))


def _visited(hits: Counts, n: int, per_side: int, tail: int) -> NDArray[np.intp]:
    small = np.arange(tail + 1)
    spread = np.round(n * np.sin(np.linspace(0.0, 0.5 * np.pi, per_side)) ** 2).astype(np.int64)
    counts = np.unique(np.concatenate([small, spread, n - small]))
    below = len(hits) - np.searchsorted(hits[::-1], counts, side="right")  # first threshold with at most this many hits
    return np.concatenate([below, below - 1]).clip(0, len(hits) - 1)
