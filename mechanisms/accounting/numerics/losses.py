"""Exact privacy profile of a privacy loss with finitely many values, with its inverse in closed form.

With losses L_1 > L_2 > ... > L_m > 0 of probability p_j, and infinite loss of probability p_inf,

    delta(t) = p_inf + sum over L_j > t of p_j (1 - e^(t - L_j)),

which is linear in e^t between two losses. Both pairs of finite distributions and dp-accounting's privacy-loss
distributions are of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...core.arrays import Floats

WIDTH = 700.0
"""Width of the range of losses that are summed together: e^-700 is about the smallest float of full precision."""


@dataclass(frozen=True, eq=False)
class LossProfile:
    """The privacy profile delta(epsilon) in one direction; built by `of`.

    Args:
        losses: `(m + 1,)` decreasing breakpoints; the last is 0.
        deltas: `(m + 1,)` delta at each breakpoint.
        weights: `(m,)` sum over i <= j of p_i e^(L_j - L_i): the growth of delta below breakpoint j.
    """

    losses: Floats
    deltas: Floats
    weights: Floats

    @classmethod
    def of(cls, losses: Floats, probabilities: Floats, infinite: float) -> LossProfile:
        """Return the profile of finite `losses`, in any order, and of an infinite loss with probability `infinite`.

        The deltas and weights are sums of positive terms, so that they keep their relative accuracy in the tails.
        """
        positive = losses > 0.0
        order = np.argsort(-losses[positive], kind="stable")
        loss, probability = losses[positive][order], probabilities[positive][order]
        weights = _weights(loss, probability)
        bends = np.append(loss, 0.0)
        growth = -weights * np.expm1(np.diff(bends))
        return cls(bends, infinite + np.concatenate([[0.0], np.cumsum(growth)]), weights)

    def delta(self, epsilon: Floats) -> Floats:
        """Return delta at each epsilon >= 0."""
        above = np.searchsorted(-self.losses, -epsilon, side="left")  # breakpoints with a loss > epsilon
        last = np.maximum(above - 1, 0)
        if len(self.weights) == 0:
            return np.full(epsilon.shape, self.deltas[0])
        grown = -self.weights[last] * np.expm1(np.minimum(epsilon - self.losses[last], 0.0))
        return np.where(above == 0, self.deltas[0], self.deltas[last] + grown)

    def epsilon(self, delta: Floats) -> Floats:
        """Return the least epsilon >= 0 at each delta; inf below the probability of an infinite loss."""
        if len(self.weights) == 0:
            return np.where(delta < self.deltas[0], np.inf, 0.0)
        reached = np.searchsorted(self.deltas, delta, side="right")  # breakpoints with a delta <= delta
        last = np.clip(reached - 1, 0, len(self.weights) - 1)
        rise = np.minimum((delta - self.deltas[last]) / np.maximum(self.weights[last], 5e-324), 1.0)
        inside = np.maximum(self.losses[last] + np.log1p(-rise), self.losses[last + 1])
        epsilon = np.where(reached == len(self.deltas), 0.0, inside)
        epsilon = np.where(delta == self.deltas[0], self.losses[0], epsilon)
        return np.where(reached == 0, np.inf, epsilon)


def _weights(loss: Floats, probability: Floats) -> Floats:
    """Return the sums over i <= j of p_i e^(L_j - L_i) for decreasing losses, by cumulative sums per `WIDTH`."""
    weights = np.empty_like(loss)
    parts = np.ceil(loss / WIDTH) - 1.0
    starts = np.flatnonzero(np.diff(parts, prepend=np.inf))
    for start, end in pairwise([*starts, len(loss)]):
        part = slice(start, end)
        above = loss[part] - parts[start] * WIDTH
        weights[part] = np.exp(above) * np.cumsum(probability[part] * np.exp(-above))
        if start:
            weights[part] += weights[start - 1] * np.exp(loss[part] - loss[start - 1])
    return weights
