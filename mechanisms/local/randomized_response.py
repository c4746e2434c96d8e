"""Randomized response: each user answers a yes/no question, and lies with a known probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import PureDP
from ..core.constraints import Positive
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..core.validation import unit_interval, whole
from .base import SymmetricRandomizer


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

    @classmethod
    def with_lying_probability(cls, lying_probability: float) -> RandomizedResponse:
        """Return the mechanism that lies with probability r, strictly between 0 and 1/2: epsilon = ln((1 - r) / r)."""
        unit_interval(lying_probability=lying_probability)
        if not 0.0 < lying_probability < 0.5:
            raise ParameterError(
                f"lying_probability must lie strictly between 0 and 1/2, but is {lying_probability!r}: 0 hides "
                "nothing, and 1/2 carries no information.",
                argument="lying_probability",
            )
        return cls(epsilon=math.log1p(-lying_probability) - math.log(lying_probability))

    @property
    def lying_probability(self) -> float:
        """Probability of a lie, r = 1 / (1 + e^epsilon)."""
        return math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def p_true(self) -> float:
        return 1.0 / (1.0 + math.exp(-self.epsilon))

    @property
    def p_other(self) -> float:
        return self.lying_probability

    def guarantee(self) -> Guarantee:
        """Return `PureDP(epsilon)`, which is attained."""
        return PureDP(self.epsilon, relation=self.relation, exact=True)

    def estimate_mean(self, answers: ArrayLike) -> NDArray[np.float64]:
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

    def _randomize(
        self, values: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        lies = rng.random(shape) < self.lying_probability
        return np.not_equal(lies, values.astype(np.bool_)).view(np.int8)
