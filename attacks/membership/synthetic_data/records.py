"""Attacks that score a table at a record, by distance or density, and learn nothing from the pilot.

    Known          the attacker's background knowledge: other records of the same kind, and a distance
    RecordAttack   one number for each (table, record); on a pair its sum over the records of side 1 only, minus that of
                   side 0 only

The same numbers are the signals of the membership game (shadows.py), with many records.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.base import Neighbours, Outputs
from ....mechanisms.core.errors import AttackError
from ....mechanisms.learning.base import surplus
from ...base import Scorer, Target
from .base import TableAttack, Tables, as_table, differing, tables_of
from .levels import Levels

PIECE = 4_000_000
"""Numbers in one batch."""


@dataclass(frozen=True, eq=False)
class Known:
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
    nominal: NDArray[np.bool_]
    scale: Floats
    levels: Levels

    @classmethod
    def of(cls, records: Tables, asked: Tables, nominal: tuple[int, ...] | None = None) -> Known:
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
    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
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
        known = Known.of(shared(target.neighbours), np.concatenate([only0, only1]), self.nominal)
        return RecordScorer(self, known, only0, only1)

    def in_pieces(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """Return `signals`, computed in batches of tables and records: the memory does not grow with their number."""
        n_rows = max(1, tables.shape[1])
        width = max(1, min(len(records), PIECE // n_rows))
        height = max(1, PIECE // (n_rows * max(width, tables.shape[2])))
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
    known: Known
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
    common = np.delete(table0, surplus(table0, table1), axis=0)
    return common if len(common) else np.concatenate([table0, table1])
