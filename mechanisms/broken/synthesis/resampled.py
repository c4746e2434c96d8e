"""Wrong on purpose: synthetic data from a generative model that is the records themselves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...errors import ParameterError
from ...guarantees import ApproximateDP, PureDP
from ...guarantees.base import Guarantee
from ...records import check_records
from ...relation import Relation
from ...validation import positive, whole


@dataclass(frozen=True)
class Resampled(Mechanism):
    """Broken: rows drawn independently from a generative model, which is the uniform distribution on the records.

    The slip: rows of a generative model are thought to be nobody's, since each is drawn afresh. This model fits the
    records best of all, and 1 - (1 - 1/n)^n of them, 63.4 % for n = 100, stand in its table as they are. It claims
    epsilon; nothing hides a record that was drawn. (A thought experiment that is told of generative models in general;
    the bootstrap, Efron 1979.) `NoisyHistogramTable` is right.

    Args:
        epsilon: the claim, > 0; false.
        n_records: number of records, >= 2; a dataset is a table `(n_records, n_columns)` of numbers.
        n_rows: of a table; None for n_records.

    Example:
        >>> broken = Resampled(1.0, n_records=100)
        >>> broken.guarantee().delta(1.0), round(broken.exact_guarantee().delta(1.0), 5)
        (0.0, 0.63397)
    """

    epsilon: float
    _: KW_ONLY
    n_records: int = 100
    n_rows: int | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        whole(2, n_records=self.n_records)
        if self.n_rows is not None:
            whole(1, n_rows=self.n_rows)

    @property
    def drawn(self) -> int:
        """Rows of a table."""
        return self.n_records if self.n_rows is None else self.n_rows

    @property
    def share_shown(self) -> float:
        """Probability that a record stands in the table: 1 - (1 - 1/n)^n_rows."""
        return -float(np.expm1(self.drawn * np.log1p(-1.0 / self.n_records)))

    def records(self, dataset: Dataset) -> NDArray[Any]:
        """The records, `(n_records, n_columns)`; raises `ParameterError` if they are none, or another number."""
        table = np.asarray(dataset)
        if table.ndim != 2 or len(table) != self.n_records or table.dtype.kind not in "biuf":
            raise ParameterError(
                f"n_records is {self.n_records}, but the dataset has shape {table.shape}, dtype {table.dtype}. Give a "
                "table of numbers, one row a record.",
                argument="n_records",
            )
        return table

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """A table a run, `(size, n_rows, n_columns)`."""
        table = self.records(dataset)
        return Outputs(table[rng.integers(self.n_records, size=(size, self.drawn))])

    def guarantee(self) -> Guarantee:
        """The claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Tables that hold the record that differs are impossible without it, the others are alike: (0, delta)."""
        return ApproximateDP(0.0, self.share_shown, self.relation, exact=True)

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each table, its rows in order, under `dataset`, `(size,)`; -inf if a row is no record."""
        records, rows = self.records(dataset), outputs.values
        if rows.shape[2] != records.shape[1]:
            return np.full(len(rows), -np.inf)
        share = _copies(records, rows.reshape(-1, rows.shape[2])) / self.n_records
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share).reshape(rows.shape[:2]).sum(axis=1))

    def worst_case(self) -> Neighbours:
        """n_records different records, of which the last is another one on `d1`."""
        d0 = np.arange(self.n_records)[:, None]
        d1 = d0.copy()
        d1[-1] = self.n_records
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        for side in (0, 1):
            self.records(neighbours.side(side))
        check_records(neighbours)
        return self


def _copies(records: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.int64]:
    """How many of the records equal each row, `(n_rows,)`: both are numbered column by column, records the finest."""
    own, number = np.zeros(len(records), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    known = np.ones(len(rows), dtype=np.bool_)
    for column, values in zip(records.T, rows.T, strict=True):
        levels, at = np.unique(column, return_inverse=True)
        there = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
        prefixes, own = np.unique(own * len(levels) + at, return_inverse=True)
        wanted = number * len(levels) + there
        number = np.minimum(np.searchsorted(prefixes, wanted), len(prefixes) - 1)
        known &= (levels[there] == values) & (prefixes[number] == wanted)
    return np.where(known, np.bincount(own)[number], 0)
