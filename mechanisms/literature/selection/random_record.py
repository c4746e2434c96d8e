"""Publish a random record: (0, 1/n)-DP by definition, but without any protection for the published record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from ...accounting import ApproximateDP
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import at_least
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation


@dataclass(frozen=True)
class PublishRandomRecord(RecordsMechanism):
    """Publication of a random record without noise, each with probability 1 / n_records.

    It shows why delta has to be much smaller than 1 / n: delta = 1/n allows this. (Dwork and Roth 2014, section 2.3.)

    Args:
        n_records: number of records, >= 2; the dataset is an array `(n_records,)` of numbers, the output one of them.

    Guarantees:
        * (0, 1/n_records)-DP under `replace_one`, exactly: the differing record is published with that probability,
          and a larger epsilon does not reduce delta. k times: `compose([...], accounting="optimal")`, with delta
          1 - (1 - 1/n)^k.

    Example:
        >>> mechanism = PublishRandomRecord(n_records=100)
        >>> mechanism.guarantee().delta(0.0), mechanism.guarantee().delta(20.0), mechanism.guarantee().epsilon(0.0)
        (0.01, 0.01, inf)
    """

    _dataset = Data.REALS

    n_records: Annotated[int, at_least(2)]
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def records(self, dataset: Dataset) -> Floats:
        """Return the records, shape `(n_records,)`."""
        records = np.asarray(dataset, dtype=np.float64)
        if records.shape != (self.n_records,):
            raise ParameterError(
                f"n_records is {self.n_records}, but the dataset has shape {records.shape}. Give one number a record.",
                argument="n_records",
            )
        if not np.isfinite(records).all():
            raise ParameterError(
                "the dataset must hold finite numbers, since a record is published.", argument="dataset"
            )
        return records

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the published record of each run, shape `(size,)`."""
        return Outputs(self.records(dataset)[rng.integers(self.n_records, size=size)])

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log of the share of records equal to each output, shape `(size,)`; -inf if there is none."""
        values, counts = np.unique(self.records(dataset), return_counts=True)
        at = np.minimum(np.searchsorted(values, outputs.values), len(values) - 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(values[at] == outputs.values, counts[at] / self.n_records, 0.0)))

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(0, 1 / n_records)`, which is exact."""
        return ApproximateDP(0.0, 1.0 / self.n_records, self.relation, exact=True)

    def worst_case(self) -> Neighbours:
        """Return a pair of n_records different records that differ in the last one."""
        d0 = np.arange(self.n_records, dtype=np.float64)
        d1 = d0.copy()
        d1[-1] = self.n_records
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.records(dataset)
