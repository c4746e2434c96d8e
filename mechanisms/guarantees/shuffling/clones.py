"""Amplification by shuffling, by numbers: a message hides among those that might be its clones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from ...relation import Relation
from ...validation import positive, whole
from ..base import Floats
from ..numerics.binomial import binomial_cdf, binomial_pmf, binomial_sf
from ..profile import LARGEST, ProfileGuarantee

_NEGLIGIBLE = 1e-20
"""Mass of clone counts that is left out on either side; it is added to delta."""
_MOST_COUNTS = 4000
_GRID = 2001
_BLOCK = 1_000_000


@dataclass(frozen=True, init=False, repr=False)
class ClonesDP(ProfileGuarantee):
    """What n users get whose epsilon_0-private messages are shuffled, by "hiding among the clones".

    With probability e^-epsilon_0, independently, each of the other n - 1 users sends what is as likely to come from
    either value of the user in question: a clone of either kind. With C ~ Bin(n - 1, e^-epsilon_0) clones, A ~
    Bin(C, 1/2) of them of the first kind, and p = e^epsilon_0 / (1 + e^epsilon_0), the shuffled messages tell no more
    than the numbers of both kinds,

        d0:  (A + 1, C - A) with probability p, else (A, C - A + 1)        d1:  the same with p and 1 - p exchanged.

    delta is the hockey-stick divergence of these two laws: a sum over C, and for each C a tail of the binomial A.

    Args:
        local_epsilon: epsilon_0, of the mechanism that each user runs, > 0.
        n_users: number of users who run it, >= 1. Who may send anything else, or tell what they sent, is not counted:
            if one in ten is malicious, the bound is that for 0.9 n.
        step: counts of clones that are summed as one; None for 1, or, beyond 4000 likely counts, as many as bring
            them down to that.
        relation: `replace_one`.

    Raises:
        ParameterError: a value out of range.

    Guarantees:
        * An upper bound for every pure local mechanism, if all users run the same one, once, without seeing the
          messages of others, and if nothing in a message tells its sender. At delta = 0 it is the local epsilon.
        * With step 1 the divergence of the two laws is exact; with more it is above: more clones never tell more, so
          each count stands in for all above it in its group.
        * The trade-off is a maximum over 2001 epsilons, and errs on the safe side.

    References:
        Feldman, McMillan, Talwar (2021), "Hiding among the clones", Theorem 3.2 and Appendix E.

    Example:
        >>> claim = ClonesDP(local_epsilon=4.0, n_users=100_000)
        >>> round(claim.epsilon(1e-6), 5), claim.epsilon(0.0)
        (0.16977, 4.0)
    """

    local_epsilon: float
    n_users: int
    step: int
    relation: Relation | None
    exact: bool

    def __init__(
        self,
        local_epsilon: float,
        n_users: int,
        *,
        step: int | None = None,
        relation: str | Relation | None = Relation.REPLACE_ONE,
    ) -> None:
        positive(local_epsilon=local_epsilon)
        whole(1, n_users=n_users)
        if step is not None:
            whole(1, step=step)
        self._set(local_epsilon=float(local_epsilon), n_users=int(n_users), relation=relation, exact=False)
        low, high = self._likely
        self._set(step=step or 1 + (high - low) // _MOST_COUNTS)

    @property
    def _likely(self) -> tuple[int, int]:
        """The range of C outside of which there is no more than `_NEGLIGIBLE` on either side."""
        n, chance = self.n_users - 1, math.exp(-self.local_epsilon)
        # Bernstein's inequality: Pr[|C - n chance| >= x] <= 2 exp(-x^2 / (2 variance + 2 x / 3))
        log, variance = -math.log(_NEGLIGIBLE), n * chance * (1.0 - chance)
        reach = log / 3.0 + math.sqrt((log / 3.0) ** 2 + 2.0 * variance * log)
        return max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach))

    @cached_property
    def _clones(self) -> tuple[Floats, Floats]:
        """The least count of each group, and its probability; the last group has all that is above."""
        low, high = self._likely
        counts = np.arange(low, high + 1, self.step, dtype=np.float64)
        below = binomial_cdf(counts - 1, self.n_users - 1, math.exp(-self.local_epsilon))
        return counts, np.diff(below, append=1.0)

    def _delta(self, epsilon: Floats) -> Floats:
        counts, chances = self._clones
        blocks = np.array_split(epsilon, 1 + epsilon.size * counts.size // _BLOCK)
        found = [divergence(counts, block[:, None], self.local_epsilon) @ chances for block in blocks]
        return np.where(epsilon < self.local_epsilon, np.concatenate(found) + _NEGLIGIBLE, 0.0)

    def _epsilon(self, delta: Floats) -> Floats:
        return np.minimum(super()._epsilon(delta), self.local_epsilon)

    @cached_property
    def _profile(self) -> tuple[Floats, Floats]:
        """delta on a grid of epsilons, close where it falls from 1 to nothing."""
        tail = self.epsilon(1e-15)
        grid = np.append(np.linspace(0.0, tail, _GRID - 1), self.local_epsilon)
        return grid, self._delta(grid)

    def _tradeoff(self, fpr: Floats) -> Floats:
        epsilon, delta = (values[:, None] for values in self._profile)
        steep = 1.0 - delta - np.exp(epsilon + np.log(fpr))
        flat = np.exp(-epsilon) * (1.0 - delta - fpr)
        return np.asarray(np.maximum(steep, flat).max(axis=0))

    def _parameters(self) -> Mapping[str, Any]:
        shown = {"local_epsilon": self.local_epsilon, "n_users": self.n_users}
        return shown if self.step == 1 else shown | {"step": self.step}


def divergence(counts: Floats, epsilon: Floats, local_epsilon: float) -> Floats:
    """Hockey-stick divergence of the two laws at e^epsilon, given each count of clones; the same in either direction.

    Given C clones, the first number a has likelihood ratio (p a + q b) / (q a + p b) with b = C + 1 - a, which
    grows with a: the worst event is a tail, a (p - e^epsilon q) > b (e^epsilon p - q). The divergence falls with C: one
    more clone is one more fair coin that both sides toss. Shapes broadcast.
    """
    epsilon = np.minimum(epsilon, local_epsilon)
    p, q, shrink = special.expit(local_epsilon), special.expit(-local_epsilon), np.exp(-epsilon)
    share = (p - shrink * q) / ((1.0 + shrink) * math.tanh(0.5 * local_epsilon))
    tail = np.minimum(np.floor((counts + 1.0) * share), counts) + 1.0
    at, above = binomial_pmf(tail - 1.0, counts, 0.5), binomial_sf(tail - 1.0, counts, 0.5)
    # Pr[a >= t] is p (at + above) + q above on one side and q (at + above) + p above on the other
    growth = np.expm1(np.minimum(epsilon, LARGEST))  # smaller only rounds delta up
    return np.asarray(np.maximum(0.0, at * p * -np.expm1(epsilon - local_epsilon) - above * growth))
