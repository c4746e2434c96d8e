"""Any generator of few records, as a table of probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpassay.mechanisms.core import Dataset, Floats, Ints
from dpassay.mechanisms.literature.synthetic_data.deniability.seeds import SeedGenerator
from dpassay.mechanisms.noise.queries.domain import Domain


@dataclass(frozen=True, eq=False)
class TabulatedSeedGenerator(SeedGenerator):
    """Any generator of few records: row d holds Pr[y | d] for all outputs y.

    Args:
        probabilities: `(n_seeds, n_outputs)`; each row sums to 1 within 1e-9.

    A dataset is an array `(n_records,)` of whole numbers below n_seeds.
    """

    probabilities: Floats | Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", np.array(self.probabilities, dtype=np.float64))

    @property
    def table(self) -> Floats:
        """Probabilities as an array, `(n_seeds, n_outputs)`."""
        return np.asarray(self.probabilities)

    @property
    def n_outputs(self) -> int:
        return int(self.table.shape[1])

    def cells(self, dataset: Dataset) -> Ints:
        return Domain((("record", len(self.table)),)).records(np.asarray(dataset).reshape(-1, 1))[:, 0]

    def draw(self, seeds: Ints, rng: np.random.Generator) -> Ints:
        steps = np.cumsum(self.table, axis=1)[:, :-1]
        return np.asarray((steps[seeds] <= rng.random(len(seeds))[:, np.newaxis]).sum(axis=1))

    def log_levels(self, outputs: Ints) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.table.T[outputs]))

    def levels(self, outputs: Ints, seeds: Ints) -> Ints:
        return np.where(self.table[seeds, outputs] > 0.0, seeds, -1)

    def counts(self, outputs: Ints, cells: Ints) -> Floats:
        histogram = np.bincount(cells, minlength=len(self.table)).astype(np.float64)
        return np.where(self.table.T[outputs] > 0.0, histogram, 0.0)

    def two_records(self) -> tuple[Ints, Ints]:
        """Return the first and the last record."""
        return np.array([0]), np.array([len(self.table) - 1])
