"""Interfaces of attacks on synthetic tables: read this first.

    ReleasesTables   a synthesiser: the output of a run is a table
    TableAttack      an attack on synthetic tables, `(size, n_rows, d)`, on a pair of tables that differ in one record
    LearnedAttack    ... that computes features of each table and learns their weights from pilot tables
    TableFeatures    ... these features
    differing        the records that one side of a pair has and the other lacks

A synthesiser may be any mechanism, or function, whose outputs have values `(size, n_rows, d)`: each run is one table of
the same number of rows, with the columns of the data. The order of rows has no meaning, and no attack uses it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import AttackError, Dataset, Floats, Neighbours, Outputs, one_of_names, plural
from ....mechanisms.learning.base import multiset_difference
from ...base import Attack, Scorer, Target
from ...distinguishing.classifier import MODELS, Classifier, ClassifierScorer

Tables = NDArray[Any]
"""`(size, n_rows, d)` synthetic tables, whole numbers (codes) or real numbers."""

TABLES_CHUNK_BYTES = 32_000_000
"""Approximate memory of the tables of one chunk of runs."""


@runtime_checkable
class ReleasesTables(Protocol):
    """Interface of a synthesiser of this library, which states its output."""

    @property
    def domain(self) -> Any:
        """Attributes of the tables."""
        ...

    @property
    def view(self) -> str:
        """Kind of output: "table", or something else, such as the measured answers."""
        ...


class TableFeatures(Protocol):
    """Interface of a fixed map from tables to columns of numbers, which must be picklable for the workers."""

    def of(self, tables: Tables) -> Floats:
        """Return features, `(size, n_features)`; those of a run do not depend on the other runs."""
        ...


class TableAttack(Attack):
    """Base class of attacks on synthetic tables. Subclasses are frozen dataclasses whose fields are the options."""

    def check(self, target: Target) -> None:
        """Raise `AttackError` unless the pair is two different tables and the mechanism releases tables."""
        view = getattr(target.mechanism, "view", "table")
        if isinstance(target.mechanism, ReleasesTables) and view != "table":
            raise AttackError(
                f"{type(self).__name__} reads synthetic tables, but the mechanism releases its {view}. Set "
                "view='table', or use attack='likelihood-ratio' if the output law is known.",
                argument="view",
            )
        differing(target.neighbours)

    def supports(self, target: Target) -> bool:
        """Return True if the mechanism declares that it releases tables.

        A function may be attacked too, but "auto" cannot know its outputs.
        """
        return isinstance(target.mechanism, ReleasesTables) and super().supports(target)


@dataclass(frozen=True, kw_only=True)
class LearnedAttack(TableAttack):
    """Base class of attacks that learn the log odds of side 1 from features of pilot tables.

    Args:
        model: "logistic", "boosting", "table" or "auto"; as for `Classifier`.
    """

    minimum_pilot: ClassVar[int] = Classifier.minimum_pilot

    model: Annotated[str, one_of_names(*MODELS)] = "auto"

    @abstractmethod
    def features(self, target: Target, tables0: Tables, tables1: Tables, rng: np.random.Generator) -> TableFeatures:
        """Return the features of a table; they may depend on target, pilot tables and `rng`."""

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        self.check(target)
        tables0, tables1 = (tables_of(pilot, target.neighbours) for pilot in (pilot0, pilot1))
        features = self.features(target, tables0, tables1, rng)
        features0, features1 = (Outputs(in_chunks(features, tables)) for tables in (tables0, tables1))
        classifier = Classifier(model=self.model, features="coordinates")
        return LearnedScorer(features, classifier.fit(target, features0, features1, rng))


@dataclass(frozen=True, eq=False)
class LearnedScorer:
    """Scorer that returns log odds given the features of each table."""

    features: TableFeatures
    scorer: ClassifierScorer

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, natural logarithms."""
        return self.scorer.score(Outputs(in_chunks(self.features, outputs.values)))


def differing(neighbours: Neighbours) -> tuple[Tables, Tables]:
    """Return the records that only side 0 has, and those that only side 1 has, each `(k, d)`.

    Raises:
        AttackError: the datasets are not tables of the same columns, or do not differ.

    Example:
        >>> table = np.array([[0, 1], [2, 3], [2, 3]])
        >>> only0, only1 = differing(Neighbours(table[1:], table, "add_remove"))
        >>> only0.shape, only1.tolist()
        ((0, 2), [[0, 1]])
    """
    table0, table1 = as_table(neighbours.d0), as_table(neighbours.d1)
    if table0.shape[1] != table1.shape[1]:
        raise AttackError(
            f"both sides must have the same columns, but have {table0.shape[1]} and {table1.shape[1]}.",
            argument="neighbours",
        )
    only0, only1 = table0[multiset_difference(table0, table1)], table1[multiset_difference(table1, table0)]
    if not len(only0) + len(only1):
        raise AttackError("the two sides have the same records, so no table distinguishes them.", argument="d0")
    return only0, only1


def as_table(dataset: Dataset) -> Tables:
    """Return a dataset as `(n, d)` numbers; raise `AttackError` if it is not a table of numbers."""
    try:
        table = np.asarray(dataset)
    except ValueError:
        table = np.empty(0, dtype=object)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise AttackError(
            "attacks on synthetic tables need datasets of shape (n_records, d), a table of numbers or codes, but got "
            f"a {type(dataset).__name__} of shape {table.shape}, dtype {table.dtype}. Code the values of a column as "
            "whole numbers.",
            argument="d0",
        )
    return table


def tables_of(outputs: Outputs, neighbours: Neighbours) -> Tables:
    """Return the values of `outputs`; raise `AttackError` unless they are tables with the columns of the pair."""
    n_columns = as_table(neighbours.d1).shape[1]
    values = outputs.values
    if values.ndim != 3 or values.shape[2] != n_columns or values.dtype.kind not in "biuf":
        raise AttackError(
            f"attacks on synthetic tables need outputs of shape (size, n_rows, {n_columns}), a table with the "
            f"{plural(n_columns, 'column')} of the data from every run, but got shape {values.shape}, dtype "
            f"{values.dtype}. Release equally many rows in every run and on both sides, such as 1,000 (not as many as "
            "the data have, "
            "if a record is added or removed), and the values of a column as numbers."
        )
    return values


def in_chunks(features: TableFeatures, tables: Tables) -> Floats:
    """Return the features of all runs, computed in chunks of runs: the memory does not grow with their number."""
    step = max(1, TABLES_CHUNK_BYTES // max(1, 8 * tables[:1].size))
    parts = [features.of(tables[start : start + step]) for start in range(0, max(1, len(tables)), step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
