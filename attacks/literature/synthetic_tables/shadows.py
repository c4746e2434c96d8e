"""Synthesisers in the membership game: each model is a table, scored at a record by distance and density.

    ShadowTables      the learner: one table from each subset of the records
    SyntheticTables   the models: signals of tables on records

With `dpassay.audit.games.train_shadows` every attack of the membership catalogue that reads a signal by name can be
used: `LiRA(signal="density-ratio")` fits a law for each record, with and without it;
`LossThreshold(signal="closest-record")` ranks by the signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Bools, Floats
from ....mechanisms.core.base import Mechanism, Workers
from ....mechanisms.core.constraints import check_fields, one_of_names
from ....mechanisms.core.errors import AttackError, ParameterError
from ....mechanisms.core.printable import display_name
from ....mechanisms.core.relation import Relation
from ....mechanisms.learning.base import TrainingData
from .base import Tables, as_table, in_chunks
from .density import DensityRatio
from .groundhog import FEATURE_SETS, Statistics
from .levels import Levels
from .records import ClosestRecord, KnownRecords, Neighbourhood, RecordAttack

TABLE_SIGNALS: Mapping[str, RecordAttack] = {
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
    """Learner that makes one synthetic table from each of many subsets of the records.

    Args:
        mechanism: mechanism whose outputs are tables `(size, n_rows, d)`, with a fixed number of rows.
        signals: name -> score of a table at a record; by default distances and densities, see `TABLE_SIGNALS`.
        public: `(m, d)` records of the same kind that are in no run, for signals that compare; None: the records
            under attack, in or out.
        statistics: summary statistics, as for `Groundhog`, for `GroundhogMembership`; None for no summaries.

    Raises:
        ParameterError: no signal, or unknown statistics.

    Guarantees:
        * A signal depends on one table, on all records under attack, and on public data, not on the coins.

    Example:
        >>> from dpassay.attacks.membership.likelihood_ratios import LiRA
        >>> from dpassay.audit.games import train_shadows
        >>> from dpassay.audit.metrics.membership import evaluate
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyHistogramTable
        >>> loose = NoisyHistogramTable(4.0, {"a": 50}, relation="add_remove", view="table", n_rows=200)
        >>> shadows = train_shadows(ShadowTables(loose), np.arange(50)[:, None], 64, seed=0)
        >>> round(evaluate(shadows, [LiRA(signal="closest-record")]).attacks[0].auc, 2)
        0.98
    """

    activity: ClassVar[tuple[str, str]] = ("generating", "tables")
    """What is done, and to what, as progress shows it."""

    mechanism: Mechanism
    signals: Mapping[str, RecordAttack] = field(default_factory=lambda: TABLE_SIGNALS)
    public: Any = None
    statistics: Annotated[str, one_of_names(*FEATURE_SETS)] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.signals:
            raise ParameterError(argument="signals", value=dict(self.signals), allowed="name at least one signal")

    @property
    def relation(self) -> Relation:
        """Relation of the mechanism."""
        return self.mechanism.relation

    @property
    def workers(self) -> Workers:
        """Kind of workers that the mechanism allows."""
        return self.mechanism.workers

    def examples(self, dataset: Any) -> TrainingData:
        """Return a table of numbers as records without labels; `(X, y)` is not changed."""
        if isinstance(dataset, (tuple, TrainingData)):
            return TrainingData.of(dataset)
        table = as_table(dataset)
        return TrainingData(table, np.zeros(len(table)))

    def fit_subsets(self, records: TrainingData, inclusion: Bools, rng: np.random.Generator) -> SyntheticTables:
        """Return one table per row of `inclusion`, `(n_models, n_records)`; raise `AttackError` if shapes differ."""
        rows = coded(records.X)
        tables = [self.mechanism.release(rows[inside], 1, rng).values for inside in np.asarray(inclusion)]
        shapes = {table.shape for table in tables}
        if len(shapes) > 1 or len(next(iter(shapes))) != 3:
            raise AttackError(
                f"{display_name(self.mechanism)} must return a table of the same shape from every subset of the "
                f"records, but returned outputs of shapes {sorted(shape[1:] for shape in shapes)[:3]}. Fix the number "
                "of rows: n_rows.",
                argument="mechanism",
            )
        all_tables = np.concatenate(tables)
        return SyntheticTables(all_tables, self.signals, self.public, self._summaries(all_tables, rows))

    def _summaries(self, tables: Tables, rows: Tables) -> Floats | None:
        """Return statistics of each table; the levels are those of the records, the same for all tables."""
        if self.statistics is None:
            return None
        public = rows[:0] if self.public is None else as_table(self.public)
        return in_chunks(Statistics.of_kind(self.statistics, Levels.learn(rows, public)), tables)


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """Synthetic tables as models, with their signals on records.

    Args:
        tables: `(n_models, n_rows, d)` synthetic tables.
        attacks: name -> score of a table at a record.
        public: as for `ShadowTables`.
        summaries: `(n_models, n_summaries)` statistics; or None.
    """

    tables: Tables
    attacks: Mapping[str, RecordAttack]
    public: Any = None
    summaries: Floats | None = None

    def __len__(self) -> int:
        return len(self.tables)

    def signals(self, data: TrainingData) -> dict[str, Floats]:
        """Return name -> `(n_models, n_records)`, higher = more like a member."""
        records = coded(data.X)
        others = records if self.public is None else as_table(self.public)
        signals = {}
        for name, attack in self.attacks.items():
            signals[name] = attack.in_pieces(self.tables, records, KnownRecords.of(others, records, attack.nominal))
        return signals


def coded(rows: NDArray[Any]) -> Tables:
    """Return `rows` as whole numbers if they are whole, for distances between codes."""
    return rows.astype(np.int64) if (rows == np.rint(rows)).all() else rows
