"""Attacks that score a table at a record and learn nothing from the pilot; those by distance.

    KnownRecords    the attacker's background knowledge: other records of the same kind, and a distance
    RecordAttack    one number for each (table, record); on a pair its sum over the records of side 1 only, minus that
                    of side 0 only
    ClosestRecord   proximity of the closest row: a generator that memorises a record produces rows close to it
    Neighbourhood   share of the rows within a radius

The same numbers are the signals of the membership game (shadows.py), with many records.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ....mechanisms.core import AttackError, Bools, Floats, Neighbours, Outputs, Positive, PositiveInt, one_of_names
from ....mechanisms.learning.base import multiset_difference
from ...base import Scorer, Target
from .base import TableAttack, Tables, as_table, differing, tables_of
from .levels import Levels

MAX_BATCH_ENTRIES = 4_000_000
"""Numbers in one batch."""


@dataclass(frozen=True, eq=False)
class KnownRecords:
    """Known records of the same kind as those under attack, with a distance and levels.

    The squared distance of two records is a sum over columns: 1 where codes differ; for real columns the squared
    difference in units of the standard deviation among the known records.

    Args:
        records: `(m, d)`, such as all records that both sides of a pair have, or a public sample that was not used.
        nominal: `(d,)` mask of the columns of codes.
        scale: `(d,)` standard deviations of the columns, 1 where they are 0 and for codes.
        levels: levels of the columns, among these records and those under attack.
    """

    records: Tables
    nominal: Bools
    scale: Floats
    levels: Levels

    @classmethod
    def of(cls, records: Tables, asked: Tables, nominal: tuple[int, ...] | None = None) -> KnownRecords:
        """Return the distance and levels of these records.

        Args:
            records: `(m, d)` known records.
            asked: `(k, d)` all records under attack.
            nominal: indices of columns of codes; None: all, if the records are whole numbers, else none.
        """
        d = records.shape[1]
        if nominal is not None and not all(-d <= column < d for column in nominal):
            raise AttackError(f"nominal must name columns from 0 to {d - 1}, but is {nominal!r}.", argument="nominal")
        codes = np.full(d, nominal is None and records.dtype.kind in "biu")
        codes[list(nominal or ())] = True
        spread = records.std(axis=0) if len(records) else np.zeros(d)
        scale = np.where(codes | ~(spread > 0.0), 1.0, spread)
        return cls(records, codes, scale, Levels.learn(records, asked))

    def squared_distances(self, tables: Tables, records: Tables) -> Floats:
        """Return squared distances `(size, n_rows, k)` from every row of every table to each of `k` records."""
        total = np.zeros((*tables.shape[:2], len(records)))
        for column, (nominal, scale) in enumerate(zip(self.nominal, self.scale, strict=True)):
            values, record_values = tables[:, :, column, None], records[:, column]
            total += values != record_values if nominal else ((values - record_values) / scale) ** 2
        return total


@dataclass(frozen=True, kw_only=True)
class RecordAttack(TableAttack):
    """Base class of attacks with a score for each table and record, higher = the record was in the data.

    Args:
        nominal: indices of columns of codes; None: all, if the tables are whole numbers, else none.
    """

    minimum_pilot: ClassVar[int] = 0

    nominal: tuple[int, ...] | None = None

    @abstractmethod
    def signals(self, tables: Tables, records: Tables, known: KnownRecords) -> Floats:
        """Return scores `(size, k)` of tables and records; a table's score does not depend on other tables."""

    def supports(self, target: Target) -> bool:
        """Return False, because attacks that learn are stronger."""
        return False

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Return the scorer; only the shape of the pilot is checked."""
        self.check(target)
        for pilot in (pilot0, pilot1):
            if len(pilot):
                tables_of(pilot, target.neighbours)
        only0, only1 = differing(target.neighbours)
        known = KnownRecords.of(shared(target.neighbours), np.concatenate([only0, only1]), self.nominal)
        return RecordScorer(self, known, only0, only1)

    def in_pieces(self, tables: Tables, records: Tables, known: KnownRecords) -> Floats:
        """Return `signals`, computed in batches of tables and records: the memory does not grow with their number."""
        n_rows = max(1, tables.shape[1])
        width = max(1, min(len(records), MAX_BATCH_ENTRIES // n_rows))
        height = max(1, MAX_BATCH_ENTRIES // (n_rows * max(width, tables.shape[2])))
        scores = np.empty((len(tables), len(records)))
        for i in range(0, len(tables), height):
            for j in range(0, len(records), width):
                scores[i : i + height, j : j + width] = self.signals(
                    tables[i : i + height], records[j : j + width], known
                )
        return scores


@dataclass(frozen=True, eq=False)
class RecordScorer:
    """Scorer that returns the scores at the records of side 1 only, minus those of side 0 only."""

    attack: RecordAttack
    known: KnownRecords
    only0: Tables
    only1: Tables

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, in the unit of the attack."""
        total = np.zeros(len(outputs))
        for sign, records in ((1.0, self.only1), (-1.0, self.only0)):
            if len(records):
                total += sign * self.attack.in_pieces(outputs.values, records, self.known).sum(axis=1)
        return total


def shared(neighbours: Neighbours) -> Tables:
    """Return the records that both sides have, `(m, d)`; all records of the pair if there are none.

    Example:
        >>> table = np.array([[0, 1], [2, 3], [2, 3]])
        >>> shared(Neighbours(table[:2], table, "add_remove")).tolist()
        [[0, 1], [2, 3]]
    """
    table0, table1 = as_table(neighbours.d0), as_table(neighbours.d1)
    common = np.delete(table0, multiset_difference(table0, table1), axis=0)
    return common if len(common) else np.concatenate([table0, table1])


