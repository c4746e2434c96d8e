"""Junction trees: attributes in groups, so that every marginal lies in one group and the groups form a tree.

A graph joins two attributes that occur in the same marginal. It is made chordal by eliminating the attributes one by
one and joining the neighbours of each; the largest groups that appear are the cliques, and a tree of widest overlaps
joins them. (Lauritzen and Spiegelhalter 1988; Koller and Friedman 2009, section 10.4.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ....core import ParameterError
from ....noise.queries.domain import MAX_TABLE_BYTES, Domain
from ..base import Marginal

Graph = dict[str, set[str]]
MEGABYTE = 2**20


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of attributes and the tree that joins them, parents before children.

    Args:
        domain: domain of all attributes; each is in some clique.
        cliques: attributes of each clique, in the order of the domain; the first clique is the root.
        parents: number of the parent of each clique; -1 for the root.

    Example:
        >>> domain = Domain({"a": 2, "b": 3, "c": 4, "d": 5})
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c"), ("a", "c")])
        >>> tree.cliques, tree.parents, tree.n_cells
        ((('d',), ('a', 'b', 'c')), (-1, 0), 29)
    """

    domain: Domain
    cliques: tuple[Marginal, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, domain: Domain, marginals: Sequence[Marginal]) -> JunctionTree:
        """Return a small tree for these marginals: the better of two greedy orders of elimination.

        The next eliminated attribute is the one whose clique has the fewest cells ("min-weight"), or the one that joins
        the fewest new pairs of neighbours, with ties broken by the number of cells ("min-fill").

        Raises:
            ParameterError: the cliques together would be too large for memory; checked before any allocation.
        """
        graph = _graph(domain, marginals)
        trees = [_joined(domain, _cliques(domain, graph, cost)) for cost in (_weight, _fill)]
        best = min(trees, key=lambda tree: tree.n_cells)
        if 8 * best.n_cells > MAX_TABLE_BYTES:
            largest = max(best.cliques, key=lambda names: domain.project(names).n_cells)
            raise ParameterError(
                f"marginals too large for memory: their junction tree would have {best.n_cells:,} cells, "
                f"{8 * best.n_cells / 1e9:,.1f} GB, of which {domain.project(largest).n_cells:,} for "
                f"({', '.join(largest)}), and at most {MAX_TABLE_BYTES / 1e9:.1f} GB are allowed. Measure fewer pairs, "
                "so that they form no long cycles, or attributes of fewer values; or use a generator that needs no "
                "such tree: RelaxedTable.",
                argument="measured",
                value=best.n_cells,
            )
        return best

    @cached_property
    def separators(self) -> tuple[Marginal, ...]:
        """Attributes that each clique shares with its parent, in the order of the domain; none for the root."""
        return tuple(
            () if parent < 0 else tuple(name for name in names if name in self.cliques[parent])
            for names, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def n_cells(self) -> int:
        """Number of cells of all cliques together."""
        return sum(self.domain.project(names).n_cells for names in self.cliques)

    def holder(self, attributes: Sequence[str]) -> int | None:
        """Return the number of the smallest clique that holds all these attributes; None if there is none."""
        holds = [number for number, names in enumerate(self.cliques) if set(attributes) <= set(names)]
        return min(holds, key=lambda number: self.domain.project(self.cliques[number]).n_cells, default=None)


def _graph(domain: Domain, marginals: Sequence[Marginal]) -> Graph:
    """Return the neighbours of each attribute."""
    graph: Graph = {name: set() for name in domain.names}
    for names in marginals:
        for name in names:
            graph[name] |= set(names) - {name}
    return graph


def _weight(domain: Domain, graph: Graph, name: str) -> tuple[int, ...]:
    """Return the number of cells of the clique that eliminating `name` creates."""
    return (math.prod(domain.shape[domain.index(attribute)] for attribute in (name, *graph[name])),)


def _fill(domain: Domain, graph: Graph, name: str) -> tuple[int, ...]:
    """Return the number of pairs of neighbours of `name` that are not joined yet, then the cells as a tie-break."""
    neighbours = graph[name]
    missing = sum(len(neighbours - graph[neighbour]) - 1 for neighbour in neighbours) // 2
    return (missing, *_weight(domain, graph, name))


def _cliques(domain: Domain, graph: Graph, cost: Callable[[Domain, Graph, str], tuple[int, ...]]) -> list[set[str]]:
    """Return the largest groups that appear when attributes are eliminated, the cheapest first."""
    remaining = {name: set(neighbours) for name, neighbours in graph.items()}
    cliques: list[set[str]] = []
    while remaining:
        name = min(remaining, key=lambda attribute: (*cost(domain, remaining, attribute), domain.index(attribute)))
        neighbours = remaining.pop(name)
        if not any({name, *neighbours} <= clique for clique in cliques):
            cliques.append({name, *neighbours})
        for neighbour in neighbours:
            remaining[neighbour] |= neighbours - {neighbour}
            remaining[neighbour].discard(name)
    return cliques


def _joined(domain: Domain, cliques: list[set[str]]) -> JunctionTree:
    """Return the tree of widest overlaps (Prim's algorithm), a junction tree for cliques of a chordal graph."""
    order, parents = [0], [-1]
    overlap = {number: (len(cliques[number] & cliques[0]), 0) for number in range(1, len(cliques))}
    while overlap:
        number = max(overlap, key=lambda candidate: (overlap[candidate][0], -candidate))
        parents.append(order.index(overlap.pop(number)[1]))
        order.append(number)
        for other, (shared, _) in overlap.items():
            if len(cliques[other] & cliques[number]) > shared:
                overlap[other] = (len(cliques[other] & cliques[number]), number)
    named = tuple(tuple(name for name in domain.names if name in cliques[number]) for number in order)
    return JunctionTree(domain, named, tuple(parents))


@lru_cache(maxsize=100_000)
def model_size(domain: Domain, cliques: frozenset[Marginal]) -> float:
    """Return the size in megabytes of a junction tree that holds all cliques, eight bytes per cell.

    Attributes are eliminated one by one, always the one that leaves the smallest clique: a greedy order, because
    finding the best order is hard.
    """
    tree_cliques = _cliques(domain, _graph(domain, tuple(cliques)), _weight)
    sizes = dict(domain.attributes)
    return 8.0 * sum(math.prod(sizes[name] for name in clique) for clique in tree_cliques) / MEGABYTE
