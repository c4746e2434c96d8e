"""Intentionally broken exponential mechanism: a difference of two errors with the sensitivity of one."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...accounting import PureDP
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, at_least
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.queries.answers import check_distance
from ...selection.exponential import Exponential


@dataclass(frozen=True)
class HalvedScoreSensitivity(Mechanism):
    """Broken: selection by the difference of two errors, with the sensitivity of a single error.

    Candidate y is scored by model error - public error, the gain from measuring the private data. Each error changes by
    up to `sensitivity` between neighbours, and they may change in opposite directions, so that the score changes by
    twice that. Bug: `sensitivity` is used for the score. The claim is epsilon, but the release is 2 epsilon-DP. (Found
    in the joint selection of marginals of the library mbi, pull request 65.) The correct twin is `Exponential` on the
    scores with 2 sensitivity.

    Args:
        epsilon: the claim, > 0; half of the true epsilon.
        n_candidates: number of candidates, >= 2; the dataset is an array `(2, n_candidates)` of model errors and public
            errors, the output the index of a candidate.
        sensitivity: largest change of any single error between neighbours, > 0.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Example:
        >>> broken = HalvedScoreSensitivity(epsilon=0.5, n_candidates=2)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 6)
        (0.5, 0.98)
    """

    epsilon: Positive
    n_candidates: Annotated[int, at_least(2)]
    _: KW_ONLY
    sensitivity: Positive = 1.0
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))

    @property
    def choice(self) -> Exponential:
        """Exponential mechanism on the scores, with its true epsilon and sensitivity."""
        doubled = 2.0 * self.sensitivity
        return Exponential(2.0 * self.epsilon, self.n_candidates, sensitivity=doubled, relation=self.relation)

    def errors(self, dataset: Dataset) -> Floats:
        """Return model errors and public errors, shape `(2, n_candidates)`."""
        errors = np.asarray(dataset, dtype=np.float64)
        if errors.shape != (2, self.n_candidates):
            raise ParameterError(
                f"the dataset must hold model errors and public errors, shape {(2, self.n_candidates)}, but has shape "
                f"{errors.shape}.",
                argument="dataset",
            )
        return errors

    def scores(self, dataset: Dataset) -> Floats:
        """Return model error - public error of each candidate, shape `(n_candidates,)`."""
        model, public = self.errors(dataset)
        return np.asarray(model - public)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of `size` candidates selected independently, shape `(size,)`."""
        return self.choice.release(self.scores(dataset), size, rng)

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, shape `(size,)`."""
        return self.choice.log_density(outputs, self.scores(dataset))

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `Exponential` with 2 epsilon."""
        return self.choice.exact_guarantee()

    def worst_case(self) -> Neighbours:
        """Return the pair of `Exponential`, with half of each change in the model errors, half in the public ones."""
        pair = self.choice.worst_case()
        step = 0.5 * np.subtract(pair.d1, pair.d0)
        start = np.stack([pair.d0, np.zeros(self.n_candidates)])
        return Neighbours(start, start + np.stack([step, -step]), self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        errors0, errors1 = self.errors(neighbours.d0).ravel(), self.errors(neighbours.d1).ravel()
        check_distance(errors0, errors1, sensitivity=self.sensitivity, norm=math.inf)
        return self
