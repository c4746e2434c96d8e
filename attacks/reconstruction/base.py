"""Interfaces of reconstruction attacks: read this first.

    Secret          drawn independently in each round, from a publicly known prior
      OneOf           one of k candidates for one record
      FairBits        n records, each with one of two values by an independent fair coin
    SecretTarget    the mechanism under attack, and the secret in its dataset
    Reconstructor   learns how to guess, before any counted round ...
    Guesser         ... and guesses from the output of each round

A reconstructor may run the mechanism while it learns, on the random stream that it receives: those runs are never
counted. A guesser is fixed before the first counted round, which makes the rounds independent and identically
distributed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.core.arrays import Bools, Floats, Ints
from ...mechanisms.core.base import Dataset, Mechanism, Neighbours, Outputs
from ...mechanisms.core.constraints import Options
from ...mechanisms.core.errors import AttackError, ParameterError, RelationError
from ...mechanisms.core.records import mixed_records, n_records, remove_record, replace_record, zero_record
from ...mechanisms.core.relation import Relation
from ..distinguishing.events import mark

MAX_COMPARED_BITS = 256
"""Largest number of bits whose two values are compared: each bit changes its own record."""
MAX_CANDIDATES = 100_000
"""Largest number of candidates for one record."""
MAX_CANDIDATES_IN_PAIRS = 64
"""Largest number of candidates of which all pairs are compared; with more, each is compared with the first."""


class Secret(ABC):
    """Base class of secrets, drawn from a known prior."""

    @property
    @abstractmethod
    def prior_success(self) -> float:
        """Largest success probability without the output, exact."""

    @abstractmethod
    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """Return the pairs that must be neighbours, so that success is evidence about a guarantee under `relation`.

        Raises:
            RelationError: no such pairs under this relation.
        """


@dataclass(frozen=True, eq=False)
class OneOf(Secret):
    """One of k known candidates; a round is a success if the guess is close to the true one.

    Args:
        candidates: the whole dataset with each candidate in its place, k >= 2; see `in_record`.
        prior: `(k,)` probabilities of the candidates; None: uniform.
        close: `(k, k)` bool, `close[truth, guess]`: whether a guess is correct for a truth; None: only the truth.
        record: index of the record in which the candidates differ; None if unknown.
        reference: the dataset that each candidate is a neighbour of, under `add_remove` and `zero_out`; None: the
            dataset without that record.

    Raises:
        ParameterError: fewer than two candidates, probabilities that are negative or do not sum to 1, a `close` of
            a wrong shape.

    Example:
        >>> secret = OneOf.in_record([0, 5], 0, [10, 11, 12], close=[[1, 1, 0], [1, 1, 1], [0, 1, 1]])
        >>> secret.candidates
        ([10, 5], [11, 5], [12, 5])
        >>> secret.k, secret.prior_success
        (3, 1.0)
    """

    candidates: tuple[Dataset, ...]
    prior: Floats | ArrayLike | None = None
    close: Bools | ArrayLike | None = None
    record: int | None = None
    reference: Dataset = None

    def __post_init__(self) -> None:
        if self.k < 2:
            raise ParameterError(
                f"candidates must be at least 2, one of which is the secret, but are {self.k}.", argument="candidates"
            )
        if self.prior is not None:
            object.__setattr__(self, "prior", _probabilities(self.prior, self.k))
        if self.close is not None:
            object.__setattr__(self, "close", _relation_matrix(self.close, self.k))

    @classmethod
    def in_record(
        cls,
        dataset: Dataset,
        record: int,
        values: Sequence[Any],
        *,
        prior: ArrayLike | None = None,
        close: ArrayLike | None = None,
    ) -> OneOf:
        """Return the secret in one record of `dataset`, with all other records known.

        Args:
            dataset: a collection of records.
            record: index of the secret; negative counts from the end.
            values: the k >= 2 candidates for the record.
            prior, close: as for `OneOf`.

        Raises:
            ParameterError: not a collection of records, no such record, or a value of another shape.
        """
        if len(values) < 2:
            raise ParameterError(
                f"values must be at least 2, one of which is the secret, but are {len(values)}.", argument="values"
            )
        if len(values) > MAX_CANDIDATES:
            raise ParameterError(
                f"values must be at most {MAX_CANDIDATES:,}, since each guess compares all of them, but are "
                f"{len(values):,}. Choose fewer, such as groups of them.",
                argument="values",
            )
        candidates = tuple(replace_record(dataset, record, value).d0 for value in values)
        return cls(candidates, prior, close, record)

    @property
    def k(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    @property
    def is_uniform(self) -> bool:
        """True if all candidates are equally probable."""
        return self.prior is None or bool((self.probabilities == self.probabilities[0]).all())

    @property
    def probabilities(self) -> Floats:
        """Probabilities of the candidates, `(k,)`."""
        return np.full(self.k, 1.0 / self.k) if self.prior is None else np.asarray(self.prior)

    @property
    def prior_success(self) -> float:
        """Largest probability, over all guesses, that the guess is close to the truth.

        >>> OneOf((0, 1, 2), prior=[0.5, 0.3, 0.2]).prior_success
        0.5
        """
        if self.close is None:
            return 1.0 / self.k if self.prior is None else float(self.probabilities.max())
        return min(1.0, float((self.probabilities @ np.asarray(self.close)).max()))

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw the number of rounds with each candidate, `(k,)`, of `size` rounds: a multinomial draw."""
        return rng.multinomial(size, self.probabilities)

    def correct(self, truths: Ints, guesses: Ints) -> Bools:
        """Return a mask `(size,)` of the guesses that are close to the truth; -1 never is.

        >>> OneOf((0, 1)).correct(np.array([0, 1, 1]), np.array([0, 0, -1])).tolist()
        [True, False, False]
        """
        if self.close is None:
            return np.asarray(truths == guesses)
        return np.asarray(np.asarray(self.close)[truths, guesses] & (guesses >= 0))

    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """Return pairs of candidates under `replace_one`; otherwise each candidate with the reference."""
        if relation is Relation.REPLACE_ONE:
            return (
                Neighbours(self.candidates[first], self.candidates[second], relation)
                for second, first in self._compared()
            )
        if self.reference is not None:
            return (Neighbours(self.reference, candidate, relation) for candidate in self.candidates)
        if self.record is None:
            raise RelationError(
                f"under {relation.value!r} the candidates are not neighbours of each other but of the dataset without "
                "their record. State which record it is, OneOf(candidates, record=...) or OneOf.in_record(...), or "
                "give that dataset: OneOf(candidates, reference=...)."
            )
        build = remove_record if relation is Relation.ADD_REMOVE else zero_record
        return (build(candidate, self.record) for candidate in self.candidates)

    def _compared(self) -> Iterator[tuple[int, int]]:
        """Yield all pairs of candidates; of many for one record, each with the first, and some evenly spaced pairs.

        Neighbours of the first need not be neighbours of each other: answers that differ from those of the first by at
        most the sensitivity may differ from each other by twice as much.
        """
        if self.record is None or self.k <= MAX_CANDIDATES_IN_PAIRS:
            return combinations(range(self.k), 2)
        spread = range(1, self.k, -(-self.k // MAX_CANDIDATES_IN_PAIRS))
        return chain(((0, other) for other in range(1, self.k)), combinations(spread, 2))


@dataclass(frozen=True, eq=False)
class FairBits(Secret):
    """n records, each with one of two values by an independent fair coin in each round.

    Args:
        zeros: the dataset in which all bits are 0: a collection of n records.
        ones: the dataset in which all bits are 1, of the same form.

    Raises:
        ParameterError: not collections of records, or different lengths.

    Example:
        >>> secret = FairBits.column(3)
        >>> secret.n, secret.dataset(np.array([True, False, True])).tolist()
        (3, [1, 0, 1])
    """

    zeros: Dataset
    ones: Dataset

    def __post_init__(self) -> None:
        n, other = n_records(self.zeros), n_records(self.ones)
        if not n or n != other:
            raise ParameterError(
                f"zeros and ones must be collections of equally many records, but have {n} and {other}. For a column "
                "of bits: FairBits.column(n).",
                argument=("zeros", "ones"),
            )
        self.dataset(np.zeros(n, dtype=np.bool_))

    @classmethod
    def column(cls, n: int) -> FairBits:
        """Return the secret of n bits, 0 and 1."""
        return cls(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64))

    @property
    def n(self) -> int:
        """Number of bits."""
        return n_records(self.zeros) or 0

    @property
    def prior_success(self) -> float:
        """Success probability of each bit without the output: 1/2."""
        return 0.5

    def dataset(self, bits: Bools) -> Dataset:
        """Return the dataset in which the records have these bits, `(n,)`."""
        return mixed_records(self.zeros, self.ones, bits)

    def draw(self, size: int, rng: np.random.Generator) -> Bools:
        """Draw the bits of `size` rounds, `(size, n)`."""
        return rng.integers(2, size=(size, self.n), dtype=np.int8).astype(np.bool_)

    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """Return the dataset of zeros, paired with that with one bit set: each bit, or some 256 evenly spaced ones."""
        if relation is not Relation.REPLACE_ONE:
            raise RelationError(
                f"a bit that is 0 or 1 replaces a record by another, but the guarantee holds for {relation.value!r}. "
                "Take a mechanism whose guarantee holds under 'replace_one'; for records that are present or absent, "
                "play the membership game."
            )
        indices = range(0, self.n, -(-self.n // MAX_COMPARED_BITS))
        with_one_bit = (self.dataset(np.arange(self.n) == index) for index in indices)
        return (Neighbours(self.zeros, dataset, relation) for dataset in with_one_bit)


@dataclass(frozen=True, eq=False)
class SecretTarget:
    """Target of an attack: `mechanism`, run on a dataset that contains `secret`."""

    mechanism: Mechanism
    secret: Secret

    def run(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Make `size` runs on `dataset` to learn from, with NaN and infinities marked as events."""
        return mark(self.mechanism.release(dataset, size, rng))


class Guesser(Protocol):
    """A fixed function from outputs to guesses. Guessers are pickled for the workers."""

    def guess(self, outputs: Outputs) -> NDArray[Any]:
        """Return one guess per run.

        Returns:
            For `OneOf`: `(size,)` indices of candidates, -1 for no guess, which is wrong. For `FairBits`:
            `(size, n)` scores, higher = the bit is 1, 0 = no guess; never NaN.
        """
        ...


class Reconstructor(Options):
    """Base class of reconstruction attacks. Subclasses are frozen dataclasses whose fields are the options."""

    def check(self, target: SecretTarget) -> None:
        """Raise `AttackError`, with the reason, if this attack cannot be used on `target`; so does `fit`."""

    def supports(self, target: SecretTarget) -> bool:
        """Return True if "auto" may choose this attack: by default, if `check` passes."""
        try:
            self.check(target)
        except AttackError:
            return False
        return True

    @abstractmethod
    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Learn to guess.

        Args:
            target: the mechanism, which may be run while learning, and the secret.
            rng: the only source of randomness, not used by any counted round.

        Raises:
            AttackError: the attack cannot be used on `target`.
        """


def record_secret(target: SecretTarget, attack: str) -> OneOf:
    """Return the secret; raise `AttackError` unless it is one of several candidates for a known record."""
    secret = target.secret
    if not isinstance(secret, OneOf) or secret.record is None:
        raise AttackError(
            f"{attack} guesses one of several candidates for a known record, but the secret is "
            f"{type(secret).__name__}. Give OneOf.in_record(dataset, record, values)."
        )
    return secret


def _probabilities(prior: ArrayLike, k: int) -> Floats:
    probabilities = np.asarray(prior, dtype=np.float64)
    if probabilities.shape != (k,) or not (probabilities >= 0.0).all() or abs(probabilities.sum() - 1.0) > 1e-9:
        raise ParameterError(
            f"prior must be {k} probabilities, one per candidate, that sum to 1, but has shape {probabilities.shape} "
            f"and sum {probabilities.sum():.6g}.",
            argument="prior",
        )
    return np.asarray(probabilities / probabilities.sum())


def _relation_matrix(close: ArrayLike, k: int) -> Bools:
    matrix = np.asarray(close).astype(np.bool_)
    if matrix.shape != (k, k) or not matrix.any():
        raise ParameterError(
            f"close must be a mask of correct guesses, shape ({k}, {k}), with at least one, but has shape "
            f"{matrix.shape}.",
            argument="close",
        )
    return matrix
