"""Workloads: linear queries over the cells of a domain, as the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core import Dataset, Floats, ParameterError, Relation, real_numbers, whole
from .base import Query
from .domain import Domain, check_memory
from .marginals import attribute_sets


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Query):
    """Linear queries: the answers are W x, where x counts the records in each cell of the domain.

    Args:
        domain: domain of the records, T cells; a dict is accepted.
        matrix: W, public, shape `(m, T)`: contribution of a record in each cell to each answer; not all zeros.
        name: display name.

    Attributes:
        matrix: read-only copy of W.

    Example:
        >>> age = Domain({"age": 4})
        >>> query = Workload.prefixes(age)
        >>> query
        prefixes of age: 4 queries over 4 cells
        >>> query([[0], [2], [2]])
        array([1., 1., 3., 3.])
        >>> query.sensitivity(Relation.ADD_REMOVE), query.sensitivity(Relation.REPLACE_ONE)
        (4.0, 3.0)
        >>> Workload(age, [[1, 1, 0, 0], [0, 0, 1, -1]]).sensitivity(Relation.REPLACE_ONE)
        2.0
    """

    domain: Domain
    matrix: Floats
    _: KW_ONLY
    name: str = "workload"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", Domain.of(self.domain))
        matrix = np.array(real_numbers(matrix=self.matrix), ndmin=2)
        if matrix.ndim != 2 or matrix.shape[1] != self.domain.n_cells or not np.isfinite(matrix).all():
            raise ParameterError(
                f"matrix must be finite numbers of shape (n_queries, {self.domain.n_cells}), one column for each cell "
                f"of the domain, but has shape {matrix.shape}.",
                argument="matrix",
            )
        if not matrix.any():
            raise ParameterError(
                "matrix must not be all zeros, which makes all answers 0. Give a query that counts some cell.",
                argument="matrix",
            )
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def n_answers(self) -> int:
        """Number of queries m."""
        return len(self.matrix)

    def __call__(self, dataset: Dataset) -> Floats:
        return self.of(self.domain.histogram(self.domain.records(dataset)))

    def of(self, histograms: Floats) -> Floats:
        """Return the answers on histograms `(..., n_cells)`, shape `(..., m)`."""
        return np.asarray(histograms @ self.matrix.T)

    def sensitivity(self, relation: Relation, *, norm: float = 1.0) -> float:
        """Return the distance by which the record of `furthest` moves the answers."""
        before, after = self.furthest(relation, norm=norm)
        move = self.matrix[:, after] - (0.0 if before is None else self.matrix[:, before])
        return float(np.linalg.norm(move, ord=norm))

    def furthest(self, relation: Relation, *, norm: float = 1.0) -> tuple[int | None, int]:
        """Return the cells, on side 0 (None: absent) and on side 1, of the record that moves the answers furthest.

        A record that is added moves the answers by its column; a record that is replaced, by the difference of two
        columns; a record that is zeroed out, by the difference from the first column.
        """
        relation = Relation.of(relation)
        if relation is not Relation.REPLACE_ONE:
            moves = self.matrix - (0.0 if relation is Relation.ADD_REMOVE else self.matrix[:, :1])
            return None if relation is Relation.ADD_REMOVE else 0, int(_lengths(moves, norm).argmax())
        columns, cells = np.unique(self.matrix, axis=1, return_index=True)
        distances = (_lengths(columns[:, i:] - columns[:, i : i + 1], norm) for i in range(len(cells)))
        _, i, j = max((float(lengths.max()), i, i + int(lengths.argmax())) for i, lengths in enumerate(distances))
        return int(cells[i]), int(cells[j])

    def monotone(self, relation: Relation) -> bool:
        """Return True if each column has one sign or, under replacement, the columns can be put in rising order."""
        if Relation.of(relation) is Relation.ADD_REMOVE:
            return bool(np.all((self.matrix >= 0).all(axis=0) | (self.matrix <= 0).all(axis=0)))
        rising = self.matrix[:, np.argsort(self.matrix.sum(axis=0))]
        return bool(np.all(np.diff(rising, axis=1) >= 0))

    def __repr__(self) -> str:
        m, n_cells = self.matrix.shape
        counted = f"{m:,} {'query' if m == 1 else 'queries'} over {n_cells:,} cells"
        return f"{self.name} of {', '.join(self.domain.names)}: {counted}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self.domain == other.domain and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.domain, self.matrix.shape))

    @classmethod
    def identity(cls, domain: Domain) -> Workload:
        """Return the counts of every cell: T queries."""
        return product(domain, np.eye, lambda n: n, "identity")

    @classmethod
    def total(cls, domain: Domain) -> Workload:
        """Return the count of all records: one query."""
        return product(domain, lambda n: np.ones((1, n)), lambda n: 1, "total")

    @classmethod
    def prefixes(cls, domain: Domain) -> Workload:
        """Return the counts of records at or below each value, in every attribute: T queries."""
        return product(domain, lambda n: np.tri(n), lambda n: n, "prefixes")

    @classmethod
    def ranges(cls, domain: Domain) -> Workload:
        """Return the counts of records in every interval of values, or box: T (T + 1) / 2 queries for one attribute."""
        return product(domain, _ranges, lambda n: n * (n + 1) // 2, "ranges")

    @classmethod
    def marginals(cls, domain: Domain, sets: int | Iterable[Sequence[str]]) -> Workload:
        """Return the counts of all cells of marginals, as in `Marginals`."""
        domain = Domain.of(domain)
        sets = attribute_sets(domain, sets)
        n_queries = sum(domain.project(names).n_cells for names in sets)
        check_memory(n_queries * domain.n_cells, "the marginals as a matrix")
        rows = np.zeros((n_queries, domain.n_cells))
        records, first = domain.records_in(np.arange(domain.n_cells)), 0
        for names in sets:
            rows[first + domain.cells(records, names), np.arange(domain.n_cells)] = 1.0
            first += domain.project(names).n_cells
        return Workload(domain, rows, name="marginals")

    @classmethod
    def parities(cls, domain: Domain, k: int) -> Workload:
        """Return the parities of k binary attributes: the count of records with an even number of ones minus the rest.

        Answers lie in [-n, n]. (Barak et al. 2007: the Fourier coefficients that make up all k-way marginals.)
        """
        domain = Domain.of(domain)
        if set(domain.shape) != {2}:
            raise ParameterError(
                argument="domain", value=domain.attributes, allowed="have attributes of two values for parities"
            )
        sets = attribute_sets(domain, k)
        check_memory(len(sets) * domain.n_cells, "the parities as a matrix")
        signs = 1.0 - 2.0 * domain.records_in(np.arange(domain.n_cells))
        rows = [signs[:, [domain.index(name) for name in names]].prod(axis=1) for names in sets]
        return Workload(domain, np.array(rows), name=f"{k}-parities")

    @classmethod
    def random(cls, domain: Domain, n_queries: int, seed: int = 0) -> Workload:
        """Return counts of random sets of cells, each cell in each with probability 1/2; the seed is public."""
        domain = Domain.of(domain)
        whole(1, n_queries=n_queries)
        whole(0, seed=seed)
        check_memory(n_queries * domain.n_cells, "the random queries")
        rows = np.random.default_rng(seed).integers(0, 2, size=(n_queries, domain.n_cells))
        return Workload(domain, rows.astype(np.float64), name="random sets")


def _lengths(moves: Floats, norm: float) -> Floats:
    """Return the norm of each column."""
    return np.asarray(np.linalg.norm(moves, ord=norm, axis=0))


def product(domain: Domain, factor: Callable[[int], Floats], rows: Callable[[int], int], name: str) -> Workload:
    """Return the workload of the Kronecker product of a matrix `(rows(n), n)` for each attribute of n values."""
    domain = Domain.of(domain)
    n_queries = int(np.prod([rows(n) for n in domain.shape], dtype=object))
    check_memory(n_queries * domain.n_cells, f"the {name} as a matrix")
    matrix: Floats = np.ones((1, 1))
    for n in domain.shape:
        matrix = np.asarray(np.kron(matrix, factor(n)), dtype=np.float64)
    return Workload(domain, matrix, name=name)


def _ranges(n: int) -> Floats:
    """Return one row for each pair of a first and a last value."""
    first, last = (ends[:, None] for ends in np.triu_indices(n))
    return ((first <= np.arange(n)) & (np.arange(n) <= last)).astype(np.float64)
