"""Wrong on purpose: MST whose tree is the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base import Neighbours
from ...guarantees.base import Guarantee
from ...queries.domain import Domain
from ...synthesis.base import Floats, Ints
from ...synthesis.selection import spanning_trees as trees
from ...synthesis.selection.camps import LARGEST, camps_apart
from ...synthesis.selection.mst import MST


@dataclass(frozen=True)
class BestTree(MST):
    """Broken: the maximum spanning tree of the exact scores, where one drawn by the exponential mechanism was meant.

    The slip: the tree is thought of as public, since it is "only" the choice of what is measured. All noise of MST is
    there, and the claim is the same; but which pairs were measured shows which scores are largest, and one record can
    turn that around. No epsilon holds at any delta below the probability of a tree that the other side cannot choose:
    about 2/3 on `worst_case`, where three pairs tie until a record decides for the first.

    Args:
        rho, shares, compress, relation: as for `MST`.
        penalty: as for `MST`, but 0: pairs tie only if their numbers of cells do not count.

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
        """Two camps whose scores all tie on side 0: on side 1 the pair of attributes 0 and 1 is ahead."""
        if len(domain.names) < 3 or min(domain.shape) < 2:
            return super().worst_case(domain)
        return camps_apart(domain.shape, self.relation, min(LARGEST, self._enough(domain)), 0)

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """None: the probability of each tree hangs on noise that decides between ties."""
        return None


def _ranks(scores: Floats) -> Floats:
    """The rank of each score in its run, so that no two are equal; among equal ones the first ranks highest."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(
        ranks, order, -np.broadcast_to(np.arange(scores.shape[1], dtype=np.float64), scores.shape), axis=1
    )
    return ranks
