"""Local epsilon for a target guarantee after shuffling."""

from __future__ import annotations

import math

from ...core.validation import open_unit, positive, whole
from .clones import ClonesDP


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
    low, high = epsilon, 2.0 * epsilon
    while ClonesDP(high, n_users).delta(epsilon) <= delta:
        low, high = high, 2.0 * high
    while high - low > 1e-6 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ClonesDP(middle, n_users).delta(epsilon) <= delta else (low, middle)
    return low


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
