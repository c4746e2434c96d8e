"""Intentionally broken MST: the tree is selected without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...noise.queries.domain import Domain
from ...synthetic_data.selection import spanning_trees as trees
from ...synthetic_data.selection.mst import LARGEST_WORST_CASE, MST, worst_case_clusters


@dataclass(frozen=True)
class BestTree(MST):
    """Broken: MST with the maximum spanning tree of the exact scores, instead of the exponential mechanism.

    Bug: the tree is treated as public, since it "only" selects the measurements. The measurements have all the noise of
    MST, and the claim is the same; but the measured pairs reveal which scores are largest, and one record can change
    their order. Epsilon is infinite at every delta below the probability of a tree that the other side cannot select:
    about 2/3 on `worst_case`, where three pairs tie until a record decides for the first.

    Args:
        rho, shares, compress, relation: as for `MST`.
        penalty: as for `MST`, with default 0: pairs tie only if their numbers of cells have no effect.

    Example:
        >>> selection, domain = BestTree(0.5), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain), selection.exact_guarantee(domain))
        ConcentratedDP(rho=0.5) None
    """

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
        return worst_case_clusters(domain.shape, self.relation, min(LARGEST_WORST_CASE, self._enough(domain)), 0)

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
