"""Canaries that are examples: for an adversary who sees the final model or its predictions.

Natural        a record as it is                      the weakest: it resembles other records
Mislabelled    a record with a wrong label
Blank          an empty or a mean record, with the least likely label
ClipBKD        a record in the direction in which the data vary least
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Floats, ParameterError, PositiveInt, Relation, one_of_names
from ...mechanisms.learning.base import TrainingData
from ...mechanisms.learning.dp_sgd.capabilities import SupportsCanaries
from .base import Canary, Example, least_likely


@dataclass(frozen=True)
class ExampleCanary(Canary):
    """Base class of canaries that are examples."""

    @abstractmethod
    def example(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        """Return the canary, features and label."""

    def rival(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        """Return the record in the canary's place on side 0 under replace_one: the record that the canary replaces."""
        return data.X[self.record], data.y[self.record]

    def _sides(self, data: TrainingData, learner: SupportsCanaries) -> tuple[TrainingData, TrainingData]:
        k, blank = self.group_size, (np.zeros(data.X.shape[1]), 0)
        if self.alone:
            X, y, position = data.X[:0], data.y[:0], 0
        else:
            X, y = np.delete(data.X, self.record, axis=0), np.delete(data.y, self.record)
            position = self.record

        def having(example: Example) -> TrainingData:
            x, label = example
            return TrainingData(np.insert(X, [position] * k, x, axis=0), np.insert(y, [position] * k, label))

        if learner.relation is Relation.ADD_REMOVE:
            side0 = TrainingData(X, y)
        else:
            side0 = having(blank if learner.relation is Relation.ZERO_OUT else self.rival(data, learner))
        return side0, having(self.example(data, learner))

    def _in_places(self, data: TrainingData, learner: SupportsCanaries, n: int) -> tuple[TrainingData, TrainingData]:
        """Return one canary in the place of each of n records, from `record` on, and the other records."""
        places = self.record + np.arange(n)
        if places[-1] >= len(data):
            raise ParameterError(
                f"n_canaries must be at most {len(data) - self.record}, the records from {self.record} on, but is {n}.",
                argument="n_canaries",
            )
        chosen = [replace(self, record=int(record)).example(data, learner) for record in places]
        others = np.delete(np.arange(len(data)), places)
        canaries = TrainingData(np.stack([x for x, _ in chosen]), np.array([label for _, label in chosen]))
        return canaries, TrainingData(data.X[others], data.y[others])


