"""Hadamard response: a user sends the index of a column in which their row of a Hadamard matrix is likely +1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from ...core import Bools, Floats, Guarantee, Ints
from ...local.base import FrequencyOracle, curve_of_two_values, message_counts


@dataclass(frozen=True)
class HadamardResponse(FrequencyOracle):
    """Hadamard response: value v has row v + 1 of the K x K Hadamard matrix, K the least power of two above k.

    Row v + 1 is +1 in half of the columns; a uniform one of these is sent with probability e^epsilon / (e^epsilon + 1),
    otherwise a uniform one of the others. A message is a number of log2 K bits. The dataset is one user's value in
    0..k-1, or `(n_users,)` values. (Acharya, Sun and Zhang 2019: the form for high privacy, which has no blocks, and
    the least possible error up to a constant factor if epsilon is at most about 1.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.

    Guarantees:
        * epsilon-DP for each user under `replace_one`; the claim is the exact curve of two different values, the same
          for all pairs: two rows agree in half of the columns, which carry no information.

    Example:
        >>> mechanism = HadamardResponse(epsilon=1.0, k=5)
        >>> mechanism.n_messages, round(mechanism.p_support, 6), mechanism.q_support
        (8, 0.731059, 0.5)
    """

    @property
    def n_messages(self) -> int:
        """Number of possible messages: K, the least power of two above k."""
        return 1 << self.k.bit_length()

    @property
    def p_support(self) -> float:
        """Probability that the sent column is +1 in the row of the value."""
        return 1.0 / (1.0 + math.exp(-self.epsilon))

    @property
    def q_support(self) -> float:
        """Probability 1/2: half of the columns that are +1 in one row are +1 in another."""
        return 0.5

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of the signs of the column in the two rows."""
        inside = math.log(0.5 * self.p_support)
        outside = inside - self.epsilon
        return curve_of_two_values(inside, outside, inside, outside)

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        """Draw a uniform column; if its sign is not the drawn sign, flip its bit at the lowest set bit of v + 1."""
        columns = rng.integers(self.n_messages, size=shape)
        minus = rng.random(shape) >= self.p_support
        rows = values + 1
        wrong = _minus(columns, rows) != minus
        return np.asarray(np.where(wrong, columns ^ (rows & -rows), columns))

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        log_plus = math.log(2.0 * self.p_support / self.n_messages)
        return np.where(_minus(messages, values + 1), log_plus - self.epsilon, log_plus)

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the supports, computed from the counts of the columns."""
        plus = (hadamard(self.n_messages)[1 : self.k + 1] + 1) // 2
        return np.asarray(message_counts(messages, self.n_messages) @ plus.T)


def _minus(columns: NDArray[np.integer], rows: Ints) -> Bools:
    """Return True where the Hadamard matrix, (-1)^(number of common bits), is -1 (Sylvester 1867)."""
    common = np.asarray(columns & rows)
    for half in (32, 16, 8, 4, 2, 1):  # the parity of a word is the parity of the XOR of its halves
        common = common ^ (common >> half)
    return np.asarray(common & 1, dtype=np.bool_)
