"""The test of a whole claimed curve against rectangles of limits on the error rates.

Null: the pair's trade-off curve lies on or above the claimed curve f everywhere. With the confidence of the limits, the
true rates of the event {score >= t} are at most (FPR_upper, FNR_upper), for every t that has limits. Since f decreases,

    FNR <= FNR_upper < f(FPR_upper) <= f(FPR)

contradicts the claim, and so does the reflected point, FPR_upper < f(FNR_upper), because f is symmetric. The test needs
nothing but f and no further correction: one set of limits is valid for every curve, and every (epsilon, delta) on it.

To test the points is to test their lower convex hull: the region on or above f is convex, so the hull leaves it only
where a point does (Dong, Roth, Su 2019; for one rectangle and (epsilon, delta): Lokna et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.core import Bools, Guarantee, number
from ..evidence.scores import Tally
from .numerics.rectangle import Rectangle

_CURVE_TOLERANCE = 1e-9  # relative: a limit must lie this far below the claim
_MAX_EPSILON = 50.0


@dataclass(frozen=True)
class CurveViolation:
    """The point at which the trials contradict the claimed curve by the widest margin.

    Args:
        epsilon, delta: a pair that the claim promises.
        delta_lower: the smallest delta that the trials allow at this epsilon; > delta.
        fpr, fnr: upper limits on the error rates of the event, or of the guess, that shows the violation; None if it is
            shown by many guesses together.
        claimed_fnr: the smallest false negative rate that the claim allows at `fpr`; None if `fpr` is None.
        threshold: threshold of that event, {score >= threshold}; None if there is no single event.
        hits: (false positives, true positives) of that event; None if there is no single event.
        method: name of the bound that computed the limits.
    """

    epsilon: float
    delta: float
    delta_lower: float
    fpr: float | None
    fnr: float | None
    claimed_fnr: float | None
    threshold: float | None
    hits: tuple[int, int] | None
    method: str

    def __str__(self) -> str:
        return (
            f"at epsilon = {number(self.epsilon)} the claim promises delta <= {number(self.delta)}, "
            f"but these trials show delta >= {number(self.delta_lower)}"
        )


def contradicting(limits: Rectangle, claim: Guarantee) -> Bools:
    """Return a mask of the rectangles that contradict `claim`.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> limits = Rectangle.at([159, 30], [500, 40], n_out=1000, n_in=1000, significance=0.025)
        >>> contradicting(limits, GaussianDP(0.8)).tolist()
        [True, False]
    """
    fpr, fnr = limits.fpr_upper, limits.fnr_upper
    rates = np.ravel(np.concatenate([np.ravel(fpr), np.ravel(fnr)]))
    claimed_fnr, claimed_fpr = np.split(claim.tradeoff(rates), 2)
    below = np.ravel(fnr) * (1.0 + _CURVE_TOLERANCE) < claimed_fnr
    left = np.ravel(fpr) * (1.0 + _CURVE_TOLERANCE) < claimed_fpr
    return (below | left).reshape(fpr.shape)


def refute(limits: Rectangle, claim: Guarantee, *, method: str, events: Tally | None = None) -> CurveViolation | None:
    """Return the point at which the rectangles `(m,)` contradict `claim` most; None if none contradicts it.

    The point is at the epsilon with the largest gap between the lower limit of delta and the claimed delta. `events`
    are the events of scores that the limits belong to, if there are any.
    """
    indices = np.flatnonzero(contradicting(limits, claim))
    if len(indices) == 0:
        return None
    sides = limits.fpr_upper, limits.fnr_upper, limits.tnr_lower, limits.tpr_lower
    violating = Rectangle(*(side[indices] for side in sides))
    epsilon = _widest_gap(violating, claim)
    delta_lower = violating.delta_lower(epsilon)
    best = int(np.argmax(delta_lower))
    fpr, index = float(violating.fpr_upper[best]), indices[best]
    return CurveViolation(
        epsilon=epsilon,
        delta=float(claim.delta(epsilon)),
        delta_lower=float(delta_lower[best]),
        fpr=fpr,
        fnr=float(violating.fnr_upper[best]),
        claimed_fnr=float(claim.tradeoff(fpr)),
        threshold=None if events is None else float(events.thresholds[index]),
        hits=None if events is None else (int(events.hits_out[index]), int(events.hits_in[index])),
        method=method,
    )


def _widest_gap(limits: Rectangle, claim: Guarantee) -> float:
    """Return the epsilon at which max delta_lower - claimed delta is largest, to four digits."""
    smallest = float(min(limits.fpr_upper.min(), limits.fnr_upper.min()))
    low, high = 0.0, min(_MAX_EPSILON, -np.log(smallest))
    for _ in range(4):
        grid = np.linspace(low, high, 41)
        gap = limits.delta_lower(grid).max(axis=-1) - np.asarray(claim.delta(grid))
        best = int(np.argmax(gap))
        low, high = grid[max(0, best - 1)], grid[min(40, best + 1)]
    return float(grid[best])
