"""Size of a graphical model: the cells of its junction tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations

from ..base import Marginal

MEGABYTE = 2**20


@lru_cache(maxsize=100_000)
def model_size(shape: tuple[tuple[str, int], ...], cliques: frozenset[Marginal]) -> float:
    """Return the size in megabytes of a junction tree that holds all cliques, eight bytes per cell.

    Attributes are eliminated one by one, always the one that leaves the smallest clique: a greedy order, because
    finding the best order is hard.

    Args:
        shape: the attributes and their numbers of values.
        cliques: sets of attributes whose marginals the model must hold.
    """
    sizes = dict(shape)
    linked: dict[str, set[str]] = {name: set() for name in sizes}
    for clique in cliques:
        for a, b in combinations(clique, 2):
            linked[a].add(b)
            linked[b].add(a)
    cliques_left: list[frozenset[str]] = []
    while linked:
        name = min(linked, key=lambda attribute: _cells(sizes, (attribute, *linked[attribute])))
        neighbours = linked.pop(name)
        new_clique = frozenset((name, *neighbours))
        if not any(new_clique <= other for other in cliques_left):
            cliques_left.append(new_clique)
        for other in neighbours:
            linked[other] |= neighbours - {other}
            linked[other].discard(name)
    return 8.0 * sum(_cells(sizes, clique) for clique in cliques_left) / MEGABYTE


def _cells(sizes: dict[str, int], names: Iterable[str]) -> int:
    return math.prod(sizes[name] for name in names)
