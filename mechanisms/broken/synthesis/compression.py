"""Wrong on purpose: MST that merges values by their exact counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base import Neighbours
from ...guarantees.base import Guarantee
from ...queries.domain import Domain
from ...relation import Relation
from ...synthesis.base import Floats, Generator, Table
from ...synthesis.selection import spanning_trees as trees
from ...synthesis.selection.mst import MST, RARE


@dataclass(frozen=True)
class MergedByExactCounts(MST):
    """Broken: a value is merged with others if its exact count is low, where its noisy count was meant.

    The slip: the domain is compressed before anything is measured, by the counts at hand. The compressed domain is
    published with the measurements, and says of each value on which side of the threshold its exact count is: a record
    that takes a value over it is seen with certainty. No epsilon holds at any delta below 1 where an attribute has
    three values or more; with two, merging one of them changes nothing.

    Args:
        rho, shares, penalty, compress, relation: as for `MST`.

    Example:
        >>> from dpassay.mechanisms.synthesis import Table
        >>> selection, domain = MergedByExactCounts(0.5), Domain({"a": 3, "b": 2})
        >>> pair = selection.worst_case(domain)
        >>> [Table.of(domain, side).marginal(("a",)).tolist() for side in (pair.d0, pair.d1)]
        [[7.0, 0.0, 50.0], [8.0, 0.0, 50.0]]
    """

    def kept(self, answers: Floats, table: Table, place: int) -> NDArray[np.bool_]:
        exact = table.marginal((table.domain.names[place],))
        return np.broadcast_to(exact >= RARE * self.noise(table.domain).one_way, answers.shape)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Value 0 of the attribute with most values is one record below the threshold; value 1 has none."""
        widest = int(np.argmax(domain.shape))
        below = max(0, math.ceil(RARE * self.noise(domain).one_way) - 1)
        records = np.array([size - 1 for size in domain.shape]) * np.ones((below + 50, 1), dtype=np.int64)
        records[:below, widest] = 0
        new = records[:1].copy()
        new[0, widest] = 0
        rest = records if self.relation is Relation.ADD_REMOVE else records[:-1]
        return Neighbours(records, np.concatenate([rest, new]), self.relation)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """None: no curve is finite anywhere."""
        return None

    def log_density(self, transcripts: Floats, table: Table, generator: Generator) -> Floats:
        """-inf where other values are merged than `table` merges, which the counts of a pair show: they are equal."""
        found = super().log_density(transcripts, table, generator)
        domain = table.domain
        candidates = self.candidates(domain)
        d = len(domain.names)
        ends = np.cumsum([len(candidates) - d, *(domain.project(one).n_cells for one in candidates)])
        rounds, *answers = np.split(transcripts, ends[:-1], axis=1)
        for edge, (a, b) in enumerate(trees.pairs(d)):
            runs = np.flatnonzero(rounds[:, edge] > 0)
            counts = answers[d + edge][runs].reshape(len(runs), domain.shape[a], domain.shape[b])
            for place, lines in ((a, counts), (b, counts.transpose(0, 2, 1))):
                seen = (np.abs(lines[:, :, None] - lines[:, None]).max(axis=3, initial=0.0) == 0).sum(axis=2) > 1
                rare = ~self.kept(answers[place][runs], table, place)
                found[runs[(seen != (rare & (rare.sum(axis=1, keepdims=True) > 1))).any(axis=1)]] = -np.inf
        return found