SCORES = ("distance", "exponential", "calibrated")
MAX_COMPARED_RECORDS = 100
"""Largest number of known records used to choose a radius."""


@dataclass(frozen=True, kw_only=True)
class ClosestRecord(RecordAttack):
    """Score of a table: proximity of its closest row to the record.

    It detects copies, and rows made from a record by small changes. A generator that leaks through counts (a
    marginal that is measured too well) has no closer row than others, and passes: a distance shows nothing
    about privacy if no row is close.

    Args:
        neighbour: rank of the row, 1 for the closest, 2 for the second, ...; the last row if there are fewer.
        score: "distance", minus the distance; "exponential", exp(-distance), between 0 and 1; "calibrated", the
            distance to the closest known record minus that to the closest row, which corrects for records far
            from all others.
        nominal: indices of columns of codes; None: all, if the tables are whole numbers, else none. Codes that
            differ have distance 1; real numbers are in units of their standard deviation.

    Raises:
        ParameterError: an unknown score, or no such neighbour.
        AttackError: the pair or the outputs are not tables.

    Guarantees:
        * a generator that copies all rows has AUC 1, if no other record is equal; a generator that copies the record
          with probability c has a true positive rate of c at a false positive rate of 0;
        * the three scores have the same ROC curve on a pair that adds a record.

    References:
        Chen, Yu, Zhang and Fritz (2020), "GAN-Leaks", for the latter two scores; on such distances as a test
        of privacy: Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [2, 0]])
        >>> ClosestRecord().signals(table[None], records, KnownRecords.of(table, records)).tolist()
        [[-0.0, -1.0]]
    """

    neighbour: PositiveInt = 1
    score: Annotated[str, one_of_names(*SCORES)] = "distance"

    def signals(self, tables: Tables, records: Tables, known: KnownRecords) -> Floats:
        distance = nearest(known.squared_distances(tables, records), self.neighbour)
        if self.score == "exponential":
            return np.exp(-distance)
        if self.score == "calibrated":
            return nearest(known.squared_distances(known.records[None], records), self.neighbour) - distance
        return -distance


@dataclass(frozen=True, kw_only=True)
class Neighbourhood(RecordAttack):
    """Score of a table: the share of its rows within a radius around the record.

    Args:
        radius: a number above 0; None: for each table the median, over known records, of the distance to the closest
            row, so that half of the known records have a row within it.
        nominal: as for `ClosestRecord`.

    Raises:
        ParameterError: a radius that is not above 0.
        AttackError: the pair or the outputs are not tables.

    References:
        Hilprecht, Haerterich and Bernau (2019), "Monte Carlo and reconstruction membership inference attacks against
        generative models".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [7, 7]])
        >>> Neighbourhood(radius=1.0).signals(table[None], records, KnownRecords.of(table, records)).round(2).tolist()
        [[0.67, 0.0]]
    """

    radius: Positive | None = None

    def signals(self, tables: Tables, records: Tables, known: KnownRecords) -> Floats:
        within = known.squared_distances(tables, records) <= self._squared_radius(tables, known)
        return np.asarray(within.mean(axis=1))

    def _squared_radius(self, tables: Tables, known: KnownRecords) -> Floats:
        """Return squared radii, `(size, 1, 1)`, with a margin for rounding."""
        if self.radius is not None:
            return np.full((1, 1, 1), self.radius**2 * (1.0 + 1e-12))
        known_sample = known.records[:: 1 + len(known.records) // MAX_COMPARED_RECORDS]
        closest = known.squared_distances(tables, known_sample).min(axis=1)
        return np.asarray(np.median(closest, axis=1)[:, None, None] * (1.0 + 1e-12))


def nearest(squared: Floats, neighbour: int) -> Floats:
    """Return distances `(size, k)` to the row of rank `neighbour`, from squared ones `(size, n_rows, k)`."""
    index = min(neighbour, squared.shape[1]) - 1
    closest = squared.min(axis=1) if index == 0 else np.partition(squared, index, axis=1)[:, index]
    return np.sqrt(closest)


def share_closer(tables: Tables, used: Tables, unused: Tables, *, nominal: tuple[int, ...] | None = None) -> Floats:
    """Return the share of synthetic rows closer to a used record than to any of as many unused ones.

    A common metric, included for comparison: about one half is said to be a pass. It shows whether rows are copies, and
    nothing about privacy: a generator whose rows have one rare value of a person passes it. Ties count half.

    Args:
        tables: `(size, n_rows, d)` synthetic tables.
        used, unused: `(n, d)` records that the generator was trained on, and others from the same source.
        nominal: as for `ClosestRecord`.

    Returns:
        Shares, `(size,)`: a metric, not a bound.

    References:
        Criticised by Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion"; Ganev and De Cristofaro (2023),
        "On the inadequacy of similarity-based privacy metrics".

    Example:
        >>> used, unused = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [2, 2]])
        >>> share_closer(np.stack([used, unused]), used, unused).tolist()
        [1.0, 0.0]
    """
    known = KnownRecords.of(used, unused, nominal)
    shares = []
    for table in tables:  # one at a time: all distances of a table are already many numbers
        distance = [known.squared_distances(records[None], table).min(axis=1)[0] for records in (used, unused)]
        shares.append(np.mean((distance[0] < distance[1]) + 0.5 * (distance[0] == distance[1])))
    return np.array(shares)
