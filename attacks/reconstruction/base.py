"""The interfaces of this folder: read this first.

    Secret          what is drawn afresh in each round, from a prior that everybody knows
      OneOf           one of k candidates for one record
      FairBits        n records, each of which has one of two values by a fair coin of its own
    SecretTarget    what is attacked: a mechanism, and the secret in its dataset
    Reconstructor   learns how to guess, before any counted round ...
    Guesser         ... and guesses from the output of each round

A reconstructor may run the mechanism itself while it learns, on the stream that it is given: those runs are never
counted. A guesser is fixed before the first counted round, which is what makes the rounds independent and identically
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

from ...mechanisms.base import Dataset, Mechanism, Neighbours, Outputs
from ...mechanisms.errors import AttackError, ParameterError, RelationError
from ...mechanisms.records import mixed_records, n_records, remove_record, replace_record, zero_record
from ...mechanisms.relation import Relation
from ..events import mark

COMPARED = 256
"""Bits, at most, whose two values are compared: each changes its own record, whichever it is."""
ALL_PAIRS = 64
"""Candidates for one record, at most, all pairs of which are compared; each of more is compared with the first."""


class Secret(ABC):
    """What is drawn, from a known prior."""

    @property
    @abstractmethod
    def prior_success(self) -> float:
        """The best rate of success without the output, exact."""

    @abstractmethod
    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """The pairs that have to be neighbours for success to say something about a guarantee under `relation`.

        Raises:
            RelationError: no such pairs under this relation.
        """


@dataclass(frozen=True, eq=False)
class OneOf(Secret):
    """One of k known candidates; a round is won by a guess that is close to the true one.

    Args:
        candidates: the whole dataset with each candidate in its place, k >= 2; see `in_record`.
        prior: `(k,)` probabilities of the candidates; None: all equal.
        close: `(k, k)` bool, `close[truth, guess]`: which guess counts as right for which truth; None: the truth alone.
        record: the place of the record in which the candidates differ; None where that is not known.
        reference: the dataset that each candidate is a neighbour of, under `add_remove` and `zero_out`; None: the one
            without that record.

    Raises:
        ParameterError: fewer than two candidates, probabilities that are negative or do not sum to 1, a `close` of
            another shape.

    Example:
        >>> secret = OneOf.in_record([0, 5], 0, [10, 11, 12], close=[[1, 1, 0], [1, 1, 1], [0, 1, 1]])
        >>> secret.candidates
        ([10, 5], [11, 5], [12, 5])
        >>> secret.k, secret.prior_success
        (3, 1.0)
    """

    candidates: tuple[Dataset, ...]
    prior: NDArray[np.float64] | ArrayLike | None = None
    close: NDArray[np.bool_] | ArrayLike | None = None
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
        """The secret that stands in one record of `dataset`, all others being known.

        Args:
            dataset: a collection of records.
            record: the place of the secret; negative counts from the end.
            values: the k >= 2 records that may stand there.
            prior, close: as for `OneOf`.

        Raises:
            ParameterError: no collection of records, no such record, or a value of another shape.
        """
        if len(values) < 2:
            raise ParameterError(
                f"values must be at least 2, one of which is the secret, but are {len(values)}.", argument="values"
            )
        candidates = tuple(replace_record(dataset, record, value).d0 for value in values)
        return cls(candidates, prior, close, record)

    @property
    def k(self) -> int:
        """Number of candidates."""
        return len(self.candidates)

    @property
    def is_uniform(self) -> bool:
        """Whether all candidates are equally probable."""
        return self.prior is None or bool((self.probabilities == self.probabilities[0]).all())

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """`(k,)` of the candidates."""
        return np.full(self.k, 1.0 / self.k) if self.prior is None else np.asarray(self.prior)

    @property
    def prior_success(self) -> float:
        """The largest probability, over all guesses, that the truth is close to it.

        >>> OneOf((0, 1, 2), prior=[0.5, 0.3, 0.2]).prior_success
        0.5
        """
        if self.close is None:
            return 1.0 / self.k if self.prior is None else float(self.probabilities.max())
        return min(1.0, float((self.probabilities @ np.asarray(self.close)).max()))

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """How many of `size` rounds have each candidate, `(k,)`: a multinomial draw."""
        return rng.multinomial(size, self.probabilities)

    def right(self, truths: NDArray[np.int64], guesses: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`(size,)` which guesses are close to the truth; -1 never is.

        >>> OneOf((0, 1)).right(np.array([0, 1, 1]), np.array([0, 0, -1])).tolist()
        [True, False, False]
        """
        if self.close is None:
            return np.asarray(truths == guesses)
        return np.asarray(np.asarray(self.close)[truths, guesses] & (guesses >= 0))

    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """Under `replace_one` any two candidates; otherwise each candidate and the reference, without its record."""
        if relation is Relation.REPLACE_ONE:
            return (Neighbours(self.candidates[one], self.candidates[two], relation) for two, one in self._compared())
        if self.reference is not None:
            return (Neighbours(self.reference, candidate, relation) for candidate in self.candidates)
        if self.record is None:
            raise RelationError(
                f"under {relation.value!r} the candidates are not neighbours of each other but of the dataset without "
                "their record. Say which record that is, OneOf(candidates, record=...) or OneOf.in_record(...), or "
                "give that dataset: OneOf(candidates, reference=...)."
            )
        build = remove_record if relation is Relation.ADD_REMOVE else zero_record
        return (build(candidate, self.record) for candidate in self.candidates)

    def _compared(self) -> Iterator[tuple[int, int]]:
        """All pairs of candidates; of many for one record each with the first, and some that are evenly spread.

        Neighbours of the first need not be neighbours of each other: answers that lie within the sensitivity of its own
        may lie twice as far apart.
        """
        if self.record is None or self.k <= ALL_PAIRS:
            return combinations(range(self.k), 2)
        spread = range(1, self.k, -(-self.k // ALL_PAIRS))
        return chain(((0, other) for other in range(1, self.k)), combinations(spread, 2))


@dataclass(frozen=True, eq=False)
class FairBits(Secret):
    """n records, each of which has one of two values by a fair coin of its own, tossed afresh in each round.

    Args:
        zeros: the dataset in which all bits are 0: a collection of n records.
        ones: the one in which all bits are 1, of the same form.

    Raises:
        ParameterError: no collections of records, or of different lengths.

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
                f"zeros and ones must be collections of equally many records, but hold {n} and {other}. For a column "
                "of bits: FairBits.column(n).",
                argument=("zeros", "ones"),
            )
        self.dataset(np.zeros(n, dtype=np.bool_))

    @classmethod
    def column(cls, n: int) -> FairBits:
        """A dataset of n bits, 0 and 1."""
        return cls(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64))

    @property
    def n(self) -> int:
        """Number of bits."""
        return n_records(self.zeros) or 0

    @property
    def prior_success(self) -> float:
        """1/2, of each bit."""
        return 0.5

    def dataset(self, bits: NDArray[np.bool_]) -> Dataset:
        """The dataset in which the records have these bits, `(n,)`."""
        return mixed_records(self.zeros, self.ones, bits)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """The bits of `size` rounds, `(size, n)`."""
        return rng.integers(2, size=(size, self.n), dtype=np.int8).astype(np.bool_)

    def neighbours(self, relation: Relation) -> Iterator[Neighbours]:
        """The dataset of zeros, and that with one bit set: each bit, or some 256 that are evenly spread."""
        if relation is not Relation.REPLACE_ONE:
            raise RelationError(
                f"a bit that is 0 or 1 replaces a record by another, but the guarantee holds for {relation.value!r}. "
                "Take a mechanism whose guarantee holds under 'replace_one'; for records that are there or not, play "
                "the membership game."
            )
        places = range(0, self.n, -(-self.n // COMPARED))
        set_bits = (self.dataset(np.arange(self.n) == place) for place in places)
        return (Neighbours(self.zeros, one, relation) for one in set_bits)


@dataclass(frozen=True, eq=False)
class SecretTarget:
    """What is attacked: `mechanism`, run on a dataset that holds `secret`."""

    mechanism: Mechanism
    secret: Secret

    def run(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` runs on `dataset` to learn from, with NaN and infinities marked as events."""
        return mark(self.mechanism.release(dataset, size, rng))


class Guesser(Protocol):
    """A fixed function from outputs to guesses. It can be pickled, since workers receive it."""

    def guess(self, outputs: Outputs) -> NDArray[Any]:
        """One guess a run.

        Returns:
            Of a `OneOf`: `(size,)` numbers of candidates, -1 for no guess, which counts as wrong. Of `FairBits`:
            `(size, n)` scores, higher = the bit is 1, 0 = no opinion; never NaN.
        """
        ...


class Reconstructor(ABC):
    """A way to guess a secret. Subclasses are frozen dataclasses whose fields are the options."""

    def check(self, target: SecretTarget) -> None:  # noqa: B027 - some can be used everywhere
        """Raises `AttackError`, with the reason, where this attack cannot be used on `target`; so does `fit`."""

    def supports(self, target: SecretTarget) -> bool:
        """Whether "auto" may choose this attack: by default, wherever `check` passes."""
        try:
            self.check(target)
        except AttackError:
            return False
        return True

    @abstractmethod
    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Learns to guess.

        Args:
            target: the mechanism, which may be run here, and the secret.
            rng: its only source of randomness, which no counted round draws from.

        Raises:
            AttackError: the attack cannot be used on `target`.
        """


def _probabilities(prior: ArrayLike, k: int) -> NDArray[np.float64]:
    found = np.asarray(prior, dtype=np.float64)
    if found.shape != (k,) or not (found >= 0.0).all() or abs(found.sum() - 1.0) > 1e-9:
        raise ParameterError(
            f"prior must be {k} probabilities, one a candidate, that sum to 1, but has shape {found.shape} and sum "
            f"{found.sum():.6g}.",
            argument="prior",
        )
    return np.asarray(found / found.sum())


def _relation_matrix(close: ArrayLike, k: int) -> NDArray[np.bool_]:
    found = np.asarray(close).astype(np.bool_)
    if found.shape != (k, k) or not found.any():
        raise ParameterError(
            f"close must say which guess is right for which truth, shape ({k}, {k}), and some must be, but has shape "
            f"{found.shape}.",
            argument="close",
        )
    return found
