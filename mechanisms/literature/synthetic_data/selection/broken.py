"""Intentionally broken selection of marginals: exact counts decide, or annealing is not accounted for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....accounting.broken import Broken
from ....core import Bools, Floats, Guarantee, Ints, Neighbours, Relation
from ....noise.queries.domain import Domain
from ..base import CodedTable, Generator
from . import spanning_trees as trees
from .aim import AIM
from .mst import MAX_WORST_CASE_RECORDS, MST, RARE_DEVIATIONS, worst_case_clusters


@dataclass(frozen=True)
class BestTree(Broken, MST):
    """Broken: MST with the maximum spanning tree of the exact scores, instead of the exponential mechanism.

    The measurements have all the noise of MST, and the claim is the same; but the measured pairs reveal which
    scores are largest, and one record can change their order. Epsilon is infinite at every delta below the
    probability of a tree that the other side cannot select: about 2/3 on `worst_case`, where three pairs tie until
    a record decides for the first.

    Args:
        penalty: as for `MST`, with default 0: pairs tie only if their numbers of cells have no effect.

    Example:
        >>> selection, domain = BestTree(0.5), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain), selection.exact_guarantee(domain))
        ConcentratedDP(rho=0.5) None
    """

    cause = 'The tree is treated as public, since it "only" selects the measurements.'
    source = "Constructed; the selection of McKenna, Miklau and Sheldon (2021) without its noise."
    correct_class = MST

    penalty: float = 0.0

    def choose(self, scores: Floats, rate: float, rng: np.random.Generator) -> Ints:
        return trees.draw(_ranks(scores), 1e9, rng)

    def log_chosen(self, scores: Floats, chosen: Ints, rate: float) -> Floats:
        best = self.choose(scores, rate, np.random.default_rng(0))
        return np.where((best == chosen).all(axis=1), 0.0, -np.inf)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return two groups of records whose scores all tie on side 0; on side 1 attributes 0 and 1 score highest."""
        if len(domain.names) < 3 or min(domain.shape) < 2:
            return super().worst_case(domain)
        return worst_case_clusters(domain.shape, self.relation, min(MAX_WORST_CASE_RECORDS, self._enough(domain)), 0)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return None: the probability of each tree depends on noise that decides between ties."""
        return None


def _ranks(scores: Floats) -> Floats:
    """Return the rank of each score in its run, all distinct; among equal scores the first ranks highest."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(
        ranks, order, -np.broadcast_to(np.arange(scores.shape[1], dtype=np.float64), scores.shape), axis=1
    )
    return ranks


@dataclass(frozen=True)
class MergedByExactCounts(Broken, MST):
    """Broken: MST that merges values of a low exact count, instead of a low noisy count.

    The compressed domain is released with the measurements, and reveals for each value on which side of the
    threshold its exact count is: a record that moves a count across the threshold is detected with certainty.
    Epsilon is infinite at every delta below 1 where an attribute has three values or more; with two, merging one of
    them has no effect.

    Example:
        >>> from dpassay.mechanisms.literature.synthetic_data import CodedTable
        >>> selection, domain = MergedByExactCounts(0.5), Domain({"a": 3, "b": 2})
        >>> pair = selection.worst_case(domain)
        >>> [CodedTable.of(domain, side).marginal(("a",)).tolist() for side in (pair.d0, pair.d1)]
        [[7.0, 0.0, 50.0], [8.0, 0.0, 50.0]]
    """

    cause = "The domain is compressed before the measurements, by exact counts."
    source = "Constructed; the compression of McKenna, Miklau and Sheldon (2021) without its noise."
    correct_class = MST

    def kept(self, answers: Floats, table: CodedTable, position: int) -> Bools:
        exact = table.marginal((table.domain.names[position],))
        return np.broadcast_to(exact >= RARE_DEVIATIONS * self.noise(table.domain).one_way, answers.shape)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return tables in which value 0 of the widest attribute is one record below the threshold on side 0."""
        widest = int(np.argmax(domain.shape))
        below = max(0, math.ceil(RARE_DEVIATIONS * self.noise(domain).one_way) - 1)
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


@dataclass(frozen=True)
class AnnealingNotAccounted(Broken, AIM):
    """Broken: AIM that accounts for each round with rho / rounds, not with its actual cost.

    When little was learned the noise is halved and the epsilon of the next selection doubled, which costs four times as
    much, but the accounting does not change. The claim is rho. A run that learns little in each of k rounds spends rho
    / rounds * (1 + 4 + 16 + ...), until the accounted cost reaches rho: with 9 rounds of 3 attributes up to (2.7 + 1 +
    4 + 16 + 64 + 256) / 9 = 38 times rho. The cost of a run depends on the data, and is largest for few records, from
    which there is little to learn.

    Example:
        >>> selection, domain = AnnealingNotAccounted(0.1, workload=2, rounds=9), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain))
        ConcentratedDP(rho=0.1)
    """

    cause = (
        "The cost of a round is computed once, at the start, and not again when annealing makes a round four times "
        "as expensive."
    )
    source = "Constructed; the annealing of McKenna, Mullins, Sheldon and Miklau (2022) without its accounting."
    correct_class = AIM

    def accounted_cost(self, cost: Floats, domain: Domain) -> Floats:
        return np.full(len(cost), self.rho / self.n_rounds(domain))
