"""How good a candidate the exponential mechanism finds, whatever the utilities are.

    chance_of_shortfall    how likely it falls short of the best by so much
    shortfall              how much it falls short, with a given confidence
    expected_shortfall     how much on average

All hold for report noisy max with Gumbel noise, and for permute-and-flip, which is nowhere worse.
"""

from __future__ import annotations

import math

from ..validation import non_negative, open_unit
from .base import Selection


def chance_of_shortfall(mechanism: Selection, shortfall: float) -> float:
    """At most this is the probability that the utility of the choice is `shortfall` or more below the largest one.

    n_candidates e^(-rate shortfall), with rate epsilon / (2 sensitivity), or twice that when monotone (McSherry and
    Talwar 2007).

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(chance_of_shortfall(Exponential(epsilon=1.0, n_candidates=100), 20.0), 5)
        0.00454
    """
    non_negative(shortfall=shortfall)
    return min(1.0, mechanism.n_candidates * math.exp(-mechanism.rate * shortfall))


def shortfall(mechanism: Selection, *, confidence: float) -> float:
    """With this confidence the utility of the choice is less than so much below the largest one.

    (log n_candidates + log(1 / (1 - confidence))) / rate.

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(shortfall(Exponential(epsilon=1.0, n_candidates=100), confidence=0.95), 4)
        15.2018
    """
    open_unit(confidence=confidence)
    return (math.log(mechanism.n_candidates) - math.log1p(-confidence)) / mechanism.rate


def expected_shortfall(mechanism: Selection) -> float:
    """On average the utility of the choice is at most so much below the largest one: log n_candidates / rate.

    (Bassily, Nissim, Smith, Steinke, Stemmer and Ullman 2016.) The entropy of the choice is at most
    log n_candidates, and the law of the exponential mechanism is the one that makes rate * utility + entropy largest.

    Example:
        >>> from dpassay.mechanisms.selection import Exponential
        >>> round(expected_shortfall(Exponential(epsilon=1.0, n_candidates=100)), 4)
        9.2103
    """
    return math.log(mechanism.n_candidates) / mechanism.rate
