"""Local mechanisms for the means of several numbers in [-1, 1] per user.

SampledAttributes   a few numbers are sampled and sent, each by a mechanism of `bounded_mean`
DuchiVector         one vector of signs for all numbers together
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ...accounting import ExactDP
from ...core import Floats, Guarantee, ParameterError, Positive, PositiveInt, Relation, one_of_names
from .bounded_mean import MAX_EPSILON, BoundedMean, Duchi, Hybrid, NumbersOfUsers, Piecewise

COORDINATE_MECHANISMS: dict[str, type[BoundedMean]] = {"duchi": Duchi, "piecewise": Piecewise, "hybrid": Hybrid}


@dataclass(frozen=True)
class SampledAttributes(NumbersOfUsers):
    """Several numbers per user, of which a few are sampled and sent, each with an equal share of epsilon.

        message j = message of x_j at epsilon / n_sampled for the sampled j, 0 for the others
        estimate  = n_numbers / n_sampled times the mean of the messages

    The dataset is `(n_numbers,)` numbers in [-1, 1] of one user, or `(n_users, n_numbers)`; an output has the same
    shape. With all numbers sent at epsilon / n_numbers, the error would grow faster with n_numbers.

    Args:
        epsilon: the claim, per user, > 0; at most 60 n_sampled if kind is not "duchi".
        n_numbers: number of numbers of each user, d, >= 1.
        kind: mechanism of a single number: "hybrid", "piecewise" or "duchi".
        n_sampled: number of numbers that are sent, 1 .. n_numbers; None for max(1, min(d, floor(epsilon / 2.5))).

    Guarantees:
        * epsilon-DP for each user under `replace_one`. The exact curve is that of all numbers -1 and all numbers 1: the
          product of n_sampled curves.
        * n_numbers / n_sampled times a message has mean x; `message_variance` is its exact variance.

    References:
        Wang et al. (2019), "Collecting and analyzing multidimensional data with local differential privacy", ICDE,
        algorithm 4, equation 12 for the number that is sampled.

    Example:
        >>> mechanism = SampledAttributes(epsilon=5.0, n_numbers=4)
        >>> mechanism.k, mechanism.message_variance([0.0, 0.0, 1.0, 1.0]).round(3).tolist()
        (2, [1.294, 1.294, 2.294, 2.294])
    """

    epsilon: Positive
    n_numbers: PositiveInt = 4
    _: KW_ONLY
    kind: Annotated[str, one_of_names(*COORDINATE_MECHANISMS)] = "hybrid"
    n_sampled: PositiveInt | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.n_numbers:
            raise ParameterError(
                f"n_sampled must be at most n_numbers = {self.n_numbers}, but is {self.n_sampled}.",
                argument="n_sampled",
            )
        if self.kind != "duchi" and self.epsilon > MAX_EPSILON * self.k:
            raise ParameterError(
                f"epsilon must be at most {MAX_EPSILON:g} for each of the {self.k} sampled numbers, but is "
                f"{self.epsilon:g} in total. Choose kind='duchi'.",
                argument="epsilon",
            )

    @property
    def k(self) -> int:
        """Number of numbers that are sent."""
        return self.n_sampled or max(1, min(self.n_numbers, math.floor(min(self.epsilon, 1e9) / 2.5)))

    @cached_property
    def base(self) -> BoundedMean:
        """Mechanism of a single number."""
        return COORDINATE_MECHANISMS[self.kind](self.epsilon / self.k)

    @property
    def numbers_shape(self) -> tuple[int, ...]:
        """Shape of the numbers of one user, `(n_numbers,)`."""
        return (self.n_numbers,)

    @property
    def factor(self) -> float:
        """Factor n_numbers / n_sampled of a message in the estimate of the mean."""
        return self.n_numbers / self.k

    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        ranks = np.argsort(rng.random((size, *values.shape)), axis=-1)
        return np.where(ranks < self.k, self.base._randomize(values, size, rng), 0.0)

    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        sent = messages != 0.0
        log_densities = self.base._message_log_density(messages, values)
        log_p = np.where(sent, log_densities, 0.0).sum(axis=-1) - math.log(math.comb(self.n_numbers, self.k))
        return np.where(sent.sum(axis=-1) == self.k, log_p, -np.inf)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, by the number of likelier less that of less likely messages."""
        likelier, neutral = self.base.log_laws
        law = np.zeros(1)
        for _ in range(self.k):
            steps = (likelier - self.base.epsilon, neutral, likelier)
            moved = [np.pad(law + step, (i, 2 - i), constant_values=-np.inf) for i, step in enumerate(steps)]
            law = np.logaddexp.reduce(moved)
        return ExactDP.of_logs(law[::-1], law, relation=self.relation)

    def estimate_mean(self, messages: ArrayLike) -> Floats:
        """Return the unbiased estimate of the mean over the users, `(..., n_numbers)`."""
        return np.asarray(self.factor * super().estimate_mean(messages))

    def message_variance(self, values: ArrayLike) -> Floats:
        """Return (d / k) (variance at epsilon / k + x^2) - x^2 for each number x."""
        squares = np.square(values, dtype=np.float64)
        return np.asarray(self.factor * (self.base.message_variance(values) + squares) - squares)


