"""The choice between scores on the pilot: by their held-out log loss, and by cross-fitted lower limits of their events.

Each third of the pilot is left out once. The other two thirds propose a scorer and an event, {score >= t} or its
complement; the third that was left out measures both.

    log loss   of a + b * score, with a and b fitted to all held-out scores. It uses every output, and decides between
               scores that order the outputs alike. The first score, the simplest, that is within a quarter of a
               standard error of the best one is chosen.
    limit      of ln((p1 - delta) / p0) from the hits of all thirds together, so that an event that was lucky where it
               was proposed has no advantage where it is measured. A bound depends on one event, which a better log loss
               may miss: a score whose limit is larger by three standard errors of the difference takes its place.

Statistics. The choice reads pilot outputs only, and so does everything that it chooses. Given the pilot, the evaluation
trials are independent runs and the chosen score is a fixed function: the level of an audit is that of its bound,
whatever was proposed and however it was chosen, and needs no correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from ...mechanisms.core import Bools, Floats, Ints, Outputs
from ..learners.base import N_FOLDS

LIMIT_DEVIATIONS = 1.645
"""Number of standard errors from an estimate to its lower limit."""
EVALUATIONS_PER_PILOT = 3.0
"""Evaluation trials per pilot trial for which the limits stand: an audit that learns uses a quarter for the pilot."""
NEAR_DEVIATIONS = 0.25
"""Number of standard errors by which the log loss of a simple score may exceed the smallest one."""
CLEAR_DEVIATIONS = 3.0
"""Number of standard errors by which the limit of a score must exceed that of the score with the better log loss."""
N_THRESHOLDS, N_TAIL = 48, 8
"""Numbers of thresholds that are tried over all ranks of each side, and at both of its ends."""
N_STEPS, LARGEST_STEP, LARGEST_Z = 12, 1.0, 10.0
"""Parameters of Newton's method for the calibration of scores."""

Sides = tuple[Floats, Floats]
"""Rows or scores of side 0 and of side 1."""


class RowScorer(Protocol):
    """A scorer that also scores rows of numbers."""

    def score(self, outputs: Outputs) -> Floats: ...

    def of_rows(self, rows: Floats) -> Floats:
        """Return the score of each of `(size, n_coordinates)` rows."""
        ...


Proposer = Callable[[Sides], RowScorer | None]
"""Rows of both sides -> scorer learned from them, or None if they suggest none."""


