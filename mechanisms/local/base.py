"""What every mechanism on users' own categorical values shares.

Each user holds a value in 0..k-1 and sends a random one. No curator is trusted; the guarantee holds for each user on
their own, under `replace_one`.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import NeighboursError, ParameterError, plural
from ..relation import Relation


class LocalMechanism(Mechanism):
    """Every user's value goes through the same random channel, independently of the others.

    The dataset is one user's value, or an array `(n_users,)` of them; each output is one message, or one a user. A
    message is a whole number in 0..n_messages-1, or, where `message_shape` is not (), an array of that shape.
    """

    relation: Relation = Relation.REPLACE_ONE

    @property
    @abstractmethod
    def n_categories(self) -> int:
        """Number k of possible values."""

    @property
    def n_messages(self) -> int:
        """Number of possible messages: as many as values, where nothing else is said."""
        return self.n_categories

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message: () for a whole number."""
        return ()

    @abstractmethod
    def _randomize(
        self, values: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Independent messages: `(*shape, *message_shape)`. `shape` is `(size,)`, or ends with the users."""

    @abstractmethod
    def _message_log_probability(self, messages: NDArray[np.integer], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log probability of each message, given the value of its user; the axes of a message are summed over. Anything
        where the message is impossible."""

    def messages(self) -> NDArray[np.integer]:
        """All possible messages, `(n_messages, *message_shape)`, in a fixed order.

        Raises:
            ParameterError: there are more than a table holds.
        """
        return np.arange(self.n_messages)

    def _impossible(self, messages: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether nobody ever sends that message."""
        return np.asarray((messages < 0) | (messages >= self.n_messages))

    def channel(self) -> NDArray[np.float64]:
        """The law of one message under each value, `(n_categories, n_messages)`: row v is Pr[message | v].

        Raises:
            ParameterError: there are more possible messages than a table holds.
        """
        sent = Outputs(self.messages())
        return np.exp([self.log_density(sent, value) for value in range(self.n_categories)])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` independent rounds: shape `(size, *message_shape)` for one user, `(size, n_users, *message_shape)` for
        more."""
        values = self.values(dataset)
        return Outputs(self._randomize(values, (size, *values.shape), rng))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, summed over the users, shape `(size,)`; -inf if
        impossible."""
        messages = outputs.values
        each = self._message_log_probability(messages, self.values(dataset))
        impossible = self._impossible(messages)
        if impossible.any():
            each[impossible] = -np.inf
        return each if each.ndim == 1 else np.asarray(each.sum(axis=1))

    def worst_case(self) -> Neighbours:
        """One user, who holds 0 or 1."""
        return Neighbours(0, 1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
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
        """The users' values, checked: shape `()` or `(n_users,)`, whole numbers in 0..k-1."""
        values = np.asarray(dataset)
        must = f"the dataset of {type(self).__name__} must be whole numbers from 0 to {self.n_categories - 1}"
        if values.dtype.kind not in "biuf" or values.ndim > 1 or values.size == 0:
            raise ParameterError(f"{must}, one number or shape (n_users,), but is {dataset!r}.")
        if not np.all((values >= 0) & (values < self.n_categories) & (values == np.floor(values))):
            raise ParameterError(f"{must}, but ranges from {values.min()} to {values.max()}. Code the categories so.")
        return values.astype(np.int64)


class SymmetricRandomizer(LocalMechanism):
    """Sends the true value with probability `p_true`, each given other one with `p_other` = e^-epsilon `p_true`."""

    epsilon: float

    @property
    @abstractmethod
    def p_true(self) -> float:
        """Probability of sending the true value."""

    @property
    @abstractmethod
    def p_other(self) -> float:
        """Probability of sending one given other value."""

    def _message_log_probability(self, messages: NDArray[np.integer], values: NDArray[np.int64]) -> NDArray[np.float64]:
        log_true = math.log(self.p_true)
        return np.where(messages == values, log_true, log_true - self.epsilon)
