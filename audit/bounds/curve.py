"""A whole claimed curve against rectangles of limits: refuted where no attack could do as well as the trials show.

Null: the pair's trade-off curve lies on or above the claimed curve f everywhere. With the confidence of the limits, the
true rates of the event {score >= t} are at most (FPR_upper, FNR_upper), for every t that has limits. Since f falls,

    FNR <= FNR_upper < f(FPR_upper) <= f(FPR)

contradicts the claim, and so does the reflected point, FPR_upper < f(FNR_upper), f being symmetric. Nothing was fixed
for it but f, and nothing is paid: one set of limits serves every curve, and every (epsilon, delta) on it.

Looking at the points is looking at their lower convex hull: the region on or above f is convex, so that the hull leaves
it only where a point does (Dong, Roth, Su 2019; for one rectangle and (epsilon, delta): Lokna et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.guarantees.base import Guarantee
from ..evidence.scores import Tally
from .numerics.rectangle import Rectangle

_ROUNDING = 1e-9  # relative: a limit must lie this far below the claim
_LARGEST_EPSILON = 50.0


@dataclass(frozen=True)
class CurveViolation:
    """Where the claimed curve contradicts the trials most.

    Args:
        epsilon, delta: a pair that the claim promises.
        delta_lower: the least delta that the trials allow at this epsilon; > delta.
        fpr, fnr: upper limits on the error rates of the event, or of the guess, that shows it; None where it is shown
            by many guesses together.
        claimed_fnr: the least false negative rate that the claim allows at `fpr`; None with it.
        threshold: of that event, {score >= threshold}; None where there is none.
        hits: its (false positives, true positives); None where there is none.
        method: name of the bound whose limits these are.
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
            f"at epsilon = {self.epsilon:.4g} the claim promises delta <= {self.delta:.4g}, "
            f"but these trials show delta >= {self.delta_lower:.4g}"
        )


def contradicting(limits: Rectangle, claim: Guarantee) -> NDArray[np.bool_]:
    """Which of the rectangles contradict `claim`.

    Example:
        >>> from dpassay.mechanisms.guarantees import GaussianDP
        >>> limits = Rectangle.at([159, 30], [500, 40], n_out=1000, n_in=1000, significance=0.025)
        >>> contradicting(limits, GaussianDP(0.8)).tolist()
        [True, False]
    """
    fpr, fnr = limits.fpr_upper, limits.fnr_upper
    both = np.ravel(np.concatenate([np.ravel(fpr), np.ravel(fnr)]))
    claimed_fnr, claimed_fpr = np.split(claim.tradeoff(both), 2)
    below = np.ravel(fnr) * (1.0 + _ROUNDING) < claimed_fnr
    left = np.ravel(fpr) * (1.0 + _ROUNDING) < claimed_fpr
    return (below | left).reshape(fpr.shape)


def refute(limits: Rectangle, claim: Guarantee, *, method: str, events: Tally | None = None) -> CurveViolation | None:
    """The place where the rectangles `(m,)` contradict `claim` most, or None where they do not.

    The place is the epsilon at which the delta that is shown exceeds the delta that is claimed by most. `events` are
    those whose limits these are, if they are events of scores.
    """
    found = np.flatnonzero(contradicting(limits, claim))
    if len(found) == 0:
        return None
    sides = limits.fpr_upper, limits.fnr_upper, limits.tnr_lower, limits.tpr_lower
    some = Rectangle(*(side[found] for side in sides))
    epsilon = _widest_gap(some, claim)
    shown = some.delta_lower(epsilon)
    best = int(np.argmax(shown))
    fpr, place = float(some.fpr_upper[best]), found[best]
    return CurveViolation(
        epsilon=epsilon,
        delta=float(claim.delta(epsilon)),
        delta_lower=float(shown[best]),
        fpr=fpr,
        fnr=float(some.fnr_upper[best]),
        claimed_fnr=float(claim.tradeoff(fpr)),
        threshold=None if events is None else float(events.thresholds[place]),
        hits=None if events is None else (int(events.hits_out[place]), int(events.hits_in[place])),
        method=method,
    )


def _widest_gap(limits: Rectangle, claim: Guarantee) -> float:
    """The epsilon at which max delta_lower - claimed delta is largest, to four digits."""
    smallest = float(min(limits.fpr_upper.min(), limits.fnr_upper.min()))
    low, high = 0.0, min(_LARGEST_EPSILON, -np.log(smallest))
    for _ in range(4):
        grid = np.linspace(low, high, 41)
        gap = limits.delta_lower(grid).max(axis=-1) - np.asarray(claim.delta(grid))
        best = int(np.argmax(gap))
        low, high = grid[max(0, best - 1)], grid[min(40, best + 1)]
    return float(grid[best])


__all__ = ["CurveViolation", "contradicting", "refute"]