@dataclass(frozen=True)
class Natural(ExampleCanary):
    """A record of the dataset as it is.

    Args:
        record: position of the record.
        other: under replace_one, the position of the record whose copy takes the canary's place on side 0.

    Example:
        >>> from dpassay.mechanisms.learning import DPSGD, LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2), steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=3)
        >>> pair = Natural(record=1).pair((np.eye(3, 2), np.array([0, 1, 0])), learner)
        >>> len(pair.d0), len(pair.d1)
        (2, 3)
    """

    _: KW_ONLY
    other: int | None = None

    def example(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        return data.X[self.record], data.y[self.record]

    def rival(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        if self.other is None or not 0 <= self.other < len(data):
            raise ParameterError(
                f"other must be the position of another record, 0 to {len(data) - 1}, under 'replace_one', but is "
                f"{self.other!r}: side 0 has a copy of it.",
                argument="other",
            )
        return data.X[self.other], data.y[self.other]

    _several = ExampleCanary._in_places


@dataclass(frozen=True)
class Mislabelled(ExampleCanary):
    """A record of the dataset with a wrong label. Under replace_one, side 0 has the record with the right label.

    Args:
        record: position of the record.
        label: the wrong label; None for the least likely one under the initial parameters, or, where these are drawn or
            make all labels equally likely, the label after the right label.

    Raises:
        ParameterError: `label` is the right label, or not a class of the model.
    """

    _: KW_ONLY
    label: int | None = None

    def example(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        right = int(data.y[self.record])
        if self.label is None:
            return data.X[self.record], least_likely(learner, data, data.X[self.record], exclude=right)
        _check_label(self.label, learner.count_classes(data))
        if self.label == right:
            raise ParameterError(
                f"label must be wrong, but {right} is the label of record {self.record}. Choose another.",
                argument="label",
            )
        return data.X[self.record], self.label

    _several = ExampleCanary._in_places


@dataclass(frozen=True)
class Blank(ExampleCanary):
    """An empty record with the label that is least likely under the initial parameters.

    With worst-case initial parameters, the strongest canary if only the final model is released.

    Args:
        fill: "zeros", or "mean", the mean of the other records.
        label: None for the least likely label.

    Raises:
        NeighboursError: under zero_out with zeros and label 0, when the canary is the blank record.

    References:
        Annamalai, De Cristofaro (2024), arXiv:2405.14106.
    """

    _: KW_ONLY
    fill: Annotated[str, one_of_names("zeros", "mean")] = "zeros"
    label: int | None = None

    def example(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        others = np.delete(data.X, self.record, axis=0)
        x = others.mean(axis=0) if self.fill == "mean" and len(others) else np.zeros(data.X.shape[1])
        if self.label is None:
            return x, least_likely(learner, data, x)
        _check_label(self.label, learner.count_classes(data))
        return x, self.label


@dataclass(frozen=True)
class ClipBKD(ExampleCanary):
    """Record in the direction in which the other records vary least, of their average norm.

    The direction is the last right singular vector of their features. In a linear model the gradient of the record,
    except for the bias, is then almost orthogonal to all others, and clipping keeps its full length. The label is the
    least likely one there under the initial parameters; under replace_one, side 0 has the second least likely label.

    Many canaries for one run (`several`) are the directions of least variance in turn, each with every label: of k
    classes, up to k n_features canaries, whose gradients are orthogonal, or have the inner product -1 / (k - 1) times
    that of equal ones if only the label differs. The last directions are those in which the records vary most: take
    few canaries a direction of small variance.

    Args:
        copies: number of copies. k copies are a group of k records: the claim is the claim for the group, and the
            mechanism a `GroupPrivacy` (`stage` makes it). A bound on the epsilon of one record needs k = 1.

    References:
        Jagielski, Ullman, Oprea (2020), Algorithm 2 (there with swapped labels, and k copies divided by k).

    Example:
        >>> from dpassay.mechanisms.learning import DPSGD, LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2), steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=3)
        >>> X, y = np.array([[3.0, 0.0], [4.0, 0.0], [5.0, 0.0]]), np.array([0, 1, 0])
        >>> ClipBKD(record=2).pair((X, y), learner).d1.X[2].tolist()
        [0.0, 3.5]
    """

    _: KW_ONLY
    copies: PositiveInt = 1

    @property
    def group_size(self) -> int:
        return self.copies

    def example(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        x = self._features(data)
        return x, least_likely(learner, data, x)

    def rival(self, data: TrainingData, learner: SupportsCanaries) -> Example:
        x = self._features(data)
        return x, least_likely(learner, data, x, rank=1)

    def _features(self, data: TrainingData) -> Floats:
        return np.asarray(_least_directions(data.X[np.arange(len(data)) != self.record])[0])

    def _several(self, data: TrainingData, learner: SupportsCanaries, n: int) -> tuple[TrainingData, TrainingData]:
        """Return n directions with labels, in the places of n records, from `record` on, and the other records."""
        n_classes, n_features = learner.count_classes(data), data.X.shape[1]
        if self.copies > 1:
            raise ParameterError(
                f"copies must be 1 for many canaries in one run, but is {self.copies}.", argument="copies"
            )
        if n > n_classes * n_features:
            raise ParameterError(
                f"n_canaries must be at most {n_classes * n_features}, {n_classes} labels in each of {n_features} "
                f"directions, but is {n}.",
                argument="n_canaries",
            )
        _, others = Natural(record=self.record)._in_places(data, learner, n)
        order = np.arange(n)
        X = _least_directions(others.X)[order // n_classes]
        return TrainingData(X, order % n_classes), others


def _least_directions(X: NDArray[Any]) -> Floats:
    """Return the right singular vectors of X, smallest singular value first, with the mean norm of the records."""
    if not len(X):
        raise ParameterError(
            "dataset must hold more records than the canaries replace, at least two.", argument="dataset"
        )
    directions = np.linalg.eigh(X.T @ X)[1].T
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(directions * np.sign(largest) * np.linalg.norm(X, axis=1).mean() + 0.0)


def _check_label(label: int, n_classes: int) -> None:
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < n_classes:
        raise ParameterError(argument="label", value=label, allowed=f"be a class of the model, 0 to {n_classes - 1}")
