"""Which records a step of training sees: sampling schemes, for many runs at once.

    PoissonSampling     every record by its own coin: what the subsampled Gaussian accountants speak of
    BatchSampling       batches of a number of records: what the next three share
    FixedSizeSampling   a fresh subset of fixed size each step
    ShuffledEpochs      a fresh permutation each epoch, cut into batches
    CyclicBatches       the records in their order, cut into batches, over and over
    FullBatch           all records in every step

A scheme is public: its rate, its batch size and the number that updates are divided by are constants, never taken from
the data, because the number of records is not the same on both sides of a pair. `n_records`, where it is given, is a
public constant too; the schemes whose guarantee depends on it need it for their claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from mechanisms.errors import ParameterError
from mechanisms.validation import positive, unit_interval, whole

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

DENSE_RATE = 0.4
"""From this Poisson rate on, a coin a record is tossed, and all records are multiplied by 0 or 1, instead of gathering
those that were drawn."""
KEYED = 8
"""A subset is drawn by sorting a key for each record if there are up to so many records for each place in it, and else
record by record until enough distinct ones were found."""


@dataclass(frozen=True, eq=False)
class Draw:
    """The records that one step sees.

    Args:
        rows: `(n_runs, width)` record numbers; None for all records, in order.
        included: which of them count, `(n_runs, width)`; None for all. Rows beyond a run's batch are not included.
    """

    rows: Rows | None
    included: Mask | None


@dataclass(frozen=True)
class Sampling(ABC):
    """A sampling scheme."""

    @property
    @abstractmethod
    def divisor(self) -> float | None:
        """The public number that the noisy sum of a step is divided by; None for the number of records."""

    @abstractmethod
    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        """One draw a step, without end.

        Args:
            n_records: in the data.
            n_runs: runs at once, independent of each other.
            inclusion: `(n_runs, n_records)`, the records that each run has; None for all.
            rng: the only source of randomness.
        """

    @abstractmethod
    def width(self, n_records: int) -> int:
        """About how many rows a draw has."""

    def check(self, n_records: int) -> None:  # noqa: B027 - nothing to check where any number will do
        """Raises `ParameterError` if no batch can be drawn from so many records."""


@dataclass(frozen=True)
class PoissonSampling(Sampling):
    """Each record takes part in each step with probability `sampling_probability`, independently of everything.

    Args:
        sampling_probability: in (0, 1].
        expected_batch_size: the public number that updates are divided by, > 0.

    Example:
        >>> scheme = PoissonSampling(sampling_probability=0.5, expected_batch_size=2)
        >>> draw = next(scheme.draws(4, 3, None, np.random.default_rng(0)))
        >>> draw.included.shape
        (3, 4)
    """

    _: KW_ONLY
    sampling_probability: float
    expected_batch_size: float

    def __post_init__(self) -> None:
        positive(sampling_probability=self.sampling_probability, expected_batch_size=self.expected_batch_size)
        unit_interval(sampling_probability=self.sampling_probability)

    @property
    def divisor(self) -> float:
        return float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        expected = self.sampling_probability * n_records
        return n_records if self.sampling_probability >= DENSE_RATE else int(expected + 2.5 * expected**0.5) + 1

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        rate = float(self.sampling_probability)
        while rate == 1.0:
            yield Draw(None, inclusion)
        while rate >= DENSE_RATE:
            drawn = rng.random((n_runs, n_records)) < rate
            yield Draw(None, drawn if inclusion is None else drawn & inclusion)
        flat = None if inclusion is None else np.ascontiguousarray(inclusion).reshape(-1)
        starts = n_records * np.arange(n_runs + 1)
        while True:
            positions = successes(n_runs * n_records, rate, rng)
            if flat is not None:
                positions = positions[flat[positions]]
            yield _padded(positions, starts)


@dataclass(frozen=True)
class BatchSampling(Sampling):
    """A scheme whose batches hold a number of records.

    Args:
        batch_size: >= 1; updates are divided by it, those of a smaller last batch too.
        n_records: the public number of records; None leaves it open, and the guarantee with it.
    """

    _: KW_ONLY
    batch_size: int
    n_records: int | None = None

    def __post_init__(self) -> None:
        whole(1, batch_size=self.batch_size)
        if self.n_records is not None:
            whole(1, n_records=self.n_records)
            self._check_size(self.n_records)

    @property
    def divisor(self) -> float:
        return float(self.batch_size)

    def width(self, n_records: int) -> int:
        return min(self.batch_size, n_records)

    def check(self, n_records: int) -> None:
        if self.n_records is not None and n_records != self.n_records:
            raise ParameterError(
                f"the data hold {n_records} records, but n_records = {self.n_records} is a public constant of the "
                "sampling. Give as many records, or another n_records."
            )
        self._check_size(n_records)

    def _check_size(self, available: int) -> None:
        if available < self.batch_size:
            raise ParameterError(
                f"batch_size is {self.batch_size}, but there are only {available} records to draw it from. Choose a "
                f"batch_size of at most {available}, or more records.",
                argument="batch_size",
            )


@dataclass(frozen=True)
class FixedSizeSampling(BatchSampling):
    """Each step sees a uniformly random subset of `batch_size` records, without replacement, fresh each step."""

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        members = Members.of(n_records, n_runs, inclusion)
        self._check_size(int(members.counts.min()))
        few = members.counts.max() <= KEYED * self.batch_size
        subset = _subset_by_keys if few else _subset_by_rejection
        while True:
            yield Draw(members.rows(subset(members.counts, self.batch_size, rng)), None)


@dataclass(frozen=True)
class ShuffledEpochs(BatchSampling):
    """A fresh random order of the records each epoch, cut into batches; the last batch of an epoch may be smaller."""

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        return _epochs(Members.of(n_records, n_runs, inclusion), self.batch_size, rng)


@dataclass(frozen=True)
class CyclicBatches(BatchSampling):
    """The records in their given order, cut into batches, over and over; the last batch of a round may be smaller."""

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        return _epochs(Members.of(n_records, n_runs, inclusion), self.batch_size, None)


@dataclass(frozen=True)
class FullBatch(Sampling):
    """Every record in every step.

    Args:
        expected_batch_size: the public number that updates are divided by, > 0; 1 for the sum. None divides by the
            number of records: allowed only where the relation leaves that number alone (zero_out, replace_one).
    """

    _: KW_ONLY
    expected_batch_size: float | None = None

    def __post_init__(self) -> None:
        if self.expected_batch_size is not None:
            positive(expected_batch_size=self.expected_batch_size)

    @property
    def divisor(self) -> float | None:
        return None if self.expected_batch_size is None else float(self.expected_batch_size)

    def width(self, n_records: int) -> int:
        return n_records

    def draws(self, n_records: int, n_runs: int, inclusion: Mask | None, rng: np.random.Generator) -> Iterator[Draw]:
        while True:
            yield Draw(None, inclusion)


@dataclass(frozen=True, eq=False)
class Members:
    """Which records each run has.

    Args:
        counts: how many, `(n_runs,)`.
        table: their numbers, `(n_runs, n_records)`, those of run r in the first counts[r] places; None if all runs have
            all records.
    """

    counts: Rows
    table: Rows | None

    @classmethod
    def of(cls, n_records: int, n_runs: int, inclusion: Mask | None) -> Members:
        """All records, or those of `inclusion`, `(n_runs, n_records)`."""
        if inclusion is None:
            return cls(np.full(n_runs, n_records, dtype=np.intp), None)
        return cls(inclusion.sum(axis=1, dtype=np.intp), np.argsort(~inclusion, axis=1, kind="stable"))

    def rows(self, positions: Rows) -> Rows:
        """Record numbers of the `positions`-th members, `(n_runs, width)`."""
        return positions if self.table is None else np.take_along_axis(self.table, positions, axis=1)


def successes(n: int, rate: float, rng: np.random.Generator) -> Rows:
    """Increasing positions of the successes among `n` independent trials of probability `rate`, strictly in (0, 1).

    The gaps between successes are geometric, and floor(E / -log(1 - rate)) is geometric for a standard exponential E
    (Devroye 1986, X.2): the time is that of the successes, not of the trials.
    """
    scale = -1.0 / np.log1p(-rate)
    last, found = -1, []
    while last < n:
        expected = rate * max(0, n - 1 - last)
        gaps = rng.standard_exponential(int(expected + 6.0 * np.sqrt(expected)) + 16)
        gaps *= scale
        np.minimum(gaps, n, out=gaps)
        positions = np.cumsum(gaps.astype(np.intp))
        positions += np.arange(last + 1, last + 1 + len(positions))
        last = int(positions[-1])
        found.append(positions)
    every = found[0] if len(found) == 1 else np.concatenate(found)
    return every[: np.searchsorted(every, n)]


def _padded(positions: Rows, starts: Rows) -> Draw:
    """Increasing positions in the concatenated records of all runs, as one row a run; missing places repeat record
    0."""
    counts = np.diff(np.searchsorted(positions, starts))
    included = np.arange(counts.max(initial=0)) < counts[:, None]
    rows = np.zeros(included.shape, dtype=np.intp)
    rows[included] = positions - np.repeat(starts[:-1], counts)
    return Draw(rows, included)


def _subset_by_keys(counts: Rows, size: int, rng: np.random.Generator) -> Rows:
    """The positions of the `size` smallest of independent uniform keys: a uniform subset of range(counts[r])."""
    keys = rng.random((len(counts), counts.max()))
    if counts.min() < counts.max():
        keys[np.arange(keys.shape[1]) >= counts[:, None]] = np.inf
    if size == keys.shape[1]:
        return np.broadcast_to(np.arange(size), keys.shape)
    return np.argpartition(keys, size - 1, axis=1)[:, :size]


def _subset_by_rejection(counts: Rows, size: int, rng: np.random.Generator) -> Rows:
    """The first `size` distinct ones of a sequence of uniform positions, which are a uniform subset of
    range(counts[r])."""
    spare = int(size * size / counts.min()) + 8
    drawn = rng.integers(0, counts[:, None], size=(len(counts), size + spare))
    while True:
        order = np.argsort(drawn, axis=1, kind="stable")
        ordered = np.take_along_axis(drawn, order, axis=1)
        again = np.zeros(drawn.shape, dtype=np.bool_)
        np.put_along_axis(again[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        distinct = np.cumsum(~again, axis=1)
        if distinct[:, -1].min() >= size:
            return drawn[~again & (distinct <= size)].reshape(len(counts), size)
        drawn = np.concatenate([drawn, rng.integers(0, counts[:, None], size=(len(counts), spare))], axis=1)


def _epochs(members: Members, size: int, rng: np.random.Generator | None) -> Iterator[Draw]:
    """Batches of consecutive members; with `rng` in a fresh random order each epoch. Runs may have epochs of different
    lengths."""
    n_runs = len(members.counts)
    n_batches = np.maximum(1, -(-members.counts // size))
    order = np.broadcast_to(np.arange(members.counts.max(initial=0)), (n_runs, members.counts.max(initial=0))).copy()
    width = min(size, order.shape[1])
    step = 0
    while True:
        batch = step % n_batches
        if rng is not None and (starting := np.flatnonzero(batch == 0)).size:
            order[starting] = _permutations(members.counts[starting], order.shape[1], rng)
        columns = (batch * size)[:, None] + np.arange(width)
        included = columns < members.counts[:, None]
        rows = members.rows(np.take_along_axis(order, np.minimum(columns, order.shape[1] - 1), axis=1))
        yield Draw(rows, None if included.all() else included)
        step += 1


def _permutations(counts: Rows, width: int, rng: np.random.Generator) -> Rows:
    """Random orders of range(counts[r]), one a row, followed by the rest of range(width)."""
    keys = rng.random((len(counts), width))
    keys[np.arange(width) >= counts[:, None]] = np.inf
    return np.argsort(keys, axis=1)
