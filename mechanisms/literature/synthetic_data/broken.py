"""Intentionally broken synthetic data: records are copied.

For a selection whose scores have a larger sensitivity: `dpassay.mechanisms.selection.broken.HalvedScoreSensitivity`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import ApproximateDP
from ...accounting.broken import BrokenPureDP
from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Neighbours, Outputs, example
from ...core.constraints import Positive, PositiveInt, at_least
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation


@dataclass(frozen=True)
class Resampled(BrokenPureDP, RecordsMechanism):
    """Broken: rows drawn independently from a generative model that is the uniform distribution on the records.

    This model has the highest likelihood, and each record is in its table with probability 1 - (1 - 1/n)^n, 63.4 %
    for n = 100. A record that was drawn has no protection.

    Args:
        epsilon: the claim, > 0; false.
        n_records: number of records, >= 2; a dataset is a table `(n_records, n_columns)` of numbers.
        n_rows: number of rows of a synthetic table; None for n_records.

    Example:
        >>> broken = Resampled(1.0, n_records=100)
        >>> broken.guarantee().delta(1.0), round(broken.exact_guarantee().delta(1.0), 5)
        (0.0, 0.63397)
    """

    _example = example(n_records=5, n_rows=3)

    cause = "Rows of a generative model are assumed to be independent of any person, since each is freshly drawn."
    source = "A common thought experiment about generative models; the bootstrap, Efron (1979)."

    epsilon: Positive
    _: KW_ONLY
    n_records: Annotated[int, at_least(2)] = 100
    n_rows: PositiveInt | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def drawn(self) -> int:
        """Number of rows of a synthetic table."""
        return self.n_records if self.n_rows is None else self.n_rows

    @property
    def share_shown(self) -> float:
        """Probability that a record is in the synthetic table: 1 - (1 - 1/n)^n_rows."""
        return -float(np.expm1(self.drawn * np.log1p(-1.0 / self.n_records)))

    def records(self, dataset: Dataset) -> NDArray[Any]:
        """Return the records, `(n_records, n_columns)`; raise `ParameterError` unless n_records numeric rows."""
        table = np.asarray(dataset)
        if table.ndim != 2 or len(table) != self.n_records or table.dtype.kind not in "biuf":
            raise ParameterError(
                f"n_records is {self.n_records}, but the dataset has shape {table.shape}, dtype {table.dtype}. Give a "
                "table of numbers, one row per record.",
                argument="n_records",
            )
        return table

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return one synthetic table per run, `(size, n_rows, n_columns)`."""
        table = self.records(dataset)
        return Outputs(table[rng.integers(self.n_records, size=(size, self.drawn))])

    def exact_guarantee(self) -> Guarantee:
        """Return (0, delta)-DP: a table that contains the differing record is impossible on the other side."""
        return ApproximateDP(0.0, self.share_shown, self.relation, exact=True)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each table of ordered rows, `(size,)`; -inf if a row is not a record."""
        records, rows = self.records(dataset), outputs.values
        if rows.shape[2] != records.shape[1]:
            return np.full(len(rows), -np.inf)
        share = _copies(records, rows.reshape(-1, rows.shape[2])) / self.n_records
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share).reshape(rows.shape[:2]).sum(axis=1))

    def worst_case(self) -> Neighbours:
        """Return n_records distinct records, of which the last differs on `d1`."""
        d0 = np.arange(self.n_records)[:, None]
        d1 = d0.copy()
        d1[-1] = self.n_records
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.records(dataset)


def _copies(records: NDArray[Any], rows: NDArray[Any]) -> Ints:
    """Return the number of records equal to each row, `(n_rows,)`, by labels of prefixes, column by column."""
    record_label, row_label = np.zeros(len(records), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    matched = np.ones(len(rows), dtype=np.bool_)
    for column, values in zip(records.T, rows.T, strict=True):
        levels, record_level = np.unique(column, return_inverse=True)
        row_level = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
        prefixes, record_label = np.unique(record_label * len(levels) + record_level, return_inverse=True)
        row_prefix = row_label * len(levels) + row_level
        row_label = np.minimum(np.searchsorted(prefixes, row_prefix), len(prefixes) - 1)
        matched &= (levels[row_level] == values) & (prefixes[row_label] == row_prefix)
    return np.where(matched, np.bincount(record_label)[row_label], 0)
