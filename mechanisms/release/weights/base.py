"""What the mechanisms here share: records, a public workload of linear queries, and a public number of records.

Under replace_one and zero_out the number of records is the same on both sides: `n_records` is it, and a dataset of
another length is refused. Under add_remove it is secret: `n_records` is then a public figure by which the distribution
over cells is scaled, and the dataset may be of any length. Choosing it by the data would leak.

Answers are counts. Between neighbours the answer to one query moves by at most the `move` of the workload:

    add_remove    the largest |entry|
    replace_one   the largest distance between two entries of one row
    zero_out      the largest distance of an entry from the one of the blank record, which is in cell 0

One query is chosen or measured at a time, so that this, and no norm of a whole column, is the sensitivity.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, Mechanism, Neighbours
from ...errors import ParameterError, plural
from ...queries.base import Floats
from ...queries.workload import Workload
from ...records import check_records
from ...relation import Relation
from ...validation import whole

MOST_MOVED, MOST_CROWDS = 3, 8
"""Queries and cells from which the pair that shows most is chosen."""


@dataclass(frozen=True)
class WorkloadRelease(Mechanism):
    """A mechanism that sees the records through the answers to a workload alone.

    Args:
        workload: the queries, over the cells of a domain.
        n_records: public, >= 1; see above.
        relation: the neighbouring relation of the claim.
    """

    workload: Workload
    n_records: int
    _: KW_ONLY
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        whole(1, n_records=self.n_records)
        if not isinstance(self.workload, Workload):
            raise ParameterError(
                argument="workload", value=self.workload, allowed="be a Workload, such as Workload.identity({'age': 4})"
            )

    @cached_property
    def move(self) -> float:
        """How far the answer to one query can move between neighbours: the L-infinity sensitivity."""
        matrix = self.workload.matrix
        if self.relation is Relation.ADD_REMOVE:
            return float(np.abs(matrix).max())
        if self.relation is Relation.REPLACE_ONE:
            return float(np.ptp(matrix, axis=1).max())
        return float(np.abs(matrix - matrix[:, :1]).max())

    def answers(self, dataset: Dataset) -> Floats:
        """The exact answers, as counts, shape `(n_queries,)`."""
        records = self.workload.domain.records(dataset)
        if self.relation is not Relation.ADD_REMOVE and len(records) != self.n_records:
            raise ParameterError(
                f"n_records is {self.n_records}, but the dataset has {plural(len(records), 'record')}. Set "
                f"n_records={len(records)}: under {self.relation.value!r} the number is public.",
                argument="n_records",
            )
        return self.workload.of(self.workload.domain.histogram(records))

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_records(neighbours)
        _ = self.answers(neighbours.d0), self.answers(neighbours.d1)
        return self

    def pairs(self) -> list[Neighbours]:
        """Pairs in which some answer moves by `move`: the other records all in one cell, or half of them in another.

        What enters, leaves or is exchanged is one or two cells for which a query moves most.
        """
        n_others, found = self.n_records - 1, []
        crowds = np.unique(self.workload.matrix, axis=1, return_index=True)[1][:MOST_CROWDS]
        for cell0, cell1 in self._moved_cells():
            for crowd, second in {(a, b) for a in crowds for b in (a, cell0, cell1) if b is not None}:
                others = [crowd] * (n_others - n_others // 2) + [second] * (n_others // 2)
                side0, side1 = ([] if cell is None else [cell] for cell in (cell0, cell1))
                found.append(Neighbours(self._records(side0 + others), self._records(side1 + others), self.relation))
        return found

    def _moved_cells(self) -> list[tuple[int | None, int]]:
        """Cells of the record that differs, on side 0 and on side 1, for up to `MOST_MOVED` queries that move most."""
        matrix, blank = self.workload.matrix, self.workload.matrix[:, :1]
        if self.relation is Relation.REPLACE_ONE:
            rows = np.argsort(-np.ptp(matrix, axis=1), kind="stable")[:MOST_MOVED]
            return sorted({(int(matrix[row].argmin()), int(matrix[row].argmax())) for row in rows})
        moves = np.abs(matrix if self.relation is Relation.ADD_REMOVE else matrix - blank)
        rows = np.argsort(-moves.max(axis=1), kind="stable")[:MOST_MOVED]
        first = None if self.relation is Relation.ADD_REMOVE else 0
        return sorted({(first, int(moves[row].argmax())) for row in rows}, key=lambda cells: cells[1])

    def _records(self, cells: list[int]) -> NDArray[np.int64]:
        return self.workload.domain.records_in(np.array(cells, dtype=np.int64)).reshape(len(cells), -1)
