"""Subset selection: a user sends a random set of values that is likelier to contain their value."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...accounting.numerics.binomial import log_choose
from ...core import Bools, Floats, Guarantee, Ints, ParameterError, PositiveInt
from ...local.base import FrequencyOracle, curve_of_two_values


@dataclass(frozen=True)
class SubsetSelection(FrequencyOracle):
    """Subset selection: one of the C(k, d) sets of d values; a set with the user's value is e^epsilon times likelier.

    The set contains the value with probability p = d e^epsilon / (d e^epsilon + k - d); all sets with the value are
    equally likely, and so are all sets without it. The dataset is one user's value in 0..k-1, or `(n_users,)` values;
    a message is `(k,)` bits, d of which are 1. With d = 1 it is k-ary randomized response. (Ye and Barg 2018: with the
    best d, the least error of any local mechanism, to first order.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
        subset_size: d, from 1 to k - 1; None for the whole number nearest to k / (e^epsilon + 1), at least 1.

    Guarantees:
        * epsilon-DP for each user under `replace_one`; the claim is the exact curve of two different values, the same
          for all pairs: only sets with exactly one of them carry information.

    Example:
        >>> mechanism = SubsetSelection(epsilon=1.0, k=8)
        >>> mechanism.d, round(mechanism.p_support, 6), round(mechanism.q_support, 6)
        (2, 0.475367, 0.217805)
    """

    _: KW_ONLY
    subset_size: PositiveInt | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subset_size is not None and self.subset_size >= self.k:
            raise ParameterError(
                f"subset_size must be below k = {self.k}, but is {self.subset_size}: the set of all values carries "
                "no information.",
                argument="subset_size",
            )

    @property
    def d(self) -> int:
        """Size of the sets."""
        return self.subset_size or max(1, round(self.k * math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))))

    @property
    def n_messages(self) -> int:
        return math.comb(self.k, self.d)

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message, `(k,)`."""
        return (self.k,)

    @property
    def p_support(self) -> float:
        """Probability p: a set supports its members."""
        return self.d / (self.d + (self.k - self.d) * math.exp(-self.epsilon))

    @property
    def q_support(self) -> float:
        """Probability that another value is in the set: one of d - 1 further members, or of d."""
        return (self.p_support * (self.d - 1) + (1.0 - self.p_support) * self.d) / (self.k - 1)

    def messages(self) -> NDArray[np.integer]:
        """Return all sets of d values, as bits.

        Raises:
            ParameterError: more than 100,000.
        """
        self._check_table("k", "Use fewer values or smaller sets.")
        members = np.array(list(combinations(range(self.k), self.d)))
        table = np.zeros((self.n_messages, self.k), dtype=np.int8)
        np.put_along_axis(table, members, 1, axis=1)
        return table

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of (first value only in the set, second only, both or neither)."""
        inside = math.log(self.p_support * (self.k - self.d) / (self.k - 1))
        outside = inside - self.epsilon
        rest = max(0.0, 1.0 - math.exp(inside) - math.exp(outside))
        with np.errstate(divide="ignore"):
            both = np.log(rest)
        return curve_of_two_values(inside, outside, both)

    def _impossible(self, messages: NDArray[np.integer]) -> Bools:
        bits = ((messages == 0) | (messages == 1)).all(axis=-1)
        return np.asarray(~bits | (messages.sum(axis=-1, dtype=np.int64) != self.d))

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        """Draw the d largest of k uniform numbers; the number of the user's value is above or below all others."""
        keys = rng.random((*shape, self.k))
        key = np.where(rng.random(shape) < self.p_support, 2.0, -1.0)[..., None]
        np.put_along_axis(keys, np.broadcast_to(values, shape)[..., None], key, axis=-1)
        members = np.argpartition(keys, self.k - self.d, axis=-1)[..., self.k - self.d :]
        sent = np.zeros(keys.shape, dtype=np.int8)
        np.put_along_axis(sent, members, 1, axis=-1)
        return sent

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        own = np.broadcast_to(values, messages.shape[:-1])[..., None]
        inside = np.take_along_axis(messages, own, axis=-1)[..., 0]
        log_inside = math.log(self.p_support) - float(log_choose(self.k - 1, self.d - 1))
        return np.where(inside == 1, log_inside, log_inside - self.epsilon)

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.asarray(messages.sum(axis=-2, dtype=np.int64))
