"""Exact privacy profile of a privacy loss with finitely many values, with its inverse in closed form.

With losses L_1 > L_2 > ... > L_m > 0 of probability p_j, and infinite loss of probability p_inf,

    delta(t) = p_inf + sum over L_j > t of p_j (1 - e^(t - L_j)),

which is linear in e^t between two losses. Both pairs of finite distributions and dp-accounting's privacy-loss
distributions are of this kind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...core import Floats

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


@dataclass(frozen=True, eq=False)
class SupportingLines:
    """Lines below a trade-off curve, two for each point (epsilon_g, delta_g) of its profile.

        f(x) >= 1 - delta_g - e^epsilon_g x     and     f(x) >= e^-epsilon_g (1 - delta_g - x).

    (Dong, Roth, Su 2019, Proposition 2.12.) Every line is valid, so the result is never above the curve of the profile.
    At the breakpoints of a profile the lines attain its curve, since a profile is linear in e^epsilon between them. The
    first line improves from g to g + 1 while x is below the slope of the profile between them; the second one while
    1 - x is below the intercept of that chord. Both fall with g, because a profile is convex in e^epsilon: a binary
    search finds the best line.

    Args:
        growths: `(m,)` e^epsilon_g, increasing.
        deltas: `(m,)` delta_g, decreasing.
    """

    growths: Floats
    deltas: Floats

    @classmethod
    def of(cls, profiles: Sequence[LossProfile]) -> SupportingLines:
        """Return the lines at all breakpoints of the profiles, of which delta is the largest."""
        losses = np.unique(np.concatenate([profile.losses[profile.losses <= WIDTH] for profile in profiles]))
        return cls(np.exp(losses), np.max([profile.delta(losses) for profile in profiles], axis=0))

    @cached_property
    def _slopes(self) -> Floats:
        """Slopes of the chords between neighbouring points, `(m - 1,)`, decreasing up to rounding errors."""
        return np.minimum.accumulate(-np.diff(self.deltas) / np.diff(self.growths))

    @cached_property
    def _intercepts(self) -> Floats:
        """Values of these chords at e^epsilon = 0, decreasing up to rounding errors."""
        return np.minimum.accumulate(self.deltas[:-1] + self._slopes * self.growths[:-1])

    @cached_property
    def _lists(self) -> tuple[list[float], ...]:
        """Growths, deltas, and negative slopes and intercepts as lists: several times faster for one number."""
        return tuple(values.tolist() for values in (self.growths, self.deltas, -self._slopes, -self._intercepts))

    def tradeoff(self, fpr: Floats) -> Floats:
        """Return the highest line at each false positive rate in [0, 1]; may be below 0."""
        steep, flat = np.searchsorted(-self._slopes, -fpr), np.searchsorted(-self._intercepts, fpr - 1.0)
        return np.maximum(
            1.0 - self.deltas[steep] - self.growths[steep] * fpr, (1.0 - self.deltas[flat] - fpr) / self.growths[flat]
        )

    def tradeoff_of_one(self, fpr: float) -> float:
        """Return `tradeoff` at one number, >= 0, many times faster than for an array of one."""
        growths, deltas, slopes, intercepts = self._lists
        steep, flat = bisect_left(slopes, -fpr), bisect_left(intercepts, fpr - 1.0)
        return max(0.0, 1.0 - deltas[steep] - growths[steep] * fpr, (1.0 - deltas[flat] - fpr) / growths[flat])


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
