"""Wrong on purpose: an odometer of spent budget that forgets a logarithm.

After k uses of an epsilon-DP mechanism at most this is spent, with slack tol in delta (Kairouz, Oh, Viswanath 2015,
Theorem 3.4):

    k epsilon tanh(epsilon / 2) + epsilon sqrt(2 k ln(1 / tol))

The slip: 1 / tol stands where ln(1 / tol) was meant. No run of a mechanism shows it: what is reported is above what is
spent, at any tol below 1, since ln(x) < x. Where the smaller of it and of k epsilon is reported, the slip hides: up to
k = 2 / tol that is k epsilon, as if composing many small queries never paid. (opendp/smartnoise-sdk, issue 621.)
"""

from __future__ import annotations

import math

from ..validation import open_unit, positive, whole


def odometer_reading(
    epsilon: float, times: int, slack: float, *, slip: bool = True, at_most_basic: bool = False
) -> float:
    """epsilon that an odometer reports after `times` uses of an epsilon-DP mechanism, at delta = slack.

    Args:
        epsilon: of each use, > 0.
        times: k, uses, >= 1.
        slack: tol, in (0, 1).
        slip: False for the twin, which is `AdvancedComposition` with form "kov", without its comparison to k epsilon.
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
    found = times * epsilon * math.tanh(epsilon / 2.0) + epsilon * math.sqrt(2.0 * times * term)
    return min(found, times * epsilon) if at_most_basic else found
