"""Local hashing: each user hashes their value with a random function, and sends a random bucket or random bits."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...core import Bools, Floats, Guarantee, Ints, ParameterError, at_least, example
from ...local.base import MAX_MESSAGES, FrequencyOracle, curve_of_two_values

MERSENNE = 2**31 - 1
"""Size of the default field: a prime, such that products of two elements fit a 64-bit number."""


@dataclass(frozen=True)
class _HashedValues(FrequencyOracle):
    """Base class: each user draws a hash function h(v) = ((a v + b) mod prime) mod g and sends it with their message.

    a and b are uniform in 0..prime-1 (Carter and Wegman 1979: two different values are mapped to independent elements
    of the field). A message starts with a and b.
    """

    _: KW_ONLY
    n_buckets: Annotated[int, at_least(2)] | None = None
    prime: Annotated[int, at_least(2)] = MERSENNE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prime > MERSENNE or not _is_prime(self.prime) or self.prime < max(self.k, self.g):
            raise ParameterError(
                f"prime must be a prime from max(k, n_buckets) = {max(self.k, self.g)} to {MERSENNE}, but is "
                f"{self.prime}. Leave it out, or choose a larger one.",
                argument="prime",
            )

    @property
    @abstractmethod
    def g(self) -> int:
        """Number of buckets."""

    @property
    def collision(self) -> float:
        """Probability that two different values have the same hash: two independent field elements, each mod g."""
        low, larger = divmod(self.prime, self.g)
        return (larger * (low + 1) ** 2 + (self.g - larger) * low**2) / self.prime**2

    def _hash(self, messages: NDArray[np.integer], values: Ints) -> Ints:
        """Return the buckets of the values under the functions of the messages."""
        functions = messages.astype(np.int64, copy=False)
        return (functions[..., 0] * values + functions[..., 1]) % self.prime % self.g

    def _impossible_functions(self, messages: NDArray[np.integer]) -> Bools:
        functions = messages[..., :2]
        return np.asarray(((functions < 0) | (functions >= self.prime)).any(axis=-1))


@dataclass(frozen=True)
class LocalHashing(_HashedValues):
    """Local hashing: draw a hash function to g buckets, hash the value, and send the function and a random bucket.

    The function is h(v) = ((a v + b) mod prime) mod g, with a and b uniform in 0..prime-1 (Carter and Wegman 1979: two
    different values are mapped to independent elements of the field). The bucket is g-ary randomized response to h(v).
    The dataset is one user's value in 0..k-1, or `(n_users,)` values; a message is `(a, b, bucket)`. (Wang, Blocki, Li
    and Jha 2017: binary local hashing has g = 2, optimised local hashing g = e^epsilon + 1.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
        n_buckets: g, >= 2; None for the whole number nearest to e^epsilon + 1, which minimises the variance of
            estimates, at most `prime`.
        prime: size of the field, a prime >= k and >= g.

    Guarantees:
        * epsilon-DP for each user under `replace_one`. The claim is the exact curve of two different values, the same
          for all pairs: their hashes collide with the probability `collision`, and then nothing leaks.
        * Estimates are unbiased for all g and prime: they use the exact `collision`, which is 1/g up to g / prime^2.

    Example:
        >>> mechanism = LocalHashing(epsilon=1.0, k=1000)
        >>> mechanism.g, round(mechanism.p_support, 6), round(mechanism.q_support, 6)
        (4, 0.475367, 0.25)
    """

    @classmethod
    def binary(cls, epsilon: float, k: int) -> LocalHashing:
        """Return binary local hashing, with hashes of one bit (Bassily and Smith 2015)."""
        return cls(epsilon, k, n_buckets=2)

    @property
    def g(self) -> int:
        return self.n_buckets or max(2, min(round(math.exp(min(self.epsilon, 50.0))) + 1, self.prime))

    @property
    def p_true(self) -> float:
        """Probability of sending the bucket of the value."""
        return 1.0 / (1.0 + (self.g - 1) * math.exp(-self.epsilon))

    @property
    def n_messages(self) -> int:
        return self.prime**2 * self.g

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message, (3,): a, b and the bucket."""
        return (3,)

    @property
    def p_support(self) -> float:
        """Probability `p_true`: a message supports the values that its function maps to its bucket."""
        return self.p_true

    @property
    def q_support(self) -> float:
        """Probability that another value has the sent bucket: by collision with the true value, or by chance."""
        return self.collision * self.p_true + (1.0 - self.collision) * math.exp(-self.epsilon) * self.p_true

    def messages(self) -> NDArray[np.integer]:
        """Return all combinations of functions and buckets.

        Raises:
            ParameterError: more than 100,000, as with the default prime.
        """
        self._check_table("prime", f"Choose a prime with prime^2 n_buckets <= {MAX_MESSAGES:,}.")
        return np.stack(np.unravel_index(np.arange(self.n_messages), (self.prime, self.prime, self.g)), axis=1)

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of (bucket of the first value, of the second, neither, or of both)."""
        with np.errstate(divide="ignore"):
            separate, others, collided = np.log([1.0 - self.collision, self.g - 2.0, self.collision])
        p = separate + math.log(self.p_true)
        q = p - self.epsilon
        return curve_of_two_values(p, q, others + q, collided)

    def _impossible(self, messages: NDArray[np.integer]) -> Bools:
        bucket = messages[..., 2]
        return np.asarray(self._impossible_functions(messages) | (bucket < 0) | (bucket >= self.g))

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        sent = np.empty((*shape, 3), dtype=np.int64)
        sent[..., :2] = rng.integers(self.prime, size=(*shape, 2))
        other = rng.integers(1, self.g, size=shape)
        lies = rng.random(shape) >= self.p_true
        sent[..., 2] = (self._hash(sent, values) + np.where(lies, other, 0)) % self.g
        return sent

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        log_true = math.log(self.p_true) - 2.0 * math.log(self.prime)
        return np.where(self._hash(messages, values) == messages[..., 2], log_true, log_true - self.epsilon)

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        buckets = messages[..., 2]
        counts = [np.sum(self._hash(messages, np.array(v)) == buckets, axis=-1) for v in range(self.k)]
        return np.stack(counts, axis=-1)


@dataclass(frozen=True)
class CountMeanSketch(_HashedValues):
    """Count mean sketch: hash the value to one of g buckets, and send the function and g bits, each flipped at random.

    The bit of the bucket is 1 and the others are 0; each is flipped with probability 1 / (e^(epsilon/2) + 1). A message
    supports the values whose bucket has the bit 1; estimates are corrected for flips and collisions. (Apple 2017,
    algorithms 3 to 5. There, users choose among a few functions, 65,536 for example, which are drawn once, so that a
    server stores one row of g sums for each; here among all functions of the family, as for `LocalHashing`, so that
    estimates are unbiased for any values, and not only on average over the choice of the functions.)

    The dataset is one user's value in 0..k-1, or `(n_users,)` values; a message is `(a, b, g bits)`.

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
        n_buckets: g, >= 2; None for 1,024, at most `prime`.
        prime: size of the field, a prime >= k and >= g.

    Guarantees:
        * epsilon-DP for each user under `replace_one`. The claim is the exact curve of two different values, the same
          for all pairs: two bits, unless the hashes collide.
        * Estimates are unbiased for all g and prime.

    References:
        Apple, Differential Privacy Team (2017), "Learning with privacy at scale", Apple Machine Learning Journal 1(8).

    Example:
        >>> mechanism = CountMeanSketch(epsilon=4.0, k=1000, n_buckets=16)
        >>> mechanism.message_shape, round(mechanism.p_support, 6), round(mechanism.q_support, 6)
        ((18,), 0.880797, 0.166803)
    """

    _example = example(n_buckets=8)

    @property
    def g(self) -> int:
        return self.n_buckets or min(1024, self.prime)

    @property
    def p_true(self) -> float:
        """Probability that a bit is not flipped."""
        return 1.0 / (1.0 + math.exp(-0.5 * self.epsilon))

    @property
    def n_messages(self) -> int:
        return self.prime**2 << self.g

    @property
    def message_shape(self) -> tuple[int, ...]:
        """Shape of one message, `(2 + g,)`: a, b and the bits."""
        return (2 + self.g,)

    @property
    def p_support(self) -> float:
        """Probability `p_true`: a message supports the values whose bucket has the bit 1."""
        return self.p_true

    @property
    def q_support(self) -> float:
        """Probability that the bit of another value is 1: by collision with the true value, or because of a flip."""
        flipped = math.exp(-0.5 * self.epsilon) * self.p_true
        return self.collision * self.p_true + (1.0 - self.collision) * flipped

    def messages(self) -> NDArray[np.integer]:
        """Return all combinations of functions and bits.

        Raises:
            ParameterError: more than 100,000, as with the default prime.
        """
        self._check_table("prime", f"Choose prime and n_buckets with prime^2 2^n_buckets <= {MAX_MESSAGES:,}.")
        places = np.unravel_index(np.arange(self.n_messages), (self.prime, self.prime, *[2] * self.g))
        return np.stack(places, axis=1)

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of the bits of both buckets."""
        with np.errstate(divide="ignore"):
            separate, collided = np.log([1.0 - self.collision, self.collision])
        both = separate + 2.0 * math.log(self.p_true)
        return curve_of_two_values(both, both - self.epsilon, math.log(2.0) + both - 0.5 * self.epsilon, collided)

    def _impossible(self, messages: NDArray[np.integer]) -> Bools:
        bits = messages[..., 2:]
        return np.asarray(self._impossible_functions(messages) | ((bits != 0) & (bits != 1)).any(axis=-1))

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        sent = np.empty((*shape, 2 + self.g), dtype=np.int32)
        sent[..., :2] = rng.integers(self.prime, size=(*shape, 2))
        bucket = self._hash(sent, values)[..., None] == np.arange(self.g)
        sent[..., 2:] = bucket ^ (rng.random((*shape, self.g)) >= self.p_true)
        return sent

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        bits = messages[..., 2:]
        own = np.take_along_axis(bits, self._hash(messages, values)[..., None], axis=-1)[..., 0]
        flips = bits.sum(axis=-1) + 1 - 2 * own  # bits 1 of other buckets, and a bit 0 of the bucket
        return np.asarray(self.g * math.log(self.p_true) - 0.5 * self.epsilon * flips - 2.0 * math.log(self.prime))

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        bits = messages[..., 2:]
        counts = [
            np.take_along_axis(bits, self._hash(messages, np.array(v))[..., None], axis=-1).sum(axis=(-2, -1))
            for v in range(self.k)
        ]
        return np.stack(counts, axis=-1)


def _is_prime(number: int) -> bool:
    """Return True for a prime, by trial division: at most 46,340 divisions."""
    divisors = np.arange(2, math.isqrt(number) + 1)
    return number > 1 and bool(np.all(number % divisors))
