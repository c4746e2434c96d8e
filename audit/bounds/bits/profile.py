"""The test of the whole claimed curve from right guesses, at every epsilon simultaneously.

Null: for every epsilon, the outputs are (epsilon, delta(epsilon))-DP in each bit. Let V of r guesses be right, out of m
bits. Inequality (1) of `one_run` holds at every point of the curve, so that

    Pr[V >= v] <= p(v) = min over epsilon of F(v) + m delta(epsilon) T(v),    T(v) = F(v) (1 - F(v)) / (v p_v),

with F and p_v of Bin(r, e^epsilon / (1 + e^epsilon)).

**p(V) is a p-value.** Let v* be the least v with p(v) <= a. Then Pr[p(V) <= a] <= Pr[V >= v*] <= p(v*) <= a. The choice
of epsilon needs no correction, even if it is data-dependent: the tests at all points read the same count, and each
rejects from some count on, so that together they reject from the least of these counts on, which is one of them.

**Together with the bound.** Solved for delta, (1) is a lower limit of the true profile,

    delta_lower(epsilon) = (a - F(v)) / (m T(v)),

which exceeds the true delta at epsilon where p at the true point is below a. Let v be the least count at which it does
so anywhere, or at which the bound at the delta of the statement exceeds the true epsilon: every error needs V >= v, and
Pr[V >= v] <= a. So the bound and the limits hold simultaneously at the level of one of them.

Several sets of guesses do need a correction: they share the significance (`guessing`), because they count different
bits. The points below are a grid of the curve; fewer points lose power, not validity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....mechanisms.core.arrays import Floats
from ...evidence.statement import Statement
from ..curve import CurveViolation

POINTS = 128
"""Number of points of a claimed curve, evenly spaced in epsilon."""
MAX_EPSILON_RATIO = 2.0
"""Largest epsilon of these points, as a multiple of the claimed epsilon at the delta of the statement."""
_DELTA_TOLERANCE = 1e-9  # relative: a claimed delta is rounded up by this much

Terms = Callable[[int, int, Floats], tuple[Floats, Floats]]
"""Function (n_guesses, n_correct, epsilons) -> F, and the factor of m delta, at each epsilon."""
Points = tuple[Floats, Floats]


def claimed_points(statement: Statement) -> Points:
    """Return epsilons and deltas of points of the claim: first that of the statement, then a grid of the curve.

    >>> from dpassay.mechanisms.accounting import GaussianDP
    >>> epsilons, deltas = claimed_points(Statement(GaussianDP(1.0), delta=1e-5))
    >>> len(epsilons), round(float(epsilons[0]), 3), float(deltas[0])
    (129, 4.377, 1e-05)
    """
    grid = np.linspace(0.0, MAX_EPSILON_RATIO * statement.epsilon, POINTS)
    deltas = np.minimum(1.0, np.asarray(statement.claim.delta(grid)) * (1.0 + _DELTA_TOLERANCE))
    return np.append(statement.epsilon, grid), np.append(statement.delta, deltas)


def profile_p_value(points: Points, n_bits: int, n_guesses: int, n_correct: int, terms: Terms) -> float:
    """Return p(n_correct) as above: the largest probability of this many right guesses if the claim holds."""
    epsilons, deltas = points
    tails, factors = terms(n_guesses, n_correct, epsilons)
    added = np.multiply(n_bits * deltas, factors, out=np.zeros_like(tails), where=deltas > 0.0)
    return min(1.0, float(np.min(tails + added)))


def profile_violation(
    points: Points,
    counts: Sequence[tuple[int, int, int]],
    levels: Sequence[float],
    terms: Terms,
    *,
    method: str,
) -> CurveViolation | None:
    """Return the point at which delta_lower exceeds the claimed delta by most; None if it exceeds it nowhere.

    Args:
        points: points of the claim.
        counts: (bits, guesses, right guesses), one triple for each set of guesses.
        levels: significance level of each set of guesses.
        terms: terms of inequality (1).
        method: name of the bound.
    """
    gaps: list[tuple[float, float, float]] = []
    for (n_bits, n_guesses, n_correct), level in zip(counts, levels, strict=True):
        tails, factors = terms(n_guesses, n_correct, points[0])
        for index in np.flatnonzero(tails < level):
            epsilon, delta = float(points[0][index]), float(points[1][index])
            lowest = min(1.0, float((level - tails[index]) / (n_bits * factors[index])))
            gaps.append((lowest - delta, epsilon, delta))
    gap, epsilon, delta = max(gaps, default=(0.0, 0.0, 0.0))
    if gap <= 0.0:
        return None
    return CurveViolation(epsilon, delta, delta + gap, None, None, None, None, None, method)
