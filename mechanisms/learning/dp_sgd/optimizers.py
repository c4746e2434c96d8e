"""Optimisers other than gradient descent: how a noisy sum moves the parameters.

An optimiser reads the noisy sums only: it is post-processing, and the guarantee is that of the sums.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core import Delta, Options, Positive, named_in
from ..base import AnyFloats


@named_in("dpassay.mechanisms.learning.dp_sgd.catalogue:optimizers")
@dataclass(frozen=True)
class Adam(Options):
    """Adam: the mean of past noisy gradients over the root of the mean of their squares, in each coordinate.

        m_t = beta1 m_(t-1) + (1 - beta1) g_t,   v_t = beta2 v_(t-1) + (1 - beta2) g_t^2,   g_t = S_t / divisor
        direction = (m_t / (1 - beta1^t)) / (sqrt(v_t / (1 - beta2^t)) + stability)

    The squares include the noise, whose variance dominates v_t for small gradients (Tang, Panferov, Lecuyer 2024).

    Args:
        beta1, beta2: decay of the two means, in [0, 1).
        stability: > 0.

    References:
        Kingma, Ba (2015), Algorithm 1.

    Example:
        >>> state = Adam(stability=1e-12).start()
        >>> state.direction(np.array([[4.0, -0.5]])).round(6).tolist()
        [[1.0, -1.0]]
    """

    _: KW_ONLY
    beta1: Delta = 0.9
    beta2: Delta = 0.999
    stability: Positive = 1e-8

    def start(self) -> AdamState:
        """Return the state before the first step."""
        return AdamState(self)


class AdamState:
    """Means of the gradients and of their squares, for all runs of a block."""

    def __init__(self, adam: Adam) -> None:
        self.adam, self.step = adam, 0
        self.first: AnyFloats | float = 0.0
        self.second: AnyFloats | float = 0.0

    def direction(self, gradients: AnyFloats) -> AnyFloats:
        """Return the direction of the next step, `(n_runs, n_parameters)`, from its noisy gradients."""
        adam, self.step = self.adam, self.step + 1
        self.first = adam.beta1 * self.first + (1.0 - adam.beta1) * gradients
        self.second = adam.beta2 * self.second + (1.0 - adam.beta2) * gradients**2
        mean = self.first / (1.0 - adam.beta1**self.step)
        root = np.sqrt(self.second / (1.0 - adam.beta2**self.step))
        return np.asarray(mean / (root + adam.stability))
