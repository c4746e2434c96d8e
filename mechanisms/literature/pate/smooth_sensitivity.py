"""Smooth sensitivity of a data-dependent bound to a change of the votes of one teacher.

The bound of one query is a decreasing function r of one number t, which a moved vote changes by at most 1 / sigma: with
m labels, q = (m - 1) / 2 erfc(t). For q is a sum of m - 1 Gaussian tails whose arguments each change by at most
1 / sigma, and p -> Phi(Phi^-1(p) + s) is concave for s > 0 and convex for s < 0, so that by Jensen's inequality the sum
changes no more than if all terms were equal; the label with the most votes is the one for which the sum is smallest,
and the minimum of several sums changes no more than each of them.

t is rounded down to a grid, on which 1 / sigma is a whole number of steps; with rounding, a vote changes it by at most
one step more. That rounds q up, and the bound holds for every upper bound on q; for the same reason the minimum over
all smaller t is a valid bound. The result is a decreasing step function on the grid: its sensitivity at any distance is
a largest difference of table entries, and nothing is approximated.

References:
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018), appendix B, which bounds q in the same way;
    Nissim, Raskhodnikova, Smith (2007), definition 2.2 and lemma 2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtri, ndtri_exp

from ...core import Floats, Ints
from .renyi import gaussian_divergences

STEPS_PER_VOTE = 32
"""Grid steps in the distance by which a moved vote changes t."""
MAX_VOTE_STEPS = STEPS_PER_VOTE + 1
"""Largest change of the grid position of a query by a moved vote, including rounding."""
_SLACK = 1e-6
"""Fraction of a step by which t may be below its grid position, so that exact positions survive rounding errors."""


@dataclass(frozen=True)
class SteppedBound:
    """Data-dependent divergence of GNMax at one order, as a step function of t.

    Args:
        standard_deviation: sigma.
        n_classes: m, >= 2.
        order: Renyi order, > 1.
        reach: largest t in steps of 1 / sigma, that is, in votes.
    """

    standard_deviation: float
    n_classes: int
    order: float
    reach: float

    @cached_property
    def _start(self) -> int:
        """Grid position below which q is at least 1 - 1/m, and the bound is the one for all votes."""
        return math.floor(
            -float(ndtri(1.0 / self.n_classes)) / math.sqrt(2.0) * self.standard_deviation * STEPS_PER_VOTE
        )

    @cached_property
    def _values(self) -> Floats:
        """Bound at each position from `_start` on, non-increasing; constant beyond the last position."""
        sigma = self.standard_deviation
        n_places = max(1, math.ceil(self.reach * STEPS_PER_VOTE) - self._start + 1)
        t = (self._start + np.arange(n_places) - _SLACK) / (sigma * STEPS_PER_VOTE)
        log_q = np.minimum(math.log(self.n_classes - 1.0) + log_ndtr(-math.sqrt(2.0) * t), 0.0)
        values = gaussian_divergences(log_q, sigma, np.array([self.order]))[:, 0]
        values[0] = self.order / sigma**2
        return np.minimum.accumulate(values)

    def places(self, log_miss: Floats) -> Ints:
        """Return the grid position of each query, from 0: `(n,)` for `(n,)` values of log q."""
        t = -ndtri_exp(log_miss - math.log(self.n_classes - 1.0)) / math.sqrt(2.0)
        positions = np.floor(np.minimum(t * self.standard_deviation * STEPS_PER_VOTE, 1e15) + _SLACK) - self._start
        return np.asarray(np.clip(positions, 0, len(self._values) - 1), dtype=np.int64)

    def divergences(self, log_miss: Floats) -> Floats:
        """Return the bound of each query, `(n,)`."""
        return np.asarray(self._values[self.places(log_miss)])

    @cached_property
    def drops(self) -> Floats:
        """Decrease of the bound within one move that begins at each position, `(n_places,)`."""
        values = np.append(self._values, np.full(MAX_VOTE_STEPS, self._values[-1]))
        return np.asarray(values[:-MAX_VOTE_STEPS] - values[MAX_VOTE_STEPS:])

    @cached_property
    def changes(self) -> Floats:
        """Largest change of the bound by one move from each position, down or up, `(n_places,)`."""
        lower = self._values[np.maximum(np.arange(len(self._values)) - MAX_VOTE_STEPS, 0)]
        return np.maximum(self.drops, lower - self._values)

    @cached_property
    def nearest_drops(self) -> Floats:
        """Largest decrease that begins within one move below each position, `(n_places,)`."""
        padded = np.pad(self.drops, (MAX_VOTE_STEPS, 0))
        return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, MAX_VOTE_STEPS + 1).max(axis=1))


def _one_move_further(drops: Floats) -> Floats:
    """Return the largest change within k + 1 moves of each position from that within k >= 1 moves, `(n_places,)`.

    The largest change within k moves is the largest decrease that begins between k + 1 moves below a position and k
    moves above it.
    """
    wider = np.pad(drops, (MAX_VOTE_STEPS, MAX_VOTE_STEPS), mode="edge")
    return np.maximum(drops, np.maximum(wider[: -2 * MAX_VOTE_STEPS], wider[2 * MAX_VOTE_STEPS :]))


def smooth_sensitivity(bounds: list[tuple[SteppedBound, Floats]], beta: float, n_teachers: int) -> float:
    """Return the smooth sensitivity, max over k of e^(-beta k) times the largest change of a sum by k teachers.

    Args:
        bounds: step functions, each with the `(n,)` values of log q of its queries; all change together.
        beta: > 0.
        n_teachers: number of teachers; a change of all their votes reaches every table.
    """
    largest = sum(float(bound.drops.max()) * len(log_miss) for bound, log_miss in bounds)
    changes, nearest = [bound.changes for bound, _ in bounds], [bound.nearest_drops for bound, _ in bounds]
    places = [bound.places(log_miss) for bound, log_miss in bounds]
    sensitivity = largest * math.exp(-beta * n_teachers)
    for k in range(n_teachers):
        if math.exp(-beta * k) * largest <= sensitivity:
            break
        local = sum(float(drops[positions].sum()) for drops, positions in zip(changes, places, strict=True))
        sensitivity = max(sensitivity, math.exp(-beta * k) * local)
        changes = nearest = [_one_move_further(drops) for drops in nearest]
    return sensitivity
