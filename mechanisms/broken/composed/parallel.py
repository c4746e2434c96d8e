"""Intentionally broken parallel composition: one of its conditions is violated."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, GaussianDP, LaplaceDP, PureDP
from ...combinators.repeated import Repeated
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.laplace import Laplace, draw_laplace, laplace_log_density

VIOLATIONS = ("overlap", "order", "shared-noise", "forgotten-delta")
SAME = 1e-9
"""Tolerance below which two noise values are equal."""


@dataclass(frozen=True)
class BrokenParallel(Mechanism):
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

    References:
        McSherry (2009), theorem 4 and its conditions.

    Example:
        >>> [BrokenParallel(violation=v).exact_guarantee().epsilon(0.0) for v in VIOLATIONS]
        [2.0, 6.0, inf, inf]
        >>> BrokenParallel(correct=True).exact_guarantee().epsilon(0.0)
        1.0
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    violation: Annotated[str, one_of_names(*VIOLATIONS)] = "overlap"
    correct: bool = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> BrokenParallel:
        """Return the correct twin, with the same options."""
        return replace(self, correct=True)

    @property
    def slip(self) -> str:
        """Name of the violation; "" for the correct twin."""
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
        if self.slip == "overlap":
            return np.full(2, values.sum())
        part = np.arange(len(values)) % 2 if self.slip == "order" else records[:, 0]
        return np.array([values[part == 0].sum(), values[part == 1].sum()])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` pairs of noisy sums, shape `(size, 2)`."""
        if self.slip == "forgotten-delta":
            noise: Floats = rng.standard_normal((size, 2)) / self.epsilon
        elif self.slip == "shared-noise":
            noise = np.repeat(draw_laplace(1.0 / self.epsilon, (size, 1), rng), 2, axis=1)
        else:
            noise = draw_laplace(1.0 / self.epsilon, (size, 2), rng)
        return Outputs(noise + self.statistic(dataset))

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        noise = np.subtract(outputs.values, self.statistic(dataset), dtype=np.float64)
        if self.slip == "forgotten-delta":
            constant = 2.0 * math.log(self.epsilon) - math.log(2.0 * math.pi)
            return np.asarray(constant - 0.5 * np.square(noise * self.epsilon).sum(axis=1))
        equal = np.abs(noise[:, 0] - noise[:, 1]) < SAME
        each = laplace_log_density(noise, 1.0 / self.epsilon)
        return np.where(equal, each[:, 0], -np.inf) if self.slip == "shared-noise" else np.asarray(each.sum(axis=1))

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`."""
        pair = self.worst_case()
        changes = np.abs(self.statistic(pair.d1) - self.statistic(pair.d0))
        if self.slip == "shared-noise":
            return ExactDP([1.0, 0.0], [0.0, 1.0], self.relation)
        if self.slip == "forgotten-delta":
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

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_records(neighbours)
        return self
