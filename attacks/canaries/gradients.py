"""Canaries that are gradient records: for an adversary who inserts gradients and sees the steps or the last iterate.

Dirac                 a weight of a dead feature: nothing else moves it
RandomDirection       uniform on the sphere
OrthogonalDirection   uniform in the complement of the records' gradients, and orthogonal to the other canaries

A gradient record of norm clip_norm moves every noisy sum that samples it by clip_norm, the most that clipping allows.
In a direction that no example affects, nothing else moves the sums: with full batches the noisy sums, added and scaled,
are then N(0, 1) against N(sqrt(steps) / noise_multiplier, 1), and no adversary can do better.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Floats, NonNegativeInt, ParameterError, Relation, plural
from ...mechanisms.learning.base import TrainingData
from ...mechanisms.learning.dp_sgd.capabilities import (
    SupportsCanaries,
    SupportsDiracCanaries,
    SupportsGradientCanaries,
    SupportsRecordGradients,
    require_capability,
)
from .base import Canary

_STARTS, _LABELS_A_RECORD = 8, 20
_SAMPLED_NUMBERS = 8_000_000  # entries of the sampled gradients: their principal directions take seconds


@dataclass(frozen=True)
class GradientCanary(Canary):
    """Gradient record of norm clip_norm.

    Under replace_one, side 0 has the opposite gradient; under zero_out, a gradient of 0.
    """

    def _trainer(self, mechanism: Any) -> SupportsGradientCanaries:
        trainer: SupportsGradientCanaries = require_capability(
            mechanism, SupportsGradientCanaries, f"canary {type(self).__name__}"
        )
        return trainer

    @abstractmethod
    def direction(self, data: TrainingData, learner: SupportsGradientCanaries) -> Floats:
        """Return the unit direction `(n_parameters,)`; `data` are the other records."""

    @abstractmethod
    def directions(self, data: TrainingData, learner: SupportsGradientCanaries, n: int) -> Floats:
        """Return n different directions, `(n, n_parameters)`, for a run with many canaries; `data` are all records."""

    def _several(self, data: TrainingData, learner: SupportsCanaries, n: int) -> tuple[TrainingData, TrainingData]:
        learner = self._trainer(learner)
        gradients = learner.clip_norm * self.directions(data, learner, n)
        return TrainingData(data.X[:0], data.y[:0], gradients), data

    def _sides(self, data: TrainingData, learner: SupportsCanaries) -> tuple[TrainingData, TrainingData]:
        learner = self._trainer(learner)
        others_mask = np.arange(len(data)) != self.record
        if self.alone:
            others_mask[:] = False
        others = TrainingData(data.X[others_mask], data.y[others_mask])
        gradient = learner.clip_norm * self.direction(others, learner)[None, :]
        without = {
            Relation.ADD_REMOVE: None,
            Relation.ZERO_OUT: 0.0 * gradient,
            Relation.REPLACE_ONE: -gradient,
        }[learner.relation]
        return TrainingData(others.X, others.y, without), TrainingData(others.X, others.y, gradient)


@dataclass(frozen=True)
class Dirac(GradientCanary):
    """Coordinate whose natural gradient is always 0: the weight of a dead feature, 0 in all other records.

    Args:
        feature: dead feature; None for the first one.
        unit: unit of the first layer whose weight is the coordinate.

    Raises:
        ParameterError: no feature is dead, or `feature` is not; `with_dead_features` adds dead features.

    References:
        Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini, Terzis (2023), Algorithm 3.

    Example:
        >>> from dpassay.mechanisms.learning import DPSGD, LogisticRegression
        >>> learner = DPSGD(LogisticRegression(3), steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=3)
        >>> X, y = with_dead_features((np.ones((4, 2)), np.zeros(4, dtype=int)))
        >>> Dirac().pair((X, y), learner).d1.gradients.tolist()
        [[0.0, 0.0, 1.0, 0.0]]
    """

    _: KW_ONLY
    feature: NonNegativeInt | None = None
    unit: NonNegativeInt = 0

    def direction(self, data: TrainingData, learner: SupportsGradientCanaries) -> Floats:
        weights, dead = self._weights(learner), _dead_features(data)
        feature = int(dead[0]) if self.feature is None and len(dead) else self.feature
        if feature is None or feature not in dead:
            problem = "there is none" if feature is None else f"feature {feature} is not"
            raise ParameterError(
                f"a Dirac canary needs a dead feature, 0 in all other records, but {problem}. Add one, by "
                "with_dead_features(dataset) or in a config by dead_features = 1 in [data], and give the model one "
                f"feature more, n_features = {data.X.shape[1] + 1}; or take a random direction.",
                argument=("feature", "canary", "dead_features"),
            )
        if self.unit >= len(weights):
            raise ParameterError(
                f"unit must be below {len(weights)}, the units of the first layer, but is {self.unit}.", argument="unit"
            )
        unit_vector = np.zeros(learner.n_parameters)
        unit_vector[weights[self.unit, feature]] = 1.0
        return unit_vector

    def directions(self, data: TrainingData, learner: SupportsGradientCanaries, n: int) -> Floats:
        """Return the directions of n weights of dead features."""
        if self.feature is not None or self.unit:
            raise ParameterError(
                f"feature and unit are for a single canary, but are {self.feature} and {self.unit}: many Dirac "
                "canaries take the weights of all dead features. Leave them out.",
                argument=("feature", "unit"),
            )
        all_weights, dead = self._weights(learner), _dead_features(data)
        weights = all_weights[:, dead].ravel()
        if n > len(weights):
            missing = -(-n // len(all_weights)) - len(dead)
            raise ParameterError(
                f"n_canaries is {n:,}, but only {len(weights):,} weights belong to dead features, which are 0 in all "
                f"records: {plural(len(dead), 'feature')}, {plural(len(all_weights), 'unit')}. Add more, by "
                f"with_dead_features(dataset, {missing}) or in a config by dead_features = {missing} in [data], and "
                "give the model n_features = "
                f"{data.X.shape[1] + missing}; or take random directions.",
                argument="n_canaries",
            )
        unit_vectors = np.zeros((n, learner.n_parameters))
        unit_vectors[np.arange(n), weights[:n]] = 1.0
        return unit_vectors

    def _weights(self, learner: SupportsGradientCanaries) -> NDArray[np.intp]:
        trainer: SupportsDiracCanaries = require_capability(learner, SupportsDiracCanaries, "canary Dirac")
        return trainer.input_weights()


@dataclass(frozen=True)
class RandomDirection(GradientCanary):
    """Direction that is uniform on the sphere, nearly orthogonal to the gradients of the other records.

    Args:
        seed: seed of the direction.
    """

    _: KW_ONLY
    seed: NonNegativeInt = 0

    def direction(self, data: TrainingData, learner: SupportsGradientCanaries) -> Floats:
        return np.asarray(self.directions(data, learner, 1)[0])

    def directions(self, data: TrainingData, learner: SupportsGradientCanaries, n: int) -> Floats:
        """Return independent directions, which overlap by about 1 / sqrt(n_parameters)."""
        vectors = np.random.default_rng(self.seed).standard_normal((n, learner.n_parameters))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@dataclass(frozen=True)
class OrthogonalDirection(GradientCanary):
    """Random direction, orthogonal to the other canaries and, where there is room, to the gradients of the records.

    n directions are uniform in a subspace of n or more dimensions: the complement of the principal directions of the
    records' gradients, of the n_parameters - n largest if there are so many. The gradients are those of a sample of the
    records, with their own labels and with those of other records, under the initial parameters, or eight draws of
    random ones. Where the sample spans the gradients of all records, as for a small linear model, nothing of them is
    left at any step; in a multi-layer perceptron a part of later gradients is.

    Two canaries of one run then share no direction, so that no score depends on the bit of another canary, and the
    records add little to a score. n is at most n_parameters.

    Args:
        seed: seed of the directions and of the sample of gradients.

    Raises:
        ParameterError: more canaries than parameters, or a trainer that computes no gradients of single records.

    References:
        Keinan, Shenfeld, Ligett (2025), arXiv:2503.07199 (interference limits one-run audits). Jagielski, Ullman,
        Oprea (2020), Algorithm 2, uses the direction of least variance for a single example.

    Example:
        >>> from dpassay.mechanisms.learning import DPSGD, SoftmaxRegression
        >>> learner = DPSGD(SoftmaxRegression(3, 2, bias=False), steps=1, noise_multiplier=1.0, batch_size=3,
        ...                 sampling="full-batch")
        >>> canaries, _ = OrthogonalDirection().several((np.eye(2, 3), np.array([0, 1])), learner, 2)
        >>> bool(np.allclose(canaries.gradients @ canaries.gradients.T, np.eye(2)))
        True
    """

    _: KW_ONLY
    seed: NonNegativeInt = 0

    def direction(self, data: TrainingData, learner: SupportsGradientCanaries) -> Floats:
        return np.asarray(self.directions(data, learner, 1)[0])

    def directions(self, data: TrainingData, learner: SupportsGradientCanaries, n: int) -> Floats:
        """Return n orthonormal directions."""
        if n > learner.n_parameters:
            raise ParameterError(
                f"n_canaries is {n:,}, but the model has {learner.n_parameters:,} parameters, and so many directions "
                "at most are orthogonal. Take fewer canaries, or random directions.",
                argument="n_canaries",
            )
        rng = np.random.default_rng(self.seed)
        vectors = rng.standard_normal((n, learner.n_parameters))
        if data.n_examples:
            trainer: SupportsRecordGradients = require_capability(
                learner, SupportsRecordGradients, "canary OrthogonalDirection"
            )
            principal = _principal_directions(_sampled_gradients(data, trainer, rng))[: learner.n_parameters - n]
            vectors -= vectors @ principal.T @ principal
        return np.asarray(np.linalg.qr(vectors.T)[0].T)


def _sampled_gradients(data: TrainingData, trainer: SupportsRecordGradients, rng: np.random.Generator) -> Floats:
    """Return clipped gradients of records with their own labels, and of random ones with labels of other records."""
    initial = trainer.initial_parameters()
    random = trainer.network.random_parameters
    models = random(_STARTS, rng) if initial is None else np.asarray(initial, dtype=np.float64)[None]
    half = max(1, _SAMPLED_NUMBERS // (2 * len(models) * trainer.n_parameters))
    own = rng.permutation(data.n_examples)[:half]
    places, others = rng.integers(0, data.n_examples, size=(2, min(half, _LABELS_A_RECORD * data.n_examples)))
    X, y = np.concatenate([data.X[own], data.X[places]]), np.concatenate([data.y[own], data.y[others]])
    gradients = trainer.clipped_gradients(TrainingData(X, y), models)
    return np.asarray(gradients.reshape(-1, trainer.n_parameters))


def _principal_directions(rows: Floats) -> Floats:
    """Return the right singular vectors of the rows with a singular value above 0, largest first, `(rank, n)`."""
    _, sizes, directions = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)
    return np.asarray(directions[sizes > 1e-9 * max(1.0, sizes[0])])


def _dead_features(data: TrainingData) -> NDArray[np.intp]:
    """Return the positions of the features that are 0 in all records."""
    return np.flatnonzero(~np.any(data.X != 0.0, axis=0))


def with_dead_features(dataset: Any, n: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the examples with n more features, 0 in all of them: `(X, y)`.

    >>> with_dead_features((np.ones((1, 2)), np.array([1])))[0].tolist()
    [[1.0, 1.0, 0.0]]
    """
    data = TrainingData.of(dataset)
    return np.column_stack([data.X, np.zeros((len(data.X), n))]), data.y
