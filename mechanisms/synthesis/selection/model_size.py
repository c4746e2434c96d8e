"""How large a graphical model would be: the cells of its junction tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations

from ..base import Marginal

MEGABYTE = 2**20


@lru_cache(maxsize=100_000)
def model_size(shape: tuple[tuple[str, int], ...], cliques: frozenset[Marginal]) -> float:
    """Megabytes of the junction tree that holds all cliques, eight bytes a cell.

    Attributes are eliminated one by one, always the one that leaves the smallest clique behind: a greedy order, as
    finding the best one is hard.

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
    found: list[frozenset[str]] = []
    while linked:
        name = min(linked, key=lambda one: _cells(sizes, (one, *linked[one])))
        neighbours = linked.pop(name)
        clique_left = frozenset((name, *neighbours))
        if not any(clique_left <= other for other in found):
            found.append(clique_left)
        for other in neighbours:
            linked[other] |= neighbours - {other}
            linked[other].discard(name)
    return 8.0 * sum(_cells(sizes, clique) for clique in found) / MEGABYTE


def _cells(sizes: dict[str, int], names: Iterable[str]) -> int:
    return math.prod(sizes[name] for name in names)
