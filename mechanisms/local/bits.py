"""Base class of the local mechanisms whose message is a vector of independently flipped bits."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..accounting import ExactDP
from ..accounting.numerics.binomial import response_logs
from ..core.errors import ParameterError, plural
from ..core.guarantee import Guarantee
from .base import LocalMechanism

_LARGEST_TABLE = 16
"""Largest number of bits whose messages fit in a table."""


class BitReports(LocalMechanism):
    """Messages of m bits that code the value; a bit 1 is sent as 1 with probability `p_one`, a bit 0 with `q_one`."""

    @cached_property
    @abstractmethod
    def codes(self) -> NDArray[np.bool_]:
        """Bits of each value, `(n_categories, m)`."""

    @property
    @abstractmethod
    def p_one(self) -> float:
        """Probability that a bit 1 is sent as 1."""

    @property
    @abstractmethod
    def q_one(self) -> float:
        """Probability that a bit 0 is sent as 1."""

    @property
    def log_odds_one(self) -> float:
        """Log odds that a bit 1 is sent as 1."""
        return float(special.logit(self.p_one))

    @property
    def log_odds_zero(self) -> float:
        """Log odds that a bit 0 is sent as 1."""
        return float(special.logit(self.q_one))

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message, `(m,)`."""
        return (self.codes.shape[1],)

    @property
    def n_messages(self) -> int:
        """Number of possible messages, 2^m."""
        (m,) = self.message_shape
        return 1 << m

    def messages(self) -> NDArray[np.integer]:
        """Return all vectors of m bits, in the order of the binary numbers, most significant bit first.

        Raises:
            ParameterError: more than 16 bits.
        """
        (m,) = self.message_shape
        if m > _LARGEST_TABLE:
            raise ParameterError(
                f"{type(self).__name__} has messages of {plural(m, 'bit')}, of which there are 2^{m}: too many for a "
                f"table. Use a mechanism with {_LARGEST_TABLE} bits at most."
            )
        return ((np.arange(1 << m)[:, None] >> np.arange(m)[::-1]) & 1).astype(np.int8)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of one user's two values in `worst_case`.

        Only the bits in which the codes differ matter: the number sent as 1 of the bits set by the first value only,
        and of those set by the second value only.
        """
        pair = self.worst_case()
        code0, code1 = self.codes[int(pair.d0)], self.codes[int(pair.d1)]
        first, second = int(np.sum(code0 & ~code1)), int(np.sum(code1 & ~code0))
        odds = self.log_odds_one, self.log_odds_zero
        set0, set1 = (response_logs(first, sent) for sent in odds)
        not0, not1 = (response_logs(second, sent) for sent in odds[::-1])
        return ExactDP.of_logs(set0, set1, self.relation).product(ExactDP.of_logs(not0, not1))

    def _impossible(self, messages: NDArray[np.integer]) -> NDArray[np.bool_]:
        return np.asarray(((messages != 0) & (messages != 1)).any(axis=-1))

    def _chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return Pr[bit sent as 1] for each value, `(*values.shape, m)`."""
        return np.where(self.codes[values], self.p_one, self.q_one)

    def _randomize(
        self, values: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        return (rng.random((*shape, *self.message_shape)) < self._chances(values)).view(np.int8)

    def _message_log_probability(self, messages: NDArray[np.integer], values: NDArray[np.int64]) -> NDArray[np.float64]:
        log_odds = np.where(self.codes[values], self.log_odds_one, self.log_odds_zero)
        none = special.log_expit(-log_odds).sum(axis=-1)
        return np.asarray(np.einsum("...m,...m->...", messages, log_odds) + none)
