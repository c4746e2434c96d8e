"""Subsets that a query language cannot refuse, and the attack that queries them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core.constraints import PositiveInt, check_fields
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.validation import whole
from ....mechanisms.noise.counts.answerer import Answerer
from .base import DecodedAnswers, Decoder
from .l1 import L1Decoding

OFFSETS = (5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000)
EXPONENTS = (0.5, 0.6, 0.7, 0.8, 0.9)


def floor_subsets(identifiers: ArrayLike, *, n_primes: int = 25) -> NDArray[np.int8]:
    """Return subsets of about half of the records, selected by arithmetic on their public identifiers.

    A record is in the subset of (prime p, offset o, exponent e) when floor(v + 1/2) = floor(v), where
    v = o (identifier p)^e: when the fractional part of v is below 1/2. Each subset is one condition in SQL, and
    looks harmless. (Cohen and Nissim 2020, section 3.)

    Args:
        identifiers: `(n,)` numbers > 0, one per record, all distinct.
        n_primes: number of primes, >= 1: 50 subsets each.

    Returns:
        Subsets, `(50 n_primes, n)`, 0 and 1.

    Example:
        >>> subsets = floor_subsets(np.arange(1000, 1100))
        >>> subsets.shape, bool(abs(subsets.mean() - 0.5) < 0.01)
        ((1250, 100), True)
    """
    whole(1, n_primes=n_primes)
    values_of_records = np.asarray(identifiers, dtype=np.float64)
    if (
        values_of_records.ndim != 1
        or not (values_of_records > 0.0).all()
        or len(np.unique(values_of_records)) < len(values_of_records)
    ):
        raise ParameterError(
            f"identifiers must be different numbers above 0, one per record, but are {identifiers!r:.60}.",
            argument="identifiers",
        )
    offsets, exponents = np.array(OFFSETS)[:, None], np.array(EXPONENTS)[:, None, None]
    rows = [offsets * (values_of_records * prime) ** exponents for prime in _primes(n_primes)]
    values = np.concatenate(rows).reshape(-1, len(values_of_records))
    return np.asarray(np.floor(values + 0.5) == np.floor(values)).astype(np.int8)


@dataclass(frozen=True)
class SubsetQueryAttack:
    """Queries on `floor_subsets` of the public identifiers, whose answers are decoded.

    In Cohen and Nissim (2020) this attack recovered a column of 455 bits without an error, in four parts of 73 to 142,
    from a commercial system with sticky noise of standard deviation 4 and suppression of small counts.

    Args:
        n_primes: number of primes, >= 1: 50 queries each.
        decoder: decoder of the answers.

    Example:
        >>> from dpassay.mechanisms import Gaussian
        >>> bits = np.random.default_rng(1).integers(0, 2, 40)
        >>> noise = Gaussian(noise_multiplier=1.0)
        >>> desk = Answerer(bits, np.random.default_rng(2), noise=noise, memory="sticky", suppressed_below=4)
        >>> found = SubsetQueryAttack(n_primes=5).attack(desk, np.arange(1000, 1040))
        >>> bool((found.bits[0] == bits).all()), desk.n_asked
        (True, 250)
    """

    n_primes: PositiveInt = 25
    decoder: Decoder = field(default_factory=L1Decoding)

    def __post_init__(self) -> None:
        check_fields(self)

    def attack(self, desk: Answerer, identifiers: ArrayLike) -> DecodedAnswers:
        """Return the column behind `desk`, whose records have these identifiers; suppressed answers are left out."""
        subsets = floor_subsets(identifiers, n_primes=self.n_primes)
        return self.decoder.decode(subsets, desk.ask_all(subsets))


def _primes(count: int) -> list[int]:
    """Return the first `count` primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return primes