@dataclass(frozen=True)
class DuchiVector(NumbersOfUsers):
    """One vector of signs for all numbers of a user, likelier one that agrees with them in half of the places or more.

        v_j = 1 with probability (1 + x_j) / 2, else -1
        message = B times a vector of signs; those with an inner product >= 0 with v are e^epsilon times likelier

    The dataset is `(n_numbers,)` numbers in [-1, 1] of one user, or `(n_users, n_numbers)`; an output has the same
    shape. B makes the message unbiased, and grows with sqrt(d). For one number this is `Duchi`.

    For an even d some inner products are 0. In the first form of the mechanism these vectors are in both of the two
    sets from which a message is drawn, and the ratio of two laws reaches e^epsilon + 1; here they are in the likelier
    one only.

    Args:
        epsilon: the claim, per user, > 0.
        n_numbers: number of numbers of each user, d, >= 1.

    Guarantees:
        * epsilon-DP for each user under `replace_one`. The exact curve is that of all numbers -1 and all numbers 1; for
          an even d, vectors that agree in half of the places are equally likely for both.
        * A message has mean x, and number j of it the variance B^2 - x_j^2.

    References:
        Duchi, Jordan and Wainwright (2018), "Minimax optimal procedures for locally private estimation", JASA 113,
        section 4.2.3; Nguyen, Xiao, Yang, Hui, Shin and Shin (2016), "Collecting and analyzing data from smart device
        users with local differential privacy", for an even d.

    Example:
        >>> mechanism = DuchiVector(epsilon=1.0, n_numbers=5)
        >>> round(mechanism.magnitude, 4), round(SampledAttributes(1.0, 5).message_variance(0.0).item() ** 0.5, 4)
        (5.7705, 4.6309)
    """

    epsilon: Positive
    n_numbers: PositiveInt = 4
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def numbers_shape(self) -> tuple[int, ...]:
        """Shape of the numbers of one user, `(n_numbers,)`."""
        return (self.n_numbers,)

    @property
    def magnitude(self) -> float:
        """Absolute value B of the numbers of a message."""
        d, less = self.n_numbers, math.exp(-self.epsilon)
        likelier = sum(math.comb(d, a) for a in range((d + 1) // 2, d + 1))
        signed = math.comb(d - 1, d // 2)  # sum of the first signs of the vectors whose sum is > 0
        shares = likelier / signed, ((1 << d) - likelier) / signed
        return (shares[0] + less * shares[1]) / -math.expm1(-self.epsilon)

    @cached_property
    def _log_weights(self) -> Floats:
        """Log probability of all messages that agree with v in a places, for each a, `(d + 1,)`."""
        a = np.arange(self.n_numbers + 1)
        logs = self._log_choices + np.where(2 * a >= self.n_numbers, 0.0, -self.epsilon)
        return np.asarray(logs - np.logaddexp.reduce(logs))

    @cached_property
    def _log_choices(self) -> Floats:
        """Log of the number of messages that agree with v in a places, for each a, `(d + 1,)`."""
        d = self.n_numbers
        return np.array([math.log(math.comb(d, a)) for a in range(d + 1)])

    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        signs = np.where(rng.random((size, *values.shape)) < 0.5 * (1.0 + values), 1.0, -1.0)
        law = np.exp(self._log_weights)
        n_agree = rng.choice(len(law), size=signs.shape[:-1], p=law / law.sum())
        ranks = np.argsort(rng.random(signs.shape), axis=-1)
        return np.asarray(self.magnitude * np.where(ranks < n_agree[..., None], signs, -signs))

    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        """Return the log probability, a sum over the places in which v agrees with the message."""
        d, b = self.n_numbers, self.magnitude
        with np.errstate(divide="ignore"):
            agree, differ = (np.log1p(sign * np.sign(messages) * values) - math.log(2.0) for sign in (1.0, -1.0))
        law = np.full((*messages.shape[:-1], d + 1), -np.inf)
        law[..., 0] = 0.0
        for index in range(d):
            up = law[..., :-1] + agree[..., index, None]
            law += differ[..., index, None]
            law[..., 1:] = np.logaddexp(law[..., 1:], up)
        log_p = np.logaddexp.reduce(law + self._log_weights - self._log_choices, axis=-1)
        return np.where((np.abs(messages) == b).all(axis=-1), log_p, -np.inf)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, by the number of places that agree."""
        law = self._log_weights
        return ExactDP.of_logs(law[::-1], law, relation=self.relation)

    def message_variance(self, values: ArrayLike) -> Floats:
        """Return B^2 - x^2 for each number x."""
        return np.asarray(self.magnitude**2 - np.square(values, dtype=np.float64))
