"""Messages of independently flipped bits: their base class, and unary encoding, where a value is one bit of k."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..accounting import ExactDP
from ..accounting.numerics.binomial import response_logs
from ..core import Bools, Floats, Guarantee, Ints, one_of_names
from .base import FrequencyOracle, LocalMechanism


class BitReports(LocalMechanism):
    """Messages of m bits that code the value; a bit 1 is sent as 1 with probability `p_one`, a bit 0 with `q_one`."""

    @cached_property
    @abstractmethod
    def codes(self) -> Bools:
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
        self._check_table("mechanism", "Use a mechanism with 16 bits at most.")
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

    def _impossible(self, messages: NDArray[np.integer]) -> Bools:
        return np.asarray(((messages != 0) & (messages != 1)).any(axis=-1))

    def _chances(self, values: Ints) -> Floats:
        """Return Pr[bit sent as 1] for each value, `(*values.shape, m)`."""
        return np.where(self.codes[values], self.p_one, self.q_one)

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        return (rng.random((*shape, *self.message_shape)) < self._chances(values)).view(np.int8)

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        log_odds = np.where(self.codes[values], self.log_odds_one, self.log_odds_zero)
        none = special.log_expit(-log_odds).sum(axis=-1)
        return np.asarray(np.einsum("...m,...m->...", messages, log_odds) + none)


@dataclass(frozen=True)
class UnaryEncoding(BitReports, FrequencyOracle):
    """Unary encoding: k bits, of which the bit of the user's value is 1; a 1 is sent as 1 with p, a 0 with q.

        symmetric   p = e^(epsilon/2) / (e^(epsilon/2) + 1), q = 1 - p: RAPPOR's, without a filter
        optimized   p = 1/2, q = 1 / (e^epsilon + 1): estimates of rare values have the least variance

    The dataset is one user's value in 0..k-1, or `(n_users,)` values; a message is `(k,)` bits. (Wang, Blocki, Li and
    Jha 2017: SUE and OUE.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
        kind: "optimized" or "symmetric".

    Guarantees:
        * epsilon-DP for each user under `replace_one`, e^epsilon = p (1 - q) / (q (1 - p)); the claim is the exact
          curve of two different values, the same for all pairs.

    Example:
        >>> mechanism = UnaryEncoding(epsilon=1.0, k=8)
        >>> round(mechanism.p_one, 6), round(mechanism.q_one, 6)
        (0.5, 0.268941)
        >>> UnaryEncoding(epsilon=8.0, k=3).estimate_frequencies([[1, 0, 0], [0, 0, 1], [0, 0, 1]]).round(1).tolist()
        [0.7, -0.0, 1.3]
    """

    _: KW_ONLY
    kind: Annotated[str, one_of_names("optimized", "symmetric")] = "optimized"

    @cached_property
    def codes(self) -> Bools:
        """Identity matrix: value v sets bit v."""
        return np.eye(self.k, dtype=np.bool_)

    @property
    def p_one(self) -> float:
        return 0.5 if self.kind == "optimized" else 1.0 / (1.0 + math.exp(-0.5 * self.epsilon))

    @property
    def q_one(self) -> float:
        below = math.exp(-self.epsilon * (1.0 if self.kind == "optimized" else 0.5))
        return below / (1.0 + below)

    @property
    def log_odds_one(self) -> float:
        return 0.0 if self.kind == "optimized" else 0.5 * self.epsilon

    @property
    def log_odds_zero(self) -> float:
        return -self.epsilon if self.kind == "optimized" else -0.5 * self.epsilon

    @property
    def p_support(self) -> float:
        """Probability `p_one`: a bit 1 supports its value."""
        return self.p_one

    @property
    def q_support(self) -> float:
        """Probability `q_one`."""
        return self.q_one

    def guarantee(self) -> Guarantee:
        """Return the exact curve: two bits, one of which is set on each side."""
        return self.exact_guarantee()

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.asarray(messages.sum(axis=-2, dtype=np.int64))
