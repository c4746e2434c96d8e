"""Base classes of local mechanisms on categorical values.

Each user holds a value in 0..k-1 and sends a random message. No curator is trusted; the guarantee holds for each user
separately, under `replace_one`.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from ..core.base import Dataset, Mechanism, Neighbours, Outputs
from ..core.errors import NeighboursError, ParameterError, plural
from ..core.relation import Relation


class LocalMechanism(Mechanism):
    """A mechanism that sends the value of every user through the same random channel, independently.

    The dataset is one user's value, or an array `(n_users,)` of values; each output is one message, or one per user. A
    message is a whole number in 0..n_messages-1, or, if `message_shape` is not (), an array of that shape.
    """

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
    def _randomize(
        self, values: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Draw independent messages, `(*shape, *message_shape)`; `shape` is `(size,)`, or ends with the users."""

    @abstractmethod
    def _message_log_probability(self, messages: NDArray[np.integer], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log probability of each message given the value of its user, summed over the axes of a message.

        The result for impossible messages is arbitrary.
        """

    def messages(self) -> NDArray[np.integer]:
        """Return all possible messages, `(n_messages, *message_shape)`, in a fixed order.

        Raises:
            ParameterError: too many messages for a table.
        """
        return np.arange(self.n_messages)

    def _impossible(self, messages: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return a mask of the messages that no user ever sends."""
        return np.asarray((messages < 0) | (messages >= self.n_messages))

    def channel(self) -> NDArray[np.float64]:
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

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
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

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        values0, values1 = self.values(neighbours.d0), self.values(neighbours.d1)
        if values0.shape != values1.shape:
            problem = f"d0 has shape {values0.shape} and d1 {values1.shape}"
        elif (changed := int(np.count_nonzero(values0 != values1))) > 1:
            problem = f"{plural(changed, 'user')} do. Change one entry only"
        else:
            return self
        raise NeighboursError(
            f"both datasets must hold values of the same users, one of whom may differ, but {problem}.",
            argument="neighbours",
        )

    def values(self, dataset: Dataset) -> NDArray[np.int64]:
        """Return the values of the users, checked: shape `()` or `(n_users,)`, whole numbers in 0..k-1."""
        values = np.asarray(dataset)
        must = f"the dataset of {type(self).__name__} must be whole numbers from 0 to {self.n_categories - 1}"
        if values.dtype.kind not in "biuf" or values.ndim > 1 or values.size == 0:
            raise ParameterError(f"{must}, one number or shape (n_users,), but is {dataset!r}.")
        if not np.all((values >= 0) & (values < self.n_categories) & (values == np.floor(values))):
            raise ParameterError(f"{must}, but ranges from {values.min()} to {values.max()}. Code the categories so.")
        return values.astype(np.int64)


class SymmetricRandomizer(LocalMechanism):
    """A mechanism that sends the true value with probability `p_true`, and each other one with `p_other`.

    `p_other` = e^-epsilon `p_true`.
    """

    epsilon: float

    @property
    @abstractmethod
    def p_true(self) -> float:
        """Probability of sending the true value."""

    @property
    @abstractmethod
    def p_other(self) -> float:
        """Probability of sending any given other value."""

    def _message_log_probability(self, messages: NDArray[np.integer], values: NDArray[np.int64]) -> NDArray[np.float64]:
        log_true = math.log(self.p_true)
        return np.where(messages == values, log_true, log_true - self.epsilon)
