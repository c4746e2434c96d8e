"""What one call of a primitive gives away, from what it is fed on two neighbouring datasets."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...guarantees import ApproximateDP, GaussianDP, PureDP
from ...guarantees.base import Guarantee

Charge = Callable[[Any, Any], Guarantee]

EVERYTHING = ApproximateDP(0.0, 1.0 - 2**-53)
"""What is given away where no noise hides what is fed: no epsilon holds with a delta that means anything."""


def of_laplace(scale: Any) -> Charge:
    """Laplace noise: the L1 distance over the scale."""
    return partial(_laplace, scale)


def of_normal(scale: Any) -> Charge:
    """Normal noise: mu is the L2 distance over the standard deviation."""
    return partial(_normal, scale)


def of_choice(n: int) -> Charge:
    """n choices with probabilities: the largest logarithm of their ratios for each."""
    return partial(_choice, n)


def of_coin(shape: tuple[int, ...]) -> Charge:
    """Coins with probabilities: for each the larger logarithm of the ratios of its two outcomes."""
    return partial(_coin, shape)


def of_vector(covariance: Any) -> Charge:
    """Normal noise with a covariance: mu is the Mahalanobis distance."""
    return partial(_vector, covariance)


def declared(epsilon: float, delta: float) -> Charge:
    """What the primitive declares, whatever it is fed; nothing for equal inputs."""
    return partial(_declared, epsilon, delta)


def moved(fed0: Any, fed1: Any) -> np.ndarray[Any, Any]:
    """How far what is fed moves, coordinate by coordinate; infinite where one of the two is no number."""
    one, other = (np.asarray(fed, dtype=np.float64).ravel() for fed in (fed0, fed1))
    if one.shape != other.shape and 1 not in (one.size, other.size):
        return np.array([math.inf])
    with np.errstate(invalid="ignore"):
        step = np.abs(other - one)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.where(np.isnan(step), math.inf, step))


def _laplace(scale: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(all="ignore"):
        parts = moved(fed0, fed1) / np.ravel(scale)
    epsilon = float(np.where(np.isnan(parts), 0.0, parts).sum())  # 0 / 0: nothing moves, and nothing is hidden
    return PureDP(epsilon) if math.isfinite(epsilon) else EVERYTHING


def _normal(scale: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(all="ignore"):
        parts = moved(fed0, fed1) / np.ravel(scale)
    mu = float(np.sqrt((np.where(np.isnan(parts), 0.0, parts) ** 2).sum()))
    return PureDP(0.0) if mu == 0.0 else GaussianDP(mu) if math.isfinite(mu) else EVERYTHING


def _vector(covariance: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(invalid="ignore"):
        steps = np.reshape(np.subtract(fed1, fed0), (-1, len(covariance)))
    if not np.isfinite(steps).all():
        return EVERYTHING
    try:
        squared = (steps * np.linalg.solve(covariance, steps.T).T).sum()
    except np.linalg.LinAlgError:
        return EVERYTHING if steps.any() else PureDP(0.0)
    return GaussianDP(float(np.sqrt(squared))) if squared > 0 else PureDP(0.0)


def _coin(shape: tuple[int, ...], fed0: Any, fed1: Any) -> Guarantee:
    epsilon = 0.0
    for one, other in zip(np.broadcast_to(fed0, shape).ravel(), np.broadcast_to(fed1, shape).ravel(), strict=True):
        part = _choice(1, [one, 1.0 - one], [other, 1.0 - other])
        if part is EVERYTHING:
            return part
        epsilon += part.epsilon(0.0)
    return PureDP(epsilon)


def _choice(n: int, fed0: Any, fed1: Any) -> Guarantee:
    one, other = np.ravel(fed0).astype(np.float64), np.ravel(fed1).astype(np.float64)
    if one.shape != other.shape or ((one > 0) != (other > 0)).any():
        return EVERYTHING
    possible = one > 0
    return PureDP(n * float(np.abs(np.log(one[possible] / other[possible])).max(initial=0.0)))


def _declared(epsilon: float, delta: float, fed0: Any, fed1: Any) -> Guarantee:
    if _same(fed0, fed1):
        return PureDP(0.0)
    return PureDP(epsilon) if delta == 0.0 else ApproximateDP(epsilon, delta)


def _same(fed0: Any, fed1: Any) -> bool:
    try:
        return bool(np.array_equal(np.asarray(fed0), np.asarray(fed1), equal_nan=True))
    except TypeError:
        return bool(np.array_equal(np.asarray(fed0, dtype=object), np.asarray(fed1, dtype=object)))
