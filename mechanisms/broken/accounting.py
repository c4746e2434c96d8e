"""Intentionally broken privacy odometer: its formula lacks a logarithm.

After k uses of an epsilon-DP mechanism, epsilon at delta = tol is at most (Kairouz, Oh, Viswanath 2015, Theorem 3.4)

    k epsilon tanh(epsilon / 2) + epsilon sqrt(2 k ln(1 / tol))

Bug: 1 / tol is used in place of ln(1 / tol). No run of a mechanism shows it: the reported epsilon is above the true
one, at any tol below 1, since ln(x) < x. An odometer that reports the minimum with k epsilon hides the bug: up to
k = 2 / tol it reports k epsilon, as if advanced composition had no advantage. (opendp/smartnoise-sdk, issue 621.)
"""

from __future__ import annotations

import math

from ..core.validation import open_unit, positive, whole


def odometer_reading(
    epsilon: float, times: int, slack: float, *, slip: bool = True, at_most_basic: bool = False
) -> float:
    """Return the epsilon that an odometer reports after `times` uses of an epsilon-DP mechanism, at delta = slack.

    Args:
        epsilon: epsilon of each use, > 0.
        times: k, number of uses, >= 1.
        slack: tol, in (0, 1).
        slip: True for the bug; False for the correct twin, which is `AdvancedComposition` with form "kov", without its
            comparison to k epsilon.
        at_most_basic: report k epsilon if that is less.

    Example:
        >>> [round(odometer_reading(0.1, 100, 1e-6, slip=slip), 3) for slip in (True, False)]
        [1414.713, 5.756]
        >>> [round(odometer_reading(0.1, 100, 1e-6, slip=slip, at_most_basic=True), 3) for slip in (True, False)]
        [10.0, 5.756]
    """
    positive(epsilon=epsilon)
    whole(1, times=times)
    open_unit(slack=slack)
    term = 1.0 / slack if slip else math.log(1.0 / slack)
    reported = times * epsilon * math.tanh(epsilon / 2.0) + epsilon * math.sqrt(2.0 * times * term)
    return min(reported, times * epsilon) if at_most_basic else reported
