"""RAPPOR: a value is coded in a Bloom filter, and each bit of the filter is randomised."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ...accounting import PureDP
from ...core.arrays import Bools, Floats
from ...core.base import Neighbours
from ...core.constraints import OpenUnit, PositiveInt, UnitInterval, at_least
from ...core.errors import ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import whole
from ...local.base import checked_messages
from ...local.unary_encoding import BitReports


class _BloomReports(BitReports):
    """Bits of a Bloom filter: a value sets MurmurHash3(its decimal digits, seed j) mod n_bits, for each seed j.

    The seeds are 0..n_hashes-1. The hash is signed: if 2^32 is not a multiple of n_bits, an unsigned hash gives other
    bits.
    """

    k: int
    n_bits: int
    n_hashes: int

    @property
    def n_categories(self) -> int:
        return self.k

    @cached_property
    def codes(self) -> Bools:
        """Bloom filter of each value, `(k, n_bits)`."""
        from sklearn.utils import murmurhash3_32

        codes = np.zeros((self.k, self.n_bits), dtype=np.bool_)
        for value, seed in np.ndindex(self.k, self.n_hashes):
            codes[value, murmurhash3_32(str(value).encode(), seed=seed) % self.n_bits] = True
        return codes

    def worst_case(self) -> Neighbours:
        """Return the first pair of values of 0..k-1 whose filters differ in the largest number of bits."""
        codes = self.codes.astype(np.int64)
        overlap, size = codes @ codes.T, codes.sum(axis=1)
        differ = size[:, None] + size - 2 * overlap
        first, second = np.unravel_index(int(np.argmax(differ)), differ.shape)
        return Neighbours(int(first), int(second), self.relation)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(n_hashes ln(p (1 - q) / (q (1 - p))))`, for filters of n_hashes bits without a common bit."""
        p, q = self.p_one, self.q_one
        one_bit_each = math.log(p) + math.log1p(-q) - math.log(q) - math.log1p(-p)
        return PureDP(self.n_hashes * one_bit_each, relation=self.relation)

    def estimate_frequencies(self, messages: ArrayLike) -> Floats:
        """Return the unbiased estimate of the share of users with each value, by least squares over the bits.

        The share of filters with bit j set is (share of ones - q) / (p - q); the shares of the values are fitted to
        these shares. (Erlingsson, Pihur and Korolova 2014, Section 4, without the lasso, which is biased.)

        Args:
            messages: `(..., n_users, n_bits)` bits.

        Returns:
            `(..., k)`; single entries may be negative, and they need not sum to 1.

        Raises:
            ParameterError: messages of another shape; the filters of the k values are linearly dependent, so that the
                bits do not determine the shares.
        """
        sent = checked_messages(self, messages)
        bits = (sent.mean(axis=-2) - self.q_one) / (self.p_one - self.q_one)
        return np.asarray(bits @ self._solution)

    def frequency_covariance(self, frequencies: ArrayLike, n_users: int) -> Floats:
        """Return the covariance of `estimate_frequencies`, `(k, k)`, for these shares `(k,)` of `n_users` users.

        The values are fixed; only the messages are random.
        """
        whole(1, n_users=n_users)
        set_ = np.asarray(frequencies, dtype=np.float64) @ self.codes
        p, q = self.p_one, self.q_one
        bits = (set_ * p * (1.0 - p) + (1.0 - set_) * q * (1.0 - q)) / (n_users * (p - q) ** 2)
        return np.asarray(self._solution.T @ (bits[:, None] * self._solution))

    @cached_property
    def _solution(self) -> Floats:
        """Matrix that maps shares of set bits to shares of the values, `(n_bits, k)`."""
        if np.linalg.matrix_rank(self.codes) < self.k:
            raise ParameterError(
                f"the filters of {plural(self.k, 'value')} in {plural(self.n_bits, 'bit')} are linearly dependent, "
                "so that reports do not determine the frequencies of the values. Use fewer values or more bits.",
                argument="k",
            )
        return np.asarray(np.linalg.pinv(self.codes.astype(np.float64)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(np.unique(self.codes, axis=0)) == 1:
            raise ParameterError(
                f"n_bits is {self.n_bits}: all values have the same filter, and reports carry no information. "
                "Use more bits.",
                argument="n_bits",
            )


@dataclass(frozen=True)
class OneTimeRAPPOR(_BloomReports):
    """RAPPOR for one report: each bit of the filter becomes 1 or 0 with probability f/2 each, and else is unchanged.

    This is the permanent randomized response only. The dataset is one user's value in 0..k-1, or `(n_users,)` values.
    (Erlingsson, Pihur and Korolova 2014, Section 3.1.)

    Args:
        f: share of bits that are replaced by a fair coin, strictly between 0 and 1.
        k: number of possible values, >= 2.
        n_bits: length of the filter, >= 2.
        n_hashes: number of hash functions, >= 1: the largest number of set bits.

    Guarantees:
        * 2 n_hashes ln((1 - f/2) / (f/2))-DP for each user under `replace_one` (their Theorem 1). The exact curve is
          that of the two values in 0..k-1 whose filters differ most; it attains the claim if the filters have no
          common bit, and `n_hashes` bits each.

    Example:
        >>> mechanism = OneTimeRAPPOR()
        >>> [np.flatnonzero(code).tolist() for code in mechanism.codes]
        [[0, 11, 18], [3, 10, 13], [7, 10, 11, 19]]
        >>> round(mechanism.guarantee().epsilon(0.0), 4), round(mechanism.exact_guarantee().epsilon(0.0), 4)
        (0.8007, 0.6005)
    """

    f: OpenUnit = 0.95
    k: Annotated[int, at_least(2)] = 3
    n_bits: Annotated[int, at_least(2)] = 20
    n_hashes: PositiveInt = 4
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p_one == 1.0:
            raise ParameterError(argument="f", value=self.f, allowed="be at least 1e-15, or no bit is ever replaced")

    @property
    def p_one(self) -> float:
        """Probability 1 - f/2 that a bit 1 is sent as 1."""
        return 1.0 - 0.5 * self.f

    @property
    def q_one(self) -> float:
        """Probability f/2 that a bit 0 is sent as 1."""
        return 0.5 * self.f


@dataclass(frozen=True)
class RAPPOR(_BloomReports):
    """RAPPOR: the bits of `OneTimeRAPPOR`, reported as 1 with probability q if they are 1, and p if they are 0.

    The law of a single report: the composition of the permanent and the instantaneous response. The bits of the
    permanent response are the same in all reports of a user, so that many reports leak no more than these bits.
    (Erlingsson, Pihur and Korolova 2014, Section 3.1.)

    Args:
        f: share of bits that the permanent response replaces by a fair coin, in [0, 1).
        p: probability that a permanent bit 0 is reported as 1, strictly between 0 and q.
        q: probability that a permanent bit 1 is reported as 1, strictly below 1.
        k: number of possible values, >= 2.
        n_bits: length of the filter, >= 2.
        n_hashes: number of hash functions, >= 1: the largest number of set bits.

    Guarantees:
        * n_hashes ln(q* (1 - p*) / (p* (1 - q*)))-DP for each user and one report under `replace_one` (their
          Theorem 2), with q* = f (p + q) / 2 + (1 - f) q and p* = f (p + q) / 2 + (1 - f) p.

    Example:
        >>> mechanism = RAPPOR()
        >>> round(mechanism.guarantee().epsilon(0.0), 4), round(mechanism.exact_guarantee().epsilon(0.0), 4)
        (0.4001, 0.3001)
    """

    f: UnitInterval = 0.75
    p: OpenUnit = 0.45
    q: OpenUnit = 0.55
    k: Annotated[int, at_least(2)] = 3
    n_bits: Annotated[int, at_least(2)] = 20
    n_hashes: PositiveInt = 4
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.f == 1.0 or self.p >= self.q:
            name = "f" if self.f == 1.0 else "p"
            raise ParameterError(
                f"f must be below 1 and p below q, but f is {self.f!r}, p {self.p!r} and q {self.q!r}: otherwise a "
                "report carries no information.",
                argument=name,
            )

    @property
    def p_one(self) -> float:
        """Probability q* = f (p + q) / 2 + (1 - f) q that a bit 1 is reported as 1."""
        return 0.5 * self.f * (self.p + self.q) + (1.0 - self.f) * self.q

    @property
    def q_one(self) -> float:
        """Probability p* = f (p + q) / 2 + (1 - f) p that a bit 0 is reported as 1."""
        return 0.5 * self.f * (self.p + self.q) + (1.0 - self.f) * self.p