@dataclass(frozen=True, eq=False)
class Event:
    """The event {score >= threshold} if `above`, else its complement, likelier on `side`, and its lower limit."""

    threshold: float
    above: bool
    side: int
    limit: float

    @property
    def is_reversed(self) -> bool:
        """True if lower scores mean side 1."""
        return self.above != (self.side == 1)

    def holds(self, scores: Floats) -> Bools:
        """Return for each score whether it is in the event."""
        return np.asarray((scores >= self.threshold) == self.above)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What the left-out thirds of the pilot show of a score.

    Args:
        limit: lower limit of the log ratio of rates.
        influences: for each side, the influence of each of its outputs on the log ratio.
        hits: hits on the likelier and on the other side.
        losses: log loss of each output, side 0 first.
    """

    limit: float
    influences: Sides
    hits: tuple[int, int]
    losses: Floats

    def standard_error(self, other: CrossFit) -> float:
        """Return the standard error of the difference of both log ratios, which the same outputs measured.

        Half an output more on each side, in one event only, stands for what so few hits cannot show.
        """
        differences = [own - its for own, its in zip(self.influences, other.influences, strict=True)]
        unseen = sum(0.5 / (min(pair) + 0.5) ** 2 for pair in zip(self.hits, other.hits, strict=True))
        return math.sqrt(sum(float(part.var()) / len(part) for part in differences) + unseen)


def cross_fit(propose: Proposer, rows: Sides, delta: float) -> CrossFit | None:
    """Return what each third of the rows shows of the score and the event that the others propose; None without one."""
    measured = _Measured.empty(rows)
    for left_out in range(N_FOLDS):
        scorer = propose(_without(rows, left_out))
        if scorer is None:
            return None
        measured.measure((scorer.of_rows(rows[0]), scorer.of_rows(rows[1])), left_out, delta)
    return measured.cross_fit(delta)


def cross_fit_scores(scores: Sides, delta: float) -> CrossFit:
    """Return the same for scores of each third that were learned from the other two."""
    measured = _Measured.empty(scores)
    for left_out in range(N_FOLDS):
        measured.measure(scores, left_out, delta)
    return measured.cross_fit(delta)


def choose(fits: Sequence[CrossFit]) -> int:
    """Return the index of the chosen score, by losses and then by limits; the simplest ones come first."""
    losses = [fit.losses for fit in fits]
    least = min(losses, key=lambda loss: float(loss.mean()))
    chosen = next(index for index, loss in enumerate(losses) if _is_near(loss - least))
    best = int(np.argmax([fit.limit for fit in fits]))
    gain = fits[best].limit - fits[chosen].limit
    return best if gain > CLEAR_DEVIATIONS * fits[best].standard_error(fits[chosen]) else chosen


def _is_near(excess: Floats) -> bool:
    """Return True if the mean of the differences of losses is nearly 0."""
    return bool(excess.mean() <= NEAR_DEVIATIONS * excess.std() / math.sqrt(len(excess)))


def best_events(out: Floats, in_: Floats, delta: float) -> list[Event]:
    """Return for each column of `(n, k)` scores of the two sides the event with the largest limit."""
    events = []
    for column0, column1 in zip(np.sort(out, axis=0).T, np.sort(in_, axis=0).T, strict=True):
        n0, n1 = len(column0), len(column1)
        thresholds = np.unique(np.concatenate([column0[_ranks(n0)], column1[_ranks(n1)]]))
        hits0, hits1 = (len(side) - np.searchsorted(side, thresholds) for side in (column0, column1))
        found = {
            (True, 1): _limits(hits1, n1, hits0, n0, delta),
            (False, 0): _limits(n0 - hits0, n0, n1 - hits1, n1, delta),
            (False, 1): _limits(n1 - hits1, n1, n0 - hits0, n0, delta),
            (True, 0): _limits(hits0, n0, hits1, n1, delta),
        }
        above, side = max(found, key=lambda direction: float(found[direction].max()))
        best = int(np.argmax(found[above, side]))
        threshold = _lowered(column0, column1, float(thresholds[best]))
        events.append(Event(threshold, above, side, float(found[above, side][best])))
    return events


@dataclass(frozen=True, eq=False)
class _Measured:
    """For each output of both sides: its held-out score, whether its event holds, and points to side 1."""

    scores: Sides
    hits: tuple[Bools, Bools]
    side1: tuple[Bools, Bools]

    @classmethod
    def empty(cls, sides: Sides) -> _Measured:
        n0, n1 = map(len, sides)
        hits, side1 = ((np.zeros(n0, dtype=bool), np.zeros(n1, dtype=bool)) for _ in range(2))
        return cls((np.zeros(n0), np.zeros(n1)), hits, side1)

    def measure(self, scores: Sides, left_out: int, delta: float) -> None:
        """Choose the event without a third of the scores, and record its hits there."""
        out, in_ = _without(scores, left_out)
        (event,) = best_events(out[:, None], in_[:, None], delta)
        for side in (0, 1):
            third = _folds(len(scores[side])) == left_out
            self.scores[side][third] = scores[side][third]
            self.hits[side][third] = event.holds(scores[side][third])
            self.side1[side][third] = event.side == 1

    def cross_fit(self, delta: float) -> CrossFit:
        """Return the limit from the hits of all thirds, the influences on it, and the losses."""
        (hits0, hits1), (to1_0, to1_1) = self.hits, self.side1
        likelier, other = (
            np.concatenate([hits0[~to1_0], hits1[to1_1]]),
            np.concatenate([hits0[to1_0], hits1[~to1_1]]),
        )
        k1, k0 = np.array([likelier.sum()]), np.array([other.sum()])
        limit = float(_limits(k1, len(likelier), k0, len(other), delta)[0])
        p1, p0 = (k1.item() + 0.5) / (len(likelier) + 1.0), (k0.item() + 0.5) / (len(other) + 1.0)
        gain = max(p1 - delta, 0.5 / (len(likelier) + 1.0))
        influences = (
            hits0 * np.where(to1_0, -1.0 / p0, 1.0 / gain),
            hits1 * np.where(to1_1, 1.0 / gain, -1.0 / p0),
        )
        return CrossFit(limit, influences, (int(k1.item()), int(k0.item())), calibrated_losses(self.scores))


def calibrated_losses(scores: Sides) -> Floats:
    """Return the log losses of a + b * score, with a and b fitted to all of these scores."""
    pooled, sides = np.concatenate(scores), np.repeat([0.0, 1.0], [len(side) for side in scores])
    middle = np.median(pooled)
    spread = float(np.quantile(np.abs(pooled - middle), 0.9)) or 1.0
    terms = np.column_stack([np.ones(len(pooled)), np.clip((pooled - middle) / spread, -LARGEST_Z, LARGEST_Z)])
    weights = np.zeros(2)
    for _ in range(N_STEPS):
        p = special.expit(terms @ weights)
        curvature = (terms * (p * (1.0 - p))[:, None]).T @ terms + 1e-6 * np.eye(2)
        weights += np.clip(np.linalg.solve(curvature, terms.T @ (sides - p)), -LARGEST_STEP, LARGEST_STEP)
    return np.asarray(np.logaddexp(0.0, np.where(sides == 1.0, -1.0, 1.0) * (terms @ weights)))


def _limits(k1: Ints, n1: float, k0: Ints, n0: float, delta: float) -> Floats:
    """Return lower limits of ln((p1 - delta) / p0) from as many trials as an evaluation has, with the same rates."""
    n1, n0 = EVALUATIONS_PER_PILOT * n1, EVALUATIONS_PER_PILOT * n0
    p1, p0 = (EVALUATIONS_PER_PILOT * k1 + 0.5) / (n1 + 1.0), (EVALUATIONS_PER_PILOT * k0 + 0.5) / (n0 + 1.0)
    gain = np.maximum(p1 - delta, 0.5 / (n1 + 1.0))
    error = np.sqrt(p1 * (1.0 - p1) / (n1 * gain**2) + (1.0 - p0) / (n0 * p0))
    return np.asarray(np.log(gain / p0) - LIMIT_DEVIATIONS * error)


def _ranks(n: int) -> Ints:
    spread = np.round((n - 1) * np.sin(np.linspace(0.0, 0.5 * np.pi, N_THRESHOLDS)) ** 2).astype(np.int64)
    tail = np.arange(min(N_TAIL, n))
    return np.unique(np.concatenate([spread, tail, n - 1 - tail]))


def _lowered(column0: Floats, column1: Floats, threshold: float) -> float:
    """Return a threshold midway between a score and the next lower one of sorted columns."""
    at = [np.searchsorted(column, threshold) for column in (column0, column1)]
    lower = [float(column[index - 1]) for column, index in zip((column0, column1), at, strict=True) if index > 0]
    middle = max(lower) + 0.5 * (threshold - max(lower)) if lower else threshold
    return middle if not lower or max(lower) < middle < threshold else threshold


def _folds(n: int) -> Ints:
    """Return the fold of each of `n` outputs: runs are independent, so that every third one is as good as any."""
    return np.arange(n) % N_FOLDS


def _without(sides: Sides, left_out: int) -> Sides:
    out, in_ = (side[_folds(len(side)) != left_out] for side in sides)
    return out, in_
