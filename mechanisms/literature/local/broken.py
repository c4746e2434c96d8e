"""Intentionally broken local means: an assumed range of the data, and ties in two sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...accounting import ExactDP
from ...accounting.broken import Broken
from ...core import Floats, Neighbours, Positive
from .bounded_mean import Duchi
from .bounded_vector import DuchiVector


@dataclass(frozen=True)
class RangeAssumed(Broken, Duchi):
    """Broken: Duchi's mechanism without a check that the numbers lie in [-1, 1].

    The probability of +C is clipped to [0, 1] instead. Numbers up to `limit` = b in absolute value give

        Pr[+C | x] = min(1, 1/2 + x / (2 C)),      epsilon = ln((C + b) / (C - b)),

    which is the claim for b = 1, and infinite for b >= C = (e^epsilon + 1) / (e^epsilon - 1).

    Args:
        epsilon: the claim, per user, > 0.
        limit: largest absolute value of a user's number, > 0.

    Example:
        >>> broken = RangeAssumed(epsilon=1.0)
        >>> round(broken.guarantee().epsilon(0.0), 4), round(broken.exact_guarantee().epsilon(0.0), 4)
        (1.0, 1.7081)
    """

    cause = "The range of the data is assumed and not enforced."
    source = "Constructed."
    correct_class = Duchi

    limit: Positive = 1.5

    def _log_probability(self, values: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.clip(0.5 + 0.5 * values / self.magnitude, 0.0, 1.0)))

    def exact_guarantee(self) -> ExactDP:
        log_p = self._log_probability(np.array([-self.limit, self.limit]))
        return ExactDP.of_logs(log_p, log_p[::-1], relation=self.relation)


@dataclass(frozen=True)
class TiesInBothSets(Broken, DuchiVector):
    """Broken: Duchi's mechanism for an even number of numbers, with the vectors of inner product 0 in both sets.

        message = B times a uniform vector of signs with inner product >= 0 with v, with probability
                  e^epsilon / (e^epsilon + 1), else with inner product <= 0

    A vector of inner product 0 is drawn from either set, which makes it e^epsilon + 1 times as likely as one of
    negative inner product: the true epsilon is ln(e^epsilon + 1). For an odd number there are no ties, and the claim
    holds.

    Args:
        epsilon: the claim, per user, > 0.
        n_numbers: number of numbers of each user, d, >= 1.

    Example:
        >>> broken = TiesInBothSets(epsilon=1.0)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 4)
        (1.0, 1.3133)
    """

    cause = "The two sets overlap, and the probabilities of a message in both of them add up."
    source = (
        "Nguyen, Xiao, Yang, Hui, Shin and Shin (2016), who correct the mechanism of Duchi, Jordan and Wainwright for "
        "an even number of numbers."
    )
    correct_class = DuchiVector

    n_numbers: int = 2

    @property
    def magnitude(self) -> float:
        d = self.n_numbers
        either = sum(math.comb(d, a) for a in range((d + 1) // 2, d + 1))
        return either / math.comb(d - 1, d // 2) / math.tanh(0.5 * self.epsilon)

    @cached_property
    def _log_weights(self) -> Floats:
        """Log probability of all messages that agree with v in a places, for each a, `(d + 1,)`."""
        a = np.arange(self.n_numbers + 1)
        log_p = -math.log1p(math.exp(-self.epsilon))
        log_per_message = np.where(
            2 * a > self.n_numbers, log_p, np.where(2 * a == self.n_numbers, 0.0, log_p - self.epsilon)
        )
        logs = self._log_choices + log_per_message
        return np.asarray(logs - np.logaddexp.reduce(logs))

    def worst_case(self) -> Neighbours:
        """Return the pair of one user whose numbers are all 1, but on side 1 the first is -1."""
        ones = np.ones(self.n_numbers)
        return Neighbours(ones, np.append(-1.0, ones[1:]), self.relation)

    def exact_guarantee(self) -> ExactDP:
        """Return the exact curve of `worst_case()`, by the first sign and the number of the others that are 1."""
        others = np.array([math.log(math.comb(self.n_numbers - 1, b)) for b in range(self.n_numbers)])
        log_per_message = self._log_weights - self._log_choices
        plus, minus = others + log_per_message[1:], others + log_per_message[:-1]
        return ExactDP.of_logs(np.append(plus, minus), np.append(minus, plus), relation=self.relation)
