"""The local polytope: tables of overlapping marginals that agree wherever they overlap.

Marginals of one distribution agree on the attributes that they share. The converse is false: three binary attributes of
which any two always differ agree on all their single marginals, but no distribution has these marginals. So the local
polytope holds all marginals of distributions, and also spurious ones.

A region is a set of attributes with a marginal, in the domain's order; axis 0 of its table is the run, followed by
one axis per attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ....core.arrays import Floats


@dataclass(frozen=True)
class Overlap:
    """Attributes that several regions share.

    Args:
        regions: positions of these regions in the list of regions.
        summed: for each of them, the axes that are summed to obtain the shared attributes.
        cells: for each of them, the number of its cells that are summed into one cell of the overlap.
    """

    regions: tuple[int, ...]
    summed: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...]

    def tables(self, tables: Sequence[Floats]) -> list[Floats]:
        """Return the marginal of the overlap in each region, with summed axes of length 1."""
        return [tables[i].sum(axis=axes, keepdims=True) for i, axes in zip(self.regions, self.summed, strict=True)]

    def make_agree(self, tables: Sequence[Floats], precisions: Sequence[Floats]) -> None:
        """Move the tables, in place, to the nearest ones that agree on this overlap: a projection on a linear space.

        The common marginal is the mean weighted by 1 / variance, where `precisions`, `(size,)` for each region, are 1 /
        variance of a cell; the difference of a region to it is spread evenly over the cells that are summed (Zhang et
        al. 2021, section 4.3, "consistency under weighted average").
        """
        marginals = self.tables(tables)
        squeezed = np.stack([np.squeeze(table, axis=axes) for table, axes in zip(marginals, self.summed, strict=True)])
        weights = np.stack([precisions[i] / cells for i, cells in zip(self.regions, self.cells, strict=True)])
        common = np.einsum("rs...,rs->s...", squeezed, weights / weights.sum(axis=0))
        for i, axes, cells, table in zip(self.regions, self.summed, self.cells, marginals, strict=True):
            tables[i][...] += (np.expand_dims(common, axes) - table) / cells


def overlaps(regions: Sequence[Sequence[int]], shape: Sequence[int]) -> list[Overlap]:
    """Return every set of attributes in which two regions meet, with all regions that hold it; the largest first.

    Args:
        regions: for each region, the positions of its attributes in the domain, ascending.
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
    """Return the nearest table of numbers >= 0 that sum to 1, for each run (Duchi et al. 2008, figure 1)."""
    flat = table.reshape(len(table), -1)
    descending = -np.sort(-flat, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    n_positive = (descending * np.arange(1, flat.shape[1] + 1) > excess).sum(axis=1)
    shift = excess[np.arange(len(flat)), n_positive - 1] / n_positive
    return np.asarray(np.maximum(flat - shift[:, None], 0.0).reshape(table.shape))


def project(
    tables: Sequence[Floats], precisions: Sequence[Floats], agreements: Sequence[Overlap], *, sweeps: int, exact: bool
) -> list[Floats]:
    """Return tables of shares near the given ones that are non-negative, sum to 1 and agree where they overlap.

    Agreement on each overlap and projection to the simplex alternate. Without `exact` this ends somewhere in the local
    polytope, near the given tables, as in PrivSyn. With `exact` each projection to the simplex first undoes the change
    of the previous one (Dykstra's algorithm: Boyle and Dykstra 1986), and the result is the nearest point, in the
    distance sum precision * (table - given)^2: the optimum of problem (1) over the local polytope.

    Args:
        tables: one per region, each `(size, *shape of the region)`.
        precisions: for each region 1 / variance of a cell, shape `(size,)`.
        agreements: from `overlaps`.
        sweeps: number of alternations.
        exact: True to find the nearest point.
    """
    projected = [np.array(table) for table in tables]
    corrections = [np.zeros_like(table) for table in projected]
    for _ in range(sweeps):
        for agreement in agreements:
            agreement.make_agree(projected, precisions)
        for table, correction in zip(projected, corrections, strict=True):
            moved = table + correction if exact else table
            inside = onto_simplex(moved)
            correction[...] = moved - inside
            table[...] = inside
    return projected
