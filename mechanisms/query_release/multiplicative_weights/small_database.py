"""Small-database mechanism: a random small database that approximates the answers to all queries."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ...accounting import BoundedRange, ExactDP, FiniteMechanism, PureMechanism
from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Neighbours, Outputs
from ...core.constraints import Positive, PositiveInt
from ...core.guarantee import Guarantee
from ...core.validation import open_unit, positive, whole
from ...noise.queries.domain import check_memory
from .base import MOST_QUERIES, PairCells, WorkloadRelease, detectability


@dataclass(frozen=True)
class SmallDatabase(PureMechanism, FiniteMechanism, WorkloadRelease):
    """Exponential mechanism over all databases of `n_rows` rows.

    The error of a database y is the largest difference between the mean answers, max over q of |q(y)/n_rows - q(x)/n|,
    and y is released with probability proportional to exp(-epsilon n error(y) / (2 sensitivity)). The order of the rows
    is irrelevant: the databases are multisets, that is, histograms over the cells, with a uniform base measure. (Blum,
    Ligett and Roth 2008; Dwork and Roth 2014, algorithm 4, whose databases are histograms too.) All databases are
    enumerated, which requires a domain of a few cells.

    Output of a run: `(n_cells,)` whole numbers, the histogram of the database.

    Args:
        workload: the queries, over the cells of a domain.
        n_records: public, >= 1: the number of records.
        epsilon: the claim, > 0.
        n_rows: number of rows of the released database, >= 1; see `rows_needed`.
        relation: the neighbouring relation of the claim.

    Guarantees:
        * epsilon-DP: the error changes by at most sensitivity / n between neighbours (McSherry and Talwar 2007,
          theorem 6).
        * The law of the outputs and the curve of any pair are exact.
        * `excess` bounds the excess error of the released database over the best one.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> mechanism = SmallDatabase(Workload.prefixes({"age": 4}), n_records=20, epsilon=1.0, n_rows=3)
        >>> mechanism.databases.shape
        (20, 4)
        >>> mechanism.release(np.repeat([1, 2], 10), 2, np.random.default_rng(0)).values.shape
        (2, 4)
    """

    _: KW_ONLY
    epsilon: Positive
    n_rows: PositiveInt = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        n_cells = self.workload.domain.n_cells
        check_memory(number_of_databases(n_cells, self.n_rows) * (n_cells + self.workload.n_answers), "all databases")

    @cached_property
    def databases(self) -> Ints:
        """All histograms of `n_rows` rows, shape `(n_databases, n_cells)`."""
        n_cells = self.workload.domain.n_cells
        rows = np.array(list(combinations_with_replacement(range(n_cells), self.n_rows)), dtype=np.int64)
        histograms = np.zeros((len(rows), n_cells), dtype=np.int64)
        for position in range(self.n_rows):
            histograms[np.arange(len(rows)), rows[:, position]] += 1
        return histograms

    def errors(self, dataset: Dataset) -> Floats:
        """Return the largest difference of the mean answers of each database, shape `(n_databases,)`."""
        return np.asarray(np.abs(self._means - self.answers(dataset) / self.n_records).max(axis=1))

    @cached_property
    def _means(self) -> Floats:
        """Mean answers of each database, shape `(n_databases, n_queries)`."""
        return np.asarray(self.workload.of(self.databases / self.n_rows))

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each database, shape `(n_databases,)`."""
        rate = self.epsilon * self.n_records / (2.0 * self.sensitivity)
        return np.asarray(log_softmax(-rate * self.errors(dataset)))

    def excess(self, confidence: float) -> float:
        """Return a bound on the excess error over the best database that holds with this confidence.

        The bound is (2 sensitivity / (epsilon n)) ln(number of databases / (1 - confidence)), as for every exponential
        mechanism.
        """
        open_unit(confidence=confidence)
        n_databases = number_of_databases(self.workload.domain.n_cells, self.n_rows)
        return 2.0 * self.sensitivity / (self.epsilon * self.n_records) * math.log(n_databases / (1.0 - confidence))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the histograms of `size` databases, shape `(size, n_cells)`, drawn by inversion."""
        steps = np.cumsum(np.exp(self.log_probabilities(dataset)))
        return Outputs(self.databases[np.searchsorted(steps[:-1] / steps[-1], rng.random(size), side="right")])

    def bounded_range(self) -> BoundedRange:
        """Return the bounded-range guarantee: all log ratios lie in an interval of length epsilon.

        (Dong, Durfee and Rogers 2020.)
        """
        return BoundedRange(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return the most detectable pair with other records in one or two cells; see `detectability`.

        No pair attains the claim: the closer the log ratio of a database is to epsilon, the rarer the database. The
        numbers of other records in the two cells determine its probability.
        """
        return self._worst

    @cached_property
    def _worst(self) -> Neighbours:
        half = (self.n_records - 1) // 2
        scores = {(cells, half): self._detectability(cells, half) for cells in self._pair_cells()}
        steps = 2 ** np.arange(max(1, half).bit_length())
        splits = np.concatenate([half - steps, half + steps]).clip(0, self.n_records - 1)
        for cells, _ in sorted(scores, key=lambda place: scores[place], reverse=True)[:MOST_QUERIES]:
            for n_second in np.unique(splits).tolist():
                scores[cells, n_second] = self._detectability(cells, n_second)
        return self._pair(*max(scores, key=lambda place: scores[place]))

    def _detectability(self, cells: PairCells, n_second: int) -> tuple[float, float]:
        return detectability(self.curve(self._pair(cells, n_second)), self.epsilon)

    def _positions(self, values: NDArray[Any], n_outputs: int) -> Ints:
        """Return the position of each histogram in `databases`, shape `(size,)`; -1 for impossible ones."""
        counts = np.clip(values, 0, self.n_rows).astype(np.int64)
        possible = (counts == values).all(axis=1) & (counts.sum(axis=1) == self.n_rows)
        counts[~possible] = self.databases[0]
        return np.where(possible, self._places(counts), -1)

    def _places(self, counts: Ints) -> Ints:
        """Return the position of each histogram in `databases`, which are in decreasing lexicographic order."""
        n_cells = counts.shape[1]
        remaining, places = np.full(len(counts), self.n_rows), np.zeros(len(counts), dtype=np.int64)
        for cell in range(n_cells - 1):
            after = [0, *(number_of_databases(n_cells - cell, rows) for rows in range(self.n_rows))]
            places += np.array(after, dtype=np.int64)[remaining - counts[:, cell]]
            remaining -= counts[:, cell]
        return places

    def curve(self, neighbours: Neighbours) -> Guarantee:
        """Return the exact curve of a pair."""
        log0, log1 = (self.log_probabilities(side) for side in (neighbours.d0, neighbours.d1))
        return ExactDP.of_logs(log0, log1, self.relation)


