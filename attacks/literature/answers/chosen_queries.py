"""Attacks that choose their queries: averaging, differencing, and subsets that a query language cannot refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import Floats, Options, ParameterError, PositiveInt, one_of_names, plural, whole
from ....mechanisms.literature.counts.answerer import Answerer
from .base import DecodedAnswers, Decoder, DecodingStatus
from .linear_programmes import L1Decoding

COMBINE: dict[str, Callable[..., Floats]] = {"mean": np.nanmean, "median": np.nanmedian}


@dataclass(frozen=True)
class Averaging(Options):
    """Repetition of one query, with the mean or the median of the answers as estimate.

    With independent noise of standard deviation sd the mean of k answers has sd / sqrt(k): sqrt(2) / (epsilon sqrt(k))
    for Laplace noise of epsilon each. Sticky noise gives the same answer k times.

    Args:
        n_repeats: k, >= 1.
        combine: "mean", optimal for Gaussian noise, or "median", for Laplace noise.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> answerer = Answerer(np.ones((1000, 5)), np.random.default_rng(0), noise=Laplace(1.0))
        >>> counts = Averaging(n_repeats=100).count(answerer, np.ones(5))
        >>> bool(abs(counts.std() - 0.1414) < 0.01)
        True
    """

    n_repeats: PositiveInt = 1
    combine: Annotated[str, one_of_names(*COMBINE)] = "mean"

    def count(self, answerer: Answerer, subset: ArrayLike) -> Floats:
        """Return estimates of the count, `(n_runs,)`; NaN if no answer was given."""
        answers = answerer.ask_again(subset, self.n_repeats)
        estimates = np.full(len(answers), np.nan)
        answered = ~np.isnan(answers).all(axis=1)
        estimates[answered] = COMBINE[self.combine](answers[answered], axis=1)
        return estimates


@dataclass(frozen=True)
class Differencing(Averaging):
    """Queries on all records, and on all but one: the difference is the bit of that record.

    With noise of standard deviation sd on each answer, and k repeats of each query, a bit is wrong with probability
    Phi(-sqrt(k) / (2 sqrt(2) sd)) under Gaussian noise. Sticky noise does not stop it: the two sets differ.

    Args:
        n_repeats, combine: for each query, as for `Averaging`.

    Example:
        >>> answerer = Answerer([1, 0, 1, 1], np.random.default_rng(0))
        >>> Differencing().attack(answerer).bits[0].tolist(), answerer.n_asked
        ([True, False, True, True], 8)
    """

    def attack(self, answerer: Answerer) -> DecodedAnswers:
        """Return every bit, one after the other; a bit whose queries were not answered has the value 1/2."""
        all_records = np.ones(answerer.n_records, dtype=np.bool_)
        values = np.empty((answerer.n_runs, answerer.n_records))
        for record in range(answerer.n_records):
            others = all_records.copy()
            others[record] = False
            values[:, record] = self.count(answerer, all_records) - self.count(answerer, others)
        return _with_gaps(values)


def _with_gaps(values: Floats) -> DecodedAnswers:
    """Replace NaN by 1/2, and count them in the notes."""
    missing = np.isnan(values).sum(axis=1)
    notes = tuple(f"no answer about {k} of {plural(values.shape[1], 'record')}" if k else "" for k in missing.tolist())
    status = tuple(DecodingStatus.SEVERAL if k else DecodingStatus.OPTIMAL for k in missing.tolist())
    return DecodedAnswers(np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0), status, notes)


CANDIDATE_OFFSETS = (5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000)
CANDIDATE_EXPONENTS = (0.5, 0.6, 0.7, 0.8, 0.9)


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
    offsets, exponents = np.array(CANDIDATE_OFFSETS)[:, None], np.array(CANDIDATE_EXPONENTS)[:, None, None]
    rows = [offsets * (values_of_records * prime) ** exponents for prime in _primes(n_primes)]
    values = np.concatenate(rows).reshape(-1, len(values_of_records))
    return np.asarray(np.floor(values + 0.5) == np.floor(values)).astype(np.int8)


@dataclass(frozen=True)
class SubsetQueryAttack(Options):
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
        >>> answerer = Answerer(bits, np.random.default_rng(2), noise=noise, memory="sticky", suppressed_below=4)
        >>> found = SubsetQueryAttack(n_primes=5).attack(answerer, np.arange(1000, 1040))
        >>> bool((found.bits[0] == bits).all()), answerer.n_asked
        (True, 250)
    """

    n_primes: PositiveInt = 25
    decoder: Decoder = field(default_factory=L1Decoding)

    def attack(self, answerer: Answerer, identifiers: ArrayLike) -> DecodedAnswers:
        """Return the column behind `answerer`, whose records have these identifiers, without suppressed answers."""
        subsets = floor_subsets(identifiers, n_primes=self.n_primes)
        return self.decoder.decode(subsets, answerer.ask_all(subsets))


def _primes(count: int) -> list[int]:
    """Return the first `count` primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return primes
