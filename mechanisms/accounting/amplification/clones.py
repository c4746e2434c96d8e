"""Amplification by shuffling: the numerical bound, by which a message hides among its clones, and its inverse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from ...core import Floats, Positive, PositiveInt, Relation, bisect, bracket, open_unit, positive, whole
from ..kinds.profile import MAX_EPSILON, ProfileGuarantee
from ..numerics.binomial import binomial_cdf, binomial_pmf, binomial_sf

_NEGLIGIBLE = 1e-20
"""Mass of clone counts that is omitted on either side; it is added to delta."""
_MAX_COUNTS = 4000
_GRID = 2001
_BLOCK = 1_000_000


@dataclass(frozen=True, repr=False)
class ClonesDP(ProfileGuarantee):
    """The guarantee of n users whose epsilon_0-private messages are shuffled, by "hiding among the clones".

    With probability e^-epsilon_0, independently, each of the other n - 1 users sends a message that is distributed like
    that of the user under attack, with either of the two values: a clone of either kind. With C ~ Bin(n - 1,
    e^-epsilon_0) clones, A ~ Bin(C, 1/2) of them of the first kind, and p = e^epsilon_0 / (1 + e^epsilon_0), the
    shuffled messages leak no more than the numbers of both kinds,

        d0:  (A + 1, C - A) with probability p, else (A, C - A + 1)        d1:  the same with p and 1 - p exchanged.

    delta is the hockey-stick divergence of these two laws: a sum over C, and for each C a tail of the binomial A.

    Args:
        local_epsilon: epsilon_0 of the mechanism that each user runs, > 0.
        n_users: number of honest users, >= 1. Users who may send anything else, or may reveal their message, do not
            count: if one in ten is malicious, the bound is the bound for 0.9 n.
        step: number of clone counts per group, summed as one; None for 1, or, beyond 4000 likely counts, for the
            least number that leaves at most 4000 groups.
        relation: `replace_one`.

    Raises:
        ParameterError: a value out of range.

    Guarantees:
        * An upper bound for every pure local mechanism, if all users run the same mechanism once, without seeing other
          messages, and if no message identifies its sender. At delta = 0 it is the local epsilon.
        * With step 1 the divergence of the two laws is exact; with a larger step it is an upper bound: more clones
          never leak more, so that each count replaces all larger counts of its group.
        * The trade-off is a maximum over 2001 epsilons, and errs on the safe side.

    References:
        Feldman, McMillan, Talwar (2021), "Hiding among the clones", Theorem 3.2 and Appendix E.

    Example:
        >>> claim = ClonesDP(local_epsilon=4.0, n_users=100_000)
        >>> round(claim.epsilon(1e-6), 5), claim.epsilon(0.0)
        (0.16977, 4.0)
    """

    local_epsilon: Positive
    n_users: PositiveInt
    _: KW_ONLY
    step: PositiveInt | None = None
    relation: Relation | None = Relation.REPLACE_ONE
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(local_epsilon=float(self.local_epsilon), n_users=int(self.n_users))
        low, high = self._likely
        self._set(step=self.step or 1 + (high - low) // _MAX_COUNTS)

    @property
    def _likely(self) -> tuple[int, int]:
        """Range of C with at most `_NEGLIGIBLE` mass outside, on either side."""
        n, chance = self.n_users - 1, math.exp(-self.local_epsilon)
        # Bernstein's inequality: Pr[|C - n chance| >= x] <= 2 exp(-x^2 / (2 variance + 2 x / 3))
        log, variance = -math.log(_NEGLIGIBLE), n * chance * (1.0 - chance)
        reach = log / 3.0 + math.sqrt((log / 3.0) ** 2 + 2.0 * variance * log)
        return max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach))

    @cached_property
    def _clones(self) -> tuple[Floats, Floats]:
        """Least count of each group, and its probability; the last group includes all larger counts."""
        assert self.step is not None
        low, high = self._likely
        counts = np.arange(low, high + 1, self.step, dtype=np.float64)
        below = binomial_cdf(counts - 1, self.n_users - 1, math.exp(-self.local_epsilon))
        return counts, np.diff(below, append=1.0)

    def _delta(self, epsilon: Floats) -> Floats:
        counts, chances = self._clones
        blocks = np.array_split(epsilon, 1 + epsilon.size * counts.size // _BLOCK)
        deltas = [divergence(counts, block[:, None], self.local_epsilon) @ chances for block in blocks]
        return np.where(epsilon < self.local_epsilon, np.concatenate(deltas) + _NEGLIGIBLE, 0.0)

    def _epsilon(self, delta: Floats) -> Floats:
        return np.minimum(super()._epsilon(delta), self.local_epsilon)

    @cached_property
    def _profile(self) -> tuple[Floats, Floats]:
        """Grid of epsilons, dense where delta falls from 1 to 0, and the delta at each."""
        tail = self.epsilon(1e-15)
        grid = np.append(np.linspace(0.0, tail, _GRID - 1), self.local_epsilon)
        return grid, self._delta(grid)

    def _tradeoff(self, fpr: Floats) -> Floats:
        epsilon, delta = (values[:, None] for values in self._profile)
        steep = 1.0 - delta - np.exp(epsilon + np.log(fpr))
        flat = np.exp(-epsilon) * (1.0 - delta - fpr)
        return np.asarray(np.maximum(steep, flat).max(axis=0))

    def _parameters(self) -> Mapping[str, Any]:
        parameters = {"local_epsilon": self.local_epsilon, "n_users": self.n_users}
        return parameters if self.step == 1 else parameters | {"step": self.step}


def divergence(counts: Floats, epsilon: Floats, local_epsilon: float) -> Floats:
    """Return the hockey-stick divergence of the two laws at e^epsilon, for each count of clones.

    Given C clones, the first number a has likelihood ratio (p a + q b) / (q a + p b) with b = C + 1 - a, which
    grows with a: the worst event is a tail, a (p - e^epsilon q) > b (e^epsilon p - q). The divergence falls with C: one
    more clone is one more fair coin on both sides. The divergence is equal in both directions. Shapes broadcast.
    """
    epsilon = np.minimum(epsilon, local_epsilon)
    p, q, shrink = special.expit(local_epsilon), special.expit(-local_epsilon), np.exp(-epsilon)
    share = (p - shrink * q) / ((1.0 + shrink) * math.tanh(0.5 * local_epsilon))
    tail = np.minimum(np.floor((counts + 1.0) * share), counts) + 1.0
    at, above = binomial_pmf(tail - 1.0, counts, 0.5), binomial_sf(tail - 1.0, counts, 0.5)
    # Pr[a >= t] is p (at + above) + q above on one side and q (at + above) + p above on the other
    growth = np.expm1(np.minimum(epsilon, MAX_EPSILON))  # smaller only rounds delta up
    return np.asarray(np.maximum(0.0, at * p * -np.expm1(epsilon - local_epsilon) - above * growth))


def local_epsilon_for(epsilon: float, delta: float, n_users: int) -> float:
    """Return the largest local epsilon whose shuffled messages are (epsilon, delta)-DP by `ClonesDP`.

    Args:
        epsilon: the target after shuffling, > 0.
        delta: strictly between 0 and 1.
        n_users: number of users, >= 1.

    Returns:
        At least `epsilon`, since shuffling never weakens the guarantee; rounded down by bisection with relative
        accuracy 1e-6, so that the target holds.

    Example:
        >>> local = local_epsilon_for(0.2, 1e-6, 100_000)
        >>> round(local, 3), round(ClonesDP(local, 100_000).epsilon(1e-6), 4)
        (4.286, 0.2)
    """
    positive(epsilon=epsilon)
    open_unit(delta=delta)
    whole(1, n_users=n_users)

    def exceeds_target(local_epsilon: float) -> bool:
        return ClonesDP(local_epsilon, n_users).delta(epsilon) > delta

    low, high = bracket(exceeds_target, epsilon, 2.0 * epsilon)
    return bisect(exceeds_target, low, high, close=lambda low, high: high - low <= 1e-6 * low)[0]


def local_epsilon_rule(epsilon: float, delta: float, n_users: int) -> float:
    """Return an approximate local epsilon for a target after shuffling, by a rule of thumb without constants.

    With r = epsilon^2 n / ln(1/delta):

        epsilon_0 = sqrt(r)    if r <= 1
        epsilon_0 = ln r       if r > 1 and the result is above 1; else 1

    An approximation of the growth only: not a guarantee, and it may be wrong by a factor of several.

    Example:
        >>> round(local_epsilon_rule(0.2, 1e-6, 100_000), 3)
        5.668
    """
    positive(epsilon=epsilon)
    open_unit(delta=delta)
    whole(1, n_users=n_users)
    ratio = epsilon**2 * n_users / -math.log(delta)
    return math.sqrt(ratio) if ratio <= 1.0 else max(1.0, math.log(ratio))
