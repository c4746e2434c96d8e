"""Base classes of the noisy majority votes of teachers.

The teachers are nearest-neighbour classifiers, and the query is one public point. Their votes depend only on the labels
of the records in the order of the distance from that point, nearest first: these labels are the dataset. A teacher
votes for the label of the nearest record of its part.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from ...accounting import ExactDP, PureDP
from ...accounting.numerics.binomial import response_logs
from ...core.arrays import Floats
from ...core.base import Dataset, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, PositiveInt
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation


class NoisyVotes(Mechanism):
    """Majority label of `n_teachers` teachers after Laplace noise on the number of votes for label 1.

    A release is `(size, rounds)` bits: 1 in each round in which n_1 + noise > n_teachers / 2.

    Attributes:
        rate: claimed epsilon of one round in which one record changes one vote; the scale should be 1 / rate.
        n_teachers: >= 1; the number of records is a multiple of it.
        rounds: number of answers, >= 1; the claim is rate * rounds.
    """

    rate: Positive
    n_teachers: PositiveInt
    rounds: PositiveInt

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.REPLACE_ONE)

    @property
    def scale(self) -> float:
        """Scale of the noise on the votes."""
        return 1.0 / self.rate

    @abstractmethod
    def votes(self, labels: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the votes for label 1, in shape `(size, rounds)` or a shape that broadcasts to it."""

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the noisy majority in each round, 0 or 1, shape `(size, rounds)`."""
        votes = self.votes(self.labels(dataset), size, rng)
        noise = rng.laplace(scale=self.scale, size=(size, self.rounds))
        return Outputs((votes + noise > self.n_teachers / 2).astype(np.int8))

    def guarantee(self) -> Guarantee:
        """Return `PureDP(rate * rounds)`, basic composition of one moved vote in each round."""
        return PureDP(self.rate * self.rounds, relation=self.relation)

    def labels(self, dataset: Dataset) -> NDArray[np.int64]:
        """Return the checked labels, 0 or 1, shape `(n_records,)`.

        Raises:
            ParameterError: other labels, or a number of records that is not a multiple of n_teachers.
        """
        labels = np.asarray(dataset)
        if labels.ndim != 1 or labels.dtype.kind not in "biuf" or not np.isin(labels, (0, 1)).all():
            raise ParameterError(
                f"a dataset must be a vector of labels 0 and 1, nearest record first, but is {_short(dataset)}.",
                argument="dataset",
            )
        if not labels.size or labels.size % self.n_teachers:
            raise ParameterError(
                f"the number of records must be a multiple of n_teachers = {self.n_teachers}, but is {labels.size}.",
                argument="dataset",
            )
        return labels.astype(np.int64)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        labels0, labels1 = self.labels(neighbours.d0), self.labels(neighbours.d1)
        if labels0.shape != labels1.shape or (labels0 != labels1).sum() != 1:
            raise NeighboursError("d0 and d1 must differ in the label of one record.", argument=("d0", "d1"))
        return self

    def majority(self, votes: int) -> float:
        """Return the probability that label 1 is released for this number of votes for it."""
        from scipy.stats import laplace

        return float(laplace.sf(self.n_teachers / 2 - votes, scale=self.scale))

    def between(self, votes0: int, votes1: int) -> ExactDP:
        """Return the exact guarantee for `votes0` votes on side 0 and `votes1` on side 1 in every round."""
        log0, log1 = (response_logs(self.rounds, self._log_odds(votes)) for votes in (votes0, votes1))
        return ExactDP.of_logs(log0, log1, relation=self.relation)

    def _log_odds(self, votes: int) -> float:
        """Return the log odds of releasing label 1 for this number of votes, with Laplace noise on the votes."""
        lead = (votes - self.n_teachers / 2) / self.scale
        return math.copysign(abs(lead) + math.log(2.0 - math.exp(-abs(lead))), lead)


class FixedVotes(NoisyVotes):
    """Noisy votes with deterministic counts, so that the law of a release is known."""

    @abstractmethod
    def count(self, labels: NDArray[np.int64]) -> int:
        """Return the number of votes for label 1."""

    def votes(self, labels: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the number of votes for label 1, which is equal in all rounds."""
        return np.full((1, 1), self.count(labels))

    def output_law(self) -> FixedVotes:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, shape `(size,)`; -inf for anything other than bits."""
        bits = outputs.values.reshape(len(outputs), -1)
        ones = bits.sum(axis=1)
        log_odds = self._log_odds(self.count(self.labels(dataset)))
        log_probabilities = ones * log_expit(log_odds) + (self.rounds - ones) * log_expit(-log_odds)
        return np.where(np.isin(bits, (0, 1)).all(axis=1), log_probabilities, -math.inf)


def _short(dataset: Any) -> str:
    return np.array2string(np.asarray(dataset).ravel()[:6], threshold=6)


__all__ = ["FixedVotes", "Floats", "NoisyVotes"]
