"""A synthesiser in the membership game: each model is a table, which says of a record how close and dense it is there.

    ShadowTables      what trains: one table from each subset of the records
    SyntheticTables   what was trained: signals of tables on records

With `dpassay.audit.games.train_shadows` every attack of the membership catalogue that reads a signal by name can be
used: `LiRA(signal="density-ratio")` fits each record's own law with and without it, `Loss(signal="closest-record")`
ranks by the signal itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Mechanism, Workers
from ...mechanisms.errors import AttackError, ParameterError
from ...mechanisms.label import label
from ...mechanisms.learning.base import TrainingData
from ...mechanisms.relation import Relation
from ...mechanisms.validation import one_of
from .base import Floats, Tables, as_table, in_chunks
from .density import DensityRatio
from .distances import ClosestRecord, Neighbourhood
from .groundhog import KINDS, Statistics
from .levels import Levels
from .records import Known, RecordAttack

SIGNALS: Mapping[str, RecordAttack] = {
    "closest-record": ClosestRecord(),
    "calibrated-distance": ClosestRecord(score="calibrated"),
    "neighbourhood": Neighbourhood(),
    "density": DensityRatio(calibrated=False),
    "density-ratio": DensityRatio(),
    "pair-density": DensityRatio(estimator="pairs", calibrated=False),
    "cell-density": DensityRatio(estimator="histogram", calibrated=False),
}


@dataclass(frozen=True, eq=False)
class ShadowTables:
    """Makes one synthetic table from each of many subsets of the records.

    Args:
        mechanism: whose outputs are tables `(size, n_rows, d)`, as many rows from every subset.
        signals: name -> what a table says of a record; by default distances and densities, see `SIGNALS`.
        public: `(m, d)` records of the same kind that are in no run, for signals that compare; None: the records in
            question, whoever of them was in.
        statistics: what a table is summarised by, as for `Groundhog`, for `GroundhogMembership`; None for nothing.

    Raises:
        ParameterError: no signal, or unknown statistics.

    Guarantees:
        * A signal depends on one table, on all records in question, and on what is public: on no coin.

    Example:
        >>> from dpassay.attacks.membership.shadow.lira import LiRA
        >>> from dpassay.audit.games import train_shadows
        >>> from dpassay.audit.membership import evaluate
        >>> from dpassay.mechanisms.synthesis import NoisyHistogramTable
        >>> loose = NoisyHistogramTable(4.0, {"a": 50}, relation="add_remove", view="table", n_rows=200)
        >>> shadows = train_shadows(ShadowTables(loose), np.arange(50)[:, None], 64, seed=0)
        >>> round(evaluate(shadows, [LiRA(signal="closest-record")]).attacks[0].auc, 2)
        0.98
    """

    mechanism: Mechanism
    signals: Mapping[str, RecordAttack] = field(default_factory=lambda: SIGNALS)
    public: Any = None
    statistics: str | None = None

    def __post_init__(self) -> None:
        if not self.signals:
            raise ParameterError(argument="signals", value=dict(self.signals), allowed="name at least one signal")
        if self.statistics is not None:
            one_of(KINDS, statistics=self.statistics)

    @property
    def relation(self) -> Relation:
        """That of the mechanism."""
        return self.mechanism.relation

    @property
    def workers(self) -> Workers:
        """Those of the mechanism."""
        return self.mechanism.workers

    def examples(self, dataset: Any) -> TrainingData:
        """A table of numbers as records without labels; `(X, y)` is left as it is."""
        if isinstance(dataset, (tuple, TrainingData)):
            return TrainingData.of(dataset)
        table = as_table(dataset)
        return TrainingData(table, np.zeros(len(table)))

    def fit_subsets(
        self, records: TrainingData, inclusion: NDArray[np.bool_], rng: np.random.Generator
    ) -> SyntheticTables:
        """One table a row of `inclusion`, `(n_models, n_records)`; raises `AttackError` for tables of several sizes."""
        rows = coded(records.X)
        tables = [self.mechanism.release(rows[inside], 1, rng).values for inside in np.asarray(inclusion)]
        shapes = {table.shape for table in tables}
        if len(shapes) > 1 or len(next(iter(shapes))) != 3:
            raise AttackError(
                f"{label(self.mechanism)} must give a table of the same shape from every subset of the records, but "
                f"gave outputs of shapes {sorted(shape[1:] for shape in shapes)[:3]}. Fix the number of rows: n_rows.",
                argument="mechanism",
            )
        made = np.concatenate(tables)
        return SyntheticTables(made, self.signals, self.public, self._summaries(made, rows))

    def _summaries(self, tables: Tables, rows: Tables) -> Floats | None:
        """Statistics of each table; the levels are those of the records, the same for all tables."""
        if self.statistics is None:
            return None
        public = rows[:0] if self.public is None else as_table(self.public)
        return in_chunks(Statistics.of_kind(self.statistics, Levels.learn(rows, public)), tables)


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """Tables, asked about records.

    Args:
        tables: `(n_models, n_rows, d)`.
        attacks: name -> what a table says of a record.
        public: as for `ShadowTables`.
        summaries: `(n_models, n_summaries)`; None for none.
    """

    tables: Tables
    attacks: Mapping[str, RecordAttack]
    public: Any = None
    summaries: Floats | None = None

    def __len__(self) -> int:
        return len(self.tables)

    def signals(self, data: TrainingData) -> dict[str, Floats]:
        """Name -> `(n_models, n_records)`, higher = more like a member."""
        records = coded(data.X)
        others = records if self.public is None else as_table(self.public)
        found = {}
        for name, attack in self.attacks.items():
            found[name] = attack.in_pieces(self.tables, records, Known.of(others, records, attack.nominal))
        return found


def coded(rows: NDArray[Any]) -> Tables:
    """`rows` as whole numbers if they are, for distances between codes."""
    return rows.astype(np.int64) if (rows == np.rint(rows)).all() else rows