def number_of_databases(n_cells: int, n_rows: int) -> int:
    """Return the number of multisets of `n_rows` rows out of `n_cells`, C(n_rows + n_cells - 1, n_rows).

    It is at most n_cells^n_rows.

    Example:
        >>> number_of_databases(4, 3), 4**3
        (20, 64)
    """
    whole(1, n_cells=n_cells)
    whole(0, n_rows=n_rows)
    return math.comb(n_rows + n_cells - 1, n_rows)


def rows_needed(n_queries: int, alpha: float) -> float:
    """Return log2(n_queries) / alpha^2 rows, so that some database answers every query within `alpha`.

    Rows drawn at random from the records have this property with positive probability: by Hoeffding's inequality
    2 n_queries e^(-2 rows alpha^2) < 1 is sufficient, and ln(2 k) / 2 < log2 k for k >= 2. (Blum, Ligett and Roth
    2008.)

    Example:
        >>> round(rows_needed(1000, 0.1), 2)
        996.58
    """
    whole(2, n_queries=n_queries)
    open_unit(alpha=alpha)
    return math.log2(n_queries) / alpha**2


def excess_bound(
    n_queries: int, alpha: float, *, n_cells: int, n_records: int, epsilon: float, failure: float
) -> float:
    """Return a bound on the excess of the error over `alpha` that fails with probability at most `failure`.

    The bound is (2 / (epsilon n)) (rows_needed ln n_cells - ln failure) for queries in [0, 1]: the number of databases
    is at most n_cells^rows. It applies to domains that are too large to enumerate.

    Example:
        >>> round(excess_bound(1000, 0.1, n_cells=2**10, n_records=10**6, epsilon=1.0, failure=0.05), 7)
        0.0138215
    """
    whole(1, n_cells=n_cells, n_records=n_records)
    positive(epsilon=epsilon)
    open_unit(failure=failure)
    log_range = rows_needed(n_queries, alpha) * math.log(n_cells)
    return 2.0 / (epsilon * n_records) * (log_range - math.log(failure))
