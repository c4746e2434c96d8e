"""Intentionally broken composition and amplification: a condition of the theorem does not hold."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np

from ..accounting import GaussianDP, LaplaceDP, PureDP
from ..accounting.broken import Broken, certain_leak
from ..accounting.numerics.laplace import laplace_log_density
from ..core.arrays import Floats
from ..core.base import Dataset, Neighbours, Outputs
from ..core.constraints import Flag, Positive, at_least, one_of_names
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..noise.broken_statistic import BrokenStatistic
from ..noise.laplace import Laplace, draw_laplace
from ..noise.queries.counts import Count
from .repeated import Repeated
from .subsampled import Subsampled

VIOLATIONS = ("overlap", "order", "shared-noise", "forgotten-delta")
NOISE_TOLERANCE = 1e-9
"""Tolerance below which two noise values are equal."""


@dataclass(frozen=True)
class BrokenParallel(BrokenStatistic):
    """Broken: two noisy sums of parts with the claim of a single one, where a condition of the theorem does not hold.

    A dataset is an array `(n_records, 2)` of part numbers 0 and 1 and values in [0, 1]; each part has the sum of its
    values plus Laplace(1 / epsilon), and the claim is epsilon-DP under add_remove. The bugs:

        "overlap"          both sums are over all records: 2 epsilon
        "order"            parts alternate by position: a record added in front moves all others to the other part.
                           Six records: 6 epsilon, unbounded in the number of records
        "shared-noise"     one draw of noise is used in both parts: the difference of the outputs is exact
        "forgotten-delta"  the noise is Gaussian with standard deviation 1 / epsilon: no epsilon at delta 0

    Args:
        epsilon: the claim, > 0.
        violation: one of the four above.
        correct: True for the correct twin, which has the law of `dpassay.mechanisms.combinators.Parallel`.

    Example:
        >>> [BrokenParallel(violation=v).exact_guarantee().epsilon(0.0) for v in VIOLATIONS]
        [2.0, 6.0, inf, inf]
        >>> BrokenParallel(correct=True).exact_guarantee().epsilon(0.0)
        1.0
    """

    cause = "A condition of the theorem of parallel composition does not hold."
    source = "McSherry (2009), theorem 4 and its conditions."

    _: KW_ONLY
    violation: Annotated[str, one_of_names(*VIOLATIONS)] = "overlap"

    @property
    def bug(self) -> str:
        """Name of the bug; "" for the correct twin."""
        return "" if self.correct else self.violation

    def statistic(self, dataset: Dataset) -> Floats:
        """Return the two sums, shape `(2,)`."""
        records = np.asarray(dataset, dtype=np.float64)
        if records.ndim != 2 or records.shape[1] != 2 or not np.isin(records[:, 0], (0, 1)).all():
            raise ParameterError(
                f"the dataset must have shape (n_records, 2), part numbers 0 and 1 and values, but is {dataset!r}.",
                argument="dataset",
            )
        values = np.clip(records[:, 1], 0.0, 1.0)
        if self.bug == "overlap":
            return np.full(2, values.sum())
        part = np.arange(len(values)) % 2 if self.bug == "order" else records[:, 0]
        return np.array([values[part == 0].sum(), values[part == 1].sum()])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` pairs of noisy sums, shape `(size, 2)`."""
        if self.bug == "forgotten-delta":
            noise: Floats = rng.standard_normal((size, 2)) / self.epsilon
        elif self.bug == "shared-noise":
            noise = np.repeat(draw_laplace(1.0 / self.epsilon, (size, 1), rng), 2, axis=1)
        else:
            noise = draw_laplace(1.0 / self.epsilon, (size, 2), rng)
        return Outputs(noise + self.statistic(dataset))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        noise = np.subtract(outputs.values, self.statistic(dataset), dtype=np.float64)
        if self.bug == "forgotten-delta":
            constant = 2.0 * math.log(self.epsilon) - math.log(2.0 * math.pi)
            return np.asarray(constant - 0.5 * np.square(noise * self.epsilon).sum(axis=1))
        equal = np.abs(noise[:, 0] - noise[:, 1]) < NOISE_TOLERANCE
        log_densities = laplace_log_density(noise, 1.0 / self.epsilon)
        return (
            np.where(equal, log_densities[:, 0], -np.inf)
            if self.bug == "shared-noise"
            else np.asarray(log_densities.sum(axis=1))
        )

    def exact_guarantee(self) -> Guarantee | None:
        pair = self.worst_case()
        changes = np.abs(self.statistic(pair.d1) - self.statistic(pair.d0))
        if self.bug == "shared-noise":
            return certain_leak(self.relation)
        if self.bug == "forgotten-delta":
            return GaussianDP(float(np.linalg.norm(changes)) * self.epsilon, relation=self.relation)
        if changes.max() == 0.0:
            return PureDP(0.0, relation=self.relation, exact=True)
        if changes.min() == 0.0:
            return LaplaceDP(float(changes.max()) * self.epsilon, relation=self.relation)
        return Repeated(Laplace(float(changes[0]) * self.epsilon), 2).exact_guarantee()

    def worst_case(self) -> Neighbours:
        """Return an added record of value 1; for "order" a 0 in front of six alternating records."""
        if self.violation == "order":
            d0 = np.array([[0.0, 1.0], [1.0, 0.0]] * 3)
            return Neighbours(d0, np.concatenate([[[0.0, 0.0]], d0]), self.relation)
        return Neighbours(np.zeros((0, 2)), np.array([[0.0, 1.0]]), self.relation)


