"""Intentionally broken MST: values are merged by their exact counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.queries.domain import Domain
from ...synthetic_data.base import CodedTable, Generator
from ...synthetic_data.selection import spanning_trees as trees
from ...synthetic_data.selection.mst import MST, RARE


@dataclass(frozen=True)
class MergedByExactCounts(MST):
    """Broken: MST that merges values of a low exact count, instead of a low noisy count.

    Bug: the domain is compressed before the measurements, by exact counts. The compressed domain is released with the
    measurements, and reveals for each value on which side of the threshold its exact count is: a record that moves a
    count across the threshold is detected with certainty. Epsilon is infinite at every delta below 1 where an attribute
    has three values or more; with two, merging one of them has no effect.

    Args:
        rho, shares, penalty, compress, relation: as for `MST`.

    Example:
        >>> from dpassay.mechanisms.synthetic_data import CodedTable
        >>> selection, domain = MergedByExactCounts(0.5), Domain({"a": 3, "b": 2})
        >>> pair = selection.worst_case(domain)
        >>> [CodedTable.of(domain, side).marginal(("a",)).tolist() for side in (pair.d0, pair.d1)]
        [[7.0, 0.0, 50.0], [8.0, 0.0, 50.0]]
    """

    def kept(self, answers: Floats, table: CodedTable, place: int) -> NDArray[np.bool_]:
        exact = table.marginal((table.domain.names[place],))
        return np.broadcast_to(exact >= RARE * self.noise(table.domain).one_way, answers.shape)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return tables in which value 0 of the widest attribute is one record below the threshold on side 0."""
        widest = int(np.argmax(domain.shape))
        below = max(0, math.ceil(RARE * self.noise(domain).one_way) - 1)
        records = np.array([size - 1 for size in domain.shape]) * np.ones((below + 50, 1), dtype=np.int64)
        records[:below, widest] = 0
        new = records[:1].copy()
        new[0, widest] = 0
        rest = records if self.relation is Relation.ADD_REMOVE else records[:-1]
        return Neighbours(records, np.concatenate([rest, new]), self.relation)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return None: no finite curve holds."""
        return None

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats:
        """Return the log density; -inf where the merged values, visible as equal counts, are not those of `table`."""
        log_density = super().log_density(transcripts, table, generator)
        domain = table.domain
        candidates = self.candidates(domain)
        d = len(domain.names)
        ends = np.cumsum([len(candidates) - d, *(domain.project(names).n_cells for names in candidates)])
        rounds, *answers = np.split(transcripts, ends[:-1], axis=1)
        for edge, (a, b) in enumerate(trees.pairs(d)):
            runs = np.flatnonzero(rounds[:, edge] > 0)
            counts = answers[d + edge][runs].reshape(len(runs), domain.shape[a], domain.shape[b])
            for attribute, lines in ((a, counts), (b, counts.transpose(0, 2, 1))):
                merged = (np.abs(lines[:, :, None] - lines[:, None]).max(axis=3, initial=0.0) == 0).sum(axis=2) > 1
                rare = ~self.kept(answers[attribute][runs], table, attribute)
                differs = (merged != (rare & (rare.sum(axis=1, keepdims=True) > 1))).any(axis=1)
                log_density[runs[differs]] = -np.inf
        return log_density
