"""Noisy sums of a trajectory, step by step, and their log likelihood ratios for a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.base import Outputs

if TYPE_CHECKING:
    from ...mechanisms.learning.dp_sgd.capabilities import SupportsTrajectory

Floats = NDArray[np.floating[Any]]


def noisy_steps(
    learner: SupportsTrajectory, outputs: Outputs, divisor: float
) -> Iterator[tuple[NDArray[np.float64], Floats]]:
    """Yield for each step the parameters from which it starts, and its noisy sum, both `(size, n_parameters)`.

    Momentum and learning rates are undone; a projection is not.

    Args:
        learner: trainer that produced the trajectory.
        outputs: `(size, steps + 1, n_parameters)`.
        divisor: divisor of every noisy sum.
    """
    previous: Floats | float = 0.0
    for step, rate in enumerate(learner.rates()):
        at = np.ascontiguousarray(outputs.values[:, step], dtype=np.float64)
        velocity = (at - outputs.values[:, step + 1]) * (divisor / float(rate))
        noisy_sum, previous = velocity - learner.momentum * previous, velocity
        yield at, noisy_sum


def log_ratio(rest: Floats, shift: Floats, variance: float, probability: float = 1.0) -> NDArray[np.float64]:
    """Return the log likelihood ratio of noise plus a shift present with probability q, against noise alone, `(...)`.

    log(1 - q + q exp((<rest, shift> - |shift|^2 / 2) / variance)) for normal noise.

    Args:
        rest: a noisy sum minus its known part, `(..., n_parameters)`.
        shift: the shift that may be present, of the same shape.
        variance: variance of the noise in each coordinate.
        probability: q, the probability that the shift is present.
    """
    exponent = np.einsum("...p,...p->...", rest - 0.5 * shift, shift) / variance
    if probability == 1.0:
        return np.asarray(exponent)
    return np.asarray(np.logaddexp(np.log1p(-probability), np.log(probability) + exponent))
