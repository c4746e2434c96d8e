"""Synthetic data from a noisy histogram: each possible record is repeated as often as its noisy count."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from ...accounting import ExactDP
from ...accounting.numerics.binomial import response_logs
from ...core.arrays import Floats, Ints
from ...core.base import Dataset, LogDensity, Neighbours, Outputs, example
from ...core.constraints import AddOrReplace, Positive, PositiveInt, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.geometric import Geometric
from ...noise.queries.domain import Domain, check_memory
from .base import check_public_rows

VIEWS = ("counts", "table")


@dataclass(frozen=True)
class NoisyHistogramTable(RecordsMechanism):
    """Table with max(0, count + two-sided geometric noise) copies of each record that the domain allows.

    The simplest private synthesiser, and a good one for small domains. Each empty cell gets
    a / (1 - a^2) records on average, a = exp(-epsilon / s): with many cells the table holds little else.

    The number of rows is random. A sorted table and its counts carry the same information, but only the counts have a
    fixed shape; `view` selects the output.

    Args:
        epsilon: the claim, > 0.
        domain: domain of the records; may be a dict of attribute -> number of values.
        view: the output of a run:

            "counts"  number of copies of each record, `(n_cells,)` whole numbers >= 0: the whole table; see `copies`
            "table"   `n_rows` rows drawn from it with replacement, `(n_rows, n_attributes)`, coded; uniform rows if
                      all counts are 0

        n_rows: rows of view "table"; None: the number of records, if it is public ("replace_one").
        impossible: coded records that cannot occur (structural zeros): public, so that their cells get no noise.
        relation: "replace_one", with s = 2, or "add_remove", with s = 1.

    Raises:
        ParameterError: options out of range, fewer than two possible cells, a domain too large for memory, or a dataset
            with impossible records or records outside the domain.

    Guarantees:
        * epsilon-DP; for the counts the whole curve is exact: that of one count (two, if a record is replaced), with
          outputs grouped by constant likelihood ratio. Clamping at 0, below all counts, loses no information.
        * A count c becomes c + a^(c + 1) / (1 - a^2) on average: see `expected_counts`.

    References:
        Dwork and Roth (2014), section 3.3, for histograms; Ghosh, Roughgarden and Sundararajan (2012) for the noise.

    Example:
        >>> synthesiser = NoisyHistogramTable(1.0, {"sex": 2, "smoker": 2}, view="table", n_rows=3)
        >>> records = np.repeat([[0, 1], [1, 0]], 50, axis=0)
        >>> synthesiser.release(records, 10, np.random.default_rng(0)).values.shape
        (10, 3, 2)
        >>> synthesiser.expected_counts(records).round(2).tolist()
        [0.96, 50.0, 50.0, 0.96]
    """

    _example = example(domain={"sex": 2, "race": 3})

    epsilon: Positive
    domain: Domain
    _: KW_ONLY
    view: Annotated[str, one_of_names(*VIEWS)] = "counts"
    n_rows: PositiveInt | None = None
    impossible: tuple[tuple[int, ...], ...] = ()
    relation: AddOrReplace = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "impossible", tuple(tuple(record) for record in self.impossible))
        if self.view == "table":
            check_public_rows(self.n_rows, self.relation)
        check_memory(self.domain.n_cells, "a histogram")
        if len(self.possible) < 2:
            raise ParameterError(
                argument="impossible", value=self.impossible, allowed="leave at least two possible records"
            )

    @cached_property
    def possible(self) -> Ints:
        """Return the numbers of the cells that get noise, in order."""
        cells = np.arange(self.domain.n_cells)
        if not self.impossible:
            return cells
        return np.delete(cells, self.domain.cells(self.domain.records(np.array(self.impossible))))

    @property
    def noise(self) -> Geometric:
        """Noise on the possible cells, clamped at 0."""
        sensitivity = 2 if self.relation is Relation.REPLACE_ONE else 1
        return Geometric(
            self.epsilon, sensitivity=sensitivity, n_queries=len(self.possible), lower=0, relation=self.relation
        )

    def counts(self, dataset: Dataset) -> Floats:
        """Return the exact counts, `(n_cells,)`; raise `ParameterError` for an impossible record."""
        counts = self.domain.histogram(self.domain.records(dataset))
        occupied = np.setdiff1d(np.flatnonzero(counts), self.possible)
        if len(occupied):
            record = tuple(self.domain.records_in(occupied[:1])[0].tolist())
            raise ParameterError(
                argument="dataset", value=record, allowed="hold no record that is impossible", shown=f"holding {record}"
            )
        return counts

    def expected_counts(self, dataset: Dataset) -> Floats:
        """Return the mean of each noisy count, `(n_cells,)`."""
        counts, a = self.counts(dataset), self.noise.ratio
        mean = np.zeros_like(counts)
        mean[self.possible] = (counts + a ** (counts + 1.0) / (1.0 - a**2))[self.possible]
        return mean

    def copies(self, counts: Ints) -> Ints:
        """Return the table for the counts of one run, `(n_cells,)`: `(counts.sum(), n_attributes)`, in order."""
        return self.domain.records_in(np.repeat(np.arange(self.domain.n_cells), counts))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` runs, `(size, ...)` according to the view, whole numbers."""
        exact = self.counts(dataset)
        noisy = np.zeros((size, self.domain.n_cells), dtype=np.int64)
        noisy[:, self.possible] = self.noise.release(exact[self.possible], size, rng).values
        if self.view == "counts":
            return Outputs(noisy)
        empty = ~noisy.any(axis=1)
        noisy[np.ix_(empty, self.possible)] = 1
        n_rows = int(exact.sum()) if self.n_rows is None else self.n_rows
        return Outputs(self.domain.records_in(drawn_cells(noisy, n_rows, rng)))

    def guarantee(self) -> Guarantee:
        """Return the exact curve of the counts."""
        response = response_logs(1, self.noise.rate)
        curve = ExactDP.of_logs(response[::-1], response, self.relation)
        return curve.product(curve) if self.relation is Relation.REPLACE_ONE else curve

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of the counts; None for a table drawn from them."""
        return self.guarantee() if self.view == "counts" else None

    def output_law(self) -> LogDensity | None:
        """Return self for the counts, whose `log_density` is exact; None for a table."""
        return self if self.view == "counts" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of the counts under `dataset`, `(size,)`; -inf if they are impossible."""
        law = self.noise.log_density(Outputs(outputs.values[:, self.possible]), self.counts(dataset)[self.possible])
        elsewhere = np.delete(outputs.values, self.possible, axis=1).any(axis=1)
        return np.where(elsewhere, -np.inf, law)

    def worst_case(self) -> Neighbours:
        """Return two records, one of the first and one of the last possible cell, with a side 0 that lacks the last.

        Under "replace_one" side 0 has another record of the first cell in its place.
        """
        first, last = self.domain.records_in(self.possible[[0, -1]])
        d1 = np.stack([first, last])
        if self.relation is Relation.REPLACE_ONE:
            return Neighbours(np.stack([first, first]), d1, self.relation)
        return Neighbours(d1[:1], d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.counts(dataset)


def drawn_cells(counts: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """Return `n_rows` cell numbers per run, drawn with replacement in proportion to its counts: `(size, n_rows)`.

    Args:
        counts: `(size, n_cells)` whole numbers >= 0, not all 0 in a run.
        n_rows: >= 1.
        rng: the only source of randomness.

    Each row is the index of one of the copies of all runs, concatenated: whole numbers only, without rounding.

    Example:
        >>> drawn_cells(np.array([[0, 3, 0], [1, 0, 0]]), 2, np.random.default_rng(0)).tolist()
        [[1, 1], [0, 0]]
    """
    size, n_cells = counts.shape
    ends = np.cumsum(counts)
    totals = counts.sum(axis=1)
    starts = np.cumsum(totals) - totals
    copies = starts[:, None] + rng.integers(totals[:, None], size=(size, n_rows))
    return np.asarray(np.searchsorted(ends, copies, side="right") - n_cells * np.arange(size)[:, None])
