"""The local polytope: tables of overlapping marginals that agree wherever they overlap.

Marginals of one distribution agree on the attributes that they share. The converse is false: three attributes of two
values, each two of which always differ, agree on all their single marginals, and no distribution has them. So the local
polytope holds all marginals of distributions, and spurious ones besides.

A region is a set of attributes whose marginal is there, in the domain's order; its table has the run as axis 0 and then
one axis an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ....queries.base import Floats


@dataclass(frozen=True)
class Overlap:
    """Attributes that several regions share.

    Args:
        regions: their positions in the list of regions.
        summed: for each of them, the axes that are summed to come to the shared attributes.
        cells: for each of them, how many of its cells go into one cell of the overlap.
    """

    regions: tuple[int, ...]
    summed: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...]

    def tables(self, tables: Sequence[Floats]) -> list[Floats]:
        """The marginals of the overlap that each region has, summed axes kept at length 1."""
        return [tables[i].sum(axis=axes, keepdims=True) for i, axes in zip(self.regions, self.summed, strict=True)]

    def make_agree(self, tables: Sequence[Floats], precisions: Sequence[Floats]) -> None:
        """Moves the tables, in place, to the nearest ones that agree here: the projection onto a linear space.

        The common marginal is the mean weighted by 1 / variance, where `precisions`, `(size,)` for each region, are 1 /
        variance of a cell; what a region lacks to it is spread evenly over the cells that are summed (Zhang et al.
        2021, section 4.3, "consistency under weighted average").
        """
        found = self.tables(tables)
        kept = np.stack([np.squeeze(table, axis=axes) for table, axes in zip(found, self.summed, strict=True)])
        weights = np.stack([precisions[i] / cells for i, cells in zip(self.regions, self.cells, strict=True)])
        common = np.einsum("rs...,rs->s...", kept, weights / weights.sum(axis=0))
        for i, axes, cells, table in zip(self.regions, self.summed, self.cells, found, strict=True):
            tables[i][...] += (np.expand_dims(common, axes) - table) / cells


def overlaps(regions: Sequence[Sequence[int]], shape: Sequence[int]) -> list[Overlap]:
    """Every set of attributes in which two regions meet, with all the regions that hold it; the largest first.

    Args:
        regions: of each, the positions of its attributes in the domain, ascending.
        shape: number of values of each attribute of the domain.
    """
    sets = {tuple(sorted(set(a) & set(b))) for a, b in combinations(regions, 2)} - {()}
    return [_overlap(regions, shape, shared) for shared in sorted(sets, key=lambda s: (-len(s), s))]


def _overlap(regions: Sequence[Sequence[int]], shape: Sequence[int], shared: tuple[int, ...]) -> Overlap:
    holding = tuple(i for i, region in enumerate(regions) if set(shared) <= set(region))
    summed = tuple(tuple(1 + k for k, a in enumerate(regions[i]) if a not in shared) for i in holding)
    cells = tuple(int(np.prod([shape[a] for a in regions[i] if a not in shared])) for i in holding)
    return Overlap(holding, summed, cells)


def onto_simplex(table: Floats) -> Floats:
    """The nearest table of numbers >= 0 that sum to 1, for each run (Duchi et al. 2008, figure 1)."""
    flat = table.reshape(len(table), -1)
    descending = -np.sort(-flat, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    n_positive = (descending * np.arange(1, flat.shape[1] + 1) > excess).sum(axis=1)
    shift = excess[np.arange(len(flat)), n_positive - 1] / n_positive
    return np.asarray(np.maximum(flat - shift[:, None], 0.0).reshape(table.shape))


def project(
    tables: Sequence[Floats], precisions: Sequence[Floats], agreements: Sequence[Overlap], *, sweeps: int, exact: bool
) -> list[Floats]:
    """Tables of shares that are non-negative, sum to 1 and agree where they overlap, near the given ones.

    Agreement on each overlap and the simplex take turns. As it stands this ends somewhere in the local polytope, near
    the given tables: what PrivSyn does. With `exact` each visit to the simplex first takes back what the last one had
    changed (Dykstra's algorithm: Boyle and Dykstra 1986), and it ends in the nearest point, in the distance sum
    precision * (table - given)^2: the optimum of problem (1) over the local polytope.

    Args:
        tables: one a region, each `(size, *shape of the region)`.
        precisions: 1 / variance of a cell of each, shape `(size,)`.
        agreements: from `overlaps`.
        sweeps: how often they take turns.
        exact: whether the nearest point is wanted.
    """
    found = [np.array(table) for table in tables]
    taken_back = [np.zeros_like(table) for table in found]
    for _ in range(sweeps):
        for agreement in agreements:
            agreement.make_agree(found, precisions)
        for table, back in zip(found, taken_back, strict=True):
            moved = table + back if exact else table
            inside = onto_simplex(moved)
            back[...] = moved - inside
            table[...] = inside
    return found
