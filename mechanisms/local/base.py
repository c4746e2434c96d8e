"""Base classes of local mechanisms on categorical values.

Each user holds a value in 0..k-1 and sends a random message. No curator is trusted; the guarantee holds for each user
separately, under `replace_one`.

    LocalMechanism   any of them
    FrequencyOracle  mechanisms whose messages give an unbiased estimate of the frequency of each value
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import ExactDP
from ..core.arrays import Bools, Floats, Ints
from ..core.base import Data, Dataset, Mechanism, Neighbours, Outputs
from ..core.constraints import Positive, at_least
from ..core.errors import NeighboursError, ParameterError, plural
from ..core.relation import Relation
from ..core.validation import unit_interval, whole

MAX_MESSAGES = 100_000
"""Largest number of messages that `messages` lists."""


class LocalMechanism(Mechanism):
    """A mechanism that sends the value of every user through the same random channel, independently.

    The dataset is one user's value, or an array `(n_users,)` of values; each output is one message, or one per user. A
    message is a whole number in 0..n_messages-1, or, if `message_shape` is not (), an array of that shape.
    """

    _dataset = Data.CATEGORY

    relation: Relation = Relation.REPLACE_ONE

    @property
    @abstractmethod
    def n_categories(self) -> int:
        """Number k of possible values."""

    @property
    def n_messages(self) -> int:
        """Number of possible messages; by default the number of values."""
        return self.n_categories

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message: () for a whole number."""
        return ()

    @abstractmethod
    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        """Draw independent messages, `(*shape, *message_shape)`; `shape` is `(size,)`, or ends with the users."""

    @abstractmethod
    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        """Return the log probability of each message given the value of its user, summed over the axes of a message.

        The result for impossible messages is arbitrary.
        """

    def messages(self) -> NDArray[np.integer]:
        """Return all possible messages, `(n_messages, *message_shape)`, in a fixed order.

        Raises:
            ParameterError: too many messages for a table.
        """
        return np.arange(self.n_messages)

    def _check_table(self, argument: str, advice: str) -> None:
        """Raise `ParameterError`, with this advice, if the mechanism has too many messages for a table."""
        if self.n_messages > MAX_MESSAGES:
            raise ParameterError(
                f"{type(self).__name__} has more than {MAX_MESSAGES:,} possible messages: too many for a table. "
                f"{advice}",
                argument=argument,
            )

    def _impossible(self, messages: NDArray[np.integer]) -> Bools:
        """Return a mask of the messages that no user ever sends."""
        return np.asarray((messages < 0) | (messages >= self.n_messages))

    def channel(self) -> Floats:
        """Return the law of one message under each value, `(n_categories, n_messages)`: row v is Pr[message | v].

        Raises:
            ParameterError: too many possible messages for a table.
        """
        sent = Outputs(self.messages())
        return np.exp([self.log_density(sent, value) for value in range(self.n_categories)])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Perform `size` independent rounds, `(size, *message_shape)`, or `(size, n_users, *message_shape)`."""
        values = self.values(dataset)
        return Outputs(self._randomize(values, (size, *values.shape), rng))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, summed over the users, shape `(size,)`; -inf if impossible."""
        messages = outputs.values
        log_p = self._message_log_probability(messages, self.values(dataset))
        impossible = self._impossible(messages)
        if impossible.any():
            log_p[impossible] = -np.inf
        return log_p if log_p.ndim == 1 else np.asarray(log_p.sum(axis=1))

    def worst_case(self) -> Neighbours:
        """Return the pair of one user, who holds 0 or 1."""
        return Neighbours(0, 1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        values0, values1 = self.values(neighbours.d0), self.values(neighbours.d1)
        if values0.shape != values1.shape:
            problem = f"d0 has shape {values0.shape} and d1 {values1.shape}"
        elif (changed := int(np.count_nonzero(values0 != values1))) > 1:
            problem = f"{plural(changed, 'user')} do. Change one entry only"
        else:
            return
        raise NeighboursError(
            f"both datasets must hold values of the same users, one of whom may differ, but {problem}.",
            argument="neighbours",
        )

    def values(self, dataset: Dataset) -> Ints:
        """Return the values of the users, checked: shape `()` or `(n_users,)`, whole numbers in 0..k-1."""
        values = np.asarray(dataset)
        must = f"the dataset of {type(self).__name__} must be whole numbers from 0 to {self.n_categories - 1}"
        if values.dtype.kind not in "biuf" or values.ndim > 1 or values.size == 0:
            raise ParameterError(f"{must}, one number or shape (n_users,), but is {dataset!r}.")
        if not np.all((values >= 0) & (values < self.n_categories) & (values == np.floor(values))):
            raise ParameterError(f"{must}, but ranges from {values.min()} to {values.max()}. Code the categories so.")
        return values.astype(np.int64)


@dataclass(frozen=True)
class FrequencyOracle(LocalMechanism):
    """Local mechanism whose messages support the true value with `p_support` and any other with `q_support`.

    The share of users who hold v is estimated by (share of messages that support v - q) / (p - q). (Wang, Blocki, Li
    and Jha 2017, "pure protocols".)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
    """

    epsilon: Positive
    k: Annotated[int, at_least(2)]
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def n_categories(self) -> int:
        return self.k

    @property
    @abstractmethod
    def p_support(self) -> float:
        """Probability that a message supports the value of its user."""

    @property
    @abstractmethod
    def q_support(self) -> float:
        """Probability that a message supports a given value that its user does not hold."""

    @abstractmethod
    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the number of messages that support each value: `(..., n_users, *message_shape)` -> `(..., k)`."""

    def estimate_frequencies(self, messages: ArrayLike) -> Floats:
        """Return the unbiased estimate of the share of users with each value.

        Args:
            messages: `(..., n_users, *message_shape)`, as returned by `release`.

        Returns:
            `(..., k)`; single entries may be negative.

        Raises:
            ParameterError: messages of another shape, or impossible messages.
        """
        sent = checked_messages(self, messages)
        n_users = sent.shape[sent.ndim - 1 - len(self.message_shape)]
        return np.asarray((self._support(sent) / n_users - self.q_support) / (self.p_support - self.q_support))

    def support(self, messages: ArrayLike) -> NDArray[np.integer]:
        """Return the number of messages that support each value, `(..., k)`; arguments as `estimate_frequencies`."""
        return self._support(checked_messages(self, messages))

    def frequency_variance(self, frequency: float, n_users: int) -> float:
        """Return the variance of an entry of `estimate_frequencies` for a value held by this share of `n_users`.

        q (1 - q) / (n (p - q)^2) + frequency (1 - p - q) / (n (p - q)): only the messages are random, not the values.
        """
        unit_interval(frequency=frequency)
        whole(1, n_users=n_users)
        p, q = self.p_support, self.q_support
        return (q * (1.0 - q) / (p - q) ** 2 + frequency * (1.0 - p - q) / (p - q)) / n_users


def curve_of_two_values(first: float, second: float, *common: float) -> ExactDP:
    """Return the exact curve of two values from the log probabilities of merged messages under the first value.

    Args:
        first, second: log probabilities of the messages that are likelier under the first and under the second value;
            under the second value they are exchanged.
        common: log probabilities of messages that are equally likely under both values.
    """
    return ExactDP.of_logs([first, second, *common], [second, first, *common], relation=Relation.REPLACE_ONE)


def message_counts(messages: NDArray[np.integer], n_messages: int) -> Ints:
    """Return the count of each whole number below `n_messages`: `(..., n_users)` -> `(..., n_messages)`."""
    rows = messages.reshape(-1, messages.shape[-1]).astype(np.int64)
    offset = n_messages * np.arange(len(rows))[:, None]
    counts = np.bincount((rows + offset).ravel(), minlength=n_messages * len(rows))
    return counts.reshape(*messages.shape[:-1], n_messages)


def checked_messages(mechanism: LocalMechanism, messages: ArrayLike) -> NDArray[np.integer]:
    """Return `messages` as an array, checked to be possible messages of the mechanism."""
    sent, shape = np.asarray(messages), mechanism.message_shape
    n_axes = sent.ndim - len(shape)
    fits = sent.dtype.kind in "iub" and n_axes > 0 and sent.shape[n_axes:] == shape and sent.shape[n_axes - 1] > 0
    if not fits or mechanism._impossible(sent).any():
        axes = ", ".join(["...", "n_users", *map(str, shape)])
        raise ParameterError(
            f"messages must be whole numbers of shape ({axes}), such as {type(mechanism).__name__} releases, but are "
            f"{sent.dtype} of shape {sent.shape}"
            + (", and some of them are impossible. Give the output of `release`." if fits else "."),
            argument="messages",
        )
    return sent
