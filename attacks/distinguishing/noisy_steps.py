"""The noisy sums of a trajectory, step by step, and what one of them says about a gradient: shared by attacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs

if TYPE_CHECKING:
    from ...mechanisms.learning.capabilities import ShowsTrajectory

Floats = NDArray[np.floating[Any]]


def noisy_steps(
    learner: ShowsTrajectory, outputs: Outputs, divisor: float
) -> Iterator[tuple[NDArray[np.float64], Floats]]:
    """Of each step the parameters that it starts from, and its noisy sum, both `(size, n_parameters)`.

    Momentum and learning rates are undone; a projection is not.

    Args:
        learner: how the trajectory was made.
        outputs: `(size, steps + 1, n_parameters)`.
        divisor: of every noisy sum.
    """
    previous: Floats | float = 0.0
    for step, rate in enumerate(learner.rates()):
        at = np.ascontiguousarray(outputs.values[:, step], dtype=np.float64)
        velocity = (at - outputs.values[:, step + 1]) * (divisor / float(rate))
        noisy_sum, previous = velocity - learner.momentum * previous, velocity
        yield at, noisy_sum


def log_ratio(rest: Floats, shift: Floats, variance: float, probability: float = 1.0) -> NDArray[np.float64]:
    """log(1 - q + q exp((<rest, shift> - |shift|^2 / 2) / variance)): how much likelier normal noise around a shift
    that is there with probability q is than noise alone, `(...)`.

    Args:
        rest: a noisy sum less what is known of it, `(..., n_parameters)`.
        shift: what may have been added, of its shape.
        variance: of the noise in each coordinate.
        probability: q, that it was added.
    """
    exponent = np.einsum("...p,...p->...", rest - 0.5 * shift, shift) / variance
    if probability == 1.0:
        return np.asarray(exponent)
    return np.asarray(np.logaddexp(np.log1p(-probability), np.log(probability) + exponent))
