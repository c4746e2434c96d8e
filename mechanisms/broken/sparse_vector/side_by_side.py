"""Two intentionally broken sparse vectors on the same queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, compose
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.queries.base import AnyQuery
from .noise_without_count import NoiseWithoutCount
from .tested_value import ReleasesTestedValue

MOST_OUTCOMES = 2_000_000
"""Largest number of pairs of outcomes for which the exact curve is computed."""


@dataclass(frozen=True)
class TwoBrokenSparseVectors(Mechanism):
    """Broken: `ReleasesTestedValue` and `NoiseWithoutCount` on the same queries, with independent noise.

    Bug: both parts have the bug of their class, and neither satisfies its share of the claim. This mechanism is a test
    of attacks: the two leaks are in different parts of one wide output. (Bichsel, Steffen, Bogunovic and Vechev 2021,
    where it is called SVT34Parallel.)

    Output of a run: `(2 n_queries,)` numbers, those of `ReleasesTestedValue` and then those of `NoiseWithoutCount`.

    Args:
        epsilon: the claim of each part, > 0; both together claim 2 epsilon.
        n_queries, stop_after, threshold, sensitivity, query, relation: as for `AboveThreshold`.

    Example:
        >>> broken = TwoBrokenSparseVectors(epsilon=0.1, n_queries=10)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.2, 0.525)
    """

    epsilon: float
    n_queries: int
    _: KW_ONLY
    threshold: float = 0.0
    stop_after: int = 1
    sensitivity: float = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))
        _ = self._parts

    @cached_property
    def _parts(self) -> tuple[ReleasesTestedValue, NoiseWithoutCount]:
        options: dict[str, Any] = {
            "threshold": self.threshold,
            "stop_after": self.stop_after,
            "sensitivity": self.sensitivity,
            "query": self.query,
            "relation": self.relation,
        }
        return (
            ReleasesTestedValue(self.epsilon, self.n_queries, **options),
            NoiseWithoutCount(self.epsilon, self.n_queries, **options),
        )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` independent runs, shape `(size, 2 n_queries)`."""
        return Outputs(np.hstack([part.release(dataset, size, rng).values for part in self._parts]))

    def guarantee(self) -> Guarantee:
        """Return the composition of the claims of both parts."""
        return compose([part.guarantee() for part in self._parts])

    def worst_case(self) -> Neighbours:
        """Return the worst case of the first part: all queries at the threshold, and all of them up."""
        return self._parts[0].worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        self._parts[0].bind(neighbours)
        return self

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        tested, answers = np.split(outputs.values, 2, axis=1)
        first, second = self._parts
        log_p = first.log_density(Outputs(tested), dataset)
        return log_p + second.log_density(Outputs(answers.astype(np.int8)), dataset)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None where it is not known for a part."""
        return self.curve(self.worst_case())

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair, from the product of the laws; None where it is not known for a part."""
        first, second = (part.curve(neighbours) for part in self._parts)
        if not isinstance(first, ExactDP) or not isinstance(second, ExactDP):
            return None
        if len(first.p0) * len(second.p0) > MOST_OUTCOMES:
            return None
        return first.product(second).under(self.relation)
