"""Subset counts without calibrated noise: bounded noise, rounding, suppression."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...accounting import ApproximateDP
from ...core.arrays import Floats
from ...core.base import Dataset, Neighbours, Outputs, example
from ...core.constraints import NonNegativeInt, PositiveInt
from ...core.errors import NeighboursError, plural
from ...core.guarantee import Guarantee
from ...core.registry import Tier
from ...noise.base import VACUOUS_DELTA
from .subset_counts import SubsetCounts, Subsets


@dataclass(frozen=True)
class BoundedNoiseSubsetCounts(SubsetCounts):
    """Uniform integer noise in -bound, ..., bound on each subset count.

    This is the setting of the first reconstruction attacks: no answer is off by more than `bound`. (Dinur and Nissim
    2003.) The protection is probabilistic: an answer at the end of its range reveals the count.

    Args:
        bound: largest error, a whole number >= 1.
        n_records, n_queries, share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * (0, delta)-DP with delta = 1 - (1 - 1 / (2 bound + 1))^n_moved, exactly: an answer that moves by 1 keeps
          all but one of its 2 bound + 1 values, with the same probabilities.

    Example:
        >>> mechanism = BoundedNoiseSubsetCounts(bound=1, n_records=8, n_queries=30)
        >>> print(f"{mechanism.guarantee().delta(0.0):.4f}")
        0.9985
    """

    _example = example(bound=2)

    bound: PositiveInt
    n_records: int
    n_queries: int
    _: KW_ONLY
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the answers of `size` runs, int64, `(size, n_queries)`."""
        noise = rng.integers(-self.bound, self.bound, size=(size, self.n_queries), endpoint=True)
        return Outputs(noise + self.answers(dataset).astype(np.int64))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return -n_queries ln(2 bound + 1) where every answer is within the bound, else -inf."""
        within = (np.abs(outputs.values - self.answers(dataset)) <= self.bound).all(axis=1)
        return np.where(within, -self.n_queries * math.log(2 * self.bound + 1), -math.inf)

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(0, delta)`, exact."""
        delta = -math.expm1(self.n_moved * math.log1p(-1.0 / (2 * self.bound + 1)))
        return ApproximateDP(0.0, min(delta, VACUOUS_DELTA), relation=self.relation, exact=True)


@dataclass(frozen=True)
class RoundedSubsetCounts(SubsetCounts):
    """Subset counts rounded to multiples of `rounded_to`, with small ones replaced by 0; no noise.

    The claim is vacuous, because the mechanism is deterministic: the same column always has the same answers.

    Args:
        rounded_to: whole number >= 1; halves go to the even multiple.
        n_records, n_queries: as for `LaplaceSubsetCounts`.
        suppressed_below: whole number >= 0; exact counts below it are answered by 0.
        share, queries_seed, queries: as for `LaplaceSubsetCounts`.

    Guarantees:
        * every answer that is not suppressed is within rounded_to / 2 of the exact count.

    Example:
        >>> mechanism = RoundedSubsetCounts(5, n_records=4, n_queries=2, queries=[[1, 1, 1, 1], [1, 1, 0, 0]])
        >>> mechanism.release([1, 1, 1, 0], 1, np.random.default_rng(0)).values.tolist()
        [[5, 0]]
    """

    _tier = Tier.PROVISIONAL  # it claims nothing
    _example = example(rounded_to=5)

    rounded_to: PositiveInt
    n_records: int
    n_queries: int
    _: KW_ONLY
    suppressed_below: NonNegativeInt = 0
    share: float = 0.5
    queries_seed: int = 0
    queries: Subsets | None = None

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the answers, equal in all of `size` runs, int64, `(size, n_queries)`."""
        return Outputs(np.tile(self.rounded(dataset), (size, 1)))

    def rounded(self, dataset: Dataset) -> np.ndarray:
        """Return the rounded answers, int64, `(n_queries,)`."""
        counts = self.answers(dataset)
        rounded = np.where(counts < self.suppressed_below, 0.0, np.rint(counts / self.rounded_to) * self.rounded_to)
        return rounded.astype(np.int64)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return 0 for the answers of this column, else -inf."""
        return np.where((outputs.values == self.rounded(dataset)).all(axis=1), 0.0, -math.inf)

    def guarantee(self) -> Guarantee:
        """Return the vacuous guarantee `ApproximateDP(0, 1 - 2^-53)`."""
        return ApproximateDP(0.0, VACUOUS_DELTA, relation=self.relation, exact=True)

    def worst_case(self) -> Neighbours:
        """Return two columns that differ in one bit and have different answers.

        Raises:
            NeighboursError: no query distinguishes any two neighbours.
        """
        for subset in self.subsets:
            members = np.flatnonzero(subset)
            for ones in range(len(members)):
                d0 = np.zeros(self.n_records, dtype=np.int64)
                d0[members[:ones]] = 1
                d1 = d0.copy()
                d1[members[ones]] = 1
                if (self.rounded(d0) != self.rounded(d1)).any():
                    return Neighbours(d0, d1, self.relation)
        raise NeighboursError(
            f"rounding to {self.rounded_to} and suppression below {self.suppressed_below} hide every count of these "
            f"{plural(self.n_records, 'record')}: all answers are 0. Round less, or use more records."
        )
