"""What the bounds share that read one event: a threshold is fixed beforehand, or chosen on pilot scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.errors import ParameterError
from ...evidence.scores import Floats, PairScores, Scores, Tally
from ..base import LedgerEntry, PilotMissingError
from ..numerics.candidates import candidates
from ..numerics.rectangle import Rectangle

PILOT = "pilot"
IN, OUT = "in", "out"
"""Directions: {score >= threshold} is more likely on side 1, or its complement on side 0."""

_PER_SIDE, _TAIL = 60, 16  # thresholds tried on the pilot: at most about 300
_PILOT_LEVEL = 0.05  # each pilot rate is taken at this one-sided limit, so that a lucky tail is not taken for a leak
_HOPEFUL = 0.5, 0.8, 0.95  # where these promise nothing, limits at which the direction is chosen: medians, and beyond
_NEARLY = 0.02  # relative: promises so close count as equal, and the fewest errors decide


@dataclass(frozen=True)
class Event:
    """An event that was fixed before the evidence.

    Args:
        threshold: of {score >= threshold}.
        direction: "in" if the event is likelier on side 1, "out" if its complement is likelier on side 0.
        among: how many a pilot had to choose from, for the ledger; empty where the threshold was given.
    """

    threshold: float
    direction: str = IN
    among: str = ""

    @property
    def entry(self) -> LedgerEntry:
        """How the threshold was fixed."""
        if self.among:
            return LedgerEntry("threshold", self.among, "chosen on pilot trials only")
        return LedgerEntry("threshold", f"1, {self.threshold:.6g}", "fixed beforehand")


def choose_event(pilot: Scores | None, promise: Callable[[Rectangle], tuple[Floats, Floats]]) -> Event:
    """The event that promises the largest bound.

    Args:
        pilot: scores that will not be counted; None, or none on a side, is refused.
        promise: from limits on the rates of several events, `(m,)` each, to the bounds to expect in the directions
            "in" and "out" if both rates were that bad; <= 0 where none is.

    A promise is made at one-sided 95 % limits on the pilot: a few lucky scores in the tail of a small pilot do not win.
    Those limits barely tell no false positive at one threshold from no false positive at another, and the lower
    of the two, with a few more hits, has false positives that the pilot was too small to show. So among promises that
    are nearly equal the fewest errors win, and then the fewest hits.

    Where a pilot is too small to promise anything, the largest difference of the rates decides about the threshold, and
    what the event or its complement promises at medians in the place of limits about the direction: of a rate near 0
    the ratio shows far more than of a rate near 1.
    """
    pilot = pilot_scores(pilot)
    tally = pilot.tally
    places = looked_at(tally)
    among = f"best of {len(places)} on {tally.n_out} + {tally.n_in} pilot scores"
    hits_out, hits_in = tally.hits_out[places], tally.hits_in[places]
    limits = Rectangle.at(hits_out, hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=_PILOT_LEVEL)
    promises = np.concatenate(promise(limits))
    if not promises.max() > 0.0:
        at = int(places[np.argmax(np.abs(hits_in / tally.n_in - hits_out / tally.n_out))])
        return Event(chosen_threshold(pilot, at), _likely_direction(tally, at, promise), among)
    errors = np.concatenate([hits_out, tally.n_in - hits_in])
    hits = np.concatenate([hits_in, tally.n_out - hits_out])
    good = np.flatnonzero(promises >= (1.0 - _NEARLY) * promises.max())
    best = int(good[np.lexsort((hits[good], errors[good]))[0]])
    way, at = divmod(best, len(places))
    return Event(chosen_threshold(pilot, int(places[at])), (IN, OUT)[way], among)


def looked_at(tally: Tally) -> NDArray[np.intp]:
    """Return the indices of the thresholds that are tried; not the lowest one, which all scores reach."""
    places = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
    return places[places > 0] if len(tally.thresholds) > 1 else places


def _likely_direction(tally: Tally, at: int, promise: Callable[[Rectangle], tuple[Floats, Floats]]) -> str:
    """The direction that promises more at the first limits, from medians on, at which one promises anything."""
    hits_out, hits_in = tally.hits_out[[at]], tally.hits_in[[at]]
    for level in _HOPEFUL:
        limits = Rectangle.at(hits_out, hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=level)
        inside, outside = promise(limits)
        if max(inside[0], outside[0]) > 0.0:
            return OUT if outside[0] > inside[0] else IN
    return IN


def checked_threshold(threshold: float | str) -> float | str:
    """The number as a float, or "pilot"; raises `ParameterError` if it is neither."""
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


def pilot_scores(pilot: Scores | None) -> Scores:
    """The pilot; raises `PilotMissingError` if there is none, or a side has none."""
    sizes = (0, 0) if pilot is None else (pilot.n_out, pilot.n_in)
    if pilot is None or min(sizes) == 0:
        raise PilotMissingError(
            f'threshold "pilot" needs pilot scores on both sides, but there are {sizes[0]} and {sizes[1]}. '
            "Run pilot trials, or give a threshold that was fixed beforehand."
        )
    return pilot


def chosen_threshold(pilot: Scores, at: int) -> float:
    """The threshold number `at`; midway to the pilot score below, so that the rounding of an atom cannot cross it."""
    thresholds = pilot.tally.thresholds
    high = float(thresholds[at])
    if at == 0 or not isinstance(pilot, PairScores):
        return high
    low = float(thresholds[at - 1])
    middle = low + 0.5 * (high - low)
    return middle if low < middle < high else high
