"""Local consistency: marginals that agree where they overlap, and a table generated from them by GUM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.arrays import Floats, Ints
from ....core.constraints import PositiveInt, check_fields
from ....noise.queries.domain import Domain
from ...base import Generator, Measured, Synthesised
from ..problem import Problem
from .gradual_update import fitted_table, independent_table
from .polytope import overlaps, project


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
        * Up to the convergence of `sweeps` rounds no distribution has a smaller squared error.
        * `marginal` of attributes that were measured together returns these pseudo-marginals. For other attributes it
          returns counts of the table, whose records are a heuristic rounding.

    Example:
        >>> measured = [Measured(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = LocalConsistency().fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> fitted.marginal("ab")  # each two of three attributes differ: no distribution has these marginals
        array([[ 0., 50., 50.,  0.]])
    """

    sweeps: PositiveInt = 200
    n_rows: PositiveInt = 1_000
    updates: PositiveInt = 30

    def __post_init__(self) -> None:
        check_fields(self)

    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> Synthesised:
        return self._consistent(domain, measured, total, rng, exact=True)

    def _consistent(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator, *, exact: bool
    ) -> PseudoMarginals:
        problem = Problem.of(domain, measured, total)
        agreements = overlaps(problem.regions, domain.shape)
        shares = project(problem.shares, problem.precisions, agreements, sweeps=self.sweeps, exact=exact)
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
        >>> measured = [Measured(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = GradualUpdate(n_rows=300).fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> equal = sum(fitted.marginal(pair)[0, [0, 3]].sum() for pair in ("ab", "bc", "ca"))
        >>> bool(equal > 99.9)  # in any record, at least two of three attributes are equal
        True
    """

    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> Synthesised:
        return TableOfRecords(self._consistent(domain, measured, total, rng, exact=False))


class PseudoMarginals(Synthesised):
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
        start = independent_table([self._single(place) for place in range(len(self.domain.names))], n_rows, rng)
        table = fitted_table(start, self.regions, self.shares, sweeps=self.updates, rng=rng)
        unmeasured = sorted(set(range(table.shape[2])) - set().union(*self.regions))
        table[:, :, unmeasured] = start[:, :, unmeasured]
        return table

    def _single(self, place: int) -> Floats:
        """Return the shares of one attribute, `(size, n_values)`: uniform if it was not measured."""
        shares, n_values = self._share([place]), self.domain.shape[place]
        return np.full((len(self.total), n_values), 1.0 / n_values) if shares is None else shares

    def _share(self, places: Sequence[int]) -> Floats | None:
        """Return the shares of attributes in one region, one axis each, in their order; None if no region has them."""
        for region, table in zip(self.regions, self.shares, strict=True):
            if set(places) <= set(region):
                summed = table.sum(axis=tuple(1 + k for k, place in enumerate(region) if place not in places))
                order = np.argsort(np.argsort(places))  # the remaining axes are ascending
                return np.asarray(summed.transpose(0, *(1 + order)))
        return None


class TableOfRecords(Synthesised):
    """Fitted distribution whose marginals are all counted in its table."""

    def __init__(self, fitted: PseudoMarginals) -> None:
        self.domain, self.total, self._fitted = fitted.domain, fitted.total, fitted

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Return counts in the table of the fit, times total / n_rows; shape `(size, n_cells)`."""
        return self._fitted.counted(attributes)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return newly generated records with nearly these marginals, `(size, n_rows, d)`."""
        return self._fitted.table(n_rows, rng)
