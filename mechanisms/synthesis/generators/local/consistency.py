"""Local consistency: marginals that agree where they overlap, and a table made from them by GUM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....queries.domain import Domain
from ....validation import whole
from ...base import Floats, Generator, Ints, Measured, Synthesised
from ..problem import Problem
from .gradual_update import fitted_table, independent_table
from .polytope import overlaps, project


@dataclass(frozen=True)
class LocalConsistency(Generator):
    """Marginals that agree where they overlap, the nearest to the answers; tables are made of them by GUM.

    The least squares of problem (1) are solved over the local polytope, which holds the marginals of every
    distribution, and spurious ones: no distribution need have them all (McKenna, Pradhan, Sheldon and Miklau 2021, who
    relax the marginals of a graphical model in this way). The problem is the projection of the answers onto the
    polytope, and Dykstra's alternating projections solve it exactly in the limit; entropies and message passing are not
    needed, since nothing but the measured marginals is wanted.

    Args:
        sweeps: of the projections, >= 1. n_rows: of the table that answers for attributes not measured together, >= 1:
        each row is total / n_rows records. updates: rounds of GUM for a table.

    Guarantees:
        * Up to the convergence of `sweeps` rounds no distribution has a smaller squared error.
        * `marginal` of attributes that were measured together: these pseudo-marginals. Of others: counts of the
          table, whose records are a heuristic rounding.

    Example:
        >>> measured = [Measured(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = LocalConsistency().fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> fitted.marginal("ab")                            # each two of three differ: no distribution has that
        array([[ 0., 50., 50.,  0.]])
    """

    sweeps: int = 200
    n_rows: int = 1_000
    updates: int = 30

    def __post_init__(self) -> None:
        whole(1, sweeps=self.sweeps, n_rows=self.n_rows, updates=self.updates)

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
    """GUM of PrivSyn: a table moved record by record until its marginals are about the measured ones.

    The answers are made to agree where they overlap, by weighted averages, and to be shares, in turns; a table whose
    columns are independent is then updated towards each marginal in turn (Zhang et al. 2021).
    Everything is answered by that table, so nothing spurious is.

    The share of what is missing that one update moves falls evenly to 0; PrivSyn's falls in steps, and is a share of
    the count of a cell, so that an empty one needs a rule of its own.

    Args:
        sweeps: of making the answers agree.
        n_rows: of the table that answers, >= 1; each row is total / n_rows records.
        updates: rounds of GUM for a table.

    Example:
        >>> measured = [Measured(pair, np.array([[0.0, 50.0, 50.0, 0.0]]), 1.0) for pair in ("ab", "bc", "ca")]
        >>> fitted = GradualUpdate(n_rows=300).fit(Domain({"a": 2, "b": 2, "c": 2}), measured, np.random.default_rng(0))
        >>> equal = sum(fitted.marginal(pair)[0, [0, 3]].sum() for pair in ("ab", "bc", "ca"))
        >>> bool(equal > 99.9)                     # of any record, at least two of three are equal
        True
    """

    def _fit(
        self, domain: Domain, measured: Sequence[Measured], total: Floats, rng: np.random.Generator
    ) -> Synthesised:
        return TableOfRecords(self._consistent(domain, measured, total, rng, exact=False))


class PseudoMarginals(Synthesised):
    """Marginals that agree where they overlap, and a table that is near them.

    Args:
        domain: of the records.
        total: number of records in each run, shape `(size,)`.
        regions: of each marginal, the positions of its attributes, ascending.
        shares: of each, `(size, *shape)`, non-negative, each run's sum 1.
        updates: rounds of GUM for a table.
        n_rows: of the table that answers for other attributes; it is made when it is asked for.
        rng: gives that table its seed, at once.
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
        """Expected counts, shape `(size, n_cells)`: pseudo-marginals where the attributes were measured together."""
        places = [self.domain.index(name) for name in attributes]
        found = self._share(places)
        return self.counted(attributes) if found is None else self.total[:, None] * found.reshape(len(found), -1)

    @cached_property
    def records(self) -> Ints:
        """The table that answers for attributes that were not measured together, `(size, n_rows, d)`."""
        return self.table(self._n_rows, np.random.default_rng(self._seed))

    def counted(self, attributes: Sequence[str]) -> Floats:
        """The same counted in the table of the fit."""
        n_cells = self.domain.project(attributes).n_cells
        size, n_rows, _ = self.records.shape
        cells = self.domain.cells(self.records, attributes) + n_cells * np.arange(size)[:, None]
        counts = np.bincount(cells.ravel(), minlength=size * n_cells).reshape(size, n_cells)
        return np.asarray(self.total[:, None] * counts / n_rows)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Records whose marginals are near these, `(size, n_rows, d)`, by GUM from independent columns.

        Attributes in no marginal stay independent of all others: where a record is copied, they are not.
        """
        start = independent_table([self._single(place) for place in range(len(self.domain.names))], n_rows, rng)
        table = fitted_table(start, self.regions, self.shares, sweeps=self.updates, rng=rng)
        unmeasured = sorted(set(range(table.shape[2])) - set().union(*self.regions))
        table[:, :, unmeasured] = start[:, :, unmeasured]
        return table

    def _single(self, place: int) -> Floats:
        """The shares of one attribute, `(size, n_values)`: uniform if it was not measured."""
        found, n_values = self._share([place]), self.domain.shape[place]
        return np.full((len(self.total), n_values), 1.0 / n_values) if found is None else found

    def _share(self, places: Sequence[int]) -> Floats | None:
        """The shares of attributes that one region holds, one axis each, in their order; None if none does."""
        for region, table in zip(self.regions, self.shares, strict=True):
            if set(places) <= set(region):
                kept = table.sum(axis=tuple(1 + k for k, place in enumerate(region) if place not in places))
                order = np.argsort(np.argsort(places))  # the axes that are left ascend
                return np.asarray(kept.transpose(0, *(1 + order)))
        return None


class TableOfRecords(Synthesised):
    """What was fitted, answered by its table alone."""

    def __init__(self, fitted: PseudoMarginals) -> None:
        self.domain, self.total, self._fitted = fitted.domain, fitted.total, fitted

    def marginal(self, attributes: Sequence[str]) -> Floats:
        """Counts in the table of the fit, times total / n_rows; shape `(size, n_cells)`."""
        return self._fitted.counted(attributes)

    def table(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Records near the marginals, `(size, n_rows, d)`, made anew."""
        return self._fitted.table(n_rows, rng)
