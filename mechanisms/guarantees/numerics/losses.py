"""The privacy profile of a privacy loss with finitely many values: exact, with its inverse in closed form.

With losses L_1 > L_2 > ... > L_m > 0 of probability p_j, and infinite loss of probability p_inf,

    delta(t) = p_inf + sum over L_j > t of p_j (1 - e^(t - L_j)),

which between two losses is a straight line in e^t. Both a pair of finite distributions and dp-accounting's
privacy-loss distributions are of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTH = 700.0
"""Range of losses that are summed together: e^-700 is about the smallest float of full precision."""


@dataclass(frozen=True, eq=False)
class LossProfile:
    """delta(epsilon) in one direction; made by `of`.

    Args:
        losses: `(m + 1,)` decreasing, the last one 0: where the line bends.
        deltas: `(m + 1,)` delta at each of them.
        weights: `(m,)` sum over i <= j of p_i e^(L_j - L_i): how fast delta grows to the right of bend j.
    """

    losses: Floats
    deltas: Floats
    weights: Floats

    @classmethod
    def of(cls, losses: Floats, probabilities: Floats, infinite: float) -> LossProfile:
        """The profile of finite `losses`, in any order, with these probabilities, and of an infinite loss.

        deltas and weights are sums of positive terms, so that they keep their relative accuracy in the tails.
        """
        kept = losses > 0.0
        order = np.argsort(-losses[kept], kind="stable")
        loss, probability = losses[kept][order], probabilities[kept][order]
        weights = _weights(loss, probability)
        bends = np.append(loss, 0.0)
        growth = -weights * np.expm1(np.diff(bends))
        return cls(bends, infinite + np.concatenate([[0.0], np.cumsum(growth)]), weights)

    def delta(self, epsilon: Floats) -> Floats:
        """delta at each epsilon >= 0."""
        above = np.searchsorted(-self.losses, -epsilon, side="left")  # bends with a loss > epsilon
        last = np.maximum(above - 1, 0)
        if len(self.weights) == 0:
            return np.full(epsilon.shape, self.deltas[0])
        grown = -self.weights[last] * np.expm1(np.minimum(epsilon - self.losses[last], 0.0))
        return np.where(above == 0, self.deltas[0], self.deltas[last] + grown)

    def epsilon(self, delta: Floats) -> Floats:
        """Least epsilon >= 0 at each delta; inf below the probability of an infinite loss."""
        if len(self.weights) == 0:
            return np.where(delta < self.deltas[0], np.inf, 0.0)
        reached = np.searchsorted(self.deltas, delta, side="right")  # bends with a delta <= delta
        last = np.clip(reached - 1, 0, len(self.weights) - 1)
        rise = np.minimum((delta - self.deltas[last]) / np.maximum(self.weights[last], 5e-324), 1.0)
        inside = np.maximum(self.losses[last] + np.log1p(-rise), self.losses[last + 1])
        found = np.where(reached == len(self.deltas), 0.0, inside)
        found = np.where(delta == self.deltas[0], self.losses[0], found)
        return np.where(reached == 0, np.inf, found)


def _weights(loss: Floats, probability: Floats) -> Floats:
    """Sum over i <= j of p_i e^(L_j - L_i) for decreasing losses: one cumulative sum a range of `WIDTH`."""
    found = np.empty_like(loss)
    parts = np.ceil(loss / WIDTH) - 1.0
    starts = np.flatnonzero(np.diff(parts, prepend=np.inf))
    for start, end in pairwise([*starts, len(loss)]):
        part = slice(start, end)
        above = loss[part] - parts[start] * WIDTH
        found[part] = np.exp(above) * np.cumsum(probability[part] * np.exp(-above))
        if start:
            found[part] += found[start - 1] * np.exp(loss[part] - loss[start - 1])
    return found
