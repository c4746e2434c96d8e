"""How much each user may give away, for a target after shuffling."""

from __future__ import annotations

import math

from ...validation import open_unit, positive, whole
from .clones import ClonesDP


def local_epsilon_for(epsilon: float, delta: float, n_users: int) -> float:
    """The largest local epsilon whose shuffled messages are (epsilon, delta)-DP by `ClonesDP`.

    Args:
        epsilon: the target after shuffling, > 0.
        delta: strictly between 0 and 1.
        n_users: how many users take part, >= 1.

    Returns:
        At least `epsilon`, as shuffling never harms; rounded down by bisection, to 1e-6 of itself, so that the target
        is kept.

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
    """The same by a rule of thumb without constants, with r = epsilon^2 n / ln(1/delta):

        epsilon_0 = sqrt(r)    where r <= 1: many are needed to hide a little
        epsilon_0 = ln r       where it is larger and the result above 1; else 1, where both meet

    An approximation that says how things grow: it promises nothing, and may be several times off.

    Example:
        >>> round(local_epsilon_rule(0.2, 1e-6, 100_000), 3)
        5.668
    """
    positive(epsilon=epsilon)
    open_unit(delta=delta)
    whole(1, n_users=n_users)
    ratio = epsilon**2 * n_users / -math.log(delta)
    return math.sqrt(ratio) if ratio <= 1.0 else max(1.0, math.log(ratio))
