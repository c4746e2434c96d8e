"""How far the cost of answers may move when one teacher votes otherwise: smooth sensitivity of a data-dependent bound.

The bound of one query is a decreasing function r of one number t, which a moved vote moves by at most 1 / sigma: with m
labels, q = (m - 1) / 2 erfc(t). For q is a sum of m - 1 Gaussian tails whose arguments each move by at most 1 / sigma,
and p -> Phi(Phi^-1(p) + s) is concave for s > 0 and convex for s < 0, so that by Jensen's inequality the sum moves no
further than if all terms were equal; the label with the most votes is the one for which the sum is least, and the least
of several sums moves no further than each of them.

t is rounded down to a grid, on which 1 / sigma is a whole number of steps; a vote moves it by one step more at most,
whatever the last digits of t are. That rounds q up, and the bound holds for
every upper bound on q; for the same reason the least value at any smaller t is taken. What results is a step function
that is a valid bound, decreasing, and moves on the grid alone: its sensitivity at any distance is a largest difference
of table entries, and nothing is approximated.

References:
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018), appendix B, which bounds q in the same way;
    Nissim, Raskhodnikova, Smith (2007), definition 2.2 and lemma 2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from .renyi import gaussian_divergences

Floats = NDArray[np.float64]

STEPS = 32
"""Of the grid, in the distance by which a moved vote moves t."""
MOVE = STEPS + 1
"""Places on the grid that a moved vote moves a query at most, rounding included."""
_SLACK = 1e-6
"""Of a step, by which t may lie below its place: whole places stay what they are in floats."""


@dataclass(frozen=True)
class SteppedBound:
    """The data-dependent divergence of GNMax at one order, as a step function of t.

    Args:
        standard_deviation: sigma.
        n_classes: m, >= 2.
        order: of Renyi, > 1.
        reach: largest t in steps of 1 / sigma, that is, in votes.
    """

    standard_deviation: float
    n_classes: int
    order: float
    reach: float

    @cached_property
    def _start(self) -> int:
        """Below this place on the grid q is at least 1 - 1/m, and the bound the one for all votes."""
        return math.floor(-float(ndtri(1.0 / self.n_classes)) / math.sqrt(2.0) * self.standard_deviation * STEPS)

    @cached_property
    def _values(self) -> Floats:
        """The bound at each place from `_start` on, non-increasing; beyond the last it stays what it is."""
        sigma = self.standard_deviation
        n_places = max(1, math.ceil(self.reach * STEPS) - self._start + 1)
        t = (self._start + np.arange(n_places) - _SLACK) / (sigma * STEPS)
        log_q = np.minimum(math.log(self.n_classes - 1.0) + log_ndtr(-math.sqrt(2.0) * t), 0.0)
        found = gaussian_divergences(log_q, sigma, np.array([self.order]))[:, 0]
        found[0] = self.order / sigma**2
        return np.minimum.accumulate(found)

    def places(self, log_miss: Floats) -> NDArray[np.int64]:
        """Where on the grid each query lies, from 0: `(n,)` for `(n,)` values of log q."""
        t = -ndtri_exp(log_miss - math.log(self.n_classes - 1.0)) / math.sqrt(2.0)
        place = np.floor(np.minimum(t * self.standard_deviation * STEPS, 1e15) + _SLACK) - self._start
        return np.asarray(np.clip(place, 0, len(self._values) - 1), dtype=np.int64)

    def divergences(self, log_miss: Floats) -> Floats:
        """The bound of each query, `(n,)`."""
        return np.asarray(self._values[self.places(log_miss)])

    @cached_property
    def drops(self) -> Floats:
        """How much the bound falls within the move of one vote that begins at each place."""
        values = np.append(self._values, np.full(MOVE, self._values[-1]))
        return np.asarray(values[:-MOVE] - values[MOVE:])

    @cached_property
    def changes(self) -> Floats:
        """Largest change by one move from each place, `(n_places,)`: a fall, or a rise by the fall that ends there."""
        lower = self._values[np.maximum(np.arange(len(self._values)) - MOVE, 0)]
        return np.maximum(self.drops, lower - self._values)

    @cached_property
    def nearest_drops(self) -> Floats:
        """Largest fall that begins within one move below each place, `(n_places,)`."""
        padded = np.pad(self.drops, (MOVE, 0))
        return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, MOVE + 1).max(axis=1))


def one_move_further(drops: Floats) -> Floats:
    """From the largest fall that begins between k + 1 moves below each place and k moves above it, which is the largest
    change within k >= 1 moves, to the same for k + 1; `(n_places,)`."""
    wider = np.pad(drops, (MOVE, MOVE), mode="edge")
    return np.maximum(drops, np.maximum(wider[: -2 * MOVE], wider[2 * MOVE :]))


def smooth_sensitivity(bounds: list[tuple[SteppedBound, Floats]], beta: float, n_teachers: int) -> float:
    """max over k of e^(-beta k) times the largest change within k teachers, of a sum of bounds.

    Args:
        bounds: step functions, each with the `(n,)` values of log q of its queries; all move together.
        beta: > 0.
        n_teachers: of whom so many at most can vote otherwise: then everything is within reach.
    """
    largest = sum(float(bound.drops.max()) * len(log_miss) for bound, log_miss in bounds)
    near, around = [bound.changes for bound, _ in bounds], [bound.nearest_drops for bound, _ in bounds]
    places = [bound.places(log_miss) for bound, log_miss in bounds]
    found = largest * math.exp(-beta * n_teachers)
    for k in range(n_teachers):
        if math.exp(-beta * k) * largest <= found:
            break
        local = sum(float(drops[at].sum()) for drops, at in zip(near, places, strict=True))
        found = max(found, math.exp(-beta * k) * local)
        near = around = [one_move_further(drops) for drops in around]
    return found
