"""Base class of the mechanisms that add independent noise to numbers.

    release = answers + noise,     answers = query(dataset), or the dataset itself

A subclass is a frozen dataclass that defines how the noise is drawn and its log density.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, PositiveInt
from ...core.errors import ParameterError
from ...core.relation import Relation
from ..queries.answers import check_pair, check_query, evaluate, refuse_worst_case, unit_step
from ..queries.base import AnyQuery

LARGEST = 2.0**53
"""Whole numbers up to here are exact in a float."""


class AdditiveNoise(Mechanism):
    """Answers plus independent noise, with the same law in every coordinate.

    Attributes:
        norm: norm in which `sensitivity` is measured: 1 or 2.
        sensitivity: largest distance between the answers on neighbours.
        n_queries: number of answers.
        query: function that computes the answers; None when the dataset is the vector of answers.
    """

    norm: ClassVar[float]
    sensitivity: Positive
    n_queries: PositiveInt
    query: AnyQuery | None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))
        check_query(
            self.query,
            sensitivity=self.sensitivity,
            relation=self.relation,
            norm=self.norm,
            n_answers=self.n_queries,
            n_name="n_queries",
        )

    @abstractmethod
    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw fresh independent noise of the given shape."""

    @abstractmethod
    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of each coordinate of `noise`, which may be overwritten."""

    def _centre(self, answers: Floats) -> Floats:
        """Return the values that the noise is added to: the answers, clamped or rounded by some mechanisms."""
        return answers

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of the answers: shape `(size,)` for one query, `(size, n_queries)` for more."""
        centre = self._centre(self.answers(dataset))
        values = self._draw((size, *centre.shape), rng)
        values += centre
        return Outputs(values)

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        centre = self._centre(self.answers(dataset))
        each = self._noise_log_density(np.subtract(outputs.values, centre, dtype=np.float64))
        return each if each.ndim == 1 else each.sum(axis=tuple(range(1, each.ndim)))

    def worst_case(self) -> Neighbours:
        """Return answers 0 and `sensitivity` in the first coordinate, 0 in the others: they attain the exact curve."""
        refuse_worst_case(type(self).__name__, self.query)
        return Neighbours(*unit_step(self.sensitivity, self.n_queries), self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_pair(neighbours, self.query, self.answers, sensitivity=self.sensitivity, norm=self.norm)
        return self

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers on `dataset`, shape `()` or `(n_queries,)`."""
        return evaluate(self.query, dataset, n_answers=self.n_queries, n_name="n_queries")


def check_whole(answers: Floats, *, instead: str) -> Floats:
    """Return `answers` if they are whole numbers; the `ParameterError` otherwise names `instead`, a mechanism."""
    if np.any(answers != np.rint(answers)) or np.any(np.abs(answers) > LARGEST):
        raise ParameterError(
            f"the answers must be whole numbers up to 2^53, but are {answers}. Use {instead} for real numbers."
        )
    return answers
