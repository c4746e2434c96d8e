"""Exponential mechanism: choose one of finitely many candidates, better ones with a higher probability.

    Exponential            the mechanism
    chance_of_shortfall    probability of a given shortfall below the best candidate
    shortfall              shortfall at a given confidence
    expected_shortfall     expected shortfall

The three utility bounds hold for all utilities, also for report noisy max with Gumbel noise, and for permute-and-flip,
which is never worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, log_softmax

from ..accounting import BoundedRange, ExactDP, FiniteMechanism
from ..core import Dataset, Floats, Guarantee, Neighbours, Outputs, non_negative, open_unit
from ..noise.queries.base import Query
from .base import Selection, event_log_odds


@dataclass(frozen=True)
class Exponential(Selection, FiniteMechanism):
    """Exponential mechanism: candidate y with probability proportional to exp(epsilon u(x, y) / (2 sensitivity)).

    (McSherry and Talwar 2007, theorem 6.) With `monotone=True` the factor 2 is dropped, which is valid if all utilities
    that change between neighbours change in the same direction, as counts do when a record is added.

    Args:
        epsilon: the claim, > 0.
        n_candidates: number of candidates, >= 2; the output is the index of one.
        sensitivity: largest change of any single utility between neighbours, > 0.
        monotone: see above.
        query: computes the utilities from the dataset, higher = better; None if the dataset is the vector
            `(n_candidates,)` of utilities.
        relation: the neighbouring relation of `sensitivity` and the claim.

    Guarantees:
        * epsilon-DP. No pair attains it; pairs with an increasingly rare event approach it (see `worst_case`).
        * `bounded_range()`: the privacy loss lies in an interval of length epsilon, hence epsilon^2 / 8 concentrated
          DP, four times better than from epsilon-DP only (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021).

    Example:
        >>> mechanism = Exponential(epsilon=1.0, n_candidates=2)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)
        array([0.377541, 0.622459])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 6)
        0.8
    """

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each candidate, shape `(n_candidates,)`."""
        return np.asarray(log_softmax(self.scores(dataset)))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of `size` independently chosen candidates, shape `(size,)`, by inversion."""
        steps = np.cumsum(self.probabilities(dataset))
        return Outputs(np.searchsorted(steps[:-1] / steps[-1], rng.random(size), side="right"))

    def bounded_range(self) -> BoundedRange:
        """Return the bounded range: all log ratios lie in an interval of length epsilon.

        (Dong, Durfee and Rogers 2020.) For a query with a known range sensitivity the length is `rate` times this
        sensitivity, for example epsilon / 2 for counts with `monotone=False`.
        """
        length = self.epsilon
        if isinstance(self.query, Query):
            length = min(length, self.rate * self.query.range_sensitivity(self.relation))
        return BoundedRange(length, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which candidate 0 gains and the others lose as much as possible.

        The odds of candidate 0 grow by e^epsilon, and its probability by e^(0.8 epsilon): see `event_log_odds`.
        """
        return self.leading(1, event_log_odds(self.epsilon) + math.log(self.n_candidates - 1))

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`: candidate 0 against all the others.

        Below epsilon 1e-10 the laws are so close that rounding matters: epsilon is accurate within 1e-15.
        """
        log_odds = event_log_odds(self.epsilon) + np.array([0.0, self.epsilon])
        log0, log1 = np.column_stack([log_expit(log_odds), log_expit(-log_odds)])
        return ExactDP.of_logs(log0, log1, relation=self.relation)


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
