"""Base classes of noise on answers: query x noise.

    release = answers + noise

    AdditiveNoise   independent noise of one law, on a vector of answers or on the answers of any function
    PureNoise       noise scaled to the L1 sensitivity, with an epsilon and no delta
    NoisyQuery      noise on one query, which knows its answers, its worst pair, and how many answers this pair moves

`add_to` draws the noise, `log_density_around` is its law, and `exact_curve` the exact curve of answers that move.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ..accounting import PureMechanism
from ..core import Dataset, Floats, Guarantee, Mechanism, Neighbours, Outputs, ParameterError, Positive, PositiveInt
from ..core.base import Data
from .queries.answers import check_pair, check_query, evaluate, refuse_worst_case, unit_step
from .queries.base import AnyQuery

MAX_EXACT_INTEGER = 2.0**53
"""Whole numbers up to here are exact in a float."""
VACUOUS_DELTA = 1.0 - 2.0**-53
"""Largest delta below 1, of a vacuous guarantee."""


class AdditiveNoise(Mechanism):
    """Answers plus independent noise, with the same law in every coordinate.

    Subclasses are frozen dataclasses that define how the noise is drawn, and its log density.

    Attributes:
        norm: norm in which `sensitivity` is measured: 1 or 2.
        sensitivity: largest distance between the answers on neighbours.
        n_queries: number of answers.
        query: function that computes the answers; None when the dataset is the vector of answers.
    """

    _dataset = Data.ANSWERS

    norm: ClassVar[float]
    sensitivity: Positive
    n_queries: PositiveInt
    query: AnyQuery | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_query(self, norm=self.norm, n_name="n_queries")

    @abstractmethod
    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw fresh independent noise of the given shape."""

    @abstractmethod
    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of each coordinate of `noise`, which may be overwritten."""

    def _centre(self, answers: Floats) -> Floats:
        """Return the values that the noise is added to: the answers, clamped or rounded by some mechanisms."""
        return answers

    def add_to(self, answers: Floats, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of `answers`, shape `(size, *answers.shape)`."""
        centre = self._centre(answers)
        values = self._draw((size, *centre.shape), rng)
        values += centre
        return Outputs(values)

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log density of each noisy copy of `answers`, shape `(size,)`."""
        noise = np.subtract(outputs.values, self._centre(answers), dtype=np.float64)
        return sum_of_answers(self._noise_log_density(noise))

    def exact_curve(self, n_moved: int) -> Guarantee | None:
        """Return the exact curve of `n_moved` answers that share the sensitivity equally; None where it is unknown."""
        return None

    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers on `dataset`, shape `()` or `(n_queries,)`."""
        return evaluate(self.query, dataset, n_answers=self.n_queries, n_name="n_queries")

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of the answers: shape `(size,)` for one query, `(size, n_queries)` for more."""
        return self.add_to(self.answers(dataset), size, rng)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density (log probability of discrete outputs) of each output, shape `(size,)`."""
        return self.log_density_around(self.answers(dataset), outputs)

    def worst_case(self) -> Neighbours:
        """Return answers 0 and `sensitivity` in the first coordinate, 0 in the others: they attain the exact curve."""
        refuse_worst_case(type(self).__name__, self.query)
        return Neighbours(*unit_step(self.sensitivity, self.n_queries), self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_pair(neighbours, self.query, self.answers, sensitivity=self.sensitivity, norm=self.norm)


class PureNoise(PureMechanism, AdditiveNoise):
    """Noise scaled to the L1 sensitivity, with an epsilon and no delta."""

    epsilon: Positive

    norm: ClassVar[float] = 1.0


class NoisyQuery(Mechanism):
    """Noise on the answers of one query; the worst pair moves `n_moved` of them by the same step."""

    @property
    @abstractmethod
    def noise(self) -> AdditiveNoise:
        """Mechanism that adds the noise to each answer, for the sensitivity of all answers together."""

    @property
    @abstractmethod
    def n_moved(self) -> int:
        """Largest number of answers that one record can move."""

    @abstractmethod
    def answers(self, dataset: Dataset) -> Floats:
        """Return the exact answers, shape `(n_answers,)`; `ParameterError` for a dataset of another form."""

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.answers(dataset)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of the answers, shape `(size, n_answers)`."""
        return self.noise.add_to(self.answers(dataset), size, rng)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density (log probability of discrete outputs) of each output, shape `(size,)`."""
        return self.noise.log_density_around(self.answers(dataset), outputs)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`: `n_moved` answers that share the sensitivity equally."""
        return self.noise.exact_curve(self.n_moved)


def sum_of_answers(log_densities: Floats) -> Floats:
    """Return the sum over the answers of each output, shape `(size,)`."""
    if log_densities.ndim == 1:
        return log_densities
    return np.asarray(log_densities.sum(axis=tuple(range(1, log_densities.ndim))))


def check_whole(answers: Floats, *, instead: str) -> Floats:
    """Return `answers` if they are whole numbers; the `ParameterError` otherwise names `instead`, a mechanism."""
    if np.any(answers != np.rint(answers)) or np.any(np.abs(answers) > MAX_EXACT_INTEGER):
        raise ParameterError(
            f"the answers must be whole numbers up to 2^53, but are {answers}. Use {instead} for real numbers."
        )
    return answers
