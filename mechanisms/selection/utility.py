"""Utility bounds of the exponential mechanism, for all utilities.

    chance_of_shortfall    probability of a given shortfall below the best candidate
    shortfall              shortfall at a given confidence
    expected_shortfall     expected shortfall

All hold for report noisy max with Gumbel noise, and for permute-and-flip, which is never worse.
"""

from __future__ import annotations

import math

from ..core.validation import non_negative, open_unit
from .base import Selection


def chance_of_shortfall(mechanism: Selection, shortfall: float) -> float:
    """Return a bound on the probability that the chosen utility is `shortfall` or more below the largest one.

    n_candidates e^(-rate shortfall), with rate epsilon / (2 sensitivity), or twice that if monotone (McSherry and
    Talwar 2007).

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(chance_of_shortfall(Exponential(epsilon=1.0, n_candidates=100), 20.0), 5)
        0.00454
    """
    non_negative(shortfall=shortfall)
    return min(1.0, mechanism.n_candidates * math.exp(-mechanism.rate * shortfall))


def shortfall(mechanism: Selection, *, confidence: float) -> float:
    """Return the shortfall of the chosen utility below the largest one that is not reached with this confidence.

    (log n_candidates + log(1 / (1 - confidence))) / rate.

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(shortfall(Exponential(epsilon=1.0, n_candidates=100), confidence=0.95), 4)
        15.2018
    """
    open_unit(confidence=confidence)
    return (math.log(mechanism.n_candidates) - math.log1p(-confidence)) / mechanism.rate


def expected_shortfall(mechanism: Selection) -> float:
    """Return a bound on the expected shortfall of the chosen utility below the largest one: log n_candidates / rate.

    (Bassily, Nissim, Smith, Steinke, Stemmer and Ullman 2016.) The entropy of the choice is at most
    log n_candidates, and the law of the exponential mechanism maximises rate * utility + entropy.

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(expected_shortfall(Exponential(epsilon=1.0, n_candidates=100)), 4)
        9.2103
    """
    return math.log(mechanism.n_candidates) / mechanism.rate
