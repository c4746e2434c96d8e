"""Privacy cost of one call of a primitive, from its inputs on two neighbouring datasets."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...accounting import ApproximateDP, GaussianDP, PureDP
from ...core import Guarantee

Charge = Callable[[Any, Any], Guarantee]

UNPROTECTED = ApproximateDP(0.0, 1.0 - 2**-53)
"""Cost of inputs that no noise protects: no epsilon holds with a meaningful delta."""


def of_laplace(scale: Any) -> Charge:
    """Return the cost of Laplace noise: epsilon is the L1 distance divided by the scale."""
    return partial(_laplace, scale)


def of_normal(scale: Any) -> Charge:
    """Return the cost of normal noise: mu is the L2 distance divided by the standard deviation."""
    return partial(_normal, scale)


def of_choice(n: int) -> Charge:
    """Return the cost of n choices with probabilities: for each the largest absolute log ratio."""
    return partial(_choice, n)


def of_coin(shape: tuple[int, ...]) -> Charge:
    """Return the cost of coins with probabilities: for each the larger absolute log ratio of its two outcomes."""
    return partial(_coin, shape)


def of_vector(covariance: Any) -> Charge:
    """Return the cost of normal noise with a covariance: mu is the Mahalanobis distance."""
    return partial(_vector, covariance)


def declared_cost(epsilon: float, delta: float) -> Charge:
    """Return the cost that the primitive declares, whatever its input; none for equal inputs."""
    return partial(_declared, epsilon, delta)


def input_change(fed0: Any, fed1: Any) -> np.ndarray[Any, Any]:
    """Return the absolute change of the input in each coordinate; infinite if one of the two is not a number."""
    first, second = (np.asarray(fed, dtype=np.float64).ravel() for fed in (fed0, fed1))
    if first.shape != second.shape and 1 not in (first.size, second.size):
        return np.array([math.inf])
    with np.errstate(invalid="ignore"):
        step = np.abs(second - first)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return np.where(same, 0.0, np.where(np.isnan(step), math.inf, step))


def _laplace(scale: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(all="ignore"):
        parts = input_change(fed0, fed1) / np.ravel(scale)
    epsilon = float(np.where(np.isnan(parts), 0.0, parts).sum())  # 0 / 0: nothing moves, so nothing leaks
    return PureDP(epsilon) if math.isfinite(epsilon) else UNPROTECTED


def _normal(scale: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(all="ignore"):
        parts = input_change(fed0, fed1) / np.ravel(scale)
    mu = float(np.sqrt((np.where(np.isnan(parts), 0.0, parts) ** 2).sum()))
    return PureDP(0.0) if mu == 0.0 else GaussianDP(mu) if math.isfinite(mu) else UNPROTECTED


def _vector(covariance: Any, fed0: Any, fed1: Any) -> Guarantee:
    with np.errstate(invalid="ignore"):
        steps = np.reshape(np.subtract(fed1, fed0), (-1, len(covariance)))
    if not np.isfinite(steps).all():
        return UNPROTECTED
    try:
        squared = (steps * np.linalg.solve(covariance, steps.T).T).sum()
    except np.linalg.LinAlgError:
        return UNPROTECTED if steps.any() else PureDP(0.0)
    return GaussianDP(float(np.sqrt(squared))) if squared > 0 else PureDP(0.0)


def _coin(shape: tuple[int, ...], fed0: Any, fed1: Any) -> Guarantee:
    epsilon = 0.0
    for p0, p1 in zip(np.broadcast_to(fed0, shape).ravel(), np.broadcast_to(fed1, shape).ravel(), strict=True):
        part = _choice(1, [p0, 1.0 - p0], [p1, 1.0 - p1])
        if part is UNPROTECTED:
            return part
        epsilon += part.epsilon(0.0)
    return PureDP(epsilon)


def _choice(n: int, fed0: Any, fed1: Any) -> Guarantee:
    first, second = np.ravel(fed0).astype(np.float64), np.ravel(fed1).astype(np.float64)
    if first.shape != second.shape or ((first > 0) != (second > 0)).any():
        return UNPROTECTED
    possible = first > 0
    return PureDP(n * float(np.abs(np.log(first[possible] / second[possible])).max(initial=0.0)))


def _declared(epsilon: float, delta: float, fed0: Any, fed1: Any) -> Guarantee:
    if _same(fed0, fed1):
        return PureDP(0.0)
    return PureDP(epsilon) if delta == 0.0 else ApproximateDP(epsilon, delta)


def _same(fed0: Any, fed1: Any) -> bool:
    try:
        return bool(np.array_equal(np.asarray(fed0), np.asarray(fed1), equal_nan=True))
    except TypeError:
        return bool(np.array_equal(np.asarray(fed0, dtype=object), np.asarray(fed1, dtype=object)))
