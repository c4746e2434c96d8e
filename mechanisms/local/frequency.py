"""Frequency estimates of the values, from the messages of all users."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ParameterError
from ..core.validation import unit_interval, whole
from .base import LocalMechanism


class FrequencyOracle(LocalMechanism):
    """Local mechanism whose messages support the true value with `p_support` and any other with `q_support`.

    The share of users who hold v is estimated by (share of messages that support v - q) / (p - q). (Wang, Blocki, Li
    and Jha 2017, "pure protocols".)
    """

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

    def estimate_frequencies(self, messages: ArrayLike) -> NDArray[np.float64]:
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