@dataclass(frozen=True)
class FixedSample(Broken, RecordsMechanism):
    """Broken: a noisy count of the first tenth of the records, with the claim for a random tenth.

    A record of the first batch is in it with probability 1: the true epsilon is that of the count, not
    ln(1 + 0.1 (e^epsilon - 1)).

    Args:
        epsilon: epsilon of the count without amplification, > 0; the claim is smaller.
        n_records: a multiple of 10; a dataset is an array of n_records numbers, of which those above 1/2 are counted.
        correct: True for the correct twin, `Subsampled` with samples of a fixed size.

    Example:
        >>> broken = FixedSample(epsilon=1.0)
        >>> round(broken.guarantee().epsilon(0.0), 4), broken.exact_guarantee().epsilon(0.0)
        (0.1586, 1.0)
    """

    cause = "Batches are taken in the order of the data, and the accountant amplifies by their share."
    source = "Constructed; a common misuse of amplification by subsampling."

    epsilon: Positive = 1.0
    _: KW_ONLY
    n_records: Annotated[int, at_least(10)] = 10
    correct: Flag = False
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_records % 10:
            raise ParameterError(f"n_records must be a multiple of 10, but is {self.n_records}.", argument="n_records")

    @property
    def base(self) -> Laplace:
        """Noisy count without sampling."""
        return Laplace(self.epsilon, query=Count(above=0.5), relation=self.relation)

    @property
    def sampled(self) -> Subsampled:
        """Noisy count of a random tenth."""
        return Subsampled(self.base, rate=0.1, sampling="fixed-size", n_records=self.n_records)

    def _first(self, dataset: Dataset) -> Floats:
        """Return the first tenth of the records."""
        values = np.asarray(dataset, dtype=np.float64)
        return values[: len(values) // 10]

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy counts, shape `(size,)`."""
        if self.correct:
            return self.sampled.release(dataset, size, rng)
        return self.base.release(self._first(dataset), size, rng)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        if self.correct:
            return self.sampled.log_density(outputs, dataset)
        return self.base.log_density(outputs, self._first(dataset))

    def guarantee(self) -> Guarantee:
        """Return the claim: the amplified curve of the count."""
        return self.sampled.guarantee()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of the count, without amplification for the broken mechanism."""
        return self.sampled.exact_guarantee() if self.correct else LaplaceDP(self.epsilon, self.relation)

    def worst_case(self) -> Neighbours:
        """Return records that are all 0, except for the first on side 1."""
        d0 = np.zeros(self.n_records)
        return Neighbours(d0, np.append(1.0, d0[1:]), self.relation)
