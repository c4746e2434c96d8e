"""Local mechanisms for the mean of numbers in [-1, 1]: each user sends a message whose mean is their number.

Duchi               one of two messages
Piecewise           a number of an interval, with more density around the user's number
Hybrid              one or the other, with the probability that makes the variance least
SampledAttributes   several numbers per user, of which a few are sent
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ...accounting import ExactDP
from ...accounting.claims import PureMechanism
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import Positive
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation

MAX_EPSILON = 60.0
"""Largest epsilon of `Piecewise`: above it, the interval of likely messages is too narrow for floats."""
HYBRID_MIN_EPSILON = 0.6093524930273093
"""Epsilon above which `Hybrid` is not Duchi's mechanism (Wang et al. 2019, equation 6)."""


class NumbersOfUsers(PureMechanism):
    """A mechanism that sends the number or the numbers of each user through a random channel, independently."""

    _dataset = Data.NUMBERS

    limit = 1.0
    """Largest absolute value of a number."""
    epsilon: float
    relation: Relation

    @property
    def numbers_shape(self) -> tuple[int, ...]:
        """Shape of the numbers of one user: () for one number."""
        return ()

    def values(self, dataset: Dataset) -> Floats:
        """Return the numbers of the users, checked: shape `numbers_shape` or `(n_users, *numbers_shape)`."""
        values, shape = np.asarray(dataset), self.numbers_shape
        axes = values.ndim - len(shape)
        fits = values.dtype.kind in "biuf" and axes in (0, 1) and values.shape[axes:] == shape and values.size > 0
        if not fits or not (np.abs(values) <= self.limit).all():
            one_user, all_users = ("one", "(n_users,)") if not shape else (f"shape {shape}", f"(n_users, {shape[0]})")
            raise ParameterError(
                f"the dataset of {type(self).__name__} must be numbers in [-{self.limit:g}, {self.limit:g}], "
                f"{one_user} or shape {all_users}, but is {dataset!r}. Scale and clip the numbers.",
                argument="dataset",
            )
        return values.astype(np.float64)

    @abstractmethod
    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Draw `size` independent messages for each of the values, `(size, *values.shape)`."""

    @abstractmethod
    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        """Return the log density of each user's message, `(size,)` or `(size, n_users)`; -inf if impossible."""

    @abstractmethod
    def message_variance(self, values: ArrayLike) -> Floats:
        """Return the variance of the message for each of these numbers; same shape."""

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Perform `size` independent rounds, shape `(size, *shape of the dataset)`."""
        return Outputs(self._randomize(self.values(dataset), size, rng))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output, summed over the users, shape `(size,)`; -inf if impossible."""
        log_p = self._message_log_density(outputs.values, self.values(dataset))
        return log_p if log_p.ndim == 1 else np.asarray(log_p.sum(axis=1))

    def worst_case(self) -> Neighbours:
        """Return the pair of one user, all of whose numbers are the smallest or the largest."""
        largest = np.full(self.numbers_shape, self.limit) if self.numbers_shape else self.limit
        return Neighbours(-largest, largest, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        values0, values1 = self.values(neighbours.d0), self.values(neighbours.d1)
        same_users = values0.shape == values1.shape
        differs = values0 != values1 if same_users else np.ones(2, dtype=np.bool_)
        changed = np.count_nonzero(differs.any(axis=-1) if same_users and self.numbers_shape else differs)
        if not same_users or changed > 1:
            raise NeighboursError(
                "both datasets must hold numbers of the same users, one of whom may differ, but have shapes "
                f"{values0.shape} and {values1.shape}" + (f", and {changed} users differ." if same_users else "."),
                argument="neighbours",
            )

    def mean_variance(self, dataset: Dataset) -> Floats:
        """Return the variance of `estimate_mean` for these users: only the messages are random, not the numbers."""
        values = self.values(dataset)
        users = values.reshape(-1, *self.numbers_shape)
        return np.asarray(np.sum(self.message_variance(users), axis=0) / len(users) ** 2)[()]

    def estimate_mean(self, messages: ArrayLike) -> Floats:
        """Return the unbiased estimate of the mean over the users, from messages `(..., n_users, *numbers_shape)`."""
        return np.asarray(np.mean(np.asarray(messages, dtype=np.float64), axis=-1 - len(self.numbers_shape)))[()]


@dataclass(frozen=True)
class BoundedMean(NumbersOfUsers):
    """Base class of mechanisms with one number per user.

    Args:
        epsilon: the claim, per user, > 0.
    """

    epsilon: Positive
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    @abstractmethod
    def log_laws(self) -> tuple[float, float]:
        """Log probability of the messages that are e^epsilon times likelier for 1 than for -1, and of neutral ones.

        Both for the number 1. All other messages are e^epsilon times likelier for -1.
        """

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, from the laws of the merged messages."""
        likelier, neutral = self.log_laws
        law = [likelier, likelier - self.epsilon, *[neutral] * (neutral > -math.inf)]
        return ExactDP.of_logs([law[1], law[0], *law[2:]], law, relation=self.relation)


@dataclass(frozen=True)
class Duchi(BoundedMean):
    """Unbiased one-bit message: +C with probability 1/2 + x / (2 C), else -C, with C = (e^epsilon + 1)/(e^epsilon - 1).

    The dataset is the number x of one user, or `(n_users,)` numbers; each output is one message, or one per user.

    Args:
        epsilon: the claim, per user, > 0.

    Guarantees:
        * epsilon-DP for each user under `replace_one`, attained by x = -1 and x = 1;
        * a message has mean x and variance C^2 - x^2.

    Example:
        >>> mechanism = Duchi(epsilon=1.0)
        >>> round(mechanism.magnitude, 4)
        2.164
        >>> mechanism.release([0.5, -0.5], 1, np.random.default_rng(0)).values.round(3).tolist()
        [[2.164, -2.164]]

    References:
        Duchi, Jordan and Wainwright (2018), "Minimax optimal procedures for locally private estimation", JASA 113,
        section 4.1 in one dimension.
    """

    @property
    def magnitude(self) -> float:
        """Absolute value C of a message."""
        return 1.0 / math.tanh(0.5 * self.epsilon)

    @property
    def log_laws(self) -> tuple[float, float]:
        """Log probability of +C for the number 1; no message is neutral."""
        return -math.log1p(math.exp(-self.epsilon)), -math.inf

    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        positive = rng.random((size, *values.shape)) >= np.exp(self._log_probability(-values))
        return np.where(positive, self.magnitude, -self.magnitude)

    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        log_p = self._log_probability(np.where(messages > 0.0, values, -values))
        log_p[np.abs(messages) != self.magnitude] = -np.inf
        return log_p

    def _log_probability(self, values: Floats) -> Floats:
        """Return the log probability of +C, exact at every epsilon; that of -C is `_log_probability(-values)`."""
        with np.errstate(divide="ignore"):
            log_odds = np.logaddexp(np.log1p(values), np.log1p(-values) - self.epsilon)
        return np.asarray(log_odds - math.log(2.0) - math.log1p(math.exp(-self.epsilon)))

    def message_variance(self, values: ArrayLike) -> Floats:
        """Return C^2 - x^2 for each number x."""
        return np.asarray(self.magnitude**2 - np.square(values, dtype=np.float64))


@dataclass(frozen=True)
class Piecewise(BoundedMean):
    """Unbiased message in [-C, C], with a density that is e^epsilon times as large in an interval near the number.

        C    = (e^(epsilon/2) + 1) / (e^(epsilon/2) - 1)
        l(x) = (C + 1) x / 2 - (C - 1) / 2,    r(x) = l(x) + C - 1

    With probability e^(epsilon/2) / (e^(epsilon/2) + 1) the message is uniform in [l(x), r(x)], otherwise in the rest
    of [-C, C]. The dataset is the number x of one user, or `(n_users,)` numbers; each output is one message, or one per
    user. Not protected against: attacks on floating-point numbers (Mironov 2012).

    Args:
        epsilon: the claim, per user, in (0, 60].

    Guarantees:
        * epsilon-DP for each user under `replace_one`. The exact curve is that of x = -1 and x = 1, whose intervals do
          not overlap; messages in [-1, 1] are equally likely for both.
        * A message has mean x and variance x^2 / (h - 1) + (h + 3) / (3 (h - 1)^2), h = e^(epsilon/2).

    References:
        Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu (2019), "Collecting and analyzing multidimensional data with local
        differential privacy", ICDE, algorithm 2 and lemma 1.

    Example:
        >>> mechanism = Piecewise(epsilon=1.0)
        >>> round(mechanism.magnitude, 4), [round(float(end), 4) for end in mechanism.interval(0.5)]
        (4.083, [-0.2707, 2.8122])
        >>> [one.message_variance([0.0, 1.0]).round(2).tolist() for one in (mechanism, Duchi(1.0))]
        [[3.68, 5.22], [4.68, 3.68]]
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_largest(self.epsilon, type(self).__name__)

    @property
    def magnitude(self) -> float:
        """Largest absolute value C of a message."""
        return 1.0 / math.tanh(0.25 * self.epsilon)

    @property
    def width(self) -> float:
        """Width C - 1 of the interval of likely messages."""
        return 2.0 / math.expm1(0.5 * self.epsilon)

    @property
    def p_near(self) -> float:
        """Probability of a message in the interval."""
        return float(special.expit(0.5 * self.epsilon))

    def interval(self, values: ArrayLike) -> tuple[Floats, Floats]:
        """Return the ends l(x) and r(x) of the interval for each number x."""
        x = np.asarray(values, dtype=np.float64)
        low = x - 0.5 * self.width * (1.0 - x)
        return np.maximum(low, -self.magnitude), np.minimum(low + self.width, self.magnitude)

    @property
    def log_laws(self) -> tuple[float, float]:
        """Log probability of [1, C] for the number 1, and of the neutral messages [-1, 1]."""
        return math.log(self.p_near), math.log(2.0) + self._log_density_far

    @property
    def _log_density_near(self) -> float:
        return math.log(self.p_near) - math.log(self.width)

    @property
    def _log_density_far(self) -> float:
        return self._log_density_near - self.epsilon

    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        low, high = self.interval(values)
        shape, c = (size, *values.shape), self.magnitude
        near = rng.random(shape) < self.p_near
        u = rng.random(shape)
        left, right = low + c, c - high
        distance = u * (left + right)
        far = np.where(distance < left, distance - c, high + (distance - left))
        return np.clip(np.where(near, low + u * (high - low), far), -c, c)

    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        low, high = self.interval(values)
        near = (messages >= low) & (messages <= high)
        log_p = np.where(near, self._log_density_near, self._log_density_far)
        return np.where(np.abs(messages) <= self.magnitude, log_p, -np.inf)

    def message_variance(self, values: ArrayLike) -> Floats:
        """Return x^2 / (h - 1) + (h + 3) / (3 (h - 1)^2) for each number x, h = e^(epsilon/2)."""
        less = math.expm1(0.5 * self.epsilon)
        return np.asarray(np.square(values, dtype=np.float64) / less + (less + 4.0) / (3.0 * less**2))


@dataclass(frozen=True)
class Hybrid(BoundedMean):
    """The message of `Piecewise` with probability 1 - e^(-epsilon/2), else that of `Duchi`, at the same epsilon.

    With this probability the variance is the same for all numbers, and its maximum is the least. Up to epsilon = 0.61
    all messages are Duchi's, whose largest variance is smaller. Which one was sent is visible in the message. Not
    protected against: attacks on floating-point numbers (Mironov 2012).

    Args:
        epsilon: the claim, per user, in (0, 60].

    Guarantees:
        * epsilon-DP for each user under `replace_one`; the exact curve is that of x = -1 and x = 1.
        * A message has mean x; above epsilon = 0.61 its variance is (h + 3) / (3 h (h - 1)) + (h^2 + 1)^2 / (h (h^2 -
          1)^2), h = e^(epsilon/2), for every x.

    References:
        Wang et al. (2019), see `Piecewise`: section III-C and lemma 3.

    Example:
        >>> mechanism = Hybrid(epsilon=1.0)
        >>> round(mechanism.p_piecewise, 6), mechanism.message_variance([0.0, 1.0]).round(4).tolist()
        (0.393469, [4.289, 4.289])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_largest(self.epsilon, type(self).__name__)

    @property
    def p_piecewise(self) -> float:
        """Probability of a message of `Piecewise`."""
        return -math.expm1(-0.5 * self.epsilon) if self.epsilon > HYBRID_MIN_EPSILON else 0.0

    @cached_property
    def _parts(self) -> tuple[Piecewise, Duchi]:
        return Piecewise(self.epsilon), Duchi(self.epsilon)

    @property
    def _log_weights(self) -> tuple[float, float]:
        p = self.p_piecewise
        return (math.log(p), -0.5 * self.epsilon) if p else (-math.inf, 0.0)

    @property
    def log_laws(self) -> tuple[float, float]:
        """Log probabilities of likelier and of neutral messages, of both parts together."""
        (near, neutral), (plus, _) = (part.log_laws for part in self._parts)
        weight, other = self._log_weights
        return float(np.logaddexp(weight + near, other + plus)), weight + neutral

    def _randomize(self, values: Floats, size: int, rng: np.random.Generator) -> Floats:
        piecewise = rng.random((size, *values.shape)) < self.p_piecewise
        first, second = (part._randomize(values, size, rng) for part in self._parts)
        return np.where(piecewise, first, second)

    def _message_log_density(self, messages: Floats, values: Floats) -> Floats:
        """Return the log density, or of the two messages of `Duchi` the log probability."""
        first, second = (part._message_log_density(messages, values) for part in self._parts)
        weight, other = self._log_weights
        return np.where(second > -np.inf, other + second, weight + first)

    def message_variance(self, values: ArrayLike) -> Floats:
        """Return the variance for each number x, by the weights of both parts."""
        first, second = (part.message_variance(values) for part in self._parts)
        return np.asarray(self.p_piecewise * first + (1.0 - self.p_piecewise) * second)


def _check_largest(epsilon: float, name: str) -> None:
    if epsilon > MAX_EPSILON:
        raise ParameterError(
            f"epsilon must be at most {MAX_EPSILON:g} for {name}, but is {epsilon:g}: its likely messages would "
            "differ by less than the rounding of floats. Use Duchi.",
            argument="epsilon",
        )
