"""Randomized response, with two or with k possible answers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import PureDP
from ..core import Floats, Guarantee, Ints, ParameterError, Positive, Relation, unit_interval, whole
from .base import FrequencyOracle, LocalMechanism, curve_of_two_values, message_counts


class SymmetricRandomizer(LocalMechanism):
    """A mechanism that sends the true value with probability `p_true`, and each other one with `p_other`.

    `p_other` = e^-epsilon `p_true`.
    """

    epsilon: float

    @property
    def p_true(self) -> float:
        """Probability of sending the true value."""
        return 1.0 / (1.0 + (self.n_categories - 1) * math.exp(-self.epsilon))

    @property
    @abstractmethod
    def p_other(self) -> float:
        """Probability of sending any given other value."""

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        log_true = math.log(self.p_true)
        return np.where(messages == values, log_true, log_true - self.epsilon)


@dataclass(frozen=True)
class RandomizedResponse(SymmetricRandomizer):
    """Randomized response: the true bit with probability 1 - r, the other with r = 1 / (1 + e^epsilon).

    The dataset is one user's bit, or `(n_users,)` bits; 1 means yes. (Warner 1965; Kairouz, Oh and Viswanath 2016 show
    that no local mechanism on bits is better.)

    Args:
        epsilon: the claim, per user, > 0.

    Guarantees:
        * epsilon-DP for each user under `replace_one`, with the whole curve attained: e^epsilon = (1 - r) / r.

    Example:
        >>> survey = RandomizedResponse.two_coin()
        >>> round(survey.epsilon, 6), round(survey.lying_probability, 6)
        (1.098612, 0.25)
        >>> round(survey.posterior(prior=0.02, answer=1), 4)
        0.0577
    """

    epsilon: Positive
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @classmethod
    def two_coin(cls) -> RandomizedResponse:
        """Return the two-coin survey, with epsilon = ln 3.

        Heads: the truth. Tails: toss again and answer yes on heads, no on tails. The answer is a lie 1 time in 4.
        """
        return cls(epsilon=math.log(3.0))

    @property
    def lying_probability(self) -> float:
        """Probability of a lie, r = 1 / (1 + e^epsilon)."""
        return math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def p_other(self) -> float:
        return self.lying_probability

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`, which is attained."""
        return PureDP(self.epsilon, relation=self.relation, exact=True)

    def estimate_mean(self, answers: ArrayLike) -> Floats:
        """Return the unbiased estimate of the share of users who hold 1: (mean(answers) - r) / (1 - 2 r).

        Args:
            answers: 0 or 1, the users along the last axis.

        Example:
            >>> RandomizedResponse.two_coin().estimate_mean([1, 0, 0, 1]).round(6)
            np.float64(0.5)
        """
        r = self.lying_probability
        return np.asarray((np.mean(np.asarray(answers, dtype=np.float64), axis=-1) - r) / (1.0 - 2.0 * r))[()]

    def estimator_variance(self, mean: float, n_users: int) -> float:
        """Return the variance of `estimate_mean` for `n_users` from a population in which a share `mean` holds 1.

        p (1 - p) / (n (1 - 2 r)^2) with p = r + mean (1 - 2 r); truthful answers would give mean (1 - mean) / n.

        Example:
            >>> round(RandomizedResponse.two_coin().estimator_variance(0.5, 1), 12)
            1.0
        """
        unit_interval(mean=mean)
        whole(1, n_users=n_users)
        r = self.lying_probability
        p_yes = r + mean * (1.0 - 2.0 * r)
        return p_yes * (1.0 - p_yes) / (n_users * (1.0 - 2.0 * r) ** 2)

    def posterior(self, *, prior: float, answer: int) -> float:
        """Return the posterior probability that a user holds 1 after an answer, by Bayes' rule.

        Args:
            prior: probability before the answer, in [0, 1].
            answer: 0 or 1.
        """
        unit_interval(prior=prior)
        if answer not in (0, 1):
            raise ParameterError(f"answer must be 0 or 1, but is {answer!r}.", argument="answer")
        if_yes, if_no = (self.p_true, self.p_other) if answer else (self.p_other, self.p_true)
        return prior * if_yes / (prior * if_yes + (1.0 - prior) * if_no)

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        lies = rng.random(shape) < self.lying_probability
        return np.not_equal(lies, values.astype(np.bool_)).view(np.int8)


_MIN_FALSE_ANSWER = 1e-300
"""Least probability of a false answer: below it none is drawn, since uniform draws are 0 or at least 2^-53."""


@dataclass(frozen=True)
class KAryRandomizedResponse(SymmetricRandomizer, FrequencyOracle):
    """k-ary randomized response: the true value with probability e^epsilon / (e^epsilon + k - 1), else another one.

    The other k - 1 values are equally likely. The dataset is one user's value in 0..k-1, or `(n_users,)` values.
    (Kairouz, Bonawitz and Ramage 2016, "k-RR"; also called direct encoding.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.

    Guarantees:
        * epsilon-DP for each user under `replace_one`; the claim is the exact curve of two different values, in which
          all other answers are merged.

    Example:
        >>> mechanism = KAryRandomizedResponse(epsilon=1.0, k=4)
        >>> round(mechanism.p_true, 6), round(mechanism.p_other, 6)
        (0.475367, 0.174878)
        >>> KAryRandomizedResponse(epsilon=9.0, k=3).estimate_frequencies([0, 2, 2, 2]).round(2).tolist()
        [0.25, -0.0, 0.75]
    """

    @property
    def p_other(self) -> float:
        return math.exp(-self.epsilon) * self.p_true

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of (first value, second value, any other)."""
        p_true, p_other = math.log(self.p_true), math.log(self.p_true) - self.epsilon
        rest = [math.log(self.k - 2) + p_other] if self.k > 2 else []
        return curve_of_two_values(p_true, p_other, *rest)

    @property
    def p_support(self) -> float:
        """Probability `p_true`: an answer supports itself."""
        return self.p_true

    @property
    def q_support(self) -> float:
        """Probability `p_other`."""
        return self.p_other

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        return message_counts(messages, self.k)

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        """Move each value by each of 1..k-1 with probability q, else by k, which is no move; one draw per answer."""
        draws = rng.random(shape)
        draws /= max(self.p_other, _MIN_FALSE_ANSWER)
        move = np.minimum(draws, self.k - 1).astype(np.int64) + 1
        move += values
        return np.remainder(move, self.k, out=move)
