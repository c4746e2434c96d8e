"""Local consistency: marginals that agree where they overlap, and a table generated from them by GUM.

Marginals of one distribution agree on the attributes that they share. The converse is false: three binary attributes of
which any two always differ agree on all their single marginals, but no distribution has these marginals. So the local
polytope, which holds all marginals that agree, holds all marginals of distributions and also spurious ones.

A region is a set of attributes with a marginal, in the domain's order; axis 0 of its table is the run, followed by
one axis per attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ....core import Floats, Ints, PositiveInt
from ....noise.queries.domain import Domain
from ..base import FittedDistribution, Generator, NoisyMarginal
from .gradual_update import fitted_table, independent_table
from .objective import LeastSquaresProblem


@dataclass(frozen=True)
class LocalConsistency(Generator):
    """Marginals that agree where they overlap, nearest to the answers; GUM generates tables from them.

    The least squares of problem (1) are solved over the local polytope, which holds the marginals of every
    distribution, and also spurious ones that no distribution has (McKenna, Pradhan, Sheldon and Miklau 2021, who
    relax the marginals of a graphical model in this way). The problem is the projection of the answers onto the
    polytope, and Dykstra's alternating projections solve it exactly in the limit; entropies and message passing are not
    needed, since only the measured marginals are required.

    Args:
        sweeps: number of sweeps of the projections, >= 1.
        n_rows: rows of the table that answers for attributes not measured together, >= 1; each row stands for
            total / n_rows records.
        updates: rounds of GUM for a table, >= 1.

    Guarantees:
        * Up to the convergence of `sweeps` rounds no distribution of the same total has a smaller squared error. The
          total is estimated before the fit; counts of another total can be nearer to the answers.
        * `marginal` of attributes that were measured together returns these pseudo-marginals. For other attributes it
          returns counts of the table, whose records are a heuristic rounding.

    Example:
        >>> measured = [NoisyMarginal(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = LocalConsistency().fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> fitted.marginal("ab")  # each two of three attributes differ: no distribution has these marginals
        array([[ 0., 50., 50.,  0.]])
    """

    sweeps: PositiveInt = 200
    n_rows: PositiveInt = 1_000
    updates: PositiveInt = 30

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> FittedDistribution:
        return self._consistent(domain, measured, total, rng, exact=True)

    def _consistent(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator, *, exact: bool
    ) -> PseudoMarginals:
        problem = LeastSquaresProblem.of(domain, measured, total)
        agreements = overlaps(problem.regions, domain.shape)
        shares = _project_onto_polytope(problem.shares, problem.precisions, agreements, sweeps=self.sweeps, exact=exact)
        return PseudoMarginals(
            domain, total, problem.regions, shares, updates=self.updates, n_rows=self.n_rows, rng=rng
        )


@dataclass(frozen=True)
class GradualUpdate(LocalConsistency):
    """GUM of PrivSyn: a table updated record by record until its marginals are close to the measured ones.

    The answers are alternately made to agree where they overlap, by weighted averages, and projected to shares; a table
    whose columns are independent is then updated towards each marginal in turn (Zhang et al. 2021).
    All marginals are counted in this table, so none is spurious.

    The fraction of the deficit that one update moves falls linearly to 0; in PrivSyn it falls in steps, and is a
    fraction of the count of a cell, so that an empty cell needs a separate rule.

    Args:
        sweeps: number of sweeps that make the answers agree.
        n_rows: rows of the table that answers, >= 1; each row stands for total / n_rows records.
        updates: rounds of GUM for a table.

    Example:
        >>> measured = [NoisyMarginal(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = GradualUpdate(n_rows=300).fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> equal = sum(fitted.marginal(pair)[0, [0, 3]].sum() for pair in ("ab", "bc", "ca"))
        >>> bool(equal > 99.9)  # in any record, at least two of three attributes are equal
        True
    """

    def _fit(
        self, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats, rng: np.random.Generator
    ) -> FittedDistribution:
        return TableOfRecords(self._consistent(domain, measured, total, rng, exact=False))


class PseudoMarginals(FittedDistribution):
    """Marginals that agree where they overlap, and a table with nearly these marginals.

    Args:
        domain: domain of the records.
        total: number of records in each run, shape `(size,)`.
        regions: for each marginal, the positions of its attributes, ascending.
        shares: for each marginal, `(size, *shape)`, non-negative, summing to 1 in each run.
        updates: rounds of GUM for a table.
        n_rows: rows of the table that answers for other attributes; the table is generated on first use.
        rng: source of the seed of this table, drawn at construction.
    """

    def __init__(
        self,
        domain: Domain,
        total: Floats,
        regions: Sequence[tuple[int, ...]],
        shares: Sequence[Floats],
        *,
        updates: int,
        n_rows: int,
        rng: np.random.Generator,
    ) -> None:
        self.domain, self.total, self.regions, self.shares, self.updates = domain, total, regions, shares, updates
        self._n_rows, self._seed = n_rows, rng.integers(0, 2**63, 4)

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return expected counts, `(size, n_cells)`: pseudo-marginals if the attributes were measured together."""
        positions = [self.domain.index(name) for name in attributes]
        shares = self._share(positions)
        return self.counted(attributes) if shares is None else self.total[:, None] * shares.reshape(len(shares), -1)

    @cached_property
    def records(self) -> Ints:
        """Table that answers for attributes that were not measured together, `(size, n_rows, d)`."""
        return self.table(self._n_rows, np.random.default_rng(self._seed))

    def counted(self, attributes: Sequence[str]) -> Floats:
        """Return expected counts in the table of the fit, shape `(size, n_cells)`."""
        n_cells = self.domain.project(attributes).n_cells
        size, n_rows, _ = self.records.shape
        cells = self.domain.cells(self.records, attributes) + n_cells * np.arange(size)[:, None]
        counts = np.bincount(cells.ravel(), minlength=size * n_cells).reshape(size, n_cells)
        return np.asarray(self.total[:, None] * counts / n_rows)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return records whose marginals are near these, `(size, n_rows, d)`, by GUM from independent columns.

        Attributes in no marginal stay independent of all others; copying a record would link them.
        """
        start = independent_table([self._single(position) for position in range(len(self.domain.names))], n_rows, rng)
        table = fitted_table(start, self.regions, self.shares, sweeps=self.updates, rng=rng)
        unmeasured = sorted(set(range(table.shape[2])) - set().union(*self.regions))
        table[:, :, unmeasured] = start[:, :, unmeasured]
        return table

    def _single(self, position: int) -> Floats:
        """Return the shares of one attribute, `(size, n_values)`: uniform if it was not measured."""
        shares, n_values = self._share([position]), self.domain.shape[position]
        return np.full((len(self.total), n_values), 1.0 / n_values) if shares is None else shares

    def _share(self, places: Sequence[int]) -> Floats | None:
        """Return the shares of attributes in one region, one axis each, in their order; None if no region has them."""
        for region, table in zip(self.regions, self.shares, strict=True):
            if set(places) <= set(region):
                summed = table.sum(axis=tuple(1 + k for k, position in enumerate(region) if position not in places))
                order = np.argsort(np.argsort(places))  # the remaining axes are ascending
                return np.asarray(summed.transpose(0, *(1 + order)))
        return None


class TableOfRecords(FittedDistribution):
    """Fitted distribution whose marginals are all counted in its table."""

    def __init__(self, fitted: PseudoMarginals) -> None:
        self.domain, self.total, self._fitted = fitted.domain, fitted.total, fitted

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return counts in the table of the fit, times total / n_rows; shape `(size, n_cells)`."""
        return self._fitted.counted(attributes)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return newly generated records with nearly these marginals, `(size, n_rows, d)`."""
        return self._fitted.table(n_rows, rng)


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


def _onto_simplex(table: Floats) -> Floats:
    """Return the nearest table of numbers >= 0 that sum to 1, for each run (Duchi et al. 2008, figure 1)."""
    flat = table.reshape(len(table), -1)
    descending = -np.sort(-flat, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    n_positive = (descending * np.arange(1, flat.shape[1] + 1) > excess).sum(axis=1)
    shift = excess[np.arange(len(flat)), n_positive - 1] / n_positive
    return np.asarray(np.maximum(flat - shift[:, None], 0.0).reshape(table.shape))


def _project_onto_polytope(
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
            inside = _onto_simplex(moved)
            correction[...] = moved - inside
            table[...] = inside
    return projected
